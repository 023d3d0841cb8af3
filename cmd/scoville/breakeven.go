package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"
	"scoville/model/cost"
	"scoville/model/cost/breakeven"
)

// breakevenCommand finds where two deployments cost the same, and what an unpublished chip must reach.
func breakevenCommand() *cli.Command {
	flags := append(fleetFlags(),
		&cli.StringSliceFlag{Name: "variable", Usage: "price, rent, utilisation, efficiency or volume; may be repeated; default: all that apply"},
		&cli.StringFlag{Name: "against-chip", Usage: "chip of the other deployment; the rest of its fleet is as given for the first, where not said otherwise"},
		&cli.IntFlag{Name: "against-chips", Usage: "its chips for the same traffic"},
		&cli.StringFlag{Name: "against-ownership", Usage: "buy or rent"},
		&cli.Float64Flag{Name: "against-price", Usage: "its price: a chip to buy, a chip-hour to rent"},
		&cli.Float64Flag{Name: "api-input", Usage: "instead of another fleet: a hosted API's US dollars per million input tokens"},
		&cli.Float64Flag{Name: "api-cached-input", Usage: "its price per million cached input tokens"},
		&cli.Float64Flag{Name: "api-output", Usage: "its price per million output tokens"},
		formatFlag(),
	)
	return &cli.Command{
		Name:      "breakeven",
		Usage:     "price, rent, utilisation, efficiency or volume at which one deployment costs what another does",
		ArgsUsage: "[FILE.toml AGAINST.toml]",
		Description: "Two cost files (docs/cost.md), or flags alone:\n" +
			"scoville breakeven --chip mi300x --chips 32 --ownership rent --tokens-in-per-second 20000 --tokens-out-per-second 6000 --utilisation 0.5 --against-chip h100-sxm --against-chips 48",
		Flags:  flags,
		Action: breakevenAction,
		Subcommands: []*cli.Command{{
			Name: "target", Usage: "what a chip of unknown specifications must reach to beat an incumbent", ArgsUsage: "FILE.toml",
			Flags: []cli.Flag{formatFlag()}, Action: targetAction,
		}},
	}
}

func breakevenAction(c *cli.Context) error {
	f, err := format(c, "table", "json", "csv")
	if err != nil {
		return err
	}
	a, b, err := twoDeployments(c)
	if err != nil {
		return err
	}
	answers, err := solveAll(a, b, c.StringSlice("variable"))
	if err != nil {
		return err
	}
	if f == "json" {
		return printJSON(c.App.Writer, answers)
	}
	return printAnswers(c.App.Writer, answers, f == "csv")
}

// solveAll solves the variables asked for; none asked for means all that the first deployment has.
func solveAll(a, b breakeven.Deployment, asked []string) ([]breakeven.Answer, error) {
	var answers []breakeven.Answer
	all := len(asked) == 0
	if all {
		asked = breakeven.Variables()
	}
	for _, v := range asked {
		ans, err := breakeven.Solve(a, b, breakeven.Variable(v))
		if err != nil && all && breakeven.NotApplicable(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("breakeven: %w", err)
		}
		answers = append(answers, ans)
	}
	return answers, nil
}

// twoDeployments reads both sides from two files or from flags.
func twoDeployments(c *cli.Context) (a, b breakeven.Deployment, err error) {
	switch c.Args().Len() {
	case 0:
		first, err := readCostFile("")
		if err != nil {
			return a, b, err
		}
		if err := fleetOverrides(c, first); err != nil {
			return a, b, err
		}
		other := against(c, first)
		if a, err = deployment(first, "."); err != nil {
			return a, b, err
		}
		b, err = deployment(other, ".")
		return a, b, err
	case 2:
		for i, to := range []*breakeven.Deployment{&a, &b} {
			name := c.Args().Get(i)
			file, err := readCostFile(name)
			if err != nil {
				return a, b, err
			}
			if *to, err = deployment(file, filepath.Dir(name)); err != nil {
				return a, b, fmt.Errorf("%s: %w", name, err)
			}
		}
		return a, b, nil
	}
	return a, b, exactArgs(c, "FILE.toml", "AGAINST.toml")
}

// against is the other side by flags: the same traffic, another chip or a hosted price.
func against(c *cli.Context, first *cost.File) *cost.File {
	other := *first
	other.Cost = cost.Default()
	other.Cost.HorizonMonths, other.Cost.HoursPerMonth, other.Cost.Ownership = first.Cost.HorizonMonths, first.Cost.HoursPerMonth, first.Cost.Ownership
	other.Cost.Running, other.Cost.CostOfCapital, other.Cost.Method = first.Cost.Running, first.Cost.CostOfCapital, first.Cost.Method
	other.Title, other.PriceTier, other.PriceProvider = "against", "", ""
	other.Fleet.Power, other.Fleet.ChipsPerNode, other.Fleet.NodeOverheadWatts = nil, 0, 0
	if c.IsSet("against-chip") {
		other.Chip, other.Title = c.String("against-chip"), c.String("against-chip")
	}
	if c.IsSet("against-chips") {
		other.Fleet.Chips = c.Int("against-chips")
	}
	if c.IsSet("against-ownership") {
		other.Cost.Ownership = c.String("against-ownership")
	}
	if other.Title == first.Chip {
		other.Title = first.Chip + ", " + other.Cost.Ownership
	}
	if c.IsSet("against-price") {
		setPrice(&other.Cost, c.Float64("against-price"))
	}
	if c.IsSet("api-input") || c.IsSet("api-output") {
		other.Title = "hosted API"
		other.Hosted = &cost.Hosted{Input: cost.Given(c.Float64("api-input")), Output: cost.Given(c.Float64("api-output"))}
		if c.IsSet("api-cached-input") {
			other.Hosted.CachedInput = cost.Given(c.Float64("api-cached-input"))
		}
	}
	return &other
}

// deployment completes a cost file into one side of a comparison.
func deployment(f *cost.File, folder string) (breakeven.Deployment, error) {
	p, err := completeCost(f, folder)
	if err != nil {
		return breakeven.Deployment{}, err
	}
	d := breakeven.Deployment{Name: p.input.Name, Input: p.input, Assumptions: p.costs, ReplicaChips: f.ReplicaChips}
	if f.Hosted != nil {
		prices := f.Hosted.Prices()
		d.Hosted = &prices
	}
	if d.Name == "" {
		d.Name = "candidate"
	}
	return d, d.Check()
}

func printAnswers(w io.Writer, answers []breakeven.Answer, csv bool) error {
	t := costTable(w, 4, 5, 6)
	t.AppendHeader(table.Row{"candidate", "against", "variable", "now", "break-even", "gap now", "unit"})
	for _, a := range answers {
		at := "none"
		if a.Exists {
			at = fmt.Sprintf("%.5g", a.At)
		}
		t.AppendRow(table.Row{a.Candidate, a.Against, a.Variable, fmt.Sprintf("%.5g", a.Now), at, fmt.Sprintf("%+.1f %%", 100*(a.Cost/a.Versus-1)), a.Unit})
	}
	if csv {
		t.RenderCSV()
		return nil
	}
	t.Render()
	for _, a := range answers {
		fmt.Fprintln(w, a.Note)
	}
	if len(answers) > 0 {
		fmt.Fprintf(w, "now: %s costs %.4f and %s %.4f USD for a million tokens, input and output together\n", answers[0].Candidate, answers[0].Cost, answers[0].Against, answers[0].Versus)
	}
	return nil
}

func targetAction(c *cli.Context) error {
	f, err := format(c, "table", "json", "csv")
	if err != nil {
		return err
	}
	if err := exactArgs(c, "FILE.toml"); err != nil {
		return err
	}
	name := c.Args().First()
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	study, err := breakeven.DecodeStudy(name, data)
	if err != nil {
		return err
	}
	r, err := study.Run()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if f == "json" {
		return printJSON(c.App.Writer, r)
	}
	return printTarget(c.App.Writer, r, f == "csv")
}

func printTarget(w io.Writer, r *breakeven.StudyResult, csv bool) error {
	t := costTable(w, 3, 4)
	t.AppendHeader(table.Row{"specification", "", "assumed", "needed", "unit"})
	for _, q := range r.Needed {
		needed := "none"
		if q.Exists {
			needed = fmt.Sprintf("%.5g", q.Needed)
		}
		t.AppendRow(table.Row{q.Dimension, q.Bound(), fmt.Sprintf("%.5g", q.Assumed), needed, q.Unit})
	}
	front := costTable(w, 1, 2)
	front.AppendHeader(table.Row{"bandwidth, bytes/s", "highest price, USD"})
	for _, p := range r.Frontier {
		price := "none"
		if p.Exists {
			price = fmt.Sprintf("%.5g", p.PriceUSD)
		}
		front.AppendRow(table.Row{fmt.Sprintf("%.4g", p.BytesPerSecond), price})
	}
	if csv {
		t.RenderCSV()
		front.RenderCSV()
		return nil
	}
	fmt.Fprintf(w, "%s against %s at %.4f USD for a million tokens, to be beaten by %.0f %%: at most %.4f; as assumed it costs %.4f\n", r.Chip, r.Incumbent, r.IncumbentPrice, 100*r.Margin, r.Goal, r.AsAssumed)
	t.Render()
	for _, q := range r.Needed {
		fmt.Fprintln(w, q.Note)
	}
	if len(r.Frontier) > 0 {
		front.Render()
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, "note:", n)
	}
	return nil
}
