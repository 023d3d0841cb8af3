package sweep

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"scoville/model/atomicfile"
	"scoville/reports/chart"
)

// writePictures draws heatmap.png and pareto.png of the best candidate of each point; what has no data is left out.
func (s *Sweep) writePictures(store *Store) ([]string, error) {
	value := s.File.Heatmap.Value
	if value == "" {
		value = "usd_per_m_tokens"
	}
	of, err := s.numeric(value)
	if err != nil {
		return nil, err
	}
	var best []row
	err = s.rows(store, func(r row) error {
		if r.c.Rank <= 1 {
			best = append(best, r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var charts []chart.Chart
	if x, y, ok, err := s.heatAxes(); err != nil {
		return nil, err
	} else if ok {
		if h := heat(best, x, y, value, of); h != nil {
			charts = append(charts, *h)
		}
	}
	if p := pareto(best); p != nil {
		charts = append(charts, *p)
	}
	var written []string
	for _, ch := range charts {
		fonts, err := chart.NewFonts(nil)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(store.dir, ch.Name+".png")
		if err := atomicfile.Write(path, func(w io.Writer) error { return ch.PNG(w, fonts) }); err != nil {
			return nil, err
		}
		written = append(written, path)
	}
	return written, nil
}

// checkHeatmap refuses a choice that can't be drawn before any point has run.
func (s *Sweep) checkHeatmap() error {
	if _, _, _, err := s.heatAxes(); err != nil || s.File.Heatmap.Value == "" {
		return err
	}
	_, err := s.numeric(s.File.Heatmap.Value)
	return err
}

// numeric finds a column of numbers.
func (s *Sweep) numeric(name string) (func(r row) any, error) {
	var names []string
	for _, c := range columns() {
		if c.kind != number && c.kind != whole {
			continue
		}
		if c.name == name {
			return c.of, nil
		}
		names = append(names, c.name)
	}
	return nil, s.File.errorAt("heatmap.value", "%q is none of %s", name, strings.Join(names, ", "))
}

// heatAxes are the keys across and upwards: those asked for, or the first two that vary.
func (s *Sweep) heatAxes() (x, y string, ok bool, err error) {
	var vary []string
	for _, key := range s.keys() {
		if len(valuesOf(s.Points, key)) > 1 {
			vary = append(vary, key)
		}
	}
	x, y = s.File.Heatmap.X, s.File.Heatmap.Y
	for _, a := range []struct{ key, name string }{{"heatmap.x", x}, {"heatmap.y", y}} {
		if a.name != "" && len(valuesOf(s.Points, a.name)) == 0 {
			return "", "", false, s.File.errorAt(a.key, "%q is none of the keys swept: %s", a.name, strings.Join(s.keys(), ", "))
		}
	}
	for _, key := range vary {
		switch {
		case key == x || key == y:
		case x == "":
			x = key
		case y == "":
			y = key
		}
	}
	return x, y, x != "" && y != "", nil
}

// valuesOf lists the values of a key over the sweep: numbers rising, text as it first occurs.
func valuesOf(points []Point, key string) []any {
	var out []any
	seen := map[any]bool{}
	numbers := true
	for _, p := range points {
		v := setting(p, key)
		if v == nil || seen[v] {
			continue
		}
		seen[v] = true
		if _, is := v.(float64); !is {
			numbers = false
		}
		out = append(out, v)
	}
	if numbers {
		sort.Slice(out, func(i, j int) bool { return out[i].(float64) < out[j].(float64) })
	}
	return out
}

// heat shows the smallest value over what else varies, in each cell; nil where no cell has one.
func heat(best []row, x, y, value string, of func(r row) any) *chart.Chart {
	points := make([]Point, len(best))
	for i, r := range best {
		points[i] = r.point
	}
	xs, ys := valuesOf(points, x), valuesOf(points, y)
	h := chart.Heat{X: x, Y: y, Keys: [2]string{"low", "high"}}
	for _, v := range xs {
		h.Columns = append(h.Columns, label(v))
	}
	at := func(v any, among []any) int {
		for i, a := range among {
			if a == v {
				return i
			}
		}
		return -1
	}
	for _, v := range ys {
		h.Rows = append(h.Rows, label(v))
		line := make([]float64, len(xs))
		for i := range line {
			line[i] = math.NaN()
		}
		h.Values, h.Texts = append(h.Values, line), append(h.Texts, make([]string, len(xs)))
	}
	found := false
	for _, r := range best {
		v, known := asNumber(of(r))
		i, k := at(setting(r.point, y), ys), at(setting(r.point, x), xs)
		if !r.c.Feasible || !known || i < 0 || k < 0 || h.Values[i][k] <= v {
			continue
		}
		found = true
		h.Values[i][k], h.Texts[i][k] = v, strconv.FormatFloat(v, 'g', 3, 64)
	}
	if !found {
		return nil
	}
	return &chart.Chart{Name: "heatmap", Title: value + " of the best candidate, lowest over all else that varies", Description: fmt.Sprintf("%s by %s and %s. A crossed cell has no answer.", value, x, y),
		Width: 520, Height: 360, Drawer: h}
}

func asNumber(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
	case int64:
		return float64(x), true
	}
	return 0, false
}

func label(v any) string {
	if x, ok := v.(float64); ok {
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	return fmt.Sprint(v)
}

// pareto sets cost against latency; nil where no point has both.
func pareto(best []row) *chart.Chart {
	s := chart.Scatter{X: chart.Axis{Label: "$ per million tokens"}, Y: chart.Axis{Label: "p99 TTFT at the peak, seconds"}}
	var names []string // of chips, in the order of their colours
	for _, r := range best {
		if !r.c.Feasible || r.c.USDPerMTokens == nil || r.c.TTFTP99 == nil {
			continue
		}
		colour := -1
		for i, n := range names {
			if n == r.c.Chip {
				colour = i
			}
		}
		if colour < 0 {
			colour = len(names)
			names = append(names, r.c.Chip)
		}
		s.Dots = append(s.Dots, chart.Dot{X: *r.c.USDPerMTokens, Y: *r.c.TTFTP99, Name: strconv.Itoa(r.point.Index), Colour: colour})
	}
	if len(s.Dots) == 0 {
		return nil
	}
	s.Keys = names
	s.Frontier = frontier(s.Dots)
	return &chart.Chart{Name: "pareto", Title: "Cost against latency: the line joins the points that none betters in both", Description: "Each dot is the best candidate of a point of the sweep, by its number.",
		Width: 520, Height: 360, Drawer: s}
}

// frontier lists the dots that no other betters in both, by rising x.
func frontier(dots []chart.Dot) []int {
	order := make([]int, len(dots))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := dots[order[i]], dots[order[j]]
		return a.X < b.X || a.X == b.X && a.Y < b.Y
	})
	var out []int
	for _, i := range order {
		if len(out) == 0 || dots[i].Y < dots[out[len(out)-1]].Y {
			out = append(out, i)
		}
	}
	return out
}
