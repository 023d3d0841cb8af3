package sim

import (
	"math"
	"testing"

	"scoville/model/workload"
)

// TestSpeculation by hand: draft 3, acceptance 0.7: 1 + 0.7 + 0.49 + 0.343 = 2.533 tokens a step, 648/256 as counted. 100 tokens after
// the first take ceil(100 x 256 / 648) = 40 steps of 10 ms + 3 drafts of a tenth of that.
func TestSpeculation(t *testing.T) {
	e := vllm()
	e.Speculative = Speculative{Draft: 3, Acceptance: 0.7, DraftCost: 0.1}
	r := mustRun(t, Config{Engine: e, Steps: fakeModel{fixed: 0.01}, Options: Options{WarmupShare: -1, KeepRequests: true}},
		&list{requests: []workload.Request{{InputTokens: 50, OutputTokens: 101}}})
	q := r.Records[0]
	if q.FirstTokenNanos != 10_000_000 {
		t.Errorf("first token after %d ns", q.FirstTokenNanos)
	}
	if got, want := q.EndNanos-q.FirstTokenNanos, int64(40*13_000_000); math.Abs(float64(got-want)) > 1 {
		t.Errorf("100 tokens took %d ns, want %d", got, want)
	}
	if got := r.OutputTokensPerSecond * r.Seconds; math.Abs(got-101) > 1e-9 {
		t.Errorf("%g tokens counted, 101 given out", got)
	}
	for _, c := range []struct {
		s    Speculative
		want float64
	}{{Speculative{}, 1}, {Speculative{Draft: 4, Acceptance: 1}, 5}, {Speculative{Draft: 4}, 1}, {Speculative{Draft: 2, Acceptance: 0.5}, 1.75}} {
		if got := c.s.tokensPerStep(); got != c.want {
			t.Errorf("%+v: %g tokens a step, want %g", c.s, got, c.want)
		}
	}
}
