package chart

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Dot is one point of a Scatter.
type Dot struct {
	X, Y   float64
	Name   string
	Colour int
	Hollow bool
}

// Scatter is named points; joined by a frontier line, or about the diagonal on which two values agree.
type Scatter struct {
	X, Y     Axis
	Dots     []Dot
	Frontier []int  // indices of Dots joined by a line
	Diagonal string // where not empty, both axes are the same and the line x = y has this name
	Keys     []string
}

// Draw implements Drawer.
func (s Scatter) Draw(p *pen, c draw.Canvas) {
	x0, x1, y0, y1 := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, d := range s.Dots {
		x0, x1, y0, y1 = math.Min(x0, d.X), math.Max(x1, d.X), math.Min(y0, d.Y), math.Max(y1, d.Y)
	}
	if s.Diagonal != "" {
		x0, x1 = math.Min(x0, y0), math.Max(x1, y1)
		y0, y1 = x0, x1
	}
	x, y := s.X.span(x0, x1), s.Y.span(y0, y1)
	legend := vg.Length(0)
	if len(s.Keys) > 1 {
		legend = p.legend(draw.Crop(c, 0, 0, 0, -lineGap-2), s.Keys)
	}
	p.axisTitle(c, y.Label)
	q := p.newPlot(x, y)
	q.Add(scatterPlotter{s, p})
	q.Draw(draw.Crop(c, 0, -14, 0, -lineGap-6-legend))
}

type scatterPlotter struct {
	Scatter
	p *pen
}

// Plot implements plot.Plotter.
func (s scatterPlotter) Plot(c draw.Canvas, q *plot.Plot) {
	rules(c, q)
	at := func(d Dot) vg.Point { return vg.Point{X: c.X(q.X.Norm(d.X)), Y: c.Y(q.Y.Norm(d.Y))} }
	var taken []box
	area := box{c.Min.X, c.Min.Y, c.Max.X + 12, c.Max.Y + 4}
	if s.Diagonal != "" {
		c.StrokeLine2(stroke(faintInk(), 0.8, 3, 2), c.Min.X, c.Min.Y, c.Max.X, c.Max.Y)
		w := s.p.width(s.Diagonal)
		// In the lower right corner, away from points near the diagonal.
		s.p.left(c, c.Max.X-w-4, c.Min.Y+lineGap, s.Diagonal, faintInk())
	}
	for _, i := range s.Frontier {
		pt := at(s.Dots[i])
		taken = append(taken, box{pt.X - 4, pt.Y - 4, pt.X + 4, pt.Y + 4})
	}
	var line []vg.Point
	for _, i := range s.Frontier {
		pt := at(s.Dots[i])
		if n := len(line); n > 0 { // a step: between two designs there is nothing
			line = append(line, vg.Point{X: pt.X, Y: line[n-1].Y})
		}
		line = append(line, pt)
	}
	if len(line) > 1 {
		c.StrokeLines(stroke(faded(faintInk(), 0x90), 1), line)
		for i := 1; i < len(line); i++ {
			a, b := line[i-1], line[i]
			taken = append(taken, box{min(a.X, b.X) - 1, min(a.Y, b.Y) - 1, max(a.X, b.X) + 1, max(a.Y, b.Y) + 1})
		}
	}
	for _, d := range s.Dots {
		pt := at(d)
		taken = append(taken, box{pt.X - 4, pt.Y - 4, pt.X + 4, pt.Y + 4})
	}
	for _, d := range s.Dots {
		pt := at(d)
		dot(c, pt, 3, Colour(d.Colour))
		if d.Hollow {
			dot(c, pt, 1.8, whiteInk())
		}
	}
	for _, d := range s.Dots {
		if d.Name == "" {
			continue
		}
		pt := at(d)
		name := s.p.fit(d.Name, c.Size().X*0.42)
		w := s.p.width(name) + 4
		b, ok := place(pt.X, pt.Y, w, labelSize*1.2, taken, area)
		if !ok { // no room at all: the table beside the picture has the point
			continue
		}
		taken = append(taken, b)
		near := vg.Point{X: min(max(pt.X, b.x0), b.x1), Y: min(max(pt.Y, b.y0), b.y1)}
		if math.Hypot(float64(near.X-pt.X), float64(near.Y-pt.Y)) > 8 {
			c.StrokeLine2(stroke(faded(Colour(d.Colour), 0x90), 0.5), pt.X, pt.Y, near.X, near.Y)
		}
		s.p.left(c, b.x0+2, (b.y0+b.y1)/2, name, darker(Colour(d.Colour)))
	}
}
