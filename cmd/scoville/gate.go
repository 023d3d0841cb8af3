package main

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"
	"scoville/hardware/gate"
	"scoville/hardware/results"
)

// gateCommand compares a run with a baseline and fails on a regression.
func gateCommand() *cli.Command {
	return &cli.Command{
		Name: "gate", Usage: "compare a benchmark run with a baseline by thresholds; exit 1 on a regression", ArgsUsage: "NEW", Action: gateRun,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "baseline", Usage: "the run to compare with; needed for thresholds under [worse]"},
			&cli.StringFlag{Name: "thresholds", Usage: "TOML file with [worse], [at_most], [at_least]; default: p99 20 %, means 10 %, throughput 5 %, errors 1 %"},
			&cli.StringFlag{Name: "stage", Usage: "compare only the stage of this name"},
			&cli.BoolFlag{Name: "strict", Usage: "what is beyond its threshold but within chance fails too"},
			&cli.IntFlag{Name: "resamples", Value: 1000, Usage: "of the bootstrap"},
			seedFlag(), formatFlag(),
		},
	}
}

func gateRun(c *cli.Context) error {
	f, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c, "NEW"); err != nil {
		return err
	}
	t := gate.Default()
	if path := c.String("thresholds"); path != "" {
		if t, err = gate.ReadFile(path); err != nil {
			return err
		}
	}
	t.Strict = t.Strict || c.Bool("strict")
	fresh, err := oneRun(c.Args().First(), c.String("stage"))
	if err != nil {
		return err
	}
	var baseline *results.Run
	if path := c.String("baseline"); path != "" {
		if baseline, err = oneRun(path, c.String("stage")); err != nil {
			return err
		}
	}
	if n := c.Int("resamples"); n < 100 || n > 1_000_000 {
		return fmt.Errorf("gate: --resamples %d; it must be 100 to 1000000", n)
	}
	rep, err := gate.Compare(baseline, fresh, t, c.Uint64("seed"), c.Int("resamples"))
	if err != nil {
		return err
	}
	if f == "json" {
		err = printJSON(c.App.Writer, rep)
	} else {
		err = printGate(c.App.Writer, rep)
	}
	if err == nil && !rep.Passed {
		return verdictFailed(fmt.Errorf("gate: failed"))
	}
	return err
}

func oneRun(path, stage string) (*results.Run, error) {
	runs, err := results.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(runs) != 1 {
		return nil, fmt.Errorf("%s: holds %d runs; gate compares one with one", path, len(runs))
	}
	if stage == "" {
		return runs[0], nil
	}
	var names []string
	for i, s := range runs[0].Stages {
		if s.Name == stage {
			return runs[0].StageRun(i), nil
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("%s: has no stage %q; its stages are %q", path, stage, names)
}

func printGate(w io.Writer, rep *gate.Report) error {
	t := plainTable()
	t.AppendHeader(table.Row{"metric", "rule", "baseline", "new", "worse by", "95 % interval", "verdict"})
	for _, l := range rep.Lines {
		t.AppendRow(table.Row{l.Metric, l.Rule, gateFigure(l.Baseline), gateFigure(l.New), gatePercent(l.Change), gateInterval(l.ChangeLow, l.ChangeHi), l.Verdict})
	}
	if _, err := fmt.Fprintln(w, t.Render()); err != nil {
		return err
	}
	for _, n := range rep.Notes {
		if _, err := fmt.Fprintln(w, n); err != nil {
			return err
		}
	}
	verdict := "passed"
	if !rep.Passed {
		verdict = "FAILED"
	}
	_, err := fmt.Fprintln(w, verdict)
	return err
}

func gateFigure(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g", *x)
}

func gatePercent(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100**x)
}

func gateInterval(lo, hi *float64) string {
	if lo == nil || hi == nil {
		return "-"
	}
	return gatePercent(lo) + " to " + gatePercent(hi)
}
