package uncertainty

import (
	"fmt"
	"math"
	"sort"
)

// drivers ranks the variables of a candidate by Spearman's rank correlation with its price.
func drivers(c Candidate, variables []Variable, u [][]float64, o []outcome) []Driver {
	keep := make([]int, 0, len(o))
	prices := make([]float64, 0, len(o))
	for k, x := range o {
		if !math.IsNaN(x.perM) {
			keep = append(keep, k)
			prices = append(prices, x.perM)
		}
	}
	priceRanks := ranks(prices)
	var out []Driver
	for _, s := range plan(c, variables) {
		column := make([]float64, len(keep))
		for i, k := range keep {
			column[i] = u[s.col][k] // a quantile is monotone in u: the ranks are the same
		}
		out = append(out, Driver{s.v.key(), correlation(ranks(column), priceRanks)})
	}
	sort.SliceStable(out, func(i, j int) bool { return math.Abs(out[i].Correlation) > math.Abs(out[j].Correlation) })
	return out
}

// ranks gives equal values their mean rank.
func ranks(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(a, b int) bool {
		if v[order[a]] != v[order[b]] {
			return v[order[a]] < v[order[b]]
		}
		return order[a] < order[b]
	})
	out := make([]float64, len(v))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && v[order[j]] == v[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+j-1) / 2
		}
		i = j
	}
	return out
}

// correlation is Pearson's; 0 where one side does not vary.
func correlation(a, b []float64) float64 {
	ma, mb := mean(a), mean(b)
	var sab, saa, sbb float64
	for i := range a {
		x, y := a[i]-ma, b[i]-mb
		sab, saa, sbb = sab+x*y, saa+x*x, sbb+y*y
	}
	if saa == 0 || sbb == 0 {
		return 0
	}
	return sab / math.Sqrt(saa*sbb)
}

// Index is a variable's share of the variance of the price: alone, and with all its interactions.
type Index struct {
	Name  string  `json:"name"`
	First float64 `json:"first_order"`
	Total float64 `json:"total"`
}

// Sobol estimates the indices of one candidate with Saltelli's scheme: (variables + 2) x n evaluations. First order is
// Saltelli 2010's estimator, total is Jansen's 1999. Small negative values are noise of the estimate.
func Sobol(c Candidate, variables []Variable, n int, seed uint64) ([]Index, error) {
	if err := check([]Candidate{c}, mine(c, variables), n); err != nil {
		return nil, err
	}
	steps := plan(c, variables)
	a, b := uniforms(variables, n, seed, 0), uniforms(variables, n, seed, 1)
	run := func(u [][]float64) ([]float64, error) {
		out := make([]float64, n)
		for k := range out {
			o, err := price(c, steps, u, k)
			if err != nil {
				return nil, fmt.Errorf("draw %d: %w", k, err)
			}
			out[k] = o.perM
		}
		return out, nil
	}
	ya, err := run(a)
	if err != nil {
		return nil, err
	}
	yb, err := run(b)
	if err != nil {
		return nil, err
	}
	all := append(append([]float64(nil), ya...), yb...)
	variance, centre := varianceOf(all), mean(all) // centring takes noise out of the first-order estimate
	var out []Index
	for _, s := range steps {
		mixed := append([][]float64(nil), a...)
		mixed[s.col] = b[s.col]
		y, err := run(mixed)
		if err != nil {
			return nil, err
		}
		var first, total float64
		for k := range y {
			first += (yb[k] - centre) * (y[k] - ya[k])
			total += (ya[k] - y[k]) * (ya[k] - y[k])
		}
		if variance > 0 {
			out = append(out, Index{s.v.key(), first / float64(n) / variance, total / (2 * float64(n)) / variance})
		} else {
			out = append(out, Index{Name: s.v.key()})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Total > out[j].Total })
	return out, nil
}

func mine(c Candidate, variables []Variable) []Variable {
	var out []Variable
	for _, s := range plan(c, variables) {
		out = append(out, s.v)
	}
	return out
}

func varianceOf(v []float64) float64 {
	m, sum := mean(v), 0.0
	for _, x := range v {
		sum += (x - m) * (x - m)
	}
	return sum / float64(len(v))
}

// Bar is the price per million tokens with one variable at its 10th and 90th percentile, the others as planned.
type Bar struct {
	Name      string  `json:"name"`
	Unit      string  `json:"unit"`
	LowValue  float64 `json:"low_value"`
	HighValue float64 `json:"high_value"`
	Low       float64 `json:"low"` // price at LowValue
	High      float64 `json:"high"`
}

// Tornado moves one variable at a time; the widest bar comes first. It also returns the price as planned.
func Tornado(c Candidate, variables []Variable) (bars []Bar, asPlanned float64, err error) {
	if err := check([]Candidate{c}, mine(c, variables), 10); err != nil {
		return nil, 0, err
	}
	start := func() state {
		s := state{c: Conditions{1, 1, 1}, a: c.Assumptions.Clone(), watts: 1}
		return s
	}
	s := start()
	base, err := s.price(c.Surface)
	if err != nil {
		return nil, 0, err
	}
	for _, p := range plan(c, variables) {
		set, err := p.v.setting()
		if err != nil {
			return nil, 0, err
		}
		bar := Bar{Name: p.v.key(), Unit: set.unit}
		for _, end := range []struct {
			u           float64
			value, cost *float64
		}{{0.1, &bar.LowValue, &bar.Low}, {0.9, &bar.HighValue, &bar.High}} {
			s := start()
			s.set(p.at, p.v, end.u)
			*end.value = *p.at(&s)
			o, err := s.price(c.Surface)
			if err != nil {
				return nil, 0, fmt.Errorf("%s at %g: %w", p.v.key(), *end.value, err)
			}
			*end.cost = o.perM
		}
		bars = append(bars, bar)
	}
	sort.SliceStable(bars, func(i, j int) bool { return width(bars[i]) > width(bars[j]) })
	return bars, base.perM, nil
}

func width(b Bar) float64 { return math.Abs(b.High - b.Low) }
