package fleet

import (
	"context"
	"math"
	"testing"

	"scoville/hardware"
	"scoville/model/llm"
	"scoville/model/random"
	"scoville/profiles"
	"scoville/sim"
)

// TestFiveSecondsAreNoSteadyState: Qwen3-14B on 8 H100 at 200 requests a second, 512 in and out. A tutorial of another simulator
// concludes from 5 s of traffic that 8 hold the load; its own runs of 100 s queue for a minute. Here 5 s are no answer, and longer runs
// say that the backlog grows.
func TestFiveSecondsAreNoSteadyState(t *testing.T) {
	chip, err := profiles.Chip("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	arch, precision, err := profiles.Model("qwen3-14b")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := profiles.Engine("vllm", "")
	if err != nil {
		t.Fatal(err)
	}
	steps, err := hardware.NewStepModel(hardware.Deployment{Chip: chip, Model: arch, Precision: precision, Engine: engine, Split: llm.Split{}.Normal()})
	if err != nil {
		t.Fatal(err)
	}
	e := vllm()
	e.KVBlocks = 16_000 // about 42 GB of cache at 160 KiB a token
	for _, c := range []struct {
		replicas int
		n        int64
		want     []sim.Verdict
	}{{8, 1000, []sim.Verdict{sim.NotConverged, sim.Unstable}}, {8, 20_000, []sim.Verdict{sim.Unstable}}, {40, 60_000, []sim.Verdict{sim.Stable}}} {
		src := &traffic{rate: 200, in: 512, out: 512, sigmaIn: 0.5, sigmaOut: 0.5, max: c.n, arrivals: random.New(1, 0, "arrivals"), lengths: random.New(1, 0, "lengths")}
		r, err := Run(context.Background(), Config{Replica: sim.Config{Engine: e, Steps: steps}, Replicas: c.replicas, Routing: LeastOutstanding}, src)
		if err != nil {
			t.Fatal(err)
		}
		ok := false
		for _, v := range c.want {
			ok = ok || r.Verdict == v
		}
		t.Logf("%d replicas, %d requests: %s, slope %.3g/s, TTFT p99 %.3g s, E2E p50 %.3g s, %v", c.replicas, c.n, r.Verdict, r.BacklogSlope, r.TTFT.P99, r.E2E.P50, r.Warnings)
		if !ok || r.Verdict == sim.Unstable && !math.IsNaN(r.TTFT.P99) && r.TTFT.Count != 0 {
			t.Errorf("%d replicas, %d requests: %s, want one of %s", c.replicas, c.n, r.Verdict, c.want)
		}
	}
}
