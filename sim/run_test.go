package sim

import (
	"testing"

	"scoville/model/workload"
)

// TestQueueOfOne is a D/D/1 queue by hand: 8 requests at 10 a second, one in flight, 0.5 s of service.
func TestQueueOfOne(t *testing.T) {
	e := vllm()
	e.MaxSequences = 1
	src := &list{}
	for k := range 8 {
		src.requests = append(src.requests, workload.Request{ID: int64(k), ArrivalNanoseconds: int64(k) * 1e8, InputTokens: 100, OutputTokens: 1})
	}
	r := mustRun(t, Config{Engine: e, Steps: fakeModel{fixed: 0.5}, Options: Options{WarmupShare: -1}}, src)
	near := func(name string, got, want float64) {
		if diff := got - want; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%s = %.12g, want %g", name, got, want)
		}
	}
	near("mean wait", r.QueueWait.Mean, 1.4)
	near("max wait", r.QueueWait.Max, 2.8)
	near("mean E2E", r.E2E.Mean, 1.9)
	if r.Verdict != Finite || r.Finished != 8 {
		t.Errorf("verdict %s, %d finished", r.Verdict, r.Finished)
	}
}
