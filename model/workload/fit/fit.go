// Package fit turns a recorded trace into a workload description, and says how well it fits.
package fit

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"scoville/model/fact"
	"scoville/model/workload"
	"scoville/model/workload/describe"
	"scoville/model/workload/trace"
)

// Goodness is how one parametric form fits a length distribution. KS is the Kolmogorov-Smirnov distance.
type Goodness struct {
	Field string  `json:"field"` // input or output
	Form  string  `json:"form"`
	KS    float64 `json:"ks"`
	Mean  float64 `json:"mean"` // of the form
	True  float64 `json:"true_mean"`
}

// Result is a fitted workload with what to know about it.
type Result struct {
	Workload *workload.Workload `json:"workload"`
	Goodness []Goodness         `json:"goodness"`
	Verdict  []string           `json:"verdict"`
	Checks   []Check            `json:"checks,omitempty"` // generated traffic against the trace
}

// Check compares a figure of the trace with generated traffic: its mean and range over replications.
type Check struct {
	Name      string  `json:"name"`
	Trace     float64 `json:"trace"`
	Generated float64 `json:"generated"`
	Low       float64 `json:"low"` // over replications
	High      float64 `json:"high"`
}

// Options of a fit.
type Options struct {
	Name       string
	Source     string
	Parametric bool // use a parametric form where one is honest; default: always the empirical one
	Seed       uint64
}

// honestKS is the distance up to which a parametric form may stand in for the data: quantiles are then off by at most
// five percentiles. At the sizes of traces every formal test rejects every form, so a test would say nothing.
const honestKS = 0.05

// Trace fits a trace in memory. It needs at least 100 requests.
func Trace(s *trace.Set, o Options) (*Result, error) {
	const fewest = 100
	if s.Len() < fewest {
		return nil, fmt.Errorf("a fit needs at least %d requests, the trace has %d", fewest, s.Len())
	}
	d := describe.Set(o.Name, s)
	w := &workload.Workload{Name: o.Name, Description: fmt.Sprintf("fitted to %d requests", s.Len()), From: o.Source, Kind: fact.Estimate}
	out := &Result{Workload: w}
	w.Lengths = workload.Lengths{Input: empirical(d.Input), Output: empirical(d.Output), Copula: copula(s.Input, s.Output)}
	out.lengths(d, o.Parametric)
	if s.Timed {
		if err := out.arrivals(s, d, o.Seed); err != nil {
			return nil, err
		}
	} else {
		w.Arrivals = workload.Arrivals{Process: "poisson"}
		out.say("The trace has no arrival times: Poisson arrivals are assumed, and the rate has to be given.")
	}
	if d.Prefix != nil {
		if err := out.prefix(s, d); err != nil {
			return nil, err
		}
	}
	if err := w.Validate(); err != nil {
		return nil, fmt.Errorf("the fitted workload is not valid: %w", err)
	}
	return out, out.check(d, o.Seed)
}

// File fits a trace file or folder.
func File(path string, opt trace.Options, spreadTies bool, o Options) (*Result, error) {
	s, err := trace.Load(path, opt)
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = filepath.Base(path)
	}
	if o.Source == "" {
		o.Source = "fitted to " + filepath.Base(path)
	}
	if s.Timed && spreadTies {
		s.SpreadTies(o.Seed)
	}
	r, err := Trace(s, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if tied := s.TiedShare(); s.Timed && tied > 0.10 {
		r.say(fmt.Sprintf("%.1f %% of arrivals share a timestamp: the clock is coarse, and the arrival fit describes its ticks. Spread ties first.", 100*tied))
	}
	return r, nil
}

func (r *Result) say(s string) { r.Verdict = append(r.Verdict, s) }

// gridProbabilities are where quantiles are kept: every 2 %, finer in both tails.
func gridProbabilities() []float64 {
	p := []float64{0, 0.0025, 0.005, 0.01}
	for k := 2; k <= 96; k += 2 {
		p = append(p, float64(k)/100)
	}
	return append(p, 0.965, 0.97, 0.975, 0.98, 0.985, 0.99, 0.9925, 0.995, 0.9975, 0.999, 0.9995, 1)
}

// empirical tabulates quantiles, rounded to whole tokens.
func empirical(l *describe.Lengths) workload.Distribution {
	d := workload.Distribution{Kind: "empirical"}
	for _, p := range gridProbabilities() {
		v := math.Round(max(1, l.Quantile(p)))
		n := len(d.Values)
		if n >= 2 && d.Values[n-1] == v && d.Values[n-2] == v { // a level run needs only its ends
			d.Probabilities[n-1] = p
			continue
		}
		d.Values, d.Probabilities = append(d.Values, v), append(d.Probabilities, p)
	}
	return d
}

// copulaBands is the number of rank bands a side.
const copulaBands = 8

// copula counts in which band of output ranks the requests of each band of input ranks fall. Ties are ranked in order
// of appearance, which makes both margins uniform. Entries are in thousandths of all requests.
func copula(in, out []int32) [][]float64 {
	n := len(in)
	band := func(v []int32) []int {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return int(v[a]) - int(v[b]) })
		bands := make([]int, n)
		for rank, i := range order {
			bands[i] = rank * copulaBands / n
		}
		return bands
	}
	a, b := band(in), band(out)
	m := make([][]float64, copulaBands)
	for i := range m {
		m[i] = make([]float64, copulaBands)
	}
	for i := range n {
		m[a[i]][b[i]]++
	}
	for i := range m {
		for j := range m[i] {
			m[i][j] = math.Round(m[i][j]/float64(n)*1e5) / 100
		}
	}
	return m
}

// lengths judges the parametric forms, and takes one over where it is honest and asked for.
func (r *Result) lengths(d *describe.Trace, parametric bool) {
	for _, side := range []struct {
		name string
		l    *describe.Lengths
		to   *workload.Distribution
	}{{"input", d.Input, &r.Workload.Lengths.Input}, {"output", d.Output, &r.Workload.Lengths.Output}} {
		l := side.l
		if l.Min == l.Max {
			*side.to = workload.Distribution{Kind: "fixed", Value: float64(l.Min)}
			r.say(fmt.Sprintf("%s: all requests have %d tokens", side.name, l.Min))
			continue
		}
		r.Goodness = append(r.Goodness,
			Goodness{side.name, "lognormal", l.LognormalKS, l.LognormalMean, l.Mean},
			Goodness{side.name, "gamma", l.GammaKS, l.Mean, l.Mean})
		form, ks := "lognormal", l.LognormalKS
		if l.GammaKS < ks {
			form, ks = "gamma", l.GammaKS
		}
		if ks > honestKS {
			r.say(fmt.Sprintf("%s: only the empirical form is honest. The best parametric one, %s, is off by %.1f percentiles at worst (KS %.3f; %.2f is allowed)", side.name, form, 100*ks, ks, honestKS))
			continue
		}
		r.say(fmt.Sprintf("%s: a %s fits (KS %.3f)", side.name, form, ks))
		if !parametric {
			continue
		}
		switch form {
		case "gamma":
			*side.to = workload.Distribution{Kind: "gamma", Shape: round(l.GammaMLShape), Scale: round(l.Mean / l.GammaMLShape), Min: 1, Max: float64(l.Max)}
		default:
			*side.to = workload.Distribution{Kind: "lognormal", Mu: round(l.Mu), Sigma: round(l.Sigma), Min: 1, Max: float64(l.Max)}
		}
	}
}

// round keeps 4 significant digits.
func round(x float64) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}
