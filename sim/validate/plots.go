package validate

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"scoville/model/atomicfile"
)

// Plots draws predicted against measured, one PNG for each figure that a target is set on, coloured by chip, and returns the files.
func Plots(dir string, points []Point) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var files []string
	for _, s := range Scores(points, ByTable) {
		if s.Metric == Overloaded || s.N < 2 || !targeted(s.Table, s.Metric) {
			continue
		}
		var group []Point
		for _, p := range points {
			if p.Table == s.Table && p.Metric == s.Metric && p.Predicted > 0 {
				group = append(group, p)
			}
		}
		data, err := scatter(s, group)
		if err != nil {
			return nil, fmt.Errorf("plot of %s %s: %w", s.Table, s.Metric, err)
		}
		file := filepath.Join(dir, strings.ReplaceAll(s.Table, "/", "-")+"-"+s.Metric+".png")
		if err := atomicfile.WriteBytes(file, data); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func targeted(table, metric string) bool {
	return slices.ContainsFunc(Targets(), func(t Target) bool { return t.Table == table && t.Metric == metric })
}

// palette is Okabe and Ito's, told apart by the colour-blind.
func palette(i int) color.NRGBA {
	colours := []color.NRGBA{{0, 114, 178, 170}, {213, 94, 0, 170}, {0, 158, 115, 170}, {204, 121, 167, 170}, {230, 159, 0, 170}, {86, 180, 233, 170}, {0, 0, 0, 170}}
	return colours[i%len(colours)]
}

func scatter(s Score, points []Point) ([]byte, error) {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s: %s\nmean error %.1f %%, bias %+.1f %%, %d rows", s.Table, s.Metric, 100*s.MAPE, 100*s.Bias, s.N)
	p.X.Label.Text, p.Y.Label.Text = "measured", "predicted"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: 3}, plot.LogTicks{Prec: 3}
	lo, hi := math.Inf(1), 0.0
	chips := map[string]plotter.XYs{}
	var names []string
	for _, q := range points {
		lo, hi = min(lo, q.Measured, q.Predicted), max(hi, q.Measured, q.Predicted)
		if chips[q.Chip] == nil {
			names = append(names, q.Chip)
		}
		chips[q.Chip] = append(chips[q.Chip], plotter.XY{X: q.Measured, Y: q.Predicted})
	}
	lo, hi = lo/1.2, hi*1.2
	sort.Strings(names)
	for i, n := range names {
		sc, err := plotter.NewScatter(chips[n])
		if err != nil {
			return nil, err
		}
		sc.GlyphStyle = draw.GlyphStyle{Color: palette(i), Radius: vg.Points(2), Shape: draw.CircleGlyph{}}
		p.Add(sc)
		p.Legend.Add(n, sc)
	}
	for _, k := range []float64{0.8, 1, 1.25} {
		l, err := plotter.NewLine(plotter.XYs{{X: lo, Y: lo * k}, {X: hi, Y: hi * k}})
		if err != nil {
			return nil, err
		}
		l.Color = color.Gray{120}
		if k != 1 {
			l.Dashes = []vg.Length{vg.Points(3), vg.Points(3)}
		}
		p.Add(l)
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = lo, hi, lo, hi
	p.Legend.Top, p.Legend.Left = true, true
	c := vgimg.PngCanvas{Canvas: vgimg.New(15*vg.Centimeter, 15*vg.Centimeter)}
	p.Draw(draw.New(c))
	var b bytes.Buffer
	_, err := c.WriteTo(&b)
	return b.Bytes(), err
}

// RelativePlots names plots as seen from a report.
func RelativePlots(report, dir string, plots []string) []string {
	var out []string
	for _, f := range plots {
		if rel, err := filepath.Rel(filepath.Dir(report), f); err == nil && dir != "" {
			f = filepath.ToSlash(rel)
		}
		out = append(out, f)
	}
	return out
}
