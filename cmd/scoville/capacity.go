package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/urfave/cli/v2"
	"scoville/sim"
	"scoville/sim/plan"
)

func capacityCommand() *cli.Command {
	return &cli.Command{
		Name:      "capacity",
		Usage:     "how much load one replica of each candidate holds within the SLA, and what binds",
		ArgsUsage: "PLAN.toml",
		Description: `Finds the load with its 95 % interval and the curve of latency against load, without sizing a fleet or pricing it.

   scoville capacity examples/chat.toml
   scoville capacity examples/chat.toml --format csv > curve.csv`,
		Flags:  []cli.Flag{formatFlag(), seedFlag(), quietFlag(), setFlag()},
		Action: runCapacity,
	}
}

func setFlag() *cli.StringSliceFlag {
	return &cli.StringSliceFlag{Name: "set", Usage: "override a key of the plan: `KEY=VALUE`, candidates by number (candidate.0.chip=h200); repeatable"}
}

func runCapacity(c *cli.Context) error {
	form, err := format(c, "table", "json", "csv")
	if err != nil {
		return err
	}
	if err := exactArgs(c, "PLAN.toml"); err != nil {
		return err
	}
	f, err := plan.Read(c.Args().First(), c.StringSlice("set"))
	if err != nil {
		return err
	}
	bar := newProgress(c)
	r, err := plan.FindCapacities(c.Context, f, plan.Options{Seed: c.Uint64("seed"), Version: version(), Command: planCommandLine(c), Progress: bar.stage})
	bar.stop()
	if err != nil {
		return err
	}
	switch form {
	case "json":
		return printJSON(c.App.Writer, r)
	case "csv":
		return writeCurves(c.App.Writer, r)
	}
	return printCapacities(c.App.Writer, r)
}

func printCapacities(w io.Writer, r *plan.Capacities) error {
	t := costTable(w, 2, 3, 4, 5, 6)
	t.AppendHeader(row("candidate", "chips", "requests/s", "95 % interval", "saturated", "running", "what binds"))
	for _, c := range r.Candidates {
		if c.Reason != "" {
			t.AppendRow(row(c.Name, strconv.Itoa(c.ChipsPerReplica), "0", "", "", "", c.Reason))
			continue
		}
		k := c.Capacity
		t.AppendRow(row(c.Name, strconv.Itoa(c.ChipsPerReplica), fmt.Sprintf("%.4g", k.RequestsPerSecond), fmt.Sprintf("%.4g to %.4g", k.Low, k.High),
			fmt.Sprintf("%.4g", k.SaturationPerSecond), fmt.Sprintf("%.1f", k.Concurrency), k.Binding))
	}
	t.Render()
	for _, c := range r.Candidates {
		if c.Reason != "" {
			continue
		}
		fmt.Fprintf(w, "\n%s: one replica\n", c.Name)
		curve := costTable(w, 1, 2, 3, 4, 5, 6, 7, 8)
		curve.AppendHeader(row("requests/s", "goodput/s", "TTFT p99 s", "TPOT p90 s", "E2E p50 s", "busy", "batch", "KV", "SLA"))
		for _, p := range c.Capacity.Curve {
			verdict := "met"
			if !p.Met {
				verdict = "not met"
			}
			if p.Verdict == sim.Unstable {
				curve.AppendRow(row(fmt.Sprintf("%.4g", p.RequestsPerSecond), fmt.Sprintf("%.4g", p.Goodput), "-", "-", "-", percent(p.Utilisation), fmt.Sprintf("%.1f", p.MeanBatch), percent(p.KVShare), "unstable"))
				continue
			}
			curve.AppendRow(row(fmt.Sprintf("%.4g", p.RequestsPerSecond), fmt.Sprintf("%.4g", p.Goodput), fmt.Sprintf("%.4f", p.TTFT.P99), fmt.Sprintf("%.4f", p.TPOT.P90), fmt.Sprintf("%.3f", p.E2E.P50),
				percent(p.Utilisation), fmt.Sprintf("%.1f", p.MeanBatch), percent(p.KVShare), verdict))
		}
		curve.Render()
		for _, n := range c.Capacity.Warnings {
			fmt.Fprintln(w, "note:", n)
		}
	}
	for _, n := range r.Warnings {
		fmt.Fprintln(w, "warning:", n)
	}
	return nil
}

// row makes a table row of texts.
func row(cells ...string) []any {
	out := make([]any, len(cells))
	for i, c := range cells {
		out[i] = c
	}
	return out
}

// writeCurves writes a row for each candidate and load.
func writeCurves(w io.Writer, r *plan.Capacities) error {
	out := csv.NewWriter(w)
	records := [][]string{{"candidate", "chips_per_replica", "capacity_per_second", "low", "high", "offered_per_second", "completed_per_second", "goodput_per_second", "verdict", "met",
		"ttft_p50_s", "ttft_p99_s", "tpot_p50_s", "tpot_p90_s", "e2e_p50_s", "e2e_p99_s", "utilisation", "mean_batch", "kv_share", "watts"}}
	num := func(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }
	for _, c := range r.Candidates {
		for _, p := range c.Capacity.Curve {
			k := c.Capacity
			records = append(records, []string{c.Name, strconv.Itoa(c.ChipsPerReplica), num(k.RequestsPerSecond), num(k.Low), num(k.High), num(p.RequestsPerSecond), num(p.Completed), num(p.Goodput), string(p.Verdict),
				strconv.FormatBool(p.Met), num(p.TTFT.P50), num(p.TTFT.P99), num(p.TPOT.P50), num(p.TPOT.P90), num(p.E2E.P50), num(p.E2E.P99), num(p.Utilisation), num(p.MeanBatch), num(p.KVShare), num(p.AcceleratorWatts)})
		}
	}
	return out.WriteAll(records)
}
