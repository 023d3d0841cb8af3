package sim

import (
	"context"
	"testing"

	"pgregory.net/rapid"
	"scoville/model/workload"
)

// With asynchronous scheduling a request that comes during a step misses the step after it, which is planned already; an idle
// engine serves it at once.
func TestAsyncSchedulingJoinsOneStepLater(t *testing.T) {
	requests := []workload.Request{
		{ID: 1, ArrivalNanoseconds: 0, InputTokens: 8, OutputTokens: 20},
		{ID: 2, ArrivalNanoseconds: 34_000_000, InputTokens: 8, OutputTokens: 2},
		{ID: 3, ArrivalNanoseconds: 900_000_000, InputTokens: 8, OutputTokens: 1},
	}
	for _, c := range []struct {
		async bool
		first []int64 // first tokens, ms; steps are 10 ms
	}{{false, []int64{10, 50, 910}}, {true, []int64{10, 60, 910}}} {
		e := vllm()
		e.AsyncScheduling = c.async
		r, err := Run(context.Background(), Config{Engine: e, Steps: fakeModel{fixed: 10e-3}, Options: Options{KeepRequests: true, WarmupShare: -1}}, &list{requests: requests})
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range r.Records {
			if got := q.FirstTokenNanos / 1_000_000; got != c.first[q.ID-1] {
				t.Errorf("async %v: record %d: first token at %d ms, want %d", c.async, i, got, c.first[q.ID-1])
			}
		}
	}
}

func TestLeapEqualsWalkAsync(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		s.cfg.Engine.AsyncScheduling = true
		leap, err := s.run(false)
		if err != nil {
			t.Fatal(err)
		}
		walk, err := s.run(true)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range leap.Records {
			if b := walk.Records[i]; a != b {
				t.Fatalf("record %d:\nleap %+v\nwalk %+v", i, a, b)
			}
		}
	})
}
