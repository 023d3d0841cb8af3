package reports

import (
	"math"
	"sort"

	"scoville/reports/chart"
	"scoville/sim/plan"
)

// componentLayers picks the components worth a colour of their own, largest first over all candidates; the rest are one more.
func componentLayers(candidates []plan.Candidate, most int) (names []string, rest bool) {
	total := map[string]float64{}
	var order []string
	for _, c := range candidates {
		if c.Cost == nil {
			continue
		}
		for _, k := range c.Cost.Components {
			if _, ok := total[k.Name]; !ok {
				order = append(order, k.Name)
			}
			total[k.Name] += math.Max(0, k.USD)
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return total[order[i]] > total[order[j]] })
	for i, n := range order {
		if total[n] <= 0 {
			continue
		}
		if i >= most-1 && len(order) > most {
			return names, true
		}
		names = append(names, n)
	}
	return names, false
}

func indexOf(names []string, n string) int {
	for i, v := range names {
		if v == n {
			return i
		}
	}
	return -1
}

// layerOf adds up values by component into layers.
func layerOf(names []string, rest bool, components []plan.Component, value func(i int) float64) []float64 {
	out := make([]float64, len(names), len(names)+1)
	if rest {
		out = append(out, 0)
	}
	for i, k := range components {
		at := indexOf(names, k.Name)
		if at < 0 {
			at = len(out) - 1
		}
		if at >= 0 {
			out[at] += value(i)
		}
	}
	return out
}

func (b *builder) layerNames(names []string, rest bool) []string {
	var out []string
	for _, n := range names {
		out = append(out, b.name(n))
	}
	if rest {
		out = append(out, b.t("all other"))
	}
	return out
}

// tcoPicture is the TCO of every candidate by component.
func (b *builder) tcoPicture() (Picture, bool) {
	names, rest := componentLayers(b.r.Candidates, 7)
	if len(names) == 0 {
		return Picture{}, false
	}
	bars := chart.Bars{X: chart.Axis{Label: b.f("TCO over %d months, US dollars", b.months()), Format: axisMoney}, Layers: b.layerNames(names, rest)}
	for _, c := range b.r.Candidates {
		if c.Cost != nil {
			components := c.Cost.Components
			bars.Rows = append(bars.Rows, chart.Bar{Name: c.Name, Text: moneyShort(c.Cost.TCO), Segments: layerOf(names, rest, components, func(i int) float64 { return components[i].USD })})
		}
	}
	return picture("tco", b.t("Total cost of ownership by component"), b.t("What the money goes to, over the horizon, without discounting."), 95+24*float64(len(bars.Rows)), bars), true
}

func (b *builder) months() int {
	for _, c := range b.r.Candidates {
		if c.Cost != nil {
			return c.Cost.HorizonMonths
		}
	}
	return 0
}

// cashPicture is the cash spent so far, by component, month by month.
func (b *builder) cashPicture(c plan.Candidate) (Picture, bool) {
	if c.Cost == nil || len(c.Cost.MonthlyCash) < 2 || c.Cost.TCO <= 0 {
		return Picture{}, false
	}
	names, rest := componentLayers([]plan.Candidate{c}, 7)
	if len(names) == 0 {
		return Picture{}, false
	}
	a := chart.Area{X: chart.Axis{Label: b.t("month")}, Y: chart.Axis{Label: b.t("cash spent so far, US dollars"), Format: axisMoney}}
	for _, n := range b.layerNames(names, rest) {
		a.Layers = append(a.Layers, chart.Layer{Name: n})
	}
	sum := make([]float64, len(a.Layers))
	for _, m := range c.Cost.MonthlyCash {
		a.At = append(a.At, float64(m.Month))
		for k, v := range layerOf(names, rest, c.Cost.Components, func(i int) float64 {
			if i < len(m.ByComponent) {
				return m.ByComponent[i]
			}
			return 0
		}) {
			sum[k] += v
			a.Layers[k].Y = append(a.Layers[k].Y, sum[k])
		}
	}
	return picture("cash", b.f("Cash spent so far on %s", c.Name), b.t("Month 0 is what is paid before the first month of service."), 230, a), true
}

// cumulativePicture sets the candidates' cash against each other.
func (b *builder) cumulativePicture() (Picture, bool) {
	l := chart.Lines{X: chart.Axis{Label: b.t("month")}, Y: chart.Axis{Label: b.t("cash spent so far, US dollars"), Format: axisMoney}}
	for i, c := range b.r.Candidates {
		if c.Cost == nil || len(c.Cost.MonthlyCash) < 2 || c.Cost.TCO <= 0 {
			continue
		}
		s := chart.Series{Name: c.Name, Colour: i, Dashed: i >= 7}
		for _, m := range c.Cost.MonthlyCash {
			s.X, s.Y = append(s.X, float64(m.Month)), append(s.Y, m.Cumulative)
		}
		l.Series = append(l.Series, s)
		l.X.Max = math.Max(l.X.Max, s.X[len(s.X)-1])
	}
	if len(l.Series) < 2 {
		return Picture{}, false
	}
	return picture("cash-candidates", b.t("Cash spent so far, every candidate"), b.t("Where two lines cross, one design has become cheaper than the other over the time owned."), 240, l), true
}

// tornadoPicture is what each assumption does to the price.
func (b *builder) tornadoPicture(c plan.Candidate) (Picture, bool) {
	if c.Cost == nil || len(c.Cost.Tornado) == 0 {
		return Picture{}, false
	}
	rows := append([]plan.TornadoBar(nil), c.Cost.Tornado...)
	sort.SliceStable(rows, func(i, j int) bool {
		return math.Abs(rows[i].High-rows[i].Low) > math.Abs(rows[j].High-rows[j].Low)
	})
	rows = rows[:min(len(rows), 12)]
	t := chart.Tornado{X: chart.Axis{Label: b.t("$/M tokens, input and output together"), Format: axisPerMillion}, Centre: c.Cost.PerMBoth, Keys: [2]string{b.t("assumption at its low value"), b.t("at its high value")}}
	for _, r := range rows {
		t.Rows = append(t.Rows, chart.Swing{Name: b.name(r.Name), Low: r.Low, High: r.High, LowText: r.LowLabel, HighText: r.HighLabel})
	}
	return picture("tornado", b.f("What moves the price of %s", c.Name), b.f("Each assumption moved alone to its low and its high value, the others as planned; the line is the plan's %s per million tokens.", perMillion(c.Cost.PerMBoth)), 75+22*float64(len(rows)), t), true
}

// monteCarloPicture is the spread of the price.
func (b *builder) monteCarloPicture(c plan.Candidate) (Picture, bool) {
	if c.Cost == nil || c.Cost.MonteCarlo == nil || len(c.Cost.MonteCarlo.Histogram) == 0 {
		return Picture{}, false
	}
	m := c.Cost.MonteCarlo
	h := chart.Histogram{X: chart.Axis{Label: b.t("$/M tokens, input and output together"), Format: axisPerMillion}, Y: chart.Axis{Label: b.f("draws of %s", count(m.Draws))}, Inner: [2]float64{m.PerM.P10, m.PerM.P90}}
	for _, k := range m.Histogram {
		h.Low, h.High, h.Count = append(h.Low, k.Low), append(h.High, k.High), append(h.Count, k.Count)
	}
	for _, q := range []struct {
		name string
		v    float64
	}{{"P10", m.PerM.P10}, {"P50", m.PerM.P50}, {"P90", m.PerM.P90}} {
		h.Marks = append(h.Marks, chart.Mark{X: q.v, Text: q.name + " " + perMillion(q.v)})
	}
	return picture("monte-carlo", b.f("How far the price of %s may be off", c.Name), b.f("In 8 of 10 draws of all uncertain assumptions together the price lies between %s and %s per million tokens.", perMillion(m.PerM.P10), perMillion(m.PerM.P90)), 210, h), true
}

// growthPicture is the fleet by month.
func (b *builder) growthPicture() (Picture, bool) {
	if len(b.r.Growth) < 2 {
		return Picture{}, false
	}
	chips := chart.Series{Step: true, Fill: true}
	peak := chart.Series{Colour: 1}
	for _, g := range b.r.Growth {
		chips.X, chips.Y = append(chips.X, float64(g.Month)), append(chips.Y, float64(g.Chips))
		peak.X, peak.Y = append(peak.X, float64(g.Month)), append(peak.Y, g.PeakQPS)
	}
	last := chips.X[len(chips.X)-1]
	p := chart.Panels{Panels: []chart.Lines{
		{X: chart.Axis{Max: last}, Y: chart.Axis{Label: b.t("chips needed, spares included"), Most: 4, Whole: true}, Series: []chart.Series{chips}},
		{X: chart.Axis{Label: b.t("month"), Max: last}, Y: chart.Axis{Label: b.t("peak rate, requests/s"), Most: 4}, Series: []chart.Series{peak}},
	}}
	return picture("growth", b.t("Chips by month of growth"), b.t("Chips come in whole nodes, so the fleet grows in steps while the traffic grows smoothly."), 260, p), true
}

// accuracyPicture sets measured values against predictions.
func (b *builder) accuracyPicture(c plan.Candidate, name string) (Picture, bool) {
	s := chart.Scatter{X: chart.Axis{Log: true}, Y: chart.Axis{Log: true}, Diagonal: b.t("predicted = measured")}
	for _, p := range c.Accuracy.Points {
		if p.Metric == name && p.Measured > 0 && p.Predicted > 0 {
			s.Dots = append(s.Dots, chart.Dot{X: p.Measured, Y: p.Predicted})
		}
	}
	if len(s.Dots) == 0 {
		return Picture{}, false
	}
	unit := metricUnit(name)
	if unit == ", s" {
		top := 0.0
		for _, d := range s.Dots {
			top = math.Max(top, math.Max(d.X, d.Y))
		}
		scale, u := timeScale(top)
		for i := range s.Dots {
			s.Dots[i].X *= scale
			s.Dots[i].Y *= scale
		}
		unit = ", " + u
	}
	s.X.Label = b.f("measured %s", b.name(metricTitle(name))+unit)
	s.Y.Label = b.f("predicted %s", b.name(metricTitle(name))+unit)
	return picture("accuracy-"+name, b.f("Measured against predicted %s", b.name(metricTitle(name))), b.t("Each dot is a measured run that the prediction had not seen. On the dashed line the two agree."), 240, s), true
}

func metricTitle(name string) string {
	switch name {
	case "ttft", "tpot", "itl", "e2e":
		return map[string]string{"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "e2e": "E2E"}[name]
	}
	return name
}

func metricUnit(name string) string {
	switch name {
	case "ttft", "tpot", "itl", "e2e", "TTFT", "TPOT", "ITL", "E2E":
		return ", s"
	case "throughput":
		return ", tokens/s"
	}
	return ""
}
