package fit

import (
	"math"

	"scoville/model/workload/describe"
)

// check generates traffic from the fitted workload, over the trace's span, and compares.
func (r *Result) check(d *describe.Trace, seed uint64) error {
	if d.Arrivals == nil || !(d.Arrivals.MeanRate > 0) {
		return nil
	}
	const replications = 10
	names, want := checked(d)
	r.Checks = make([]Check, len(want))
	for i := range want {
		r.Checks[i] = Check{Name: names[i], Trace: want[i], Low: math.Inf(1), High: math.Inf(-1)}
	}
	for replication := range replications {
		g, err := generated(r.Workload, d.Arrivals.SpanSeconds, seed+1, replication)
		if err != nil {
			return err
		}
		_, got := checked(g)
		for i := range r.Checks {
			x := 0.0
			if i < len(got) {
				x = got[i]
			}
			c := &r.Checks[i]
			c.Generated += x / replications
			c.Low, c.High = min(c.Low, x), max(c.High, x)
		}
	}
	return nil
}

// checked lists the figures that generated traffic should have in common with its target.
func checked(d *describe.Trace) (names []string, values []float64) {
	add := func(name string, v float64) { names, values = append(names, name), append(values, v) }
	a := d.Arrivals
	add("requests/s", a.MeanRate)
	add("gap CV", a.GapCV)
	add("input mean", d.Input.Mean)
	add("input p50", d.Input.P50)
	add("input p99", d.Input.P99)
	add("output mean", d.Output.Mean)
	add("output p50", d.Output.P50)
	add("output p99", d.Output.P99)
	add("Spearman", d.Correlation.Spearman)
	for _, w := range a.Windows {
		switch w.Seconds {
		case 1:
			add("peak 1 s", w.Peak)
			add("dispersion 1 s", w.Dispersion)
		case 10:
			add("peak 10 s", w.Peak)
			add("dispersion 10 s", w.Dispersion)
		case 60:
			add("peak 60 s", w.Peak)
			add("dispersion 60 s", w.Dispersion)
		}
	}
	return names, values
}
