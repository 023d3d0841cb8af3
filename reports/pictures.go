package reports

import (
	"math"
	"sort"
	"strings"

	"scoville/reports/chart"
	"scoville/sim"
	"scoville/sim/plan"
)

const (
	pictureWidth  = 480
	pictureHeight = 235
)

// picture makes a chart with its caption; the caption is also what a reader who can't see the picture is told.
func picture(name, title, caption string, height float64, d chart.Drawer) Picture {
	return Picture{chart.Chart{Name: name, Title: title, Description: caption, Width: pictureWidth, Height: height, Drawer: d}, caption}
}

// metrics are the latencies of a load point, by the name SLA limits use.
func metric(p plan.LoadPoint, name string) sim.Distribution {
	switch name {
	case "ttft":
		return p.TTFT
	case "tpot":
		return p.TPOT
	case "itl":
		return p.ITL
	}
	return p.E2E
}

func percentile(d sim.Distribution, name string) (float64, bool) {
	switch name {
	case "mean":
		return d.Mean, true
	case "p50":
		return d.P50, true
	case "p90":
		return d.P90, true
	case "p95":
		return d.P95, true
	case "p99":
		return d.P99, true
	case "max":
		return d.Max, true
	}
	return 0, false
}

// upToSaturation is the curve to its first point beyond saturation: further ones say nothing more.
func upToSaturation(c plan.Candidate) []plan.LoadPoint {
	for i, p := range c.Capacity.Curve {
		if s := c.Capacity.SaturationPerSecond; s > 0 && p.RequestsPerSecond > s {
			return c.Capacity.Curve[:i+1]
		}
	}
	return c.Capacity.Curve
}

// limitsOf are the SLA's limits on one metric: "ttft_p99" is TTFT at p99.
func limitsOf(r *plan.Result, name string) (percentiles []string, limits []plan.Limit) {
	for _, l := range r.SLA {
		if m, p, ok := strings.Cut(l.Name, "_"); ok && m == name {
			percentiles, limits = append(percentiles, p), append(limits, l)
		}
	}
	return percentiles, limits
}

// hasLatency reports whether a point's latencies mean anything.
func hasLatency(p plan.LoadPoint) bool {
	return p.Verdict != sim.Unstable && p.E2E.Count+p.TTFT.Count > 0
}

// latencyPicture is one latency of one replica against load, with the SLA and the load planned on. Points whose backlog grows
// have no latency; the loads they lie at are shaded.
func (b *builder) latencyPicture(c plan.Candidate, name string) (Picture, bool) {
	shown, limits := limitsOf(b.r, name)
	shown = append(shown, "p50", "p99")
	sort.Strings(shown)
	l := chart.Lines{
		X: chart.Axis{Label: b.t("offered load, requests/s per replica")},
		Y: chart.Axis{Label: strings.ToUpper(name) + ", " + b.unitOf(b.highest(c, name))},
	}
	scale, unit := timeScale(b.highest(c, name))
	l.Y.Label = strings.ToUpper(name) + ", " + unit
	top := 0.0
	last := ""
	for i, p := range shown {
		if p == last {
			continue
		}
		last = p
		s := chart.Series{Name: p, Colour: i, Dots: true}
		for _, at := range upToSaturation(c) {
			if v, ok := percentile(metric(at, name), p); ok && hasLatency(at) {
				s.X, s.Y = append(s.X, at.RequestsPerSecond), append(s.Y, v*scale)
			}
		}
		if len(s.X) > 0 {
			l.Series = append(l.Series, s)
		}
	}
	for _, lim := range limits {
		_, p, _ := strings.Cut(lim.Name, "_")
		l.Limits = append(l.Limits, chart.Limit{Y: lim.Limit * scale, Text: b.f("SLA %s ≤ %s", p, limitText(lim.Limit))})
		top = math.Max(top, lim.Limit*scale)
	}
	if len(l.Series) == 0 {
		return Picture{}, false
	}
	l.Cap = 2.5 * top
	b.loadMarks(&l, c)
	title := b.f("%s against load, one replica of %s", strings.ToUpper(name), c.Name)
	return picture("latency-"+name, title, b.latencyCaption(c, name), pictureHeight, l), true
}

func (b *builder) latencyCaption(c plan.Candidate, name string) string {
	s := b.f("%s of requests against offered load. ", strings.ToUpper(name))
	if c.Capacity.Low > 0 {
		s += b.f("The plan uses %s requests/s a replica, the lower end of the 95 %% interval %s to %s. ", number(c.Capacity.Low), number(c.Capacity.Low), number(c.Capacity.High))
	}
	unstable := 0
	for _, p := range c.Capacity.Curve {
		if p.Verdict == sim.Unstable {
			unstable++
		}
	}
	if unstable > 0 {
		s += b.t("In the shaded range the backlog grows for as long as the load lasts, so there is no latency to draw.")
	}
	return strings.TrimSpace(s)
}

// loadMarks adds the load planned on and the range in which the backlog grows.
func (b *builder) loadMarks(l *chart.Lines, c plan.Candidate) {
	if c.Capacity.Low > 0 {
		l.Marks = append(l.Marks, chart.Mark{X: c.Capacity.Low, Text: b.f("planned on %s/s", number(c.Capacity.Low))})
	}
	stable, unstable, last := 0.0, math.Inf(1), 0.0
	for _, p := range upToSaturation(c) {
		last = math.Max(last, p.RequestsPerSecond)
		if p.Verdict == sim.Unstable {
			unstable = math.Min(unstable, p.RequestsPerSecond)
		} else {
			stable = math.Max(stable, p.RequestsPerSecond)
		}
	}
	if math.IsInf(unstable, 0) {
		if s := c.Capacity.SaturationPerSecond; s > 0 && last > s {
			l.Regions = append(l.Regions, chart.Region{From: s, To: last, Text: b.t("beyond saturation")})
		}
		return
	}
	from := unstable
	if s := c.Capacity.SaturationPerSecond; s > stable && s < unstable {
		from = s
	}
	l.Regions = append(l.Regions, chart.Region{From: from, To: math.Max(last, unstable), Text: b.t("backlog grows")})
}

func (b *builder) highest(c plan.Candidate, name string) float64 {
	top := 0.0
	_, limits := limitsOf(b.r, name)
	for _, l := range limits {
		top = math.Max(top, l.Limit)
	}
	if top > 0 {
		return top
	}
	for _, p := range c.Capacity.Curve {
		if hasLatency(p) {
			top = math.Max(top, metric(p, name).P99)
		}
	}
	return top
}

func (b *builder) unitOf(v float64) string { _, u := timeScale(v); return u }

// timeScale is the factor and unit in which durations up to v read best.
func timeScale(v float64) (float64, string) {
	switch {
	case v <= 0 || v >= 2:
		return 1, "s"
	case v >= 0.002:
		return 1e3, "ms"
	}
	return 1e6, "µs"
}

// tailPicture sets the first latency limit's percentile of every candidate against load per chip.
func (b *builder) tailPicture() (Picture, bool) {
	name, p := "ttft", "p99"
	for _, l := range b.r.SLA {
		if m, q, ok := strings.Cut(l.Name, "_"); ok && l.Unit == "s" {
			name, p = m, q
			break
		}
	}
	scale, unit := 1.0, "s"
	l := chart.Lines{X: chart.Axis{Label: b.t("offered load, requests/s per chip")}}
	_, limits := limitsOf(b.r, name)
	if len(limits) > 0 {
		scale, unit = timeScale(limits[0].Limit)
		l.Limits = []chart.Limit{{Y: limits[0].Limit * scale, Text: b.f("SLA ≤ %s", limitText(limits[0].Limit))}}
		l.Cap = 2.5 * limits[0].Limit * scale
	}
	l.Y.Label = strings.ToUpper(name) + " " + p + ", " + unit
	for i, c := range b.r.Candidates {
		s := chart.Series{Name: c.Name, Tag: count(c.Rank), Colour: i, Dashed: i >= 7}
		for _, at := range upToSaturation(c) {
			if v, ok := percentile(metric(at, name), p); ok && hasLatency(at) {
				s.X, s.Y = append(s.X, at.RequestsPerSecond/float64(max(1, c.ChipsPerReplica))), append(s.Y, v*scale)
			}
		}
		if len(s.X) > 0 {
			l.Series = append(l.Series, s)
		}
	}
	if len(l.Series) < 2 {
		return Picture{}, false
	}
	return picture("latency-candidates", b.f("%s %s of every candidate against load per chip", strings.ToUpper(name), p),
		b.t("A line further right holds more load on each chip before its latency rises. Lines end where the backlog begins to grow."), 260, l), true
}

// goodputPicture is the SLA-bounded load per chip of every candidate.
func (b *builder) goodputPicture() (Picture, bool) {
	bars := chart.Bars{X: chart.Axis{Label: b.t("requests/s per chip within the SLA")}, Layers: []string{""}}
	any := false
	for _, c := range b.r.Candidates {
		per := float64(max(1, c.ChipsPerReplica))
		row := chart.Bar{Name: c.Name, Segments: []float64{c.Capacity.Low / per}, Low: c.Capacity.Low / per, High: c.Capacity.High / per, Text: number(c.Capacity.Low / per)}
		if !c.Feasible || c.Capacity.Low <= 0 {
			row.Segments, row.Text, row.Low, row.High = []float64{0}, b.t("does not meet the SLA"), 0, 0
		} else {
			any = true
		}
		bars.Rows = append(bars.Rows, row)
	}
	if !any {
		return Picture{}, false
	}
	return picture("goodput", b.t("Load held within the SLA, per chip"), b.t("The bar is the lower end of the 95 % interval, which plans use; the whisker runs to its upper end."), 70+22*float64(len(bars.Rows)), bars), true
}

// distributionPicture is the distribution function of a latency at the peak.
func (b *builder) distributionPicture(name string, of func(plan.Fleet) []plan.Quantile) (Picture, bool) {
	l := chart.Lines{Y: chart.Axis{Label: b.t("share of requests at or below, %"), Max: 100}}
	lo, hi := math.Inf(1), 0.0
	for _, c := range b.best(4) {
		for _, q := range of(c.Fleet) {
			if q.Seconds > 0 {
				lo, hi = math.Min(lo, q.Seconds), math.Max(hi, q.Seconds)
			}
		}
	}
	if hi == 0 {
		return Picture{}, false
	}
	scale, unit := timeScale(hi)
	l.X = chart.Axis{Label: strings.ToUpper(name) + ", " + unit, Log: hi/lo > 8}
	for i, c := range b.best(4) {
		s := chart.Series{Name: c.Name, Colour: i}
		for _, q := range of(c.Fleet) {
			if q.Seconds > 0 {
				s.X, s.Y = append(s.X, q.Seconds*scale), append(s.Y, q.Share*100)
			}
		}
		if len(s.X) > 0 {
			l.Series = append(l.Series, s)
		}
	}
	ps, limits := limitsOf(b.r, name)
	for i, lim := range limits {
		l.Marks = append(l.Marks, chart.Mark{X: lim.Limit * scale, Text: b.f("SLA %s ≤ %s", ps[i], limitText(lim.Limit))})
	}
	return picture("distribution-"+name, b.f("Distribution of %s at the peak", strings.ToUpper(name)),
		b.f("Share of requests whose %s is at or below the value, with the sized fleet at its peak rate.", strings.ToUpper(name)), 200, l), true
}

// peakPicture is what happens in the fleet over the peak.
func (b *builder) peakPicture(c plan.Candidate) (Picture, bool) {
	var panels chart.Panels
	end := 0.0
	for _, t := range c.Fleet.Timelines {
		if n := len(t.Seconds); n > 0 {
			end = math.Max(end, t.Seconds[n-1])
		}
	}
	scale, unit := 1.0, "s"
	if end > 600 {
		scale, unit = 1.0/60, "min"
	}
	for i, t := range peakTimelines(c.Fleet.Timelines) {
		if len(t.Seconds) == 0 || len(t.Seconds) != len(t.Values) {
			continue
		}
		s := chart.Series{Colour: i, Fill: true, Y: append([]float64(nil), t.Values...)}
		l := chart.Lines{Y: chart.Axis{Label: b.timelineTitle(t), Most: 3}}
		for k := range t.Seconds {
			s.X = append(s.X, t.Seconds[k]*scale)
			if t.Unit == "share" {
				s.Y[k] *= 100
			}
		}
		if t.Unit == "share" {
			l.Y.Max = 100
		}
		l.Series = []chart.Series{s}
		l.X.Max = end * scale
		panels.Panels = append(panels.Panels, l)
	}
	n := len(panels.Panels)
	if n == 0 {
		return Picture{}, false
	}
	panels.Panels[n-1].X.Label = b.f("time in the run, %s", unit)
	return picture("peak", b.f("The fleet of %s at its peak", c.Name), b.t("Utilisation, batch, KV cache and queue of the sized fleet while the peak rate is offered. A queue that keeps growing would mean an unstable fleet."), 40+74*float64(n), panels), true
}

// peakTimelines are the quantities a reader asks about, in the order of cause and effect, or else the first few.
func peakTimelines(all []sim.Timeline) []sim.Timeline {
	const most = 5
	var out []sim.Timeline
	for _, names := range [][]string{{"arrivals"}, {"busy", "utilisation"}, {"batch"}, {"KV use", "kv", "KV"}, {"waiting", "queue"}} {
		for _, t := range all {
			if indexOf(names, t.Name) >= 0 && len(t.Seconds) > 0 {
				out = append(out, t)
				break
			}
		}
	}
	if len(out) == 0 {
		return all[:min(len(all), most)]
	}
	return out
}

func (b *builder) timelineTitle(t sim.Timeline) string {
	unit := t.Unit
	if unit == "share" {
		unit = "%"
	}
	return b.name(t.Name) + ", " + b.name(unit)
}

// paretoPicture sets price against interactivity.
func (b *builder) paretoPicture() (Picture, bool) {
	s := chart.Scatter{
		X: chart.Axis{Label: b.t("interactivity at the peak: 1/TPOT p50, tokens/s for each user"), Free: true},
		Y: chart.Axis{Label: b.t("$/M tokens, input and output together"), Format: axisPerMillion, Free: true},
	}
	for i, c := range b.r.Candidates {
		if tpot := c.Fleet.Peak.TPOT.P50; c.Cost != nil && tpot > 0 && hasLatency(c.Fleet.Peak) {
			s.Dots = append(s.Dots, chart.Dot{X: 1 / tpot, Y: c.Cost.PerMBoth, Name: c.Name, Colour: i, Hollow: !c.Feasible})
		}
	}
	if len(s.Dots) == 0 {
		return Picture{}, false
	}
	s.Frontier = frontier(s.Dots)
	return picture("pareto", b.t("Price against interactivity"), b.t("Down is cheaper, right is faster for each user. The line joins candidates that no other beats in both; the rest pay more for less."), 260, s), true
}

// frontier is the dots that none other beats in both price and interactivity, by rising interactivity.
func frontier(dots []chart.Dot) []int {
	var out []int
	for i, d := range dots {
		beaten := false
		for k, e := range dots {
			if k != i && e.X >= d.X && e.Y <= d.Y && (e.X > d.X || e.Y < d.Y || k < i) {
				beaten = true
				break
			}
		}
		if !beaten {
			out = append(out, i)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return dots[out[i]].X < dots[out[j]].X })
	return out
}
