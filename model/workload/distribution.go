package workload

import (
	"math"
	"sort"
	"strings"

	"scoville/model/tomlfile"
	"scoville/model/workload/gamma"
)

// Distribution is a distribution of tokens, turns or seconds, given by name and parameters.
//
//	fixed        value
//	uniform      low, high (whole numbers from low to high, both included, where tokens are drawn)
//	exponential  mean
//	lognormal    mean and cv, or mu and sigma (of the logarithm)
//	gamma        mean and cv, or shape and scale
//	normal       mean and cv
//	pareto       shape (tail exponent) and scale (smallest value)
//	empirical    values at probabilities (0 to 1, ascending), straight lines between; without probabilities: equally spaced
//
// Min and Max clip, leaving the clipped mass at the bound, as a context limit does. Where the distribution has no upper
// bound and Max is not given, it is clipped at its 99.99 % quantile, so that the longest request is known.
type Distribution struct {
	Kind          string    `toml:"distribution" json:"distribution"`
	Value         float64   `toml:"value,omitempty" json:"value,omitempty"`
	Low           float64   `toml:"low,omitempty" json:"low,omitempty"`
	High          float64   `toml:"high,omitempty" json:"high,omitempty"`
	Mean          float64   `toml:"mean,omitempty" json:"mean,omitempty"`
	CV            float64   `toml:"cv,omitempty" json:"cv,omitempty"`
	Mu            float64   `toml:"mu,omitempty" json:"mu,omitempty"`
	Sigma         float64   `toml:"sigma,omitempty" json:"sigma,omitempty"`
	Shape         float64   `toml:"shape,omitempty" json:"shape,omitempty"`
	Scale         float64   `toml:"scale,omitempty" json:"scale,omitempty"`
	Min           float64   `toml:"min,omitempty" json:"min,omitempty"`
	Max           float64   `toml:"max,omitempty" json:"max,omitempty"`
	Values        []float64 `toml:"values,omitempty" json:"values,omitempty"`
	Probabilities []float64 `toml:"probabilities,omitempty" json:"probabilities,omitempty"`
}

var distributionKinds = []string{"fixed", "uniform", "exponential", "lognormal", "gamma", "normal", "pareto", "empirical"}

const (
	defaultMaxQuantile = 0.9999
	tableCells         = 1024
	tableLow           = 0.01 // outside of [tableLow, tableHigh] the exact quantile is computed
	tableHigh          = 0.99
)

// quantile is a compiled distribution: its inverse distribution function, tabulated where that is slow.
type quantile struct {
	exact    func(u float64) float64
	table    []float64 // at equal steps of u over [tableLow, tableHigh]; nil: always exact
	min, max float64
	discrete bool // exact returns whole numbers already
}

// at returns the u-quantile, clipped.
func (q *quantile) at(u float64) float64 {
	if q.table == nil || u < tableLow || u >= tableHigh {
		return min(max(q.exact(u), q.min), q.max)
	}
	x := (u - tableLow) * (tableCells / (tableHigh - tableLow))
	i := int(x)
	if i >= tableCells {
		i = tableCells - 1
	}
	return q.table[i] + (x-float64(i))*(q.table[i+1]-q.table[i])
}

// tokens returns the u-quantile as a count of at least 1.
func (q *quantile) tokens(u float64) int32 {
	return int32(max(1, math.Floor(q.at(u)+0.5)))
}

// mean integrates the quantile function, rounded to tokens if asked.
func (q *quantile) mean(tokens bool) float64 {
	const n = 1 << 15
	sum := 0.0
	for i := range n {
		x := q.at((float64(i) + 0.5) / n)
		if tokens {
			x = max(1, math.Floor(x+0.5))
		}
		sum += x
	}
	return sum / n
}

// compile checks the parameters and builds the inverse distribution function. field names the place in errors; limit
// bounds what may be asked for.
func (d *Distribution) compile(field string, limit float64) (*quantile, error) {
	for _, p := range []struct {
		name         string
		value, limit float64
	}{{"value", d.Value, limit}, {"low", d.Low, limit}, {"high", d.High, limit}, {"mean", d.Mean, limit}, {"min", d.Min, limit}, {"max", d.Max, limit},
		{"cv", d.CV, 1e3}, {"sigma", d.Sigma, 1e2}, {"shape", d.Shape, 1e9}, {"scale", d.Scale, 1e9}} {
		if math.IsNaN(p.value) || p.value < 0 || p.value > p.limit {
			return nil, fieldError(field+"."+p.name, "%g is not between 0 and %g", p.value, p.limit)
		}
	}
	if math.IsNaN(d.Mu) || math.Abs(d.Mu) > 1e3 {
		return nil, fieldError(field+".mu", "%g is not between -1000 and 1000", d.Mu)
	}
	if d.Max > 0 && d.Max < d.Min {
		return nil, fieldError(field+".max", "%g is below min, %g", d.Max, d.Min)
	}
	q, err := d.inverse(field)
	if err != nil {
		return nil, err
	}
	q.min, q.max = d.Min, d.Max
	if q.max == 0 {
		q.max = q.exact(1)
		if math.IsInf(q.max, 0) || math.IsNaN(q.max) {
			q.max = q.exact(defaultMaxQuantile)
		}
	}
	q.min = max(q.min, 0)
	q.max = max(q.max, q.min)
	if q.max > limit {
		return nil, fieldError(field, "reaches %g; at most %g is allowed (set max)", q.max, limit)
	}
	if q.table != nil {
		for i := range q.table {
			u := tableLow + (tableHigh-tableLow)*float64(i)/tableCells
			q.table[i] = min(max(q.exact(u), q.min), q.max)
		}
	}
	return q, nil
}

func (d *Distribution) inverse(field string) (*quantile, error) {
	slow := func(f func(u float64) float64) *quantile {
		return &quantile{exact: f, table: make([]float64, tableCells+1)}
	}
	switch d.Kind {
	case "fixed":
		return &quantile{exact: func(float64) float64 { return d.Value }}, nil
	case "uniform":
		if d.High < d.Low || d.High == 0 {
			return nil, fieldError(field, "uniform needs low <= high, high > 0; got %g and %g", d.Low, d.High)
		}
		return uniform(d.Low, d.High), nil
	case "exponential":
		if d.Mean == 0 {
			return nil, fieldError(field+".mean", "exponential needs a positive mean")
		}
		mean := d.Mean
		return slow(func(u float64) float64 { return -mean * math.Log1p(-u) }), nil
	case "lognormal":
		mu, sigma := d.Mu, d.Sigma
		switch {
		case d.Mean > 0 && d.CV > 0:
			sigma = math.Sqrt(math.Log1p(d.CV * d.CV))
			mu = math.Log(d.Mean) - sigma*sigma/2
		case sigma == 0:
			return nil, fieldError(field, "lognormal needs mean and cv, or mu and sigma")
		}
		return slow(func(u float64) float64 { return math.Exp(mu + sigma*normalQuantile(u)) }), nil
	case "normal":
		if d.Mean == 0 || d.CV == 0 {
			return nil, fieldError(field, "normal needs mean and cv")
		}
		mean, sd := d.Mean, d.Mean*d.CV
		return slow(func(u float64) float64 { return mean + sd*normalQuantile(u) }), nil
	case "gamma":
		shape, scale := d.Shape, d.Scale
		if d.Mean > 0 && d.CV > 0 {
			shape, scale = 1/(d.CV*d.CV), d.Mean*d.CV*d.CV
		}
		if shape > 1e12 {
			return nil, fieldError(field, "gamma of CV %g is as good as fixed; use fixed, or a CV of at least 1e-6", 1/math.Sqrt(shape))
		}
		if shape == 0 || scale == 0 {
			return nil, fieldError(field, "gamma needs mean and cv, or shape and scale")
		}
		return slow(func(u float64) float64 { return scale * gamma.Quantile(shape, u) }), nil
	case "pareto":
		if d.Shape == 0 || d.Scale == 0 {
			return nil, fieldError(field, "pareto needs shape and scale")
		}
		shape, scale := d.Shape, d.Scale
		return slow(func(u float64) float64 { return scale * math.Pow(1-u, -1/shape) }), nil
	case "empirical":
		return d.empirical(field)
	}
	why := "is not a distribution"
	if d.Kind == "" {
		why = "is missing"
	} else if near := tomlfile.Nearest(d.Kind, distributionKinds); near != "" {
		why += " (did you mean \"" + near + "\"?)"
	}
	return nil, fieldError(field+".distribution", "%q %s; the distributions are %s", d.Kind, why, strings.Join(distributionKinds, ", "))
}

// uniform draws whole numbers, both ends included, where the bounds are whole, and points between them otherwise.
func uniform(low, high float64) *quantile {
	if low == math.Trunc(low) && high == math.Trunc(high) && high-low >= 1 {
		return &quantile{discrete: true, exact: func(u float64) float64 {
			return min(math.Floor(low+u*(high-low+1)), high)
		}}
	}
	return &quantile{exact: func(u float64) float64 { return low + u*(high-low) }}
}

func (d *Distribution) empirical(field string) (*quantile, error) {
	v, p := d.Values, d.Probabilities
	if len(v) < 2 {
		return nil, fieldError(field+".values", "an empirical distribution needs at least 2 values, got %d", len(v))
	}
	if len(p) == 0 {
		p = make([]float64, len(v))
		for i := range p {
			p[i] = float64(i) / float64(len(v)-1)
		}
	}
	if len(p) != len(v) {
		return nil, fieldError(field+".probabilities", "%d probabilities for %d values", len(p), len(v))
	}
	if p[0] != 0 || p[len(p)-1] != 1 {
		return nil, fieldError(field+".probabilities", "must run from 0 to 1, run from %g to %g", p[0], p[len(p)-1])
	}
	for i := range v {
		if math.IsNaN(v[i]) || math.IsInf(v[i], 0) || v[i] < 0 {
			return nil, fieldError(field+".values", "value %d is %g, not a number of at least 0", i+1, v[i])
		}
		if i > 0 && (v[i] < v[i-1] || !(p[i] > p[i-1])) {
			return nil, fieldError(field+".values", "values and probabilities must ascend; entry %d (%g at %g) does not", i+1, v[i], p[i])
		}
	}
	return &quantile{exact: func(u float64) float64 {
		i := sort.SearchFloat64s(p, u)
		switch {
		case i == 0:
			return v[0]
		case i == len(p):
			return v[len(v)-1]
		}
		return v[i-1] + (u-p[i-1])/(p[i]-p[i-1])*(v[i]-v[i-1])
	}}, nil
}

func normalQuantile(u float64) float64 { return math.Sqrt2 * math.Erfinv(2*u-1) }
