package main

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v2"
	"scoville/model/cost"
)

// costTable is a table with numbers to the right.
func costTable(w io.Writer, numbers ...int) table.Writer {
	t := plainTable()
	t.SetOutputMirror(w)
	var columns []table.ColumnConfig
	for _, n := range numbers {
		columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	return t
}

// money is an amount with thousands separated, as people read it.
func money(m cost.Money) string {
	s := m.StringFixed(2)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 6; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

func printCost(c *cli.Context, r *cost.Result, p *priced) error {
	w := c.App.Writer
	fmt.Fprintf(w, "%s: %d chips, %s, %d months, utilisation %.1f %%\n\n", r.Name, p.input.Chips, r.Ownership, r.HorizonMonths, 100*r.Utilisation)
	printTotals(w, r)
	printPrices(w, r)
	printEnergy(w, r)
	printAssumptions(w, p.costs.Lines())
	for _, n := range p.notes {
		fmt.Fprintln(w, "note:", n)
	}
	for _, d := range r.Definitions {
		fmt.Fprintln(w, "definition:", d)
	}
	for _, f := range r.Warnings {
		fmt.Fprintln(w, "warning:", f)
	}
	return nil
}

func printTotals(w io.Writer, r *cost.Result) {
	t := costTable(w, 3, 4)
	t.AppendHeader(table.Row{"cost over the horizon", "", r.Currency, "share"})
	for _, p := range r.Components {
		t.AppendRow(table.Row{p.Name, p.Kind, money(p.Amount), share(p.Amount, r.TCO)})
	}
	t.AppendSeparator()
	t.AppendRow(table.Row{"TCO", "", money(r.TCO), ""})
	t.AppendRow(table.Row{"  a month", "", money(r.Monthly), ""})
	t.AppendRow(table.Row{fmt.Sprintf("NPV at %.1f %% a year", 100*r.DiscountRate), "", money(r.NPV), ""})
	if o := r.OtherMethod; o != nil {
		t.AppendRow(table.Row{"TCO by " + o.Method, "", money(o.TCO), ""})
	}
	t.AppendSeparator()
	for _, p := range r.Use {
		t.AppendRow(table.Row{"of it " + p.Name, p.Kind, money(p.Amount), share(p.Amount, r.TCO)})
	}
	t.Render()
}

func share(part, whole cost.Money) string {
	if whole.IsZero() {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*part.Float()/whole.Float())
}

func printPrices(w io.Writer, r *cost.Result) {
	t := costTable(w, 2, 3)
	t.AppendHeader(table.Row{r.Currency + " for a million tokens", "actual", "at 100 %"})
	add := func(name string, of func(cost.Prices) float64) {
		t.AppendRow(table.Row{name, fmt.Sprintf("%.4f", of(r.Actual)), fmt.Sprintf("%.4f", of(r.FullLoad))})
	}
	add("input and output together", func(p cost.Prices) float64 { return p.Both })
	add("output, all cost on it", func(p cost.Prices) float64 { return p.PerOutput })
	add("input, by price ratio", func(p cost.Prices) float64 { return p.ByPriceRatio.Input })
	if r.Tokens.Cached > 0 {
		add("cached input, by price ratio", func(p cost.Prices) float64 { return p.ByPriceRatio.CachedInput })
	}
	add("output, by price ratio", func(p cost.Prices) float64 { return p.ByPriceRatio.Output })
	if r.Actual.ByChipSeconds != nil {
		add("input, by chip-seconds", func(p cost.Prices) float64 { return p.ByChipSeconds.Input })
		add("output, by chip-seconds", func(p cost.Prices) float64 { return p.ByChipSeconds.Output })
	}
	if r.Actual.PerRequest > 0 {
		add("a thousand requests", func(p cost.Prices) float64 { return 1000 * p.PerRequest })
	}
	t.Render()
}

func printEnergy(w io.Writer, r *cost.Result) {
	e := r.Energy
	t := costTable(w, 2)
	t.AppendHeader(table.Row{"power and energy", ""})
	t.AppendRow(table.Row{"provisioned IT power, kW", fmt.Sprintf("%.1f", e.ProvisionedITKilowatts)})
	t.AppendRow(table.Row{"mean at the facility, kW", fmt.Sprintf("%.1f", e.MeanFacilityKilowatts)})
	t.AppendRow(table.Row{"kWh for a million tokens", fmt.Sprintf("%.4f", r.Actual.KWhPerM)})
	t.AppendRow(table.Row{"J for a token", fmt.Sprintf("%.4f", r.Actual.JoulesPerTok)})
	carbon := "unknown: give running.grid_kgco2e_per_kwh or --region"
	if k := r.Actual.KgCO2ePerM; k != nil {
		carbon = fmt.Sprintf("%.4f", *k)
	}
	t.AppendRow(table.Row{"kgCO2e for a million tokens", carbon})
	t.AppendRow(table.Row{"tokens/s for a facility MW at 100 %", fmt.Sprintf("%.0f", e.FullTokensPerSecondPerMW)})
	t.Render()
}

func printAssumptions(w io.Writer, lines []cost.Line) {
	t := costTable(w, 2)
	t.AppendHeader(table.Row{"assumption", "value", "unit", "kind", "date", "source"})
	for _, l := range lines {
		t.AppendRow(table.Row{l.Name, fmt.Sprintf("%.5g", l.Value), l.Unit, l.Kind, l.Date, l.Source})
	}
	t.Render()
}
