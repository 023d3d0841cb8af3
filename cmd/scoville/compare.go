package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v2"
	"scoville/model/cost"
	"scoville/model/cost/breakeven"
	"scoville/reports"
	"scoville/sim/plan"
)

// compareCommand sets candidates against each other, with the source of every figure.
func compareCommand() *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "candidates at one SLA and load: cost, power, break-evens, a buyer's questions, every source",
		ArgsUsage: "PLAN.toml | RESULT.json | COST.toml COST.toml...",
		Description: "A plan file is simulated; a saved result is read; two or more cost files (docs/cost.md) are compared as given, without a simulation.\n\n" +
			"   scoville compare examples/gpu-vs-asic.toml\n" +
			"   scoville compare out/plan.json\n" +
			"   scoville compare examples/cost-own-h100.toml examples/cost-hosted-api.toml",
		Flags:  []cli.Flag{formatFlag(), seedFlag(), quietFlag(), &cli.StringSliceFlag{Name: "set", Usage: "override a key of the plan: `KEY=VALUE`; repeatable"}},
		Action: compareAction,
	}
}

func compareAction(c *cli.Context) error {
	f, err := format(c, "table", "json", "csv")
	if err != nil {
		return err
	}
	if c.Args().Len() > 1 {
		return compareFiles(c, f)
	}
	if err := exactArgs(c, "PLAN.toml or RESULT.json"); err != nil {
		return err
	}
	r, err := planned(c)
	if err != nil {
		return err
	}
	if f == "json" {
		return printJSON(c.App.Writer, struct {
			Candidates  []plan.Candidate  `json:"candidates"`
			Comparison  *plan.Comparison  `json:"comparison"`
			Assumptions []plan.Assumption `json:"assumptions"`
		}{r.Candidates, r.Comparison, r.Assumptions})
	}
	return printComparison(c.App.Writer, r, f == "csv")
}

// planned is the result of a plan: read when saved, computed when a plan file.
func planned(c *cli.Context) (*plan.Result, error) {
	name := c.Args().First()
	if strings.EqualFold(filepath.Ext(name), ".json") {
		return reports.Read(name)
	}
	f, err := plan.Read(name, c.StringSlice("set"))
	if err != nil {
		return nil, err
	}
	bar := newProgress(c)
	r, err := plan.Run(c.Context, f, plan.Options{Seed: c.Uint64("seed"), Version: version(), Command: planCommandLine(c), Progress: bar.stage})
	bar.stop()
	var none *plan.NoAnswer
	if errors.As(err, &none) && none.Limited {
		return nil, noAnswer(none)
	}
	return r, err
}

func printComparison(w io.Writer, r *plan.Result, csv bool) error {
	t := costTable(w, 1, 3, 4, 5, 6, 7, 8, 9, 10)
	t.AppendHeader(table.Row{"#", "candidate", "chips", "mean kW", "TCO USD", "USD/M both", "USD/M output", "USD/M at 100 %", "tokens/s/W", "P(cheapest)", "why not"})
	cheapest := map[string]float64{}
	if r.Comparison != nil {
		for _, s := range r.Comparison.ProbabilityCheapest {
			cheapest[s.Name] = s.Share
		}
	}
	for _, c := range r.Candidates {
		if c.Cost == nil {
			t.AppendRow(table.Row{c.Rank, c.Name, "", "", "", "", "", "", "", "", c.Reason})
			continue
		}
		p := ""
		if v, ok := cheapest[c.Name]; ok {
			p = fmt.Sprintf("%.3f", v)
		}
		t.AppendRow(table.Row{c.Rank, c.Name, c.Fleet.Chips, fmt.Sprintf("%.2f", c.Fleet.MeanKilowatts), fmt.Sprintf("%.0f", c.Cost.TCO), fmt.Sprintf("%.4f", c.Cost.PerMBoth),
			fmt.Sprintf("%.4f", c.Cost.PerMOutput), fmt.Sprintf("%.4f", c.Cost.PerMBothFull), fmt.Sprintf("%.3f", c.Cost.TokensPerSecondPerWatt), p, c.Reason})
	}
	if csv {
		t.RenderCSV()
		return nil
	}
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 11, WidthMax: 60}})
	t.Render()
	if r.Comparison != nil {
		for _, b := range r.Comparison.Beats {
			if b.Candidate != r.Comparison.Winner {
				continue // every pair is in the JSON
			}
			fmt.Fprintf(w, "P(%s costs less than %s) = %.3f\n", b.Candidate, b.Against, b.Probability)
		}
		for _, b := range r.Comparison.BreakEvens {
			fmt.Fprintln(w, "break-even:", b.Note)
		}
	}
	printQuestions(w, r)
	printSources(w, r)
	return nil
}

// printQuestions prints each candidate's questions, the answer under its question, in lines of 100 columns.
func printQuestions(w io.Writer, r *plan.Result) {
	for _, c := range r.Candidates {
		if len(c.Questions) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", c.Name)
		for _, q := range c.Questions {
			fmt.Fprintf(w, "  %s\n", q.Question)
			for line := range strings.SplitSeq(text.WrapSoft(q.Answer, 94), "\n") {
				fmt.Fprintf(w, "      %s\n", strings.TrimRight(line, " "))
			}
		}
	}
	fmt.Fprintln(w)
}

func printSources(w io.Writer, r *plan.Result) {
	t := costTable(w)
	t.AppendHeader(table.Row{"group", "assumption", "value", "kind", "date", "source"})
	for _, a := range r.Assumptions {
		t.AppendRow(table.Row{a.Group, a.Name, a.Value, a.Kind, a.Date, a.Source})
	}
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, WidthMax: 40}, {Number: 3, WidthMax: 30}, {Number: 6, WidthMax: 60}})
	t.Render()
}

// side is one cost file in a comparison; a hosted price list has no result of its own.
type side struct {
	Name        string             `json:"name"`
	PerMBoth    float64            `json:"per_m_tokens"`
	Result      *cost.Result       `json:"result,omitempty"`
	Assumptions []cost.Line        `json:"assumptions,omitempty"`
	BreakEvens  []breakeven.Answer `json:"break_evens,omitempty"` // against the cheapest
}

// compareFiles compares cost files as given.
func compareFiles(c *cli.Context, form string) error {
	var sides []side
	var deployments []breakeven.Deployment
	for _, name := range c.Args().Slice() {
		f, err := readCostFile(name)
		if err != nil {
			return err
		}
		d, err := deployment(f, filepath.Dir(name))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s := side{Name: d.Name, PerMBoth: d.PerMillion()}
		if d.Hosted == nil {
			if s.Result, err = cost.Evaluate(d.Input, d.Assumptions); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			s.Assumptions = d.Assumptions.Lines()
		}
		sides, deployments = append(sides, s), append(deployments, d)
	}
	best := 0
	for i := range sides {
		if sides[i].PerMBoth < sides[best].PerMBoth {
			best = i
		}
	}
	for i := range sides {
		if i == best {
			continue
		}
		answers, err := solveAll(deployments[i], deployments[best], nil)
		if err != nil {
			return err
		}
		sides[i].BreakEvens = answers
	}
	if form == "json" {
		return printJSON(c.App.Writer, sides)
	}
	return printSides(c.App.Writer, sides, form == "csv")
}

func printSides(w io.Writer, sides []side, csv bool) error {
	t := costTable(w, 3, 4, 5, 6, 7, 8)
	t.AppendHeader(table.Row{"candidate", "how", "chips-hours", "TCO", "NPV", "per M both", "per M at 100 %", "tokens/s/W"})
	for _, s := range sides {
		if s.Result == nil {
			t.AppendRow(table.Row{s.Name, "hosted", "", "", "", fmt.Sprintf("%.4f", s.PerMBoth), "", ""})
			continue
		}
		r := s.Result
		t.AppendRow(table.Row{s.Name, r.Ownership, fmt.Sprintf("%.0f", r.ChipHours), money(r.TCO), money(r.NPV), fmt.Sprintf("%.4f", s.PerMBoth),
			fmt.Sprintf("%.4f", r.FullLoad.Both), fmt.Sprintf("%.3f", r.Energy.FullTokensPerSecondPerW)})
	}
	if csv {
		t.RenderCSV()
		return nil
	}
	t.Render()
	for _, s := range sides {
		for _, b := range s.BreakEvens {
			fmt.Fprintln(w, "break-even:", b.Note)
		}
	}
	for _, s := range sides {
		if s.Result == nil {
			continue
		}
		fmt.Fprintln(w, s.Name)
		printAssumptions(w, s.Assumptions)
		for _, f := range s.Result.Warnings {
			fmt.Fprintln(w, "warning:", f)
		}
	}
	return nil
}
