package capacity_test

import (
	"context"
	"testing"

	"scoville/model/random"
	"scoville/model/sla"
	"scoville/sim"
	"scoville/sim/capacity"
	"scoville/sim/fleet"
)

// llm-d autoscaling issue 1249: one replica of Qwen3-32B holds 2 requests/s (its knee: p99 of TTFT goes from 136 ms to 18.8 s beyond) and does 3 at
// most. For 20 requests/s: 7 replicas at zero headroom, 10 at the knee. A burst of 15 on 4 replicas is unstable, which 4 x 3 < 15 says
// before anything runs. The replica here does 3 requests/s saturated, one after another.
func TestReplicasByKneeAndBySaturation(t *testing.T) {
	const saturation, peak = 3.0, 20.0
	cfg := sim.Config{Steps: server{}, SLA: sla.Limits{Percentiles: []sla.Limit{{Metric: sla.TTFT, Quantile: 0.99, Seconds: 4.605 / (saturation - 2)}}},
		Engine: sim.Engine{MaxBatchedTokens: 1 << 30, MaxSequences: 1, ChunkedPrefill: true, BlockTokens: 16}}
	// customers need 1 s each; time runs saturation times as fast here.
	run := func(ctx context.Context, replicas int, rate float64, n int64, r int) (*sim.Result, error) {
		c := cfg
		c.Steps = faster{saturation}
		return fleet.Run(ctx, fleet.Config{Replica: c, Replicas: replicas, Routing: fleet.RoundRobin}, &customers{rate: rate, max: n, arrivals: random.New(1, r, "arrivals"), services: random.New(1, r, "services")})
	}
	a, err := capacity.Find(context.Background(), capacity.Search{Start: 1, Replications: 8, Precision: 0.01,
		Probe: func(ctx context.Context, rate float64, r int) (*sim.Result, error) {
			return run(ctx, 1, rate, 20_000, r)
		}})
	if err != nil {
		t.Fatal(err)
	}
	if a.Low > 2 || a.High < 2 {
		t.Errorf("the knee is in [%.3f, %.3f], want 2", a.Low, a.High)
	}
	knee, none := capacity.Replicas(peak, 2), capacity.Replicas(peak, saturation)
	if knee != 10 || none != 7 {
		t.Errorf("%d replicas at the knee and %d at zero headroom, want 10 and 7", knee, none)
	}
	burst, err := run(context.Background(), 4, 15, 20_000, 0)
	if err != nil {
		t.Fatal(err)
	}
	if capacity.Replicas(15, saturation) <= 4 || burst.Verdict != sim.Unstable {
		t.Errorf("4 replicas under 15 requests/s: %d are needed, the run is %s", capacity.Replicas(15, saturation), burst.Verdict)
	}
}
