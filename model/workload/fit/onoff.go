package fit

import (
	"fmt"
	"math"

	"scoville/model/workload"
	"scoville/model/workload/describe"
)

// target is what the on-off process is fitted to: mean squared log error over these figures.
func figures(a *describe.Arrivals) []float64 {
	out := []float64{a.GapCV}
	for _, w := range a.Windows {
		if w.Seconds <= 60 {
			out = append(out, w.Peak, w.Dispersion)
		}
	}
	return out
}

// fitReplications are averaged at each point of the search, always on the same draws.
const fitReplications = 8

// onOff fits an on-off process: lengths of bursts and silences are read off the trace, then the CV inside bursts, the CV
// of the rate between episodes of a burst and the length of these are searched so that generated traffic has the trace's
// gap CV, peaks and dispersions at 1, 10 and 60 s. A coordinate search on a shrinking logarithmic grid; the draws are
// fixed, so the objective is a plain function.
func (r *Result) onOff(d *describe.Trace, seed uint64) error {
	b := d.Arrivals.Bursts
	w := r.Workload
	w.Arrivals = workload.Arrivals{Process: "on-off", RequestsPerSecond: round(d.Arrivals.MeanRate), CV: 1.5,
		OnOff: &workload.OnOff{OnSeconds: round(b.MeanSeconds), OnCV: 1, OffSeconds: round(b.MeanGap), OffCV: round(b.GapCV), RateCV: 0.5, RateHold: 3}}
	a := &w.Arrivals
	want := figures(d.Arrivals)
	parameters := []struct {
		at        *float64
		low, high float64
	}{{&a.CV, 1.01, 4}, {&a.OnOff.RateCV, 0.05, 3}, {&a.OnOff.RateHold, 0.2, 30}, {&a.OnOff.OnCV, 0.2, 2}, {&a.OnOff.OnSeconds, b.MeanSeconds / 2, b.MeanSeconds * 2}}
	best, err := distance(a, d.Arrivals.SpanSeconds, want, seed)
	if err != nil {
		return err
	}
	for step := 1.6; step > 1.05; step = math.Sqrt(step) {
		for range 2 {
			for _, p := range parameters {
				at := *p.at
				for _, try := range []float64{at / step, at * step} {
					*p.at = min(max(try, p.low), p.high)
					e, err := distance(a, d.Arrivals.SpanSeconds, want, seed)
					if err != nil {
						return err
					}
					if e < best {
						best, at = e, *p.at
					}
					*p.at = at
				}
			}
		}
	}
	for _, p := range parameters {
		*p.at = round(*p.at)
	}
	r.say(fmt.Sprintf("arrivals: on-off, silent %.0f %% of the time; root mean square error of gap CV, peaks and dispersions %.0f %%", 100*d.Arrivals.SilentShare, 100*(math.Exp(math.Sqrt(best))-1)))
	return nil
}

// distance is the mean squared log error of the figures of generated traffic, averaged over replications.
func distance(a *workload.Arrivals, span float64, want []float64, seed uint64) (float64, error) {
	one := workload.Distribution{Kind: "fixed", Value: 1}
	w := &workload.Workload{Name: "fit", Arrivals: *a, Lengths: workload.Lengths{Input: one, Output: one}}
	if err := w.Validate(); err != nil {
		return 0, err
	}
	mean := make([]float64, len(want))
	for replication := range fitReplications {
		nanos, err := arrivalTimes(w, span, seed, replication)
		if err != nil {
			return 0, err
		}
		f := figures(describe.Times(nanos))
		if len(f) < len(want) {
			return math.Inf(1), nil // too few arrivals for all windows
		}
		for i := range want {
			mean[i] += f[i] / fitReplications
		}
	}
	sum := 0.0
	for i := range want {
		e := math.Log(max(mean[i], 1e-9) / want[i])
		sum += e * e
	}
	return sum / float64(len(want)), nil
}

// arrivalTimes draws the arrivals of a workload for that long.
func arrivalTimes(w *workload.Workload, span float64, seed uint64, replication int) ([]int64, error) {
	s, err := w.Source(workload.SourceOptions{Seed: seed, Replication: replication, HorizonSeconds: span})
	if err != nil {
		return nil, err
	}
	var nanos []int64
	var r workload.Request
	for s.Next(&r) {
		nanos = append(nanos, r.ArrivalNanoseconds)
	}
	return nanos, s.Err()
}

// generated draws a workload for that long and describes it.
func generated(w *workload.Workload, span float64, seed uint64, replication int) (*describe.Trace, error) {
	return Generated(w, workload.SourceOptions{Seed: seed, Replication: replication, HorizonSeconds: span})
}
