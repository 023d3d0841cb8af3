package cost

import (
	"fmt"
	"time"
)

// Lint looks for the slips that make a cost wrong: units, utilisation, costs left out, stale prices, throughput beyond
// physics. Findings are doubts, not errors: they travel with the result and are printed as footnotes.
func Lint(in Input, a Assumptions, r *Result) []Finding {
	var l lint
	l.load(in, r)
	l.units(in, a, r)
	l.leftOut(in, a, r)
	l.stale(a)
	return l.found
}

type lint struct{ found []Finding }

func (l *lint) add(rule, form string, args ...any) {
	l.found = append(l.found, Finding{rule, fmt.Sprintf(form, args...)})
}

// load judges utilisation and throughput.
func (l *lint) load(in Input, r *Result) {
	switch {
	case r.Utilisation > 1+1e-9:
		l.add("overload", "the mean load is %.0f %% of what the fleet holds within its SLA; costs per token assume it is served anyway", 100*r.Utilisation)
	case r.Utilisation > 0.95:
		l.add("full-utilisation", "utilisation is %.1f %% in every hour of the horizon; traffic has nights and weekends, and real fleets are rarely above 60 to 70 %%", 100*r.Utilisation)
	}
	peakHour := 0.0
	for _, m := range in.hourly() {
		peakHour = max(peakHour, m)
	}
	if r.Utilisation <= 1 && peakHour*r.Utilisation > 1+1e-9 {
		l.add("overload", "in the busiest hour the load is %.0f %% of what the fleet holds", 100*peakHour*r.Utilisation)
	}
	if c := in.CeilingOutputTokensPerSecond; c > 0 && in.full().OutputTokensPerSecond > c {
		l.add("ceiling", "%.0f output tokens/s are claimed, memory bandwidth and peak FLOPS allow at most %.0f: the cost is too low by %.1fx or more",
			in.full().OutputTokensPerSecond, c, in.full().OutputTokensPerSecond/c)
	}
}

// units finds figures off by the usual factors of 100, 1000 or a node's chips.
func (l *lint) units(in Input, a Assumptions, r *Result) {
	plausible := func(what string, f Figure, low, high float64, hint string) {
		if f.Value != 0 && (f.Value < low || f.Value > high) {
			l.add("unit", "%s is %g; %g to %g would be usual: %s", what, f.Value, low, high, hint)
		}
	}
	if a.Ownership == Rent {
		for _, lease := range a.Renting {
			plausible("rent per chip-hour", lease.USDPerChipHour, 0.05, 30, "is it per node, or in cents?")
		}
	} else {
		plausible("price of an accelerator", a.Buying.Accelerator.Price, 200, 200_000, "is it per chip and in dollars, not per node or in thousands?")
	}
	plausible("electricity per kWh", a.Running.Electricity.USDPerKWh, 0.01, 0.8, "is it in dollars per kWh, not cents or per MWh?")
	plausible("colocation per kW-month", a.Running.ColocationUSDPerKW, 20, 1000, "is it per kW and month, not per MW or year?")
	for _, p := range in.Power {
		if p.WattsPerChip > 0 && (p.WattsPerChip < 5 || p.WattsPerChip > 5000) {
			l.add("unit", "a chip draws %g W at %.0f %% load; 5 to 5000 W would be usual: is it kilowatts, or a whole node?", p.WattsPerChip, 100*p.LoadShare)
		}
	}
	if m := r.Actual.Both; m > 0 && (m < 0.0005 || m > 1000) {
		l.add("unit", "a million tokens costs %.3g: that is outside 0.0005 to 1000, a slip of 1000 between tokens, thousands and millions is likely", m)
	}
}

// leftOut names costs that are zero because nobody gave them.
func (l *lint) leftOut(in Input, a Assumptions, r *Result) {
	if a.Ownership == Buy && !r.Capex.IsPositive() {
		l.add("zero-capex", "owned hardware costs nothing: give buy.accelerator.price")
	}
	if a.paysPower() && in.watts(1) == 0 {
		l.add("zero-power", "the chips draw no power: energy and provisioned power are not in the total")
	}
	if a.Ownership != Buy {
		return
	}
	for _, c := range []struct {
		name string
		zero bool
	}{
		{"network", a.Buying.Network.Price.Value == 0}, {"storage", a.Buying.Storage.Price.Value == 0},
		{"maintenance", a.Running.MaintenanceShare.Value == 0}, {"installation", a.Buying.Installation.Price.Value == 0},
	} {
		if c.zero {
			l.add("not-counted", "%s is not in the total: no public figure stands behind a default, give your own", c.name)
		}
	}
}

// stale names the prices older than StaleDays at a.AsOf.
func (l *lint) stale(a Assumptions) {
	asOf, err := time.Parse(time.DateOnly, a.AsOf)
	if err != nil {
		return
	}
	for _, p := range a.prices() {
		if p.Value == 0 || p.Date == "" {
			continue
		}
		day, err := ParseDate(p.Date)
		if err != nil {
			l.add("stale", "%s: %v", p.name, err)
			continue
		}
		if age := int(asOf.Sub(day).Hours() / 24); age > StaleDays {
			l.add("stale", "%s (%g) is %d days old on %s; prices older than %d days need a fresh look (%s)", p.name, p.Value, age, a.AsOf, StaleDays, p.Source)
		}
	}
}

type named struct {
	name string
	Figure
}

// prices are the figures that move with the market.
func (a Assumptions) prices() []named {
	var out []named
	if a.Ownership == Rent {
		for _, l := range a.Renting {
			out = append(out, named{l.Tier + " rent per chip-hour", l.USDPerChipHour})
		}
		return out
	}
	for _, c := range a.Buying.classes() {
		out = append(out, named{"price of " + c.name, c.Price})
	}
	return append(out, named{"electricity per kWh", a.Running.Electricity.USDPerKWh}, named{"colocation per kW-month", a.Running.ColocationUSDPerKW})
}
