package validate

import (
	"fmt"
	"slices"
	"strings"

	"scoville/hardware"
	"scoville/model/fact"
	"scoville/model/llm"
)

// calibratedOn reports whether a profile names a job as one that its constants were read off. Profiles name rows in words, which
// are matched strictly: "every row of load <= 8 with ..." leaves out all rows up to that load, whatever is said after "with"; any
// other entry leaves out the jobs that all its words fit, up to a colon. The tables of the vLLM H100 runs hold the same runs twice,
// so an entry for one of them counts for all.
func calibratedOn(list []hardware.Calibration, job *Job) bool {
	for _, c := range list {
		if !sameTable(c.Table, job.Table) {
			continue
		}
		for _, entry := range c.Rows {
			var limit float64
			if n, _ := fmt.Sscanf(entry, "every row of load <= %g", &limit); n == 1 {
				if job.Load <= limit {
					return true
				}
				continue
			}
			if job.fits(entry) {
				return true
			}
		}
	}
	return false
}

func sameTable(named, table string) bool {
	named = strings.TrimSuffix(named, ".csv")
	const runs = "vllm_h100/"
	return named == table || strings.HasPrefix(named, table+"/") || strings.HasPrefix(named, runs) && strings.HasPrefix(table, runs)
}

// words sets what a profile may call a job: names in lower case, and their parts between underscores.
func (job *Job) words(names ...string) {
	for _, n := range names {
		n = strings.ToLower(strings.TrimSpace(n))
		job.Words = append(job.Words, n)
		job.Words = append(job.Words, strings.Split(n, "_")...)
	}
}

func (job *Job) fits(entry string) bool {
	entry, _, _ = strings.Cut(strings.ToLower(entry), ":")
	words := strings.Fields(strings.ReplaceAll(entry, ",", " "))
	for i, w := range words {
		if w == "load" || i > 0 && words[i-1] == "load" && w == fmt.Sprint(job.Load) {
			continue
		}
		if !slices.Contains(job.Words, w) {
			return false
		}
	}
	return len(words) > 0
}

// powerCalibrated reports whether the chip's power constants say in their sources that they were read off a job like this one.
// Chips have no list of rows: ML.ENERGY's fit names its models, task and largest batch, the nodes' overhead its MLPerf runs.
func powerCalibrated(job *Job, s *System) bool {
	chip := s.Hardware.Chip
	switch job.Table {
	case "mlenergy_v3_llm":
		source := strings.ToLower(chip.Power.JoulesPerFLOP.Source)
		return strings.Contains(source, "ml-energy") && job.Load <= 256 && s.Hardware.Precision.Weights == llm.BF16 &&
			slices.Contains(job.Words, "lm-arena-chat") && strings.Contains(source, strings.ToLower(s.Hardware.Model.Name))
	case "mlperf_inference_llm":
		source := chip.Node.OverheadWatts.Source
		return strings.Contains(source, "MLPerf") && chip.Node.OverheadWatts.Kind == fact.Measured &&
			s.Hardware.Model.Name == "llama-2-70b" && strings.Contains(source, "llama2-70b")
	}
	return false
}

// withoutPower leaves out the figures that depend on power.
func withoutPower(measured []Figure) []Figure {
	return slices.DeleteFunc(slices.Clone(measured), func(f Figure) bool {
		return f.Metric == Watts || f.Metric == Joules || f.Metric == NodeWatts
	})
}
