package calibrate

import (
	"context"
	"fmt"
	"sort"
	"sync"

	"scoville/hardware"
	"scoville/model/workload"
	"scoville/sim"
)

// Deployment is what was measured: hardware and scheduler.
type Deployment struct {
	Hardware hardware.Deployment
	Engine   sim.Engine

	// The loads of a fit ask for the step times of the same factors one after another; tabulating them takes longer than a load.
	mu    sync.Mutex
	last  hardware.Factors
	steps hardware.StepModel
	ttft  float64
}

// at is the step times, and the seconds outside the steps, with factors.
func (d *Deployment) at(f hardware.Factors) (hardware.StepModel, float64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.steps == nil || d.last != f {
		adjusted := d.Hardware.Adjusted(f)
		steps, err := hardware.NewStepModel(adjusted)
		if err != nil {
			return nil, 0, err
		}
		d.last, d.steps, d.ttft = f, steps, adjusted.Engine.Host.TTFTSeconds.Value
	}
	return d.steps, d.ttft, nil
}

// replay offers requests as a load generator did: an open loop by its clock, a closed loop by what comes back. The first clients of
// a closed loop start when they did; each later request follows the end of the one whose place it takes.
type replay struct {
	requests []workload.Request
	clients  int   // 0: open loop
	think    int64 // ns between an answer and the next request of that client
	next     int
	ready    []int64 // times at which a place became free, sorted
	last     int64   // arrival of the last request taken
}

func newReplay(requests []workload.Request, clients int, think int64) *replay {
	return &replay{requests: requests, clients: clients, think: think}
}

func (r *replay) Err() error { return nil }

// closedReplay is a replay with feedback; an open one must not be taken for it.
type closedReplay struct{ replay }

func (r *replay) source() workload.Source {
	if r.clients > 0 {
		return &closedReplay{*r}
	}
	return r
}

// Next is the open loop.
func (r *replay) Next(q *workload.Request) bool {
	if r.next >= len(r.requests) {
		return false
	}
	*q = r.requests[r.next]
	r.next++
	return true
}

// Peek is the time of the next request of the closed loop.
func (r *closedReplay) Peek() (int64, bool) {
	switch {
	case r.next >= len(r.requests):
		return 0, false
	case r.next < r.clients:
		return r.requests[r.next].ArrivalNanoseconds, true
	case len(r.ready) > 0:
		// A place may become free before the last of the first clients has started; arrivals stay in order all the same.
		return max(r.ready[0], r.last), true
	}
	return 0, false
}

// Next takes the request that Peek announced.
func (r *closedReplay) Next(q *workload.Request) bool {
	at, ok := r.Peek()
	if !ok {
		return false
	}
	*q = r.requests[r.next]
	q.ArrivalNanoseconds = at
	r.last = at
	if r.next >= r.clients {
		r.ready = r.ready[1:]
	}
	r.next++
	return true
}

// Done frees a place.
func (r *closedReplay) Done(_ *workload.Request, at int64) {
	at += r.think
	if n := len(r.ready); n > 0 && at < r.ready[n-1] {
		i := sort.Search(n, func(i int) bool { return r.ready[i] > at })
		r.ready = append(r.ready, 0)
		copy(r.ready[i+1:], r.ready[i:])
		r.ready[i] = at
		return
	}
	r.ready = append(r.ready, at)
}

// simulate runs requests on the deployment with factors.
func (d *Deployment) simulate(ctx context.Context, f hardware.Factors, load *replay) ([]sample, Figures, error) {
	steps, ttft, err := d.at(f)
	if err != nil {
		return nil, nil, err
	}
	engine := d.Engine
	engine.OverheadTTFTSeconds = ttft
	fresh := newReplay(load.requests, load.clients, load.think)
	r, err := sim.Run(ctx, sim.Config{Engine: engine, Steps: steps, Options: sim.Options{KeepRequests: true, WarmupShare: -1}}, fresh.source())
	if err != nil {
		return nil, nil, err
	}
	if r.Rejected > 0 {
		for _, q := range r.Records {
			if q.Outcome == sim.Rejected {
				return nil, nil, fmt.Errorf("the simulated engine rejects a request of %d + %d tokens that the server answered: %s; check max_sequences, max_model_len and kv_blocks", q.InputTokens, q.OutputTokens, q.Reason)
			}
		}
	}
	out := make([]sample, 0, len(r.Records))
	for i := range r.Records {
		q := &r.Records[i]
		if q.Outcome != sim.Finished {
			continue
		}
		s := sample{input: int(q.InputTokens), output: int(q.OutputTokens), sent: float64(q.ArrivalNanos) * 1e-9,
			ttft: float64(q.FirstTokenNanos-q.ArrivalNanos) * 1e-9, e2e: float64(q.EndNanos-q.ArrivalNanos) * 1e-9}
		if s.output > 1 {
			s.tpot = float64(q.EndNanos-q.FirstTokenNanos) * 1e-9 / float64(s.output-1)
		}
		out = append(out, s)
	}
	figures := figuresOf(out)
	figures.energy(r.Joules, r.Seconds, steps)
	return out, figures, nil
}
