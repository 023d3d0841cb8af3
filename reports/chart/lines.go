package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Series is a line through points. A name, if any, stands at its right end.
type Series struct {
	Name   string
	X, Y   []float64
	Colour int
	Dots   bool
	Dashed bool
	Step   bool   // the value holds until the next point
	Fill   bool   // a light area down to zero
	Tag    string // short name, written where the line leaves the picture at the top; its Name then follows the tag at the right
}

// Limit is a horizontal line, such as an SLA.
type Limit struct {
	Y    float64
	Text string
}

// Mark is a vertical line, such as the knee.
type Mark struct {
	X    float64
	Text string
}

// Region is a shaded range of x, such as the loads at which the backlog grows.
type Region struct {
	From, To float64 // To beyond the axis: to its end
	Text     string
}

// Lines is series over a common x.
type Lines struct {
	X, Y    Axis
	Series  []Series
	Limits  []Limit
	Marks   []Mark
	Regions []Region
	Cap     float64 // y beyond which lines leave the picture; 0: none
}

// ranges sets the axes from the data.
func (l Lines) ranges() (x, y Axis) {
	x0, x1, y0, y1 := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, s := range l.Series {
		for i := range s.X {
			x0, x1 = math.Min(x0, s.X[i]), math.Max(x1, s.X[i])
			y0, y1 = math.Min(y0, s.Y[i]), math.Max(y1, s.Y[i])
		}
	}
	if l.Cap > 0 && y1 > l.Cap {
		y1 = l.Cap
	}
	for _, h := range l.Limits {
		y0, y1 = math.Min(y0, h.Y), math.Max(y1, h.Y*1.08)
	}
	for _, m := range l.Marks {
		x0, x1 = math.Min(x0, m.X), math.Max(x1, m.X)
	}
	for _, r := range l.Regions {
		if !math.IsInf(r.To, 0) {
			x1 = math.Max(x1, r.To)
		}
	}
	return l.X.span(x0, x1), l.Y.span(y0, y1)
}

// Draw implements Drawer.
func (l Lines) Draw(p *pen, c draw.Canvas) {
	x, y := l.ranges()
	var names []string
	for _, s := range l.Series {
		names = append(names, s.label())
	}
	for _, h := range l.Limits {
		names = append(names, h.Text)
	}
	right := max(p.sideWidth(names, c.Size().X), 12)
	q := p.newPlot(x, y)
	drawn := &linesPlotter{l, p, right, false}
	q.Add(drawn)
	// The marks' rows are counted on the final width, which the y labels leave.
	top := p.topRows(c, q, l, right)
	p.axisTitle(c, y.Label)
	q.Draw(draw.Crop(c, 0, -right, 0, -top))
}

// axisTitle writes the y label level above the axis, at the left.
func (p *pen) axisTitle(c draw.Canvas, label string) {
	p.left(c, c.Min.X, c.Max.Y-labelSize*0.7, p.fit(label, c.Size().X), faintInk())
}

func (p *pen) topRows(c draw.Canvas, q *plot.Plot, l Lines, right vg.Length) vg.Length {
	data := q.DataCanvas(draw.Crop(c, 0, -right, 0, 0))
	_, _, n := p.rows(l.topMarks(data, q), data.Min.X, data.Max.X+right)
	return lineGap*vg.Length(1+n) + 4
}

func (l Lines) topMarks(c draw.Canvas, q *plot.Plot) []topMark {
	var out []topMark
	for _, m := range l.Marks {
		out = append(out, topMark{c.X(q.X.Norm(m.X)), m.Text, ink()})
	}
	for _, s := range l.Series {
		if x, ok := s.leaves(q.Y.Max); ok && s.Tag != "" {
			out = append(out, topMark{c.X(q.X.Norm(x)), s.Tag, darker(Colour(s.Colour))})
		}
	}
	for _, r := range l.Regions {
		from, to := math.Max(r.From, q.X.Min), math.Min(r.To, q.X.Max)
		if from < to && r.Text != "" {
			out = append(out, topMark{c.X(q.X.Norm((from + to) / 2)), r.Text, faintInk()})
		}
	}
	return out
}

// leaves tells at what x a series first rises above top.
func (s Series) leaves(top float64) (x float64, ok bool) {
	for i := range s.X {
		if s.Y[i] > top*(1+1e-9) {
			if i == 0 {
				return s.X[0], true
			}
			t := (top - s.Y[i-1]) / (s.Y[i] - s.Y[i-1])
			return s.X[i-1] + t*(s.X[i]-s.X[i-1]), true
		}
	}
	return 0, false
}

// label is the name with its tag.
func (s Series) label() string {
	if s.Tag == "" {
		return s.Name
	}
	return s.Tag + "  " + s.Name
}

type linesPlotter struct {
	Lines
	p       *pen
	right   vg.Length
	overlay bool // another plotter has drawn the rules
}

// Plot implements plot.Plotter.
func (l *linesPlotter) Plot(c draw.Canvas, q *plot.Plot) {
	for _, r := range l.Regions {
		from, to := math.Max(r.From, q.X.Min), math.Min(r.To, q.X.Max)
		if from < to {
			fillBox(c, box{c.X(q.X.Norm(from)), c.Min.Y, c.X(q.X.Norm(to)), c.Max.Y}, color.NRGBA{0x88, 0x88, 0x88, 0x30})
		}
	}
	if !l.overlay {
		rules(c, q)
	}
	var labels []sideLabel
	for _, h := range l.Limits {
		y := c.Y(q.Y.Norm(h.Y))
		c.StrokeLine2(stroke(limitInk(), 1.1, 4, 2), c.Min.X, y, c.Max.X, y)
		labels = append(labels, sideLabel{0, y, h.Text, limitInk()})
	}
	for _, m := range l.Marks {
		x := c.X(q.X.Norm(m.X))
		c.StrokeLine2(stroke(ink(), 0.8, 1.5, 1.5), x, c.Min.Y, x, c.Max.Y)
	}
	for _, s := range l.Series {
		end, ok := l.series(c, q, s)
		if _, leaves := s.leaves(q.Y.Max); leaves && s.Tag != "" {
			labels = append(labels, sideLabel{-1, c.Max.Y - lineGap*vg.Length(len(labels)), s.label(), Colour(s.Colour)})
		} else if ok && s.Name != "" {
			labels = append(labels, sideLabel{end.X, end.Y, s.label(), Colour(s.Colour)})
		}
	}
	l.p.side(c, c.Max.X, labels, c.Min.Y, c.Max.Y, l.right)
	marks := l.topMarks(c, q)
	row, centre, _ := l.p.rows(marks, c.Min.X, c.Max.X+l.right)
	for i, m := range marks {
		l.p.write(c, centre[i], c.Max.Y+lineGap*(vg.Length(row[i])+0.6)+1, m.text, m.colour, text.XCenter)
	}
}

// series draws one line and returns where it ends.
func (l *linesPlotter) series(c draw.Canvas, q *plot.Plot, s Series) (vg.Point, bool) {
	col := Colour(s.Colour)
	sty := stroke(col, 1.5)
	if s.Dashed {
		sty.Dashes = []vg.Length{3, 2}
	}
	xs, ys := s.X, s.Y
	if s.Step {
		xs, ys = steps(xs, ys)
	}
	var path []vg.Point
	for i := range xs {
		path = append(path, vg.Point{X: c.X(q.X.Norm(xs[i])), Y: c.Y(q.Y.Norm(ys[i]))})
	}
	if len(path) == 0 {
		return vg.Point{}, false
	}
	clipped := clipAbove(path, c.Max.Y)
	if s.Fill {
		for _, part := range clipped {
			area := append(append([]vg.Point{{X: part[0].X, Y: c.Min.Y}}, part...), vg.Point{X: part[len(part)-1].X, Y: c.Min.Y})
			c.FillPolygon(faded(col, 0x30), area)
		}
	}
	c.StrokeLines(sty, clipped...)
	end := path[len(path)-1]
	if end.Y > c.Max.Y+0.01 && len(clipped) > 0 {
		last := clipped[len(clipped)-1]
		end = last[len(last)-1]
	}
	if s.Dots || len(path) == 1 {
		for _, pt := range path {
			if pt.Y <= c.Max.Y+0.01 {
				dot(c, pt, 2.1, col)
			}
		}
	}
	return end, true
}

func steps(xs, ys []float64) (x, y []float64) {
	for i := range xs {
		if i > 0 {
			x, y = append(x, xs[i]), append(y, ys[i-1])
		}
		x, y = append(x, xs[i]), append(y, ys[i])
	}
	return x, y
}

// clipAbove cuts a polyline at a height, keeping what lies below.
func clipAbove(path []vg.Point, top vg.Length) [][]vg.Point {
	var out [][]vg.Point
	var part []vg.Point
	for i, pt := range path {
		if i > 0 {
			a := path[i-1]
			if (a.Y > top) != (pt.Y > top) {
				t := (top - a.Y) / (pt.Y - a.Y)
				cut := vg.Point{X: a.X + t*(pt.X-a.X), Y: top}
				part = append(part, cut)
				if pt.Y > top {
					out, part = append(out, part), nil
				}
			}
		}
		if pt.Y <= top {
			part = append(part, pt)
		}
	}
	if len(part) > 0 {
		out = append(out, part)
	}
	return out
}

// rules draws light horizontal lines at the labelled heights.
func rules(c draw.Canvas, q *plot.Plot) {
	for _, t := range q.Y.Tick.Marker.Ticks(q.Y.Min, q.Y.Max) {
		y := c.Y(q.Y.Norm(t.Value))
		c.StrokeLine2(stroke(ruleInk(), 0.5), c.Min.X, y, c.Max.X, y)
	}
}

func fillBox(c draw.Canvas, b box, col color.Color) {
	c.FillPolygon(col, []vg.Point{{X: b.x0, Y: b.y0}, {X: b.x1, Y: b.y0}, {X: b.x1, Y: b.y1}, {X: b.x0, Y: b.y1}})
}

func dot(c draw.Canvas, at vg.Point, r vg.Length, col color.Color) {
	c.SetColor(col)
	var path vg.Path
	path.Move(vg.Point{X: at.X + r, Y: at.Y})
	path.Arc(at, r, 0, 2*math.Pi)
	path.Close()
	c.Fill(path)
}
