package reports

import (
	"encoding/csv"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"scoville/model/atomicfile"
	"scoville/sim/plan"
)

// CSV writes one line a candidate, raw numbers in SI units or US dollars, the unit in the head. An unknown figure is empty.
func CSV(w io.Writer, r *plan.Result) error {
	rows := [][]string{{"rank", "candidate", "feasible", "chip", "engine", "precision", "tensor_parallel", "pipeline_parallel", "expert_parallel", "chips_per_replica",
		"replicas", "spare_replicas", "chips", "chips_by_division", "nodes", "peak_kilowatts", "mean_kilowatts", "facility_kilowatts",
		"requests_per_second_per_replica", "low", "high", "saturation_per_second", "binding_limit",
		"usd_per_m_tokens", "usd_per_m_tokens_p10", "usd_per_m_tokens_p90", "usd_per_m_input_tokens", "usd_per_m_output_tokens", "tco_usd", "npv_usd", "monthly_usd", "utilisation", "reason"}}
	for _, c := range r.Candidates {
		f := c.Fleet
		row := []string{strconv.Itoa(c.Rank), safe(c.Name), strconv.FormatBool(c.Feasible), safe(c.Chip), safe(c.Engine), safe(c.Precision), strconv.Itoa(c.TensorParallel), strconv.Itoa(c.PipelineParallel), strconv.Itoa(c.ExpertParallel), strconv.Itoa(c.ChipsPerReplica),
			strconv.Itoa(f.Replicas), strconv.Itoa(f.SpareReplicas), strconv.Itoa(f.Chips), strconv.Itoa(c.Spreadsheet.Chips), strconv.Itoa(f.Nodes), raw(f.PeakKilowatts), raw(f.MeanKilowatts), raw(f.FacilityKilowatts),
			raw(c.Capacity.RequestsPerSecond), raw(c.Capacity.Low), raw(c.Capacity.High), raw(c.Capacity.SaturationPerSecond), safe(c.Capacity.BindingLimit)}
		if k := c.Cost; k != nil {
			p10, p90 := "", ""
			if k.MonteCarlo != nil {
				p10, p90 = raw(k.MonteCarlo.PerM.P10), raw(k.MonteCarlo.PerM.P90)
			}
			row = append(row, raw(k.PerMBoth), p10, p90, raw(k.PerMInput), raw(k.PerMOutput), raw(k.TCO), raw(k.NPV), raw(k.Monthly), raw(k.Utilisation))
		} else {
			row = append(row, make([]string, 9)...)
		}
		rows = append(rows, append(row, safe(c.Reason)))
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// LoadCSV writes one line a load point of every candidate: latency in seconds against load. Unstable points have no latency.
func LoadCSV(w io.Writer, r *plan.Result) error {
	rows := [][]string{{"candidate", "requests_per_second", "completed_per_second", "goodput_per_second", "verdict", "meets_sla",
		"ttft_mean_s", "ttft_p50_s", "ttft_p90_s", "ttft_p95_s", "ttft_p99_s", "tpot_mean_s", "tpot_p50_s", "tpot_p90_s", "tpot_p95_s", "tpot_p99_s",
		"itl_p50_s", "itl_p99_s", "e2e_p50_s", "e2e_p99_s", "utilisation", "mean_batch", "kv_share", "accelerator_watts"}}
	for _, c := range r.Candidates {
		for _, p := range c.Capacity.Curve {
			row := []string{safe(c.Name), raw(p.RequestsPerSecond), raw(p.Completed), raw(p.Goodput), string(p.Verdict), strconv.FormatBool(p.Met)}
			if hasLatency(p) {
				for _, v := range []float64{p.TTFT.Mean, p.TTFT.P50, p.TTFT.P90, p.TTFT.P95, p.TTFT.P99, p.TPOT.Mean, p.TPOT.P50, p.TPOT.P90, p.TPOT.P95, p.TPOT.P99, p.ITL.P50, p.ITL.P99, p.E2E.P50, p.E2E.P99} {
					row = append(row, raw(v))
				}
			} else {
				row = append(row, make([]string, 14)...)
			}
			rows = append(rows, append(row, raw(p.Utilisation), raw(p.MeanBatch), raw(p.KVShare), raw(p.AcceleratorWatts)))
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// CSVs writes candidates.csv and load.csv into dir.
func CSVs(dir string, r *plan.Result) error {
	for _, f := range []struct {
		name  string
		write func(io.Writer, *plan.Result) error
	}{{"candidates.csv", CSV}, {"load.csv", LoadCSV}} {
		if err := atomicfile.Write(filepath.Join(dir, f.name), func(w io.Writer) error { return f.write(w, r) }); err != nil {
			return err
		}
	}
	return nil
}

func raw(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// safe keeps a spreadsheet from taking text for a formula.
func safe(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
