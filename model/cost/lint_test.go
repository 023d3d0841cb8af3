package cost

import (
	"strings"
	"testing"

	"scoville/model/fact"
)

// Each slip must be found, and the plain case must be free of it.
func TestLintFindsEachSlip(t *testing.T) {
	flat := func(in *Input, u float64) { in.Full = in.Mean.Times(1 / (u * (1 - in.RetryShare))) }
	for _, c := range []struct {
		rule, words string
		change      func(*Input, *Assumptions)
	}{
		{"full-utilisation", "100.0 %", func(in *Input, a *Assumptions) { flat(in, 1) }},
		{"overload", "125 %", func(in *Input, a *Assumptions) { flat(in, 1.25) }},
		{"overload", "busiest hour", func(in *Input, a *Assumptions) {
			in.HourlyMultipliers = make([]float64, 24)
			in.HourlyMultipliers[9], in.HourlyMultipliers[10] = 1, 1
		}},
		{"ceiling", "too low by", func(in *Input, a *Assumptions) { in.CeilingOutputTokensPerSecond = in.Full.OutputTokensPerSecond / 2 }},
		{"unit", "per chip and in dollars", func(in *Input, a *Assumptions) { a.Buying.Accelerator.Price = Given(27.5) }},
		{"unit", "per chip and in dollars", func(in *Input, a *Assumptions) { a.Buying.Accelerator.Price = Given(320_000) }},
		{"unit", "not cents", func(in *Input, a *Assumptions) { a.Running.Electricity.USDPerKWh = Given(8) }},
		{"unit", "MW or year", func(in *Input, a *Assumptions) { a.Running.ColocationUSDPerKW = Given(1950) }},
		{"unit", "kilowatts", func(in *Input, a *Assumptions) { in.Power = []PowerPoint{{1, 0.7}} }},
		{"unit", "per node, or in cents", func(in *Input, a *Assumptions) {
			a.Ownership, a.Renting = Rent, []Lease{{Tier: "on-demand", USDPerChipHour: Given(55.04)}}
		}},
		{"unit", "slip of 1000", func(in *Input, a *Assumptions) { in.Mean = in.Mean.Times(1e-4) }},
		{"zero-power", "no power", func(in *Input, a *Assumptions) { in.Power = nil }},
		{"not-counted", "storage", func(in *Input, a *Assumptions) {}},
		{"stale", "days old on 2026-11-30", func(in *Input, a *Assumptions) {
			a.AsOf = "2026-11-30"
			a.Buying.Accelerator.Price = Sourced(27500, fact.Estimate, "x", "2026-01-15")
		}},
	} {
		in, a := owned()
		before := evaluate(t, in, a)
		c.change(&in, &a)
		found := ""
		for _, f := range evaluate(t, in, a).Warnings {
			if f.Rule == c.rule && strings.Contains(f.Message, c.words) {
				found = f.String()
			}
		}
		if found == "" {
			t.Errorf("%s (%s) not found", c.rule, c.words)
		}
		for _, f := range before.Warnings {
			if f.Rule == c.rule && c.rule != "not-counted" {
				t.Errorf("the plain case has %v", f)
			}
		}
	}
}

func TestZeroCapexIsFound(t *testing.T) {
	in, a := owned()
	for _, asset := range []*Asset{&a.Buying.Accelerator, &a.Buying.Host, &a.Buying.Network} {
		asset.Price = Given(0)
	}
	if got := rules(evaluate(t, in, a).Warnings); !strings.Contains(got, "zero-capex") {
		t.Errorf("findings %q", got)
	}
}

func TestFreshPricesAreNotStale(t *testing.T) {
	in, a := owned()
	a.AsOf = "2026-06-01"
	a.Buying.Accelerator.Price.Date, a.Buying.Host.Price.Date, a.Buying.Network.Price.Date = "2026-01-01", "2026-05", "2026-04-01"
	a.Running.ColocationUSDPerKW.Date = "2026-02"
	for _, f := range evaluate(t, in, a).Warnings {
		if f.Rule == "stale" {
			t.Errorf("%v", f)
		}
	}
}
