package sim_test

import (
	"context"
	"math"
	"testing"

	"scoville/hardware"
	"scoville/model/llm"
	"scoville/model/random"
	"scoville/model/workload"
	"scoville/profiles"
	"scoville/sim"
)

// shippedModel is the step model of a shipped chip and model.
func shippedModel(tb testing.TB, chip, model string, tensor int) hardware.StepModel {
	tb.Helper()
	c, err := profiles.Chip(chip)
	if err != nil {
		tb.Fatal(err)
	}
	a, p, err := profiles.Model(model)
	if err != nil {
		tb.Fatal(err)
	}
	e, err := profiles.Engine("vllm", "")
	if err != nil {
		tb.Fatal(err)
	}
	m, err := hardware.NewStepModel(hardware.Deployment{Chip: c, Model: a, Precision: p, Engine: e, Split: llm.Split{Tensor: tensor}.Normal()})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// even is Poisson traffic with exponential lengths.
type even struct {
	rate   float64
	n, max int64
	clock  float64
	draws  *random.Stream
}

func (s *even) Next(r *workload.Request) bool {
	if s.n == s.max {
		return false
	}
	s.n++
	s.clock -= math.Log(s.draws.Open()) / s.rate
	length := func(mean float64) int32 { return 1 + int32(-mean*math.Log(s.draws.Open())) }
	*r = workload.Request{ID: s.n, ArrivalNanoseconds: int64(s.clock * 1e9), InputTokens: length(512), OutputTokens: length(256)}
	return true
}

func (s *even) Err() error { return nil }

var engine = sim.Engine{MaxBatchedTokens: 8192, MaxSequences: 256, ChunkedPrefill: true, BlockTokens: 16, KVBlocks: 27000}

// TestShippedModels: with the shipped step models leaping equals walking too, and a decode step of one shape costs the same by both
// ways of the step model.
func TestShippedModels(t *testing.T) {
	for _, c := range []struct {
		chip, model string
		tensor      int
		speculative sim.Speculative
	}{
		{"h100-sxm-80gb", "llama-3.1-8b", 1, sim.Speculative{}},
		{"h100-sxm-80gb", "llama-3.1-8b", 1, sim.Speculative{Draft: 3, Acceptance: 0.7}},
		{"h200-sxm-141gb", "gpt-oss-120b", 2, sim.Speculative{}},
		{"h200-sxm-141gb", "deepseek-v3", 8, sim.Speculative{}},
	} {
		m := shippedModel(t, c.chip, c.model, c.tensor)
		run := func(walk bool) *sim.Result {
			e := engine
			e.Speculative = c.speculative
			r, err := sim.Run(context.Background(), sim.Config{Engine: e, Steps: m, Options: sim.Options{DisableLeap: walk, WarmupShare: -1}}, &even{rate: 4, max: 300, draws: random.New(1, 0, "x")})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		leap, walk := run(false), run(true)
		if leap.E2E != walk.E2E || leap.ITL.P99 != walk.ITL.P99 || math.Abs(leap.Joules/walk.Joules-1) > 1e-9 {
			t.Errorf("%s on %s: leap %+v, walk %+v", c.model, c.chip, leap.E2E, walk.E2E)
		}
		for _, n := range []int{1, 7, 64, 200} {
			b := hardware.Batch{DecodeSequences: n, DecodeKVTokens: float64(900 * n), DecodeKVWindow: float64(100 * n), Speculative: 1}
			d := m.Decode(n)
			want := d.Base.Seconds + d.PerKV.Seconds*b.DecodeKVTokens + d.PerKVWin.Seconds*b.DecodeKVWindow
			if got := m.Step(b).Seconds; math.Abs(got/want-1) > 1e-9 {
				t.Errorf("%s, %d sequences: Step %g s, Decode %g s", c.model, n, got, want)
			}
		}
	}
}

// BenchmarkShippedModel is BenchmarkRun with the shipped step model of Llama-3.1-8B on one H100.
func BenchmarkShippedModel(b *testing.B) {
	m := shippedModel(b, "h100-sxm-80gb", "llama-3.1-8b", 1)
	b.ResetTimer()
	if _, err := sim.Run(context.Background(), sim.Config{Engine: engine, Steps: m}, &even{rate: 16, max: int64(b.N), draws: random.New(1, 0, "x")}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
