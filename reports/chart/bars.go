package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bar is one row of Bars.
type Bar struct {
	Name     string
	Segments []float64 // one a layer
	Text     string    // written at the end of the bar
	Low      float64   // interval drawn across the end of the bar, where Low < High
	High     float64
}

// Bars is horizontal bars, stacked when there are several layers.
type Bars struct {
	X      Axis
	Layers []string
	Rows   []Bar
}

// frame is the part of a picture left for bars once names, values, legend and axis have their room.
type frame struct {
	bars, all draw.Canvas
	nameWidth vg.Length
}

// Draw implements Drawer.
func (b Bars) Draw(p *pen, c draw.Canvas) {
	top := 0.0
	var names, ends []string
	for _, r := range b.Rows {
		sum := 0.0
		for _, s := range r.Segments {
			sum += math.Max(0, s)
		}
		top = math.Max(top, math.Max(sum, r.High))
		names, ends = append(names, r.Name), append(ends, r.Text)
	}
	x := b.X.span(0, top)
	legend := vg.Length(0)
	if len(b.Layers) > 1 {
		legend = p.legend(c, b.Layers)
	}
	f := p.frame(draw.Crop(c, 0, 0, 0, -legend), names, ends, x)
	at := func(v float64) vg.Length {
		return f.bars.Min.X + f.bars.Size().X*vg.Length((v-x.Min)/(x.Max-x.Min))
	}
	p.xAxis(f.bars, x)
	band := f.bars.Size().Y / vg.Length(max(1, len(b.Rows)))
	thick := min(band*0.68, 26)
	for i, r := range b.Rows {
		y := f.bars.Max.Y - band*(vg.Length(i)+0.5)
		sum := 0.0
		for k, s := range r.Segments {
			if s > 0 {
				fillBox(f.bars, box{at(sum), y - thick/2, at(sum + s), y + thick/2}, Colour(k))
				sum += s
			}
		}
		end := at(math.Max(sum, r.High))
		if r.Low < r.High {
			whisker(f.bars, at(r.Low), at(r.High), y, thick)
		}
		p.write(f.all, f.bars.Min.X-5, y, p.fit(r.Name, f.nameWidth), ink(), text.XRight)
		p.left(f.all, end+5, y, r.Text, ink())
	}
}

func whisker(c draw.Canvas, x0, x1, y, thick vg.Length) {
	sty := stroke(ink(), 0.9)
	c.StrokeLine2(sty, x0, y, x1, y)
	c.StrokeLine2(sty, x0, y-thick*0.2, x0, y+thick*0.2)
	c.StrokeLine2(sty, x1, y-thick*0.2, x1, y+thick*0.2)
}

// frame leaves room left for names, right for values and below for the axis.
func (p *pen) frame(c draw.Canvas, names, ends []string, x Axis) frame {
	left, right := vg.Length(0), vg.Length(0)
	for _, n := range names {
		left = max(left, p.width(n))
	}
	for _, e := range ends {
		right = max(right, p.width(e))
	}
	left, right = min(left, c.Size().X*0.34), right+8
	right = max(right, p.width(x.format(x.Max, x.step()))/2+2)
	return frame{bars: draw.Crop(c, left+7, -right, lineGap*2+6, -4), all: c, nameWidth: left}
}

// xAxis draws vertical rules, tick labels that do not touch, and the label.
func (p *pen) xAxis(c draw.Canvas, x Axis) {
	last := vg.Length(math.Inf(-1))
	for _, t := range x.Ticks(x.Min, x.Max) {
		at := c.Min.X + c.Size().X*vg.Length((t.Value-x.Min)/(x.Max-x.Min))
		c.StrokeLine2(stroke(ruleInk(), 0.5), at, c.Min.Y, at, c.Max.Y)
		half := p.width(t.Label) / 2
		if at-half < last+4 {
			continue
		}
		last = at + half
		p.write(c, at, c.Min.Y-lineGap*0.7, t.Label, faintInk(), text.XCenter)
	}
	p.write(c, (c.Min.X+c.Max.X)/2, c.Min.Y-lineGap*1.8, x.Label, faintInk(), text.XCenter)
}

// legend names the layers in a row of swatches, in as many lines as that takes, and returns its height.
func (p *pen) legend(c draw.Canvas, names []string) vg.Length {
	x, y := c.Min.X, c.Max.Y-labelSize*0.7
	for i, n := range names {
		n = p.fit(n, c.Size().X*0.5)
		w := p.width(n) + 22
		if x > c.Min.X && x+w > c.Max.X {
			x, y = c.Min.X, y-lineGap
		}
		fillBox(c, box{x, y - 3, x + 8, y + 4}, Colour(i))
		p.left(c, x+11, y, n, ink())
		x += w
	}
	return c.Max.Y - y + labelSize
}

// Swing is the effect of one input moved to its low and high value.
type Swing struct {
	Name      string
	Low, High float64 // the result at the input's low and high value
	LowText   string  // the input's low value and the result, written at that end
	HighText  string
}

// Tornado is swings about a centre, drawn in the order given.
type Tornado struct {
	X      Axis
	Centre float64
	Rows   []Swing
	Keys   [2]string // what the two colours mean: input at its low, at its high value
}

// Draw implements Drawer.
func (t Tornado) Draw(p *pen, c draw.Canvas) {
	lo, hi := t.Centre, t.Centre
	var names []string
	pad := vg.Length(0)
	for _, r := range t.Rows {
		lo, hi = math.Min(lo, math.Min(r.Low, r.High)), math.Max(hi, math.Max(r.Low, r.High))
		names = append(names, r.Name)
		pad = max(pad, max(p.width(r.LowText), p.width(r.HighText))+6)
	}
	if hi <= lo {
		lo, hi = lo-1, hi+1
	}
	legend := p.legend(c, t.Keys[:])
	f := p.frame(draw.Crop(c, 0, 0, 0, -legend), names, nil, t.X)
	inner := draw.Crop(f.bars, min(pad, f.bars.Size().X*0.25), -min(pad, f.bars.Size().X*0.25), 0, 0)
	x := t.X
	x.Min, x.Max = lo, hi
	x.Most = 5
	p.xAxis(inner, x)
	at := func(v float64) vg.Length { return inner.Min.X + inner.Size().X*vg.Length((v-lo)/(hi-lo)) }
	band := inner.Size().Y / vg.Length(max(1, len(t.Rows)))
	thick := min(band*0.68, 20)
	for i, r := range t.Rows {
		y := inner.Max.Y - band*(vg.Length(i)+0.5)
		ends := [2]side{{r.Low, r.LowText}, {r.High, r.HighText}}
		for k, e := range ends {
			fillBox(inner, ordered(at(t.Centre), at(e.v), y, thick), Colour(k))
		}
		if ends[0].v > ends[1].v {
			ends[0], ends[1] = ends[1], ends[0]
		}
		p.write(c, min(at(ends[0].v), at(t.Centre))-4, y, ends[0].text, faintInk(), text.XRight)
		p.left(c, max(at(ends[1].v), at(t.Centre))+4, y, ends[1].text, faintInk())
		p.write(c, f.bars.Min.X-5, y, p.fit(r.Name, f.nameWidth), ink(), text.XRight)
	}
	inner.StrokeLine2(stroke(ink(), 0.9), at(t.Centre), inner.Min.Y, at(t.Centre), inner.Max.Y)
}

type side struct {
	v    float64
	text string
}

func ordered(a, b, y, thick vg.Length) box {
	return box{min(a, b), y - thick/2, max(a, b), y + thick/2}
}

// Histogram is counts in bins, with marks such as percentiles.
type Histogram struct {
	X, Y  Axis
	Low   []float64
	High  []float64
	Count []int
	Marks []Mark
	Inner [2]float64 // bins within it are drawn strong, the others faint
}

// Draw implements Drawer.
func (h Histogram) Draw(p *pen, c draw.Canvas) {
	lo, hi, top := math.Inf(1), math.Inf(-1), 0.0
	for i := range h.Low {
		lo, hi, top = math.Min(lo, h.Low[i]), math.Max(hi, h.High[i]), math.Max(top, float64(h.Count[i]))
	}
	for _, m := range h.Marks {
		lo, hi = math.Min(lo, m.X), math.Max(hi, m.X)
	}
	x, y := h.X, h.Y.span(0, top)
	if x.Min, x.Max = lo, hi; !(hi > lo) {
		x.Min, x.Max = lo-1, lo+1
		if math.IsInf(lo, 0) {
			x.Min, x.Max = 0, 1
		}
	}
	q := p.newPlot(x, y)
	l := Lines{X: x, Y: y, Marks: h.Marks}
	q.Add(histogramPlotter{h}, &linesPlotter{l, p, 10, true})
	top2 := p.topRows(c, q, l, 10)
	p.axisTitle(c, y.Label)
	q.Draw(draw.Crop(c, 0, -10, 0, -top2))
}

type histogramPlotter struct{ Histogram }

// Plot implements plot.Plotter.
func (h histogramPlotter) Plot(c draw.Canvas, q *plot.Plot) {
	rules(c, q)
	for i := range h.Low {
		if h.Count[i] <= 0 {
			continue
		}
		x0, x1 := c.X(q.X.Norm(h.Low[i])), c.X(q.X.Norm(h.High[i]))
		var col color.Color = Colour(0)
		if m := (h.Low[i] + h.High[i]) / 2; m < h.Inner[0] || m > h.Inner[1] {
			col = faded(Colour(0), 0x60)
		}
		fillBox(c, box{x0 + 0.3, c.Min.Y, max(x1-0.3, x0+0.5), c.Y(q.Y.Norm(float64(h.Count[i])))}, col)
	}
}
