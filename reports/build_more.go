package reports

import (
	"fmt"
	"strings"

	"scoville/sim"
	"scoville/sim/plan"
)

func keep(out []Block, p Picture, ok bool) []Block {
	if ok {
		return append(out, p)
	}
	return out
}

func (b *builder) latency() []Block {
	var out []Block
	c, ok := b.winner()
	if !ok && len(b.r.Candidates) > 0 {
		c, ok = b.r.Candidates[0], true
	}
	if !ok {
		return nil
	}
	names := []string{"ttft", "tpot"}
	for _, n := range []string{"itl", "e2e"} {
		if _, l := limitsOf(b.r, n); len(l) > 0 {
			names = append(names, n)
		}
	}
	for _, n := range names {
		p, ok := b.latencyPicture(c, n)
		out = keep(out, p, ok)
	}
	p, ok := b.tailPicture()
	out = keep(out, p, ok)
	if len(c.Capacity.Curve) > 0 {
		out = append(out, b.curve(c))
	}
	return out
}

// curve is the load points as a table.
func (b *builder) curve(c plan.Candidate) Grid {
	t := Grid{Caption: b.f("One replica of %s at rising load", c.Name), Columns: []Column{{b.t("req/s"), true}, {b.t("within SLA"), true}, {"TTFT p50", true}, {"TTFT p99", true}, {"TPOT p50", true}, {"TPOT p99", true}, {b.t("busy"), true}, {b.t("batch"), true}, {b.t("KV"), true}, {b.t("verdict"), false}}, Strong: -1}
	for _, p := range c.Capacity.Curve {
		row := []string{number(p.RequestsPerSecond), number(p.Goodput), missing, missing, missing, missing, percent(p.Utilisation), number(p.MeanBatch), percent(p.KVShare), b.verdict(p)}
		if hasLatency(p) {
			row[2], row[3], row[4], row[5] = seconds(p.TTFT.P50), seconds(p.TTFT.P99), seconds(p.TPOT.P50), seconds(p.TPOT.P99)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (b *builder) verdict(p plan.LoadPoint) string {
	switch {
	case p.Verdict == sim.Unstable:
		return b.t("unstable")
	case p.Verdict == sim.NotConverged:
		return b.t("not converged")
	case p.Met:
		return b.t("meets the SLA")
	}
	return b.t("misses the SLA")
}

func (b *builder) goodput() []Block {
	p, ok := b.goodputPicture()
	return keep(nil, p, ok)
}

func (b *builder) peak() []Block {
	c, ok := b.winner()
	if !ok {
		return nil
	}
	var out []Block
	if pk := c.Fleet.Peak; pk.RequestsPerSecond > 0 {
		out = append(out, b.peakTable(c))
		if c.Fleet.OneFewer != nil && !c.Fleet.OneFewer.Met {
			out = append(out, Text{Text: b.f("With one replica fewer the fleet does not pass: %s.", b.verdict(*c.Fleet.OneFewer))})
		}
	}
	p, ok := b.distributionPicture("ttft", func(f plan.Fleet) []plan.Quantile { return f.TTFTQuantiles })
	out = keep(out, p, ok)
	p, ok = b.distributionPicture("tpot", func(f plan.Fleet) []plan.Quantile { return f.TPOTQuantiles })
	out = keep(out, p, ok)
	p, ok = b.peakPicture(c)
	return keep(out, p, ok)
}

func (b *builder) peakTable(c plan.Candidate) Grid {
	pk := c.Fleet.Peak
	t := Grid{Caption: b.f("The fleet of %s at %s requests/s, routed by %s", c.Name, number(pk.RequestsPerSecond), b.name(c.Fleet.Routing)), Columns: []Column{{b.t("latency"), false}, {b.t("mean"), true}, {"p50", true}, {"p90", true}, {"p95", true}, {"p99", true}}, Strong: -1}
	for _, m := range []struct {
		name string
		d    sim.Distribution
	}{{"TTFT", pk.TTFT}, {"TPOT", pk.TPOT}, {"ITL", pk.ITL}, {"E2E", pk.E2E}} {
		if m.d.Count > 0 && hasLatency(pk) {
			t.Rows = append(t.Rows, []string{m.name, seconds(m.d.Mean), seconds(m.d.P50), seconds(m.d.P90), seconds(m.d.P95), seconds(m.d.P99)})
		}
	}
	t.Rows = append(t.Rows, []string{b.f("Within the SLA: %s requests/s; busy %s; mean batch %s; KV cache %s", number(pk.Goodput), percent(pk.Utilisation), number(pk.MeanBatch), percent(pk.KVShare)), "", "", "", "", ""})
	return t
}

func (b *builder) cost() []Block {
	var out []Block
	best := b.priced(4)
	if len(best) == 0 {
		return nil
	}
	p, ok := b.paretoPicture()
	out = keep(out, p, ok)
	out = append(out, b.costTable(best))
	p, ok = b.tcoPicture()
	out = keep(out, p, ok)
	p, ok = b.cashPicture(best[0])
	out = keep(out, p, ok)
	p, ok = b.cumulativePicture()
	out = keep(out, p, ok)
	out = append(out, b.componentTable(best[0]))
	for _, c := range best {
		for _, w := range c.Cost.Warnings {
			out = append(out, Note{c.Name + ": " + b.said(w)})
		}
	}
	return out
}

// priced are the first feasible candidates that have a cost.
func (b *builder) priced(n int) []plan.Candidate {
	var out []plan.Candidate
	for _, c := range b.best(len(b.r.Candidates)) {
		if c.Cost != nil && len(out) < n {
			out = append(out, c)
		}
	}
	return out
}

func (b *builder) costTable(best []plan.Candidate) Grid {
	t := Grid{Caption: b.f("Prices and totals, %s, over %d months", b.name(best[0].Cost.Ownership), best[0].Cost.HorizonMonths), Columns: []Column{{b.t("quantity"), false}}, Strong: 0}
	for _, c := range best {
		t.Columns = append(t.Columns, Column{c.Name, true})
	}
	add := func(name string, of func(*plan.Cost) string) {
		row := []string{name}
		for _, c := range best {
			row = append(row, of(c.Cost))
		}
		t.Rows = append(t.Rows, row)
	}
	add(b.t("$/M tokens, input and output together"), func(c *plan.Cost) string { return perMillion(c.PerMBoth) })
	add(b.t("$/M input tokens"), func(c *plan.Cost) string { return perMillion(c.PerMInput) })
	add(b.t("$/M cached input tokens"), func(c *plan.Cost) string { return perMillion(c.PerMCachedInput) })
	add(b.t("$/M output tokens"), func(c *plan.Cost) string { return perMillion(c.PerMOutput) })
	add(b.t("$/M tokens at full load"), func(c *plan.Cost) string { return perMillion(c.PerMBothFull) })
	add(b.t("$ a request"), func(c *plan.Cost) string { return money(c.PerRequest) })
	add(b.t("TCO"), func(c *plan.Cost) string { return money(c.TCO) })
	add(b.t("NPV of the cost"), func(c *plan.Cost) string { return money(c.NPV) })
	add(b.t("a month"), func(c *plan.Cost) string { return money(c.Monthly) })
	add(b.t("utilisation"), func(c *plan.Cost) string { return percent(c.Utilisation) })
	add(b.t("tokens a dollar"), func(c *plan.Cost) string { return number(c.TokensPerDollar) })
	add(b.t("tokens/s a watt"), func(c *plan.Cost) string { return number(c.TokensPerSecondPerWatt) })
	add(b.t("joules a token"), func(c *plan.Cost) string { return number(c.JoulesPerToken) })
	add(b.t("kWh/M tokens"), func(c *plan.Cost) string { return number(c.KWhPerMTokens) })
	add(b.t("kg CO2e/M tokens"), func(c *plan.Cost) string {
		if c.KgCO2ePerMTokens == 0 {
			return missing
		}
		return number(c.KgCO2ePerMTokens)
	})
	return t
}

func (b *builder) componentTable(c plan.Candidate) Grid {
	t := Grid{Caption: b.f("TCO of %s by component", c.Name), Columns: []Column{{b.t("component"), false}, {b.t("kind"), false}, {b.t("US dollars"), true}, {b.t("share"), true}}, Strong: -1}
	for _, k := range c.Cost.Components {
		share := missing
		if c.Cost.TCO > 0 {
			share = percent(k.USD / c.Cost.TCO)
		}
		t.Rows = append(t.Rows, []string{b.name(k.Name), b.name(k.Kind), money(k.USD), share})
	}
	t.Strong = len(t.Rows)
	t.Rows = append(t.Rows, []string{b.t("TCO"), "", money(c.Cost.TCO), ""})
	return t
}

func (b *builder) risk() []Block {
	best := b.priced(1)
	if len(best) == 0 {
		return nil
	}
	c := best[0]
	var out []Block
	p, ok := b.tornadoPicture(c)
	out = keep(out, p, ok)
	p, ok = b.monteCarloPicture(c)
	out = keep(out, p, ok)
	m := c.Cost.MonteCarlo
	if m == nil {
		return out
	}
	t := Grid{Caption: b.f("Spread over %s draws of all uncertain assumptions", count(m.Draws)), Columns: []Column{{b.t("quantity"), false}, {"P10", true}, {"P50", true}, {"P90", true}}, Strong: -1}
	t.Rows = [][]string{
		{b.t("$/M tokens, input and output together"), perMillion(m.PerM.P10), perMillion(m.PerM.P50), perMillion(m.PerM.P90)},
		{b.t("TCO"), money(m.TCO.P10), money(m.TCO.P50), money(m.TCO.P90)},
	}
	if m.Chips.P90 > 0 {
		t.Rows = append(t.Rows, []string{b.t("chips"), number(m.Chips.P10), number(m.Chips.P50), number(m.Chips.P90)})
	}
	out = append(out, t)
	if len(m.Drivers) > 0 {
		t := Grid{Caption: b.t("What drives the spread: rank correlation with $/M tokens"), Columns: []Column{{b.t("assumption"), false}, {b.t("correlation"), true}}, Strong: -1}
		for _, d := range m.Drivers[:min(10, len(m.Drivers))] {
			t.Rows = append(t.Rows, []string{b.name(d.Name), fmt.Sprintf("%+.2f", d.Correlation)})
		}
		out = append(out, t)
	}
	return out
}

func (b *builder) growth() []Block {
	p, ok := b.growthPicture()
	out := keep(nil, p, ok)
	if len(b.r.Growth) == 0 {
		return out
	}
	t := Grid{Caption: b.t("The fleet at each purchase"), Columns: []Column{{b.t("month"), true}, {b.t("peak rate, requests/s"), true}, {b.t("replicas"), true}, {b.t("chips"), true}}, Strong: -1}
	last := -1
	for i, g := range b.r.Growth {
		if g.Chips != last || i == len(b.r.Growth)-1 {
			t.Rows = append(t.Rows, []string{count(g.Month), number(g.PeakQPS), count(g.Replicas), count(g.Chips)})
			last = g.Chips
		}
	}
	return append(out, t)
}

func (b *builder) accuracy() []Block {
	if len(b.r.Candidates) == 0 {
		return nil
	}
	t := Grid{Caption: b.t("Mean error on measured runs that the profile had not seen"), Columns: []Column{{b.t("candidate"), false}, {"TTFT", true}, {"TPOT", true}, {b.t("throughput"), true}, {b.t("within calibrated range"), false}, {b.t("basis"), false}}, Strong: -1}
	for _, c := range b.r.Candidates {
		a := c.Accuracy
		inside := b.t("no")
		if a.InsideRange {
			inside = b.t("yes")
		}
		if a.TTFTError+a.TPOTError+a.ThroughputError == 0 {
			inside = missing
		}
		t.Rows = append(t.Rows, []string{c.Name, b.errorOf(a.TTFTError), b.errorOf(a.TPOTError), b.errorOf(a.ThroughputError), inside, a.Basis})
	}
	out := []Block{t}
	c, ok := b.winner()
	if !ok {
		return out
	}
	seen := map[string]bool{}
	for _, p := range c.Accuracy.Points {
		if !seen[p.Metric] {
			seen[p.Metric] = true
			pic, ok := b.accuracyPicture(c, p.Metric)
			out = keep(out, pic, ok)
		}
	}
	if len(seen) == 0 {
		out = append(out, Note{b.t("There are no measured runs beside these predictions: measure with scoville bench before money is spent.")})
	}
	return out
}

func (b *builder) errorOf(e float64) string {
	if e == 0 {
		return b.t("unknown")
	}
	return "±" + percent(e)
}

func (b *builder) glossary() []Block {
	var out []Block
	for _, c := range b.priced(1) {
		if c.Cost.Allocation != "" {
			out = append(out, Text{Text: b.f("How input and output share the cost: %s.", b.said(strings.TrimRight(c.Cost.Allocation, ".")))})
		}
		for _, d := range c.Cost.Definitions {
			out = append(out, Text{Text: b.said(d)})
		}
	}
	t := Grid{Caption: b.t("Glossary"), Columns: []Column{{b.t("term"), false}, {b.t("meaning"), false}}, Strong: -1}
	for _, g := range glossaryTerms() {
		t.Rows = append(t.Rows, []string{b.t(g[0]), b.t(g[1])})
	}
	return append(out, t)
}

// glossaryTerms are the words a report uses, as in docs/glossary.md.
func glossaryTerms() [][2]string {
	return [][2]string{
		{"TTFT", "time to first token: from the request sent to its first generated token"},
		{"TPOT", "time per output token of a request: (E2E - TTFT) / (output tokens - 1)"},
		{"ITL", "gap between two tokens of a request; its percentiles are over gaps"},
		{"E2E", "from the request sent to its last token"},
		{"p99", "the value that 99 % of requests do not exceed"},
		{"goodput", "requests a second that meet all limits of the SLA at once"},
		{"capacity", "the highest load one replica holds with every limit of the SLA met"},
		{"saturation", "the rate a replica completes when offered more than it can do"},
		{"interactivity", "1 / TPOT: tokens a second that one user sees"},
		{"replica", "one copy of the model serving requests"},
		{"utilisation", "busy time over available time; of a fleet: mean load over the load it holds within the SLA"},
		{"spare", "a replica kept for failures, beyond what the peak needs"},
		{"KV cache", "keys and values of past tokens, kept in the chips' memory"},
		{"PUE", "facility power over the power of the IT equipment"},
		{"TCO", "total cost of ownership over the horizon: what is bought less what is left, plus what is run"},
		{"P10, P90", "one draw in ten lies below P10, one in ten above P90"},
	}
}
