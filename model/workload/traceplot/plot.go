// Package traceplot draws the description of a trace: rate over time and the distributions of the lengths.
package traceplot

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"scoville/model/workload/describe"
)

// Colours that colour-blind readers can tell apart (Okabe and Ito).
var (
	blue   = color.RGBA{0, 114, 178, 255}
	orange = color.RGBA{213, 94, 0, 255}
)

// PNG draws the trace as one picture.
func PNG(w io.Writer, t *describe.Trace) error {
	lengths, err := lengthPlot(t)
	if err != nil {
		return err
	}
	rows := [][]*plot.Plot{{lengths}}
	if a := t.Arrivals; a != nil && len(a.Rate.PerSecond) > 1 {
		rate, err := ratePlot(a)
		if err != nil {
			return err
		}
		rows = [][]*plot.Plot{{rate}, {lengths}}
	}
	const width, height, dpi = 8 * vg.Inch, 3.4 * vg.Inch, 110
	canvas := vgimg.NewWith(vgimg.UseWH(width, height*vg.Length(len(rows))), vgimg.UseDPI(dpi))
	tiles := draw.Tiles{Rows: len(rows), Cols: 1, PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(12), PadY: vg.Points(10)}
	cells := plot.Align(rows, tiles, draw.New(canvas))
	for i, row := range rows {
		row[0].Draw(cells[i][0])
	}
	_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

func ratePlot(a *describe.Arrivals) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("Arrivals in steps of %g s: mean %.3g, 1 s peak %.3g requests/s", a.Rate.StepSeconds, a.MeanRate, peak(a, 1))
	p.X.Label.Text, p.Y.Label.Text = "minutes", "requests/s"
	var points plotter.XYs
	for i, r := range a.Rate.PerSecond {
		points = append(points, plotter.XY{X: float64(i) * a.Rate.StepSeconds / 60, Y: r})
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	line.Color = blue
	p.Add(plotter.NewGrid(), line)
	p.Y.Min = 0
	return p, nil
}

func peak(a *describe.Arrivals, seconds float64) float64 {
	for _, w := range a.Windows {
		if w.Seconds == seconds {
			return w.Peak
		}
	}
	return 0
}

func lengthPlot(t *describe.Trace) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "Share of requests with at most so many tokens"
	p.X.Label.Text = "tokens"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: 0}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	for _, s := range []struct {
		name string
		l    *describe.Lengths
		c    color.RGBA
	}{{"input", t.Input, blue}, {"output", t.Output, orange}} {
		var points plotter.XYs
		const steps = 400
		for i := range steps + 1 {
			q := float64(i) / steps
			points = append(points, plotter.XY{X: math.Max(1, s.l.Quantile(q)), Y: q})
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, err
		}
		line.Color = s.c
		p.Add(line)
		p.Legend.Add(fmt.Sprintf("%s (mean %.0f)", s.name, s.l.Mean), line)
	}
	p.Y.Min, p.Y.Max = 0, 1
	if p.X.Min == p.X.Max {
		p.X.Min, p.X.Max = p.X.Min/2, p.X.Max*2
	}
	return p, nil
}
