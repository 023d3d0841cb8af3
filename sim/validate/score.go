package validate

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// Score sums up the relative errors of a group of predictions.
type Score struct {
	Table, By, Group, Metric string
	N                        int
	MAPE, Median, P90, Bias  float64 // of |error|, |error|, |error|, error; Overloaded: MAPE is the share judged wrong
	Within10                 float64 // share of rows within 10 %
	Worst                    float64 // largest |error|
}

// Dimensions by which points are grouped.
const (
	ByTable  = "table"
	ByChip   = "chip"
	ByModel  = "model"
	ByEngine = "engine"
	ByRegime = "regime"
	ByTensor = "tensor parallel"
)

func dimension(by string, p *Point) string {
	switch by {
	case ByChip:
		return p.Chip
	case ByModel:
		return p.Model
	case ByEngine:
		return p.Engine
	case ByRegime:
		return p.Regime
	case ByTensor:
		return fmt.Sprintf("TP%d", p.Tensor)
	}
	return ""
}

// Scores groups points within their table, and scores each metric. Groups come in order of appearance of the tables, then by name.
func Scores(points []Point, by string) []Score {
	type key struct{ table, group, metric string }
	groups := map[key][]Point{}
	var order []key
	tables := map[string]int{}
	for _, p := range points {
		if _, ok := tables[p.Table]; !ok {
			tables[p.Table] = len(tables)
		}
		k := key{p.Table, dimension(by, &p), p.Metric}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], p)
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := order[i], order[j]
		if a.table != b.table {
			return tables[a.table] < tables[b.table]
		}
		if a.group != b.group {
			return a.group < b.group
		}
		return a.metric < b.metric
	})
	var out []Score
	for _, k := range order {
		s := score(groups[k])
		s.Table, s.By, s.Group, s.Metric = k.table, by, k.group, k.metric
		out = append(out, s)
	}
	return out
}

func score(points []Point) Score {
	s := Score{N: len(points)}
	if s.N == 0 {
		return s
	}
	if points[0].Metric == Overloaded {
		for _, p := range points {
			if p.Measured != p.Predicted {
				s.MAPE += 1 / float64(s.N)
			}
		}
		s.Within10 = 1 - s.MAPE
		return s
	}
	abs := make([]float64, 0, s.N)
	for _, p := range points {
		e := p.Error()
		s.Bias += e / float64(s.N)
		s.MAPE += math.Abs(e) / float64(s.N)
		abs = append(abs, math.Abs(e))
		if math.Abs(e) <= 0.1 {
			s.Within10 += 1 / float64(s.N)
		}
	}
	sort.Float64s(abs)
	s.Median, s.P90, s.Worst = quantile(abs, 0.5), quantile(abs, 0.9), abs[len(abs)-1]
	return s
}

// Worst lists the n rows of a table that miss most, for one metric.
func Worst(points []Point, table, metric string, n int) []Point {
	var out []Point
	for _, p := range points {
		if p.Table == table && p.Metric == metric {
			out = append(out, p)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return math.Abs(out[i].Error()) > math.Abs(out[j].Error()) })
	return out[:min(n, len(out))]
}

// Reason counts rows left out of a table for one reason. Numbers inside reasons differ by row and are dropped.
type Reason struct {
	Table, Reason string
	Rows          int
}

// Reasons counts skips, most frequent first within a table.
func Reasons(list []Skip) []Reason {
	var out []Reason
	for _, s := range list {
		reason := digits(s.Reason)
		i := slices.IndexFunc(out, func(r Reason) bool { return r.Table == s.Table && r.Reason == reason })
		if i < 0 {
			out = append(out, Reason{s.Table, reason, 0})
			i = len(out) - 1
		}
		out[i].Rows++
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].Table != out[j].Table {
			return out[i].Table < out[j].Table
		}
		return out[i].Rows > out[j].Rows
	})
	return out
}

func digits(reason string) string {
	if !strings.Contains(reason, "requests were rejected") {
		return reason
	}
	_, rest, _ := strings.Cut(reason, ": ")
	return "more than 1 % of requests were rejected: " + rest
}
