package fleet

import (
	"context"
	"flag"
	"testing"
	"time"

	"scoville/sim"
)

var hour = flag.Bool("hour", false, "run TestHour")

// TestHour simulates an hour of traffic on 1,000 replicas at 20,000 requests a second: 72 million requests.
func TestHour(t *testing.T) {
	if !*hour {
		t.Skip("minutes; run with -hour")
	}
	start := time.Now()
	cfg := Config{Replica: sim.Config{Engine: vllm(), Steps: llama8B()}, Replicas: 1000, Routing: LeastOutstanding}
	r, err := Run(context.Background(), cfg, newTraffic(20_000, 72_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d requests in %v: %s, TTFT p99 %.4g s, utilisation %.3g", r.Finished, time.Since(start), r.Verdict, r.TTFT.P99, r.Utilisation)
	if r.Finished != 72_000_000 || r.Verdict != sim.Stable {
		t.Errorf("%d finished, %s %v", r.Finished, r.Verdict, r.Warnings)
	}
}
