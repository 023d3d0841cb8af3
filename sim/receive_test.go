package sim

import (
	"context"
	"testing"

	"pgregory.net/rapid"
	"scoville/model/workload"
)

// A scheduler that looks for requests every ten decode steps meets a request then, or after a step with prefill; an idle one at once.
func TestReceiveIntervalMakesRequestsWait(t *testing.T) {
	requests := []workload.Request{
		{ID: 1, ArrivalNanoseconds: 0, InputTokens: 8, OutputTokens: 40},
		{ID: 2, ArrivalNanoseconds: 34_000_000, InputTokens: 8, OutputTokens: 2},  // seen after the ten steps that follow the prefill
		{ID: 3, ArrivalNanoseconds: 115_000_000, InputTokens: 8, OutputTokens: 2}, // comes during 2's prefill, which ends in a look
		{ID: 4, ArrivalNanoseconds: 900_000_000, InputTokens: 8, OutputTokens: 1},
	}
	for _, c := range []struct {
		interval int
		first    []int64 // first tokens, ms; steps are 10 ms
	}{{0, []int64{10, 50, 130, 910}}, {1, []int64{10, 50, 130, 910}}, {10, []int64{10, 120, 130, 910}}} {
		for _, walk := range []bool{false, true} {
			e := vllm()
			e.ReceiveInterval = c.interval
			r, err := Run(context.Background(), Config{Engine: e, Steps: fakeModel{fixed: 10e-3}, Options: Options{KeepRequests: true, WarmupShare: -1, DisableLeap: walk}}, &list{requests: requests})
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range r.Records {
				if got := q.FirstTokenNanos / 1_000_000; got != c.first[q.ID-1] {
					t.Errorf("interval %d, walk %v: first token of %d at %d ms, want %d", c.interval, walk, q.ID, got, c.first[q.ID-1])
				}
			}
		}
	}
}

func TestReceiveIntervalNeedsArrivalOrder(t *testing.T) {
	e := vllm()
	e.ReceiveInterval = 10
	e.PriorityQueue = true
	if e.Validate() == nil {
		t.Error("a priority queue with a receive interval is accepted")
	}
	e.ReceiveInterval, e.PriorityQueue = -1, false
	if e.Validate() == nil {
		t.Error("a negative receive interval is accepted")
	}
}

func TestLeapEqualsWalkReceiveInterval(t *testing.T) {
	for range 5 {
		rapid.Check(t, func(t *rapid.T) {
			s := drawScenario(t)
			s.cfg.Engine.PriorityQueue = false
			s.cfg.Engine.ReceiveInterval = rapid.IntRange(2, 12).Draw(t, "interval")
			leapEqualsWalkOf(t, s)
		})
	}
}
