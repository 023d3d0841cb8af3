package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"
	"scoville/model/atomicfile"
	"scoville/sim"
	"scoville/sim/plan"
)

// simulateCommand runs one deployment of a plan without searching.
func simulateCommand() *cli.Command {
	return &cli.Command{
		Name:      "simulate",
		Usage:     "simulate a fleet of one candidate of a plan at a given size and rate",
		ArgsUsage: "PLAN.toml",
		Description: `Runs the plan's traffic against a fleet and says what it measured and whether the SLA is met (exit code 1 when not).

   scoville simulate examples/chat.toml --candidate 0 --replicas 6
   scoville simulate examples/chat.toml --replicas 4 --rate 30 --format json`,
		Flags: []cli.Flag{
			formatFlag(), seedFlag(), quietFlag(),
			&cli.StringSliceFlag{Name: "set", Usage: "override a key of the plan: `KEY=VALUE`; repeatable"},
			&cli.StringFlag{Name: "candidate", Value: "0", Usage: "which candidate: its number from 0, or its name"},
			&cli.IntFlag{Name: "replicas", Value: 1, Usage: "replicas of the fleet"},
			&cli.Float64Flag{Name: "rate", Usage: "requests per second offered; default: the plan's peak"},
			&cli.IntFlag{Name: "concurrency", Usage: "instead of a rate: `N` clients in a closed loop over the fleet, as benchmarks do"},
			&cli.StringFlag{Name: "requests-csv", Usage: "write one row for each request to `FILE`"},
		},
		Action: runSimulate,
	}
}

func runSimulate(c *cli.Context) error {
	form, err := format(c, "table", "json")
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
	s, err := plan.Simulate(c.Context, f, plan.SimulateOptions{
		Seed: c.Uint64("seed"), Candidate: c.String("candidate"), Replicas: c.Int("replicas"), RequestsPerSecond: c.Float64("rate"), Concurrency: c.Int("concurrency"), KeepRequests: c.String("requests-csv") != "",
	})
	if err != nil {
		return inFile(c.Args().First(), err)
	}
	if path := c.String("requests-csv"); path != "" {
		if err := atomicfile.Write(path, func(w io.Writer) error { return writeRequests(w, s.Runs[0].Records) }); err != nil {
			return err
		}
	}
	if form == "json" {
		err = printJSON(c.App.Writer, s)
	} else {
		err = printSimulation(c.App.Writer, s)
	}
	if err != nil {
		return err
	}
	if !s.Met {
		return verdictFailed(fmt.Errorf("the SLA is not met: %s", s.Why))
	}
	return nil
}

// printSimulation prints the first run, and the verdict over all.
func printSimulation(w io.Writer, s *plan.Simulation) error {
	r := s.Runs[0]
	verdict := "SLA met on every run"
	if !s.Met {
		verdict = "SLA not met: " + s.Why
	}
	_, err := fmt.Fprintf(w, "%s: %d replicas, %d chips, %.4g requests/s offered, %d runs\n%s\n\nrun 1 of %d: %s, %d requests measured, %.4g finished/s, goodput %.4g/s, %.4g output tokens/s\nutilisation %.1f %%, mean batch %.1f, KV cache %.1f %% (most %.1f %%), %d preemptions, %.0f W\n\n",
		s.Candidate, s.Replicas, s.Chips, s.RequestsPerSecond, len(s.Runs), verdict, len(s.Runs), r.Verdict, r.MeasuredRequests, r.RequestsPerSecond, r.GoodputPerSecond, r.OutputTokensPerSecond,
		100*r.Utilisation, r.MeanBatch, 100*r.MeanKVShare, 100*r.MaxKVShare, r.Preemptions, r.Joules/r.Seconds)
	if err != nil {
		return err
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"seconds", "mean", "p50", "p90", "p95", "p99", "max"})
	for _, m := range []struct {
		name string
		d    sim.Distribution
	}{{"TTFT", r.TTFT}, {"TPOT", r.TPOT}, {"ITL", r.ITL}, {"E2E", r.E2E}, {"queue wait", r.QueueWait}} {
		if m.d.Count == 0 {
			continue
		}
		row := table.Row{m.name}
		for _, v := range []float64{m.d.Mean, m.d.P50, m.d.P90, m.d.P95, m.d.P99, m.d.Max} {
			row = append(row, fmt.Sprintf("%.4f", v))
		}
		t.AppendRow(row)
	}
	if t.Length() > 0 {
		_, err = fmt.Fprintln(w, t.Render())
	}
	for _, warning := range r.Warnings {
		fmt.Fprintln(w, "note:", warning)
	}
	return err
}

// writeRequests writes one row for each request.
func writeRequests(w io.Writer, records []sim.Record) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"id", "replica", "class", "outcome", "arrival_s", "start_s", "first_token_s", "end_s", "input_tokens", "cached_tokens", "output_tokens", "preemptions"}); err != nil {
		return err
	}
	second := func(n int64) string { return strconv.FormatFloat(float64(n)/1e9, 'f', 9, 64) }
	whole := func(n int32) string { return strconv.Itoa(int(n)) }
	for _, r := range records {
		err := out.Write([]string{strconv.FormatInt(r.ID, 10), whole(r.Replica), whole(r.Class), r.Outcome.String(), second(r.ArrivalNanos), second(r.StartNanos),
			second(r.FirstTokenNanos), second(r.EndNanos), whole(r.InputTokens), whole(r.CachedTokens), whole(r.OutputTokens), whole(r.Preemptions)})
		if err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
