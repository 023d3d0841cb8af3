package validate

import (
	"math"

	"scoville/model/workload"
)

func fixed(tokens int) workload.Distribution {
	return workload.Distribution{Kind: "fixed", Value: float64(tokens)}
}

// upTo is how InferenceX draws lengths: uniform between 80 % of the nominal length and the length.
func upTo(tokens int) workload.Distribution {
	return workload.Distribution{Kind: "uniform", Low: math.Floor(0.8 * float64(tokens)), High: float64(tokens)}
}

// closedLoop is c clients that all start at once; requests in all.
func closedLoop(clients int, requests int64, input, output workload.Distribution) Traffic {
	return Traffic{
		Spec: &workload.Workload{
			Name:     "closed loop",
			Arrivals: workload.Arrivals{Process: "closed-loop", ClosedLoop: &workload.ClosedLoop{Concurrency: clients, InitialBurst: true}},
			Lengths:  workload.Lengths{Input: input, Output: output},
		},
		Options: workload.SourceOptions{MaxRequests: requests},
	}
}

// allAtOnce queues every request at the start.
func allAtOnce(requests int, input, output workload.Distribution) Traffic {
	return closedLoop(requests, int64(requests), input, output)
}

// poisson is an open loop.
func poisson(perSecond float64, requests int64, lengths workload.Lengths) Traffic {
	return Traffic{
		Spec:    &workload.Workload{Name: "open loop", Arrivals: workload.Arrivals{Process: "poisson"}, Lengths: lengths},
		Options: workload.SourceOptions{RequestsPerSecond: perSecond, MaxRequests: requests},
		Steady:  true, Warmup: 0.1,
	}
}

func (t *Traffic) source(seed uint64) (workload.Source, error) {
	if t.Spec == nil {
		return &replay{requests: t.Trace}, nil
	}
	o := t.Options
	o.Seed = seed
	return t.Spec.Source(o)
}

// replay yields recorded requests.
type replay struct {
	requests []workload.Request
	at       int
}

func (r *replay) Next(q *workload.Request) bool {
	if r.at >= len(r.requests) {
		return false
	}
	*q = r.requests[r.at]
	r.at++
	return true
}

func (r *replay) Err() error { return nil }
