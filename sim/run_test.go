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

// TestLoad: what a router may know of a replica, as requests come and go.
func TestLoad(t *testing.T) {
	e := vllm()
	e.MaxSequences, e.KVBlocks = 2, 100
	cfg := Config{Engine: e, Steps: fakeModel{fixed: 0.01}}
	rec, err := NewRecorder(cfg, 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReplica(cfg, 0, rec)
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string, want Load, room bool) {
		t.Helper()
		if got := r.Load(); got != want || r.HasRoom() != room || r.Outstanding() != want.Waiting+want.Running {
			t.Errorf("%s: %+v, room %v", when, got, r.HasRoom())
		}
	}
	check("idle", Load{}, true)
	for id := range int64(3) {
		r.Submit(0, &workload.Request{ID: id, InputTokens: 160, OutputTokens: 2 + int32(id)})
	}
	check("submitted", Load{3, 0, 480, 0}, false)
	for range 2 { // wake, then the step of two prompts
		if err := r.Advance(); err != nil {
			t.Fatal(err)
		}
	}
	check("two prompts done", Load{1, 2, 480, 0.22}, false) // 10 blocks each, and one each for the next token
	for r.Next() < never {
		if err := r.Advance(); err != nil {
			t.Fatal(err)
		}
	}
	check("all gone", Load{}, true)
}
