package reports

import (
	"fmt"
	"strings"

	"scoville/model/fact"
	"scoville/sim/plan"
)

// builder turns a result into a Document in one language.
type builder struct {
	words
	r *plan.Result
}

// Build makes the document of a result. It draws on the result alone.
func Build(r *plan.Result, lang string) *Document {
	b := &builder{newWords(lang), r}
	return b.document(lang)
}

func (b *builder) document(lang string) *Document {
	if lang == "" {
		lang = "en"
	}
	d := &Document{Title: b.r.Title, Subtitle: b.subtitle(), Lang: lang}
	if d.Title == "" {
		d.Title = b.t("Capacity plan")
	}
	for _, s := range []struct {
		anchor, title string
		blocks        []Block
	}{
		{"answer", b.t("The answer"), b.answer()},
		{"candidates", b.t("Recommendation and runners-up"), b.candidates()},
		{"latency", b.t("Latency against load"), b.latency()},
		{"goodput", b.t("Load held per chip"), b.goodput()},
		{"peak", b.t("At the peak"), b.peak()},
		{"cost", b.t("Cost"), b.cost()},
		{"risk", b.t("What moves the answer"), b.risk()},
		{"growth", b.t("Growth"), b.growth()},
		{"accuracy", b.t("How far predictions were off"), b.accuracy()},
		{"questions", b.t("Questions a buyer asks"), b.questions()},
		{"assumptions", b.t("Assumptions"), b.assumptions()},
		{"glossary", b.t("Definitions and glossary"), b.glossary()},
		{"reproduce", b.t("Reproduce this report"), b.reproduce()},
	} {
		if len(s.blocks) > 0 {
			d.Sections = append(d.Sections, Section{s.title, s.anchor, s.blocks})
		}
	}
	return d
}

func (b *builder) subtitle() string {
	var parts []string
	if m := b.r.Model.Name; m != "" {
		parts = append(parts, m)
	}
	if w := b.r.Workload; w.PeakQPS > 0 {
		parts = append(parts, b.f("peak %s requests/s", number(w.PeakQPS)))
	}
	if b.r.AsOf != "" {
		parts = append(parts, b.f("prices of %s", b.r.AsOf))
	}
	return strings.Join(parts, " · ")
}

// best are the first feasible candidates, at most n.
func (b *builder) best(n int) []plan.Candidate {
	var out []plan.Candidate
	for _, c := range b.r.Candidates {
		if c.Feasible && len(out) < n {
			out = append(out, c)
		}
	}
	return out
}

// winner is the first feasible candidate.
func (b *builder) winner() (plan.Candidate, bool) {
	if best := b.best(1); len(best) == 1 {
		return best[0], true
	}
	return plan.Candidate{}, false
}

// headline is the answer in one sentence.
func (b *builder) headline() string {
	c, ok := b.winner()
	if !ok {
		if len(b.r.Candidates) == 0 {
			return b.t("There is no candidate to answer with.")
		}
		return b.t("No candidate meets the SLA.")
	}
	s := b.f("%s of %s in %s hold the peak of %s requests/s within the SLA", b.chips(c.Fleet.Chips), c.ChipTitle, b.nodes(c.Fleet.Nodes), number(b.r.Workload.PeakQPS))
	if c.Cost == nil {
		return s + b.t(".")
	}
	s += b.f(", at %s per million tokens", perMillion(c.Cost.PerMBoth))
	if m := c.Cost.MonteCarlo; m != nil {
		s += b.f(" (80 %% of draws: %s to %s)", perMillion(m.PerM.P10), perMillion(m.PerM.P90))
	}
	return s + b.t(".")
}

func (b *builder) chips(n int) string {
	if n == 1 {
		return b.t("1 chip")
	}
	return b.f("%s chips", count(n))
}

func (b *builder) nodes(n int) string {
	if n == 1 {
		return b.t("1 node")
	}
	return b.f("%s nodes", count(n))
}

func (b *builder) answer() []Block {
	out := []Block{Text{Text: b.headline(), Lead: true}}
	if c, ok := b.winner(); ok {
		out = append(out, b.figures(c))
		out = append(out, Text{Text: b.versusSpreadsheet(c)})
		if s := b.breaks(c); s != "" {
			out = append(out, Text{Text: s})
		}
		if c.Capacity.Binding != "" {
			out = append(out, Text{Text: b.f("What binds: %s.", b.said(strings.TrimRight(c.Capacity.Binding, ".")))})
		}
	}
	if len(b.r.Candidates) > 0 {
		out = append(out, b.ranked())
	}
	for _, c := range b.r.Candidates {
		if !c.Feasible && c.Reason != "" {
			out = append(out, Note{b.f("%s is not feasible: %s.", c.Name, b.said(strings.TrimRight(c.Reason, ".")))})
		}
	}
	return append(out, b.notes(b.r.Warnings)...)
}

func (b *builder) notes(texts []string) []Block {
	var out []Block
	for _, t := range texts {
		out = append(out, Note{b.said(t)})
	}
	return out
}

func (b *builder) figures(c plan.Candidate) Figures {
	f := c.Fleet
	out := Figures{
		{b.t("chips"), count(f.Chips), b.f("%s replicas and %s spare", count(f.Replicas), count(f.SpareReplicas))},
		{b.t("nodes"), count(f.Nodes), c.ChipTitle},
		{b.t("kW at the peak"), number(f.PeakKilowatts), b.f("mean %s; facility %s", number(f.MeanKilowatts), number(f.FacilityKilowatts))},
	}
	if k := c.Cost; k != nil {
		detail := b.t("input and output together")
		if m := k.MonteCarlo; m != nil {
			detail = b.f("P10 %s, P90 %s", perMillion(m.PerM.P10), perMillion(m.PerM.P90))
		}
		out = append(out,
			Figure{b.t("$/M tokens"), perMillion(k.PerMBoth), detail},
			Figure{b.t("TCO"), moneyShort(k.TCO), b.f("%s months; %s a month", count(k.HorizonMonths), moneyShort(k.Monthly))},
		)
	}
	return out
}

func (b *builder) versusSpreadsheet(c plan.Candidate) string {
	s := c.Spreadsheet
	if s.Chips <= 0 {
		return b.t("No throughput figure was at hand to divide by, so there is no spreadsheet answer to compare with.")
	}
	text := b.f("Dividing by peak throughput gives %s", b.chips(s.Chips))
	if s.Formula != "" {
		text += b.f(" (%s)", s.Formula)
	}
	switch d := c.Fleet.Chips - s.Chips; {
	case d > 0:
		text += b.f("; the simulated fleet needs %s more.", count(d))
	case d < 0:
		text += b.f("; the simulated fleet needs %s fewer.", count(-d))
	default:
		text += b.t("; the simulated fleet needs as many.")
	}
	return text
}

// breaks says at what load and when the fleet stops holding.
func (b *builder) breaks(c plan.Candidate) string {
	holds := float64(c.Fleet.Replicas) * c.Capacity.Low
	if holds <= 0 {
		return ""
	}
	if p := b.r.Workload.PeakQPS; holds < p {
		return b.f("It holds the planned peak of %s requests/s as a fleet: each of its %s replicas alone would hold %s, %s in all, but one finds room for another's burst. How far beyond the peak was not searched.",
			number(p), count(c.Fleet.Replicas), number(c.Capacity.Low), number(holds))
	}
	s := b.f("It breaks at about %s requests/s (%s replicas × %s)", number(holds), count(c.Fleet.Replicas), number(c.Capacity.Low))
	if p := b.r.Workload.PeakQPS; p > 0 {
		s += b.f(", %s of the planned peak", percent(holds/p))
	}
	for _, g := range b.r.Growth {
		if g.Chips > c.Fleet.Chips {
			return s + b.f("; with the growth planned, in month %s.", count(g.Month))
		}
	}
	return s + b.t(".")
}

func (b *builder) ranked() Grid {
	t := Grid{Caption: b.t("Candidates, feasible first and cheapest first"), Strong: 0, Columns: []Column{
		{"#", true}, {b.t("candidate"), false}, {b.t("chips"), true}, {b.t("by division"), true}, {b.t("nodes"), true}, {b.t("peak kW"), true},
		{b.t("req/s per replica"), true}, {b.t("$/M tokens"), true}, {b.t("P10–P90"), true}, {b.t("TCO"), true}}}
	if !b.r.Candidates[0].Feasible {
		t.Strong = -1
	}
	for _, c := range b.r.Candidates {
		t.Rows = append(t.Rows, b.rankedRow(c))
	}
	return t
}

func (b *builder) rankedRow(c plan.Candidate) []string {
	sheet := missing
	if c.Spreadsheet.Chips > 0 {
		sheet = count(c.Spreadsheet.Chips)
	}
	row := []string{count(c.Rank), c.Name, missing, sheet, missing, missing, missing, missing, missing, missing}
	if !c.Feasible {
		row[2] = b.t("none")
		return row
	}
	row[2], row[4], row[5], row[6] = count(c.Fleet.Chips), count(c.Fleet.Nodes), number(c.Fleet.PeakKilowatts), number(c.Capacity.Low)
	if k := c.Cost; k != nil {
		row[7], row[9] = perMillion(k.PerMBoth), moneyShort(k.TCO)
		if m := k.MonteCarlo; m != nil {
			row[8] = perMillion(m.PerM.P10) + "–" + perMillion(m.PerM.P90)
		}
	}
	return row
}

// pairs is a table of names and values.
func (b *builder) pairs(caption string, rows [][]string) Grid {
	return Grid{Caption: caption, Columns: []Column{{b.t("quantity"), false}, {b.t("value"), false}}, Rows: rows, Strong: -1}
}

func (b *builder) candidates() []Block {
	c, ok := b.winner()
	if !ok {
		return nil
	}
	out := []Block{
		Text{Text: b.f("%s: %s, %s, tensor parallel %s, weights in %s.", c.Name, c.ChipTitle, c.Engine, count(c.TensorParallel), c.Precision)},
		b.sideBySide(),
	}
	if x := b.r.Comparison; x != nil {
		out = append(out, b.comparison(x)...)
	}
	for _, c := range b.best(len(b.r.Candidates)) {
		for _, w := range append(append([]string(nil), c.Warnings...), c.Capacity.Warnings...) {
			out = append(out, Note{c.Name + ": " + b.said(w)})
		}
	}
	return out
}

// sideBySide compares the first four candidates line by line.
func (b *builder) sideBySide() Grid {
	best := b.best(4)
	t := Grid{Caption: b.t("The first candidates side by side"), Columns: []Column{{b.t("quantity"), false}}, Strong: -1}
	for _, c := range best {
		t.Columns = append(t.Columns, Column{c.Name, true})
	}
	add := func(name string, of func(plan.Candidate) string) {
		row := []string{name}
		for _, c := range best {
			row = append(row, of(c))
		}
		t.Rows = append(t.Rows, row)
	}
	add(b.t("chip"), func(c plan.Candidate) string { return c.ChipTitle })
	add(b.t("engine"), func(c plan.Candidate) string { return c.Engine })
	add(b.t("TP × PP × EP"), func(c plan.Candidate) string {
		return fmt.Sprintf("%d × %d × %d", c.TensorParallel, c.PipelineParallel, c.ExpertParallel)
	})
	add(b.t("chips a replica"), func(c plan.Candidate) string { return count(c.ChipsPerReplica) })
	add(b.t("replicas + spares"), func(c plan.Candidate) string {
		return count(c.Fleet.Replicas) + " + " + count(c.Fleet.SpareReplicas)
	})
	add(b.t("replicas with no headroom"), func(c plan.Candidate) string { return count(c.Fleet.ReplicasBySaturation) })
	add(b.t("capacity, requests/s a replica"), func(c plan.Candidate) string {
		return b.f("%s (%s to %s)", number(c.Capacity.RequestsPerSecond), number(c.Capacity.Low), number(c.Capacity.High))
	})
	add(b.t("saturation, requests/s a replica"), func(c plan.Candidate) string { return number(c.Capacity.SaturationPerSecond) })
	add(b.t("output tokens/s a replica"), func(c plan.Candidate) string { return number(c.Capacity.OutputTokensPerSecond) })
	add(b.t("weights a chip"), func(c plan.Candidate) string { return si(c.Memory.WeightBytes, "B") })
	add(b.t("KV cache a chip"), func(c plan.Candidate) string { return si(c.Memory.KVBytes, "B") })
	add(b.t("mean requests that fit"), func(c plan.Candidate) string { return number(c.Memory.MaxConcurrent) })
	add(b.t("facility kW"), func(c plan.Candidate) string { return number(c.Fleet.FacilityKilowatts) })
	add(b.t("availability"), func(c plan.Candidate) string {
		if c.Fleet.Availability <= 0 {
			return missing
		}
		return significant(c.Fleet.Availability*100, 5) + " %"
	})
	add(b.t("figures rest on"), func(c plan.Candidate) string { return b.name(string(c.ProfileKind)) })
	return t
}

func (b *builder) comparison(x *plan.Comparison) []Block {
	var out []Block
	if len(x.ProbabilityCheapest) > 0 {
		t := Grid{Caption: b.t("Probability of being the cheapest, given all uncertainty"), Columns: []Column{{b.t("candidate"), false}, {b.t("probability"), true}}, Strong: -1}
		for _, s := range x.ProbabilityCheapest {
			t.Rows = append(t.Rows, []string{s.Name, percent(s.Share)})
		}
		out = append(out, t)
	}
	if len(x.BreakEvens) == 0 {
		return out
	}
	t := Grid{Caption: b.t("Break-even: what would have to change for the runner-up to cost the same"), Columns: []Column{{b.t("candidate"), false}, {b.t("against"), false}, {b.t("assumption"), false}, {b.t("now"), true}, {b.t("equal at"), true}, {b.t("unit"), false}}, Strong: -1}
	for _, e := range x.BreakEvens {
		at := number(e.At)
		if !e.Exists {
			at = b.t("never")
			if e.Note != "" {
				at = b.name(e.Note)
			}
		}
		t.Rows = append(t.Rows, []string{e.Candidate, e.Against, b.name(e.Variable), number(e.Now), at, e.Unit})
	}
	return append(out, t)
}

func (b *builder) assumptions() []Block {
	out := []Block{b.workload(), b.model()}
	if c, ok := b.winner(); ok && len(c.EngineSettings) > 0 {
		var rows [][]string
		for _, s := range c.EngineSettings {
			rows = append(rows, []string{s.Name, s.Value})
		}
		out = append(out, Grid{Caption: b.f("Engine settings of %s", c.Name), Columns: []Column{{b.t("setting"), false}, {b.t("value"), false}}, Rows: rows, Strong: -1})
	}
	if len(b.r.Assumptions) == 0 {
		return out
	}
	counts := map[fact.Kind]int{}
	t := Grid{Caption: b.t("Every input of the answer"), Columns: []Column{{b.t("group"), false}, {b.t("assumption"), false}, {b.t("value"), false}, {b.t("kind"), false}, {b.t("source"), false}, {b.t("date"), false}}, Strong: -1}
	for _, a := range b.r.Assumptions {
		counts[a.Kind]++
		t.Rows = append(t.Rows, []string{b.name(a.Group), b.said(a.Name), b.said(a.Value), b.kind(a.Kind), b.said(a.Source), a.Date})
	}
	var parts []string
	for _, k := range append(fact.Kinds(), "") {
		if n := counts[fact.Kind(k)]; n > 0 {
			parts = append(parts, count(n)+" "+b.kind(fact.Kind(k)))
		}
	}
	return append(out, Text{Text: b.f("%s inputs: %s. A measured figure was read off a real machine or a paid invoice; a datasheet figure is the vendor's own; an estimate is derived as its source says; a hypothetical one is a what-if; a default is scoville's own choice.", count(len(b.r.Assumptions)), strings.Join(parts, ", "))}, t)
}

func (b *builder) kind(k fact.Kind) string {
	if k == "" {
		return b.t("default")
	}
	return b.name(string(k))
}

func (b *builder) workload() Grid {
	w := b.r.Workload
	rows := [][]string{
		{b.t("workload"), w.Name}, {b.t("source"), w.Source},
		{b.t("peak rate"), b.f("%s requests/s", number(w.PeakQPS))}, {b.t("how the peak came about"), b.said(w.PeakFrom)},
		{b.t("mean rate over the day"), b.f("%s requests/s", number(w.MeanQPS))}, {b.t("arrivals"), w.Arrivals},
		{b.t("input tokens, mean and p99"), number(w.MeanInputTokens) + ", " + number(w.P99InputTokens)},
		{b.t("output tokens, mean and p99"), number(w.MeanOutputTokens) + ", " + number(w.P99OutputTokens)},
		{b.t("input shared with other requests"), percent(w.PrefixShare)},
	}
	for _, l := range b.r.SLA {
		rows = append(rows, []string{b.f("SLA: %s", l.Name), quantity(l.Limit, l.Unit)})
	}
	return b.pairs(b.t("Traffic and SLA"), rows)
}

func (b *builder) model() Grid {
	m := b.r.Model
	return b.pairs(b.t("Model"), [][]string{
		{b.t("model"), m.Name}, {b.t("parameters"), parameters(m.Parameters)}, {b.t("active parameters"), parameters(m.ActiveParameters)},
		{b.t("weights"), b.f("%s in %s", si(m.WeightBytes, "B"), m.Weights)}, {b.t("KV cache a token"), b.f("%s in %s", si(m.KVBytesPerToken, "B"), m.KV)},
		{b.t("activations"), m.Activations}, {b.t("source"), m.Source},
	})
}

func (b *builder) questions() []Block {
	var out []Block
	for _, c := range b.best(4) {
		if len(c.Questions) == 0 {
			continue
		}
		t := Grid{Caption: c.Name + " · " + c.ChipTitle, Columns: []Column{{b.t("question"), false}, {b.t("answer"), false}}, Strong: -1}
		for _, q := range c.Questions {
			t.Rows = append(t.Rows, []string{b.said(q.Question), b.said(q.Answer)})
		}
		out = append(out, t)
	}
	return out
}

func (b *builder) reproduce() []Block {
	out := []Block{Text{Text: b.f("Version %s, seed %d. The same plan, version and seed give the same bytes.", b.r.Version, b.r.Seed)}}
	if b.r.Command != "" {
		out = append(out, Listing{b.r.Command})
	}
	if b.r.PlanText != "" {
		out = append(out, Text{Text: b.t("The plan file, as read"), Heading: true}, Listing{strings.TrimRight(b.r.PlanText, "\n")})
	}
	return out
}
