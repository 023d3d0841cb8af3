package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"
	"scoville/model/atomicfile"
	"scoville/profiles"
	"scoville/sim/validate"
)

// validateCommand predicts measured benchmark tables and scores the predictions.
func validateCommand() *cli.Command {
	return &cli.Command{
		Name:  "validate",
		Usage: "predict measured benchmark tables by simulation, each under its own load, and score the errors",
		Description: "Never fits anything. DATA holds tables as CSV files under their usual names; tables that it lacks are passed over.\n" +
			"Exits 0 whatever the errors, 2 on bad input, 1 only if --max-error names limits that are exceeded.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "data", Value: "../shared/data/measured", Usage: "folder of measured tables"},
			&cli.StringSliceFlag{Name: "table", Usage: "run only this table; may be repeated"},
			&cli.BoolFlag{Name: "calibrate", Usage: "also score InferenceX sweeps calibrated on three of their loads (takes minutes)"},
			&cli.StringFlag{Name: "plots", Usage: "folder for a scatter plot (PNG) of each figure that a target is set on"},
			&cli.StringFlag{Name: "out", Usage: "Markdown report to write, such as docs/accuracy.md"},
			&cli.StringFlag{Name: "scores", Usage: "TOML of errors by chip, engine and figure to write, such as profiles/accuracy.toml"},
			&cli.StringFlag{Name: "max-error", Usage: "TOML of [[limit]] entries: table, metric, statistic (mape, median or worst), error"},
			&cli.StringFlag{Name: "date", Usage: "date to print on the report (default: today)"},
			&cli.StringFlag{Name: "commit", Usage: "commit to print on the report (default: the one it was built from)"},
			seedFlag(), formatFlag(), quietFlag(),
		},
		Action: validateAction,
	}
}

func validateAction(c *cli.Context) error {
	f, err := format(c, "table", "json")
	if err != nil {
		return err
	}
	if err := exactArgs(c); err != nil {
		return err
	}
	var limits []validate.Target
	if path := c.String("max-error"); path != "" {
		if limits, err = validate.ReadLimits(path); err != nil {
			return err
		}
	}
	options := validate.Options{Data: c.String("data"), Tables: c.StringSlice("table"), Seed: c.Uint64("seed"), Progress: validateProgress(c)}
	report, err := validate.Full(c.Context, options, c.Bool("calibrate"))
	if err != nil {
		return err
	}
	if dir := c.String("plots"); dir != "" {
		if report.Plots, err = validate.Plots(dir, report.Points); err != nil {
			return err
		}
	}
	if path := c.String("out"); path != "" {
		if err := writeAccuracy(c, path, report); err != nil {
			return err
		}
	}
	if path := c.String("scores"); path != "" {
		if err := writeScores(c, path, report); err != nil {
			return err
		}
	}
	if f == "json" {
		err = printJSON(c.App.Writer, report)
	} else {
		err = printScores(c.App.Writer, report)
	}
	if err != nil {
		return err
	}
	return exceeded(validate.Check(report.Points, limits))
}

func exceeded(verdicts []validate.Verdict) error {
	for _, v := range verdicts {
		if !v.Met {
			return verdictFailed(fmt.Errorf("validate: %s %s: %s error %.1f %% exceeds %.1f %% (%d rows)", v.Table, v.Metric, v.Statistic, 100*v.Reached, 100*v.Limit, v.N))
		}
	}
	return nil
}

func validateProgress(c *cli.Context) func(done, total int) {
	if c.Bool("quiet") || !interactive(c.App.ErrWriter) {
		return nil
	}
	var mu sync.Mutex
	last := time.Time{}
	return func(done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if done < total && time.Since(last) < 200*time.Millisecond {
			return
		}
		last = time.Now()
		end := "\r"
		if done == total {
			end = "\n"
		}
		fmt.Fprintf(c.App.ErrWriter, "validate: %d of %d simulations%s", done, total, end)
	}
}

// validateStamp is the date and commit that reports carry.
func validateStamp(c *cli.Context) validate.Stamp {
	s := validate.Stamp{Date: c.String("date"), Commit: c.String("commit"), Command: "scoville validate"}
	if s.Date == "" {
		s.Date = time.Now().UTC().Format("2006-01-02")
	}
	if s.Commit == "" {
		s.Commit = version()
	}
	return s
}

func writeScores(c *cli.Context, path string, r *validate.Report) error {
	vendor := func(name string) string {
		chip, err := profiles.Chip(name)
		if err != nil {
			return "" // a chip of the user's own
		}
		return chip.Vendor
	}
	var b bytes.Buffer
	if err := validate.WriteAccuracy(&b, validate.Accuracy(r.Points, vendor, validateStamp(c))); err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, b.Bytes())
}

func writeAccuracy(c *cli.Context, path string, r *validate.Report) error {
	relative := *r
	relative.Plots = validate.RelativePlots(path, c.String("plots"), r.Plots)
	var b bytes.Buffer
	if err := validate.WriteMarkdown(&b, &relative, validateStamp(c)); err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, b.Bytes())
}

func printScores(w io.Writer, r *validate.Report) error {
	t := plainTable()
	t.SetTitle("Targets")
	t.AppendHeader(table.Row{"table", "figure", "statistic", "asked", "reached", "rows", "met"})
	for _, v := range r.Targets {
		if v.N > 0 {
			t.AppendRow(table.Row{v.Table, v.Metric, v.Statistic, pct(v.Limit), pct(v.Reached), v.N, v.Met})
		}
	}
	s := scoreTable("Errors by table", r.ByTable)
	if _, err := fmt.Fprintf(w, "%s\n%s\n", t.Render(), s.Render()); err != nil {
		return err
	}
	for _, g := range []struct {
		title string
		list  []validate.Score
	}{{"by chip", r.ByChip}, {"by model", r.ByModel}, {"by engine", r.ByEngine}, {"by load", r.ByRegime}, {"by tensor-parallel degree", r.ByTensor}, {"calibrated on three loads a sweep", r.ThreePoint}} {
		if len(g.list) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s\n", scoreTable("Errors "+g.title, g.list).Render()); err != nil {
			return err
		}
	}
	return printRest(w, r)
}

func printRest(w io.Writer, r *validate.Report) error {
	l := plainTable()
	l.SetTitle("Other simulators on the same rows")
	l.AppendHeader(table.Row{"table", "simulator", "figure", "rows", "its mean", "its median", "our mean", "our median"})
	for _, x := range r.League {
		l.AppendRow(table.Row{x.Table, x.Simulator, x.Metric, x.N, pct(x.Theirs), pct(x.TheirMedian), pct(x.Ours), pct(x.OurMedian)})
	}
	worst := plainTable()
	worst.SetTitle("Worst rows")
	worst.AppendHeader(table.Row{"table", "row", "figure", "measured", "predicted", "error"})
	for _, p := range r.Worst {
		worst.AppendRow(table.Row{p.Table, p.ID, p.Metric, fmt.Sprintf("%.4g", p.Measured), fmt.Sprintf("%.4g", p.Predicted), fmt.Sprintf("%+.0f %%", 100*p.Error())})
	}
	skipped := plainTable()
	skipped.SetTitle("Rows left out")
	skipped.AppendHeader(table.Row{"table", "rows", "reason"})
	for _, x := range r.Reasons {
		skipped.AppendRow(table.Row{x.Table, x.Rows, x.Reason})
	}
	if len(r.League) > 0 {
		if _, err := fmt.Fprintln(w, l.Render()); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n", worst.Render(), skipped.Render())
	return err
}

func scoreTable(title string, list []validate.Score) table.Writer {
	t := plainTable()
	t.SetTitle(title)
	t.AppendHeader(table.Row{"table", "group", "figure", "rows", "mean", "median", "p90", "bias", "worst", "within 10 %"})
	for _, s := range list {
		t.AppendRow(table.Row{s.Table, s.Group, s.Metric, s.N, pct(s.MAPE), pct(s.Median), pct(s.P90), fmt.Sprintf("%+.1f %%", 100*s.Bias), pct(s.Worst), pct(s.Within10)})
	}
	return t
}

func pct(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
