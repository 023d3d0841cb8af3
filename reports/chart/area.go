package chart

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Layer is one band of an Area.
type Layer struct {
	Name string
	Y    []float64
}

// Area is bands stacked over a common x, the first at the bottom. Negative values count as zero in the stack.
type Area struct {
	X, Y   Axis
	At     []float64
	Layers []Layer
}

// Draw implements Drawer.
func (a Area) Draw(p *pen, c draw.Canvas) {
	top := 0.0
	x0, x1 := math.Inf(1), math.Inf(-1)
	for i, x := range a.At {
		sum := 0.0
		for _, l := range a.Layers {
			sum += math.Max(0, l.Y[i])
		}
		top, x0, x1 = math.Max(top, sum), math.Min(x0, x), math.Max(x1, x)
	}
	var names []string
	for _, l := range a.Layers {
		names = append(names, l.Name)
	}
	right := p.sideWidth(names, c.Size().X)
	x, y := a.X.span(x0, x1), a.Y.span(0, top)
	if len(a.At) > 1 {
		x.Max = x1
	}
	q := p.newPlot(x, y)
	q.Add(areaPlotter{a, p, right})
	p.axisTitle(c, y.Label)
	q.Draw(draw.Crop(c, 0, -right, 0, -lineGap-6))
}

type areaPlotter struct {
	Area
	p     *pen
	right vg.Length
}

// Plot implements plot.Plotter.
func (a areaPlotter) Plot(c draw.Canvas, q *plot.Plot) {
	rules(c, q)
	base := make([]float64, len(a.At))
	var labels []sideLabel
	for k, l := range a.Layers {
		var lower, upper []vg.Point
		for i, x := range a.At {
			px := c.X(q.X.Norm(x))
			lower = append(lower, vg.Point{X: px, Y: c.Y(q.Y.Norm(base[i]))})
			base[i] += math.Max(0, l.Y[i])
			upper = append(upper, vg.Point{X: px, Y: c.Y(q.Y.Norm(base[i]))})
		}
		n := len(a.At)
		if n == 0 {
			continue
		}
		labels = append(labels, sideLabel{0, (lower[n-1].Y + upper[n-1].Y) / 2, l.Name, Colour(k)})
		for i := n - 1; i >= 0; i-- {
			upper = append(upper, lower[i])
		}
		c.FillPolygon(faded(Colour(k), 0xd0), upper)
	}
	a.p.side(c, c.Max.X, labels, c.Min.Y, c.Max.Y, a.right)
}

// Panels is pictures above each other, such as what happens over the same hour.
type Panels struct {
	Panels []Lines
}

// Draw implements Drawer.
func (s Panels) Draw(p *pen, c draw.Canvas) {
	n := vg.Length(max(1, len(s.Panels)))
	gap := vg.Length(6)
	h := (c.Size().Y - gap*(n-1)) / n
	for i, l := range s.Panels {
		top := c.Max.Y - vg.Length(i)*(h+gap)
		l.Draw(p, draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: top - h}, Max: vg.Point{X: c.Max.X, Y: top}}})
	}
}
