package fit

import (
	"fmt"
	"math"

	"scoville/model/workload"
	"scoville/model/workload/describe"
	"scoville/model/workload/trace"
)

// arrivals chooses a process. Silence for half of the time means on-off; a dispersion that grows with the window, means
// a rate that moves; else it is a renewal process.
func (r *Result) arrivals(s *trace.Set, d *describe.Trace, seed uint64) error {
	a := d.Arrivals
	r.Workload.Arrivals = workload.Arrivals{Process: "poisson", RequestsPerSecond: round(a.MeanRate)}
	to := &r.Workload.Arrivals
	switch {
	case a.Bursts != nil:
		return r.onOff(d, seed)
	case growth(a) > movingRate:
		to.Shape = shape(s, a)
		local := localCV(s, to.Shape.StepSeconds)
		r.say(fmt.Sprintf("arrivals: the rate moves over minutes (dispersion %.2f at 1 s, %.1f at 60 s); inside %.0f s steps the gap CV is %.2f", dispersion(a, 1), dispersion(a, 60), to.Shape.StepSeconds, local))
		r.renewal(local)
	default:
		r.renewal(a.GapCV)
	}
	return nil
}

// movingRate is the growth of the dispersion from 1 s to 60 s windows above which the rate is taken to move.
const movingRate = 2

func growth(a *describe.Arrivals) float64 {
	if d := dispersion(a, 1); d > 0 {
		return dispersion(a, 60) / d
	}
	return 1
}

// dispersion is the index of dispersion at a window, 0 where the trace is too short for one.
func dispersion(a *describe.Arrivals, seconds float64) float64 {
	for _, w := range a.Windows {
		if w.Seconds == seconds {
			return w.Dispersion
		}
	}
	return 0
}

// renewal chooses the renewal process by the CV of the gaps.
func (r *Result) renewal(cv float64) {
	a := &r.Workload.Arrivals
	const poissonLow, poissonHigh, renewalHigh = 0.9, 1.15, 3
	switch {
	case cv < 0.01:
		a.Process = "deterministic"
	case cv >= poissonLow && cv <= poissonHigh:
		a.Process = "poisson"
	default:
		a.Process, a.CV = "gamma", round(cv)
	}
	r.say(fmt.Sprintf("arrivals: %s (gap CV %.2f)", a.Process, cv))
	if cv > renewalHigh {
		r.say("arrivals: a renewal process of so large a CV overshoots short peaks; resampling the trace (trace.mode = \"resample\") keeps them")
	}
}

// shape cuts the trace into about 30 steps, at least 10 s each and with 100 requests on average.
func shape(s *trace.Set, a *describe.Arrivals) *workload.Shape {
	const steps, fewest, shortest = 30, 100, 10
	step := max(a.SpanSeconds/steps, shortest, fewest/a.MeanRate)
	step = math.Ceil(step/10) * 10
	n := max(1, int(a.SpanSeconds/step))
	out := &workload.Shape{StepSeconds: step, Multipliers: make([]float64, n)}
	for _, t := range s.Nanos {
		if k := int(float64(t) / 1e9 / step); k < n {
			out.Multipliers[k]++
		}
	}
	for k := range out.Multipliers {
		out.Multipliers[k] = round(out.Multipliers[k] / step / a.MeanRate)
	}
	return out
}

// localCV is the CV of the gaps after the rate of each step is divided out.
func localCV(s *trace.Set, step float64) float64 {
	var scaled []float64
	for i := 0; i < len(s.Nanos); {
		j, end := i, (math.Floor(float64(s.Nanos[i])/1e9/step)+1)*step*1e9
		sum := 0.0
		for j+1 < len(s.Nanos) && float64(s.Nanos[j+1]) < end {
			sum += float64(s.Nanos[j+1] - s.Nanos[j])
			j++
		}
		if n := float64(j - i); n > 10 && sum > 0 {
			for k := i; k < j; k++ {
				scaled = append(scaled, float64(s.Nanos[k+1]-s.Nanos[k])/(sum/n))
			}
		}
		i = j + 1
	}
	if len(scaled) == 0 {
		return 1
	}
	squares := 0.0
	for _, x := range scaled {
		squares += (x - 1) * (x - 1)
	}
	return math.Sqrt(squares / float64(len(scaled)))
}
