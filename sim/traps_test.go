package sim

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
	"scoville/model/random"
	"scoville/model/sla"
	"scoville/model/workload"
)

// TestOneStepAtATime: 48 ms prefills and single-token answers, offered 1,000 a second: a simulator that lets steps overlap serves
// them all; one machine serves 1/0.048 a second at most.
func TestOneStepAtATime(t *testing.T) {
	src := &list{}
	for k := range 2000 {
		src.requests = append(src.requests, workload.Request{ID: int64(k), ArrivalNanoseconds: int64(k) * 1e6, InputTokens: 2000, OutputTokens: 1})
	}
	e := vllm()
	e.MaxBatchedTokens, e.MaxSequences = 2048, 256
	e.ChunkedPrefill = false
	r := mustRun(t, Config{Engine: e, Steps: fakeModel{fixed: 0.048}, Options: Options{WarmupShare: -1}}, src)
	if most := 1 / 0.048; r.RequestsPerSecond > most || r.RequestsPerSecond < 0.99*most {
		t.Errorf("%g requests a second, %g are possible", r.RequestsPerSecond, most)
	}
	src.next = 0
	if r := mustRun(t, Config{Engine: e, Steps: fakeModel{fixed: 0.048}}, src); r.Verdict != Unstable || r.TTFT.Count != 0 || r.SLAMet {
		t.Errorf("verdict %s, TTFT %+v, SLA met: %v", r.Verdict, r.TTFT, r.SLAMet)
	}
}

// TestVerdicts: overload is unstable at any excess that the run can tell, with its slope; a load below capacity is stable; a few
// seconds of traffic are no steady state.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name string
		rho  float64
		n    int64
		want Verdict
	}{
		{"half load", 0.5, 20_000, Stable},
		{"near capacity", 0.9, 50_000, Stable},
		{"5 % over", 1.05, 50_000, Unstable},
		{"2 % over, long run", 1.02, 200_000, Unstable},
		{"twofold", 2, 5_000, Unstable},
		{"tenfold", 10, 5_000, Unstable},
	} {
		r := mustRun(t, server(), newCustomers(c.rho, exponential, c.n, 1, 0))
		if r.Verdict != c.want {
			t.Errorf("%s: %s, slope %g, %v", c.name, r.Verdict, r.BacklogSlope, r.Warnings)
		}
		if c.want == Unstable {
			if excess := c.rho - 1; math.Abs(r.BacklogSlope/excess-1) > 0.5 {
				t.Errorf("%s: backlog grows by %g a second, %g is right", c.name, r.BacklogSlope, excess)
			}
			if _, ok := r.Quantile(sla.E2E, 0.5); ok || r.E2E.Count != 0 {
				t.Errorf("%s: an unstable run told a latency", c.name)
			}
		}
	}
	r := mustRun(t, Config{Engine: vllm(), Steps: llama8B()}, newPoisson(100, 512, 512, 500, 1, 0)) // 5 s
	if r.Verdict == Stable || len(r.Warnings) == 0 && r.Verdict != Unstable {
		t.Errorf("5 s of traffic: %s %v", r.Verdict, r.Warnings)
	}
}

// TestFalseAlarms counts how often runs of different lengths near capacity are called unstable although they are not.
func TestFalseAlarms(t *testing.T) {
	for _, n := range []int64{1_000, 10_000} {
		counts := map[Verdict]int{}
		for seed := range int64(100) {
			counts[mustRun(t, server(), newCustomers(0.95, exponential, n, seed, 0)).Verdict]++
		}
		t.Logf("M/M/1 at 0.95, %d customers: %v", n, counts)
		if counts[Unstable] > 5 {
			t.Errorf("%d of 100 stable runs of %d customers are called unstable", counts[Unstable], n)
		}
	}
}

// bursty arrives in a renewal process with gamma gaps of coefficient of variation 3.
type bursty struct {
	*poisson
	gaps distuv.Gamma
	u    *random.Stream
}

func (b *bursty) Next(r *workload.Request) bool {
	before := b.clock
	if !b.poisson.Next(r) {
		return false
	}
	b.clock = before + b.gaps.Quantile(b.u.Open())
	r.ArrivalNanoseconds = int64(b.clock * 1e9)
	return true
}

// TestBursts: at equal throughput, bursts raise p99 TTFT several-fold.
func TestBursts(t *testing.T) {
	cfg := Config{Engine: vllm(), Steps: llama8B()}
	cfg.Engine.MaxSequences = 64
	even := mustRun(t, cfg, newPoisson(16, 512, 256, 4000, 1, 0))
	gaps := distuv.Gamma{Alpha: 1.0 / 9, Beta: 16.0 / 9}
	burst := mustRun(t, cfg, &bursty{newPoisson(16, 512, 256, 4000, 1, 0), gaps, random.New(1, 0, "bursts")})
	if f := burst.TTFT.P99 / even.TTFT.P99; f < 3 {
		t.Errorf("p99 TTFT %g s even, %g s in bursts", even.TTFT.P99, burst.TTFT.P99)
	}
	if f := burst.OutputTokensPerSecond / even.OutputTokensPerSecond; f < 0.8 || f > 1.25 {
		t.Errorf("throughput %g and %g", even.OutputTokensPerSecond, burst.OutputTokensPerSecond)
	}
}

// TestPreemptionStorm: a pool that holds a few answers at their end and many at their start. All requests finish.
func TestPreemptionStorm(t *testing.T) {
	for _, prefix := range []bool{false, true} {
		e := vllm()
		e.KVBlocks, e.PrefixCaching = 120, prefix
		src := &list{}
		for k := range 200 {
			src.requests = append(src.requests, workload.Request{ID: int64(k), InputTokens: 100, OutputTokens: 1500,
				Blocks: []workload.PrefixBlock{{Key: 1, Tokens: 64}, {Key: uint64(k % 3), Tokens: 30}}})
		}
		r := mustRun(t, Config{Engine: e, Steps: llama8B(), Options: Options{WarmupShare: -1}}, src)
		if r.Finished != 200 || r.Preemptions < 200 {
			t.Errorf("prefix caching %v: %d finished, %d preemptions", prefix, r.Finished, r.Preemptions)
		}
	}
}

// TestTooLargeIsRejected with its reason, and the rest is served.
func TestTooLargeIsRejected(t *testing.T) {
	request := func(in, out int32) workload.Request { return workload.Request{InputTokens: in, OutputTokens: out} }
	for _, c := range []struct {
		name   string
		change func(*Engine)
		in     int32
		want   Reason
	}{
		{"KV pool", func(e *Engine) { e.KVBlocks = 100 }, 1600, OverKVCache},
		{"fits exactly", func(e *Engine) { e.KVBlocks = 100 }, 1591, Accepted}, // the last token needs no place
		{"model length", func(e *Engine) { e.MaxModelLen = 1000 }, 991, TooLong},
		{"budget", func(e *Engine) { e.ChunkedPrefill = false }, 8190, OverBudget},
		{"chunked", func(e *Engine) {}, 20000, Accepted},
	} {
		e := vllm()
		c.change(&e)
		r := mustRun(t, Config{Engine: e, Steps: llama8B(), Options: Options{WarmupShare: -1, KeepRequests: true}},
			&list{requests: []workload.Request{request(c.in, 10), request(10, 10)}})
		if r.Records[0].Reason != c.want || r.Finished != 2-r.Rejected || (r.Rejected == 1) != (c.want != Accepted) {
			t.Errorf("%s: %+v", c.name, r.Records[0])
		}
		if c.want != Accepted && (len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], c.want.String())) {
			t.Errorf("%s: warnings %q", c.name, r.Warnings)
		}
	}
}

// TestTimeoutsFreeSlots: impatient clients fail, and those behind them are served.
func TestTimeoutsFreeSlots(t *testing.T) {
	e := vllm()
	e.MaxSequences = 1
	src := &list{requests: []workload.Request{
		{ID: 1, InputTokens: 10, OutputTokens: 1000, TimeoutNanoseconds: 1e9},
		{ID: 2, ArrivalNanoseconds: 1, InputTokens: 10, OutputTokens: 10},
		{ID: 3, ArrivalNanoseconds: 2, InputTokens: 10, OutputTokens: 10, TimeoutNanoseconds: 5e8},
	}}
	r := mustRun(t, Config{Engine: e, Steps: fakeModel{fixed: 0.01}, Options: Options{WarmupShare: -1, KeepRequests: true}}, src)
	if a := r.Records[0]; a.Outcome != TimedOut || a.EndNanos != 1_010_000_000 {
		t.Errorf("running: %+v", a)
	}
	if b := r.Records[1]; b.Outcome != Finished || b.StartNanos != 1_010_000_000 {
		t.Errorf("behind it: %+v", b)
	}
	if c := r.Records[2]; c.Outcome != TimedOut || c.StartNanos >= 0 {
		t.Errorf("waiting: %+v", c)
	}
	if r.TimedOut != 2 || math.Abs(r.Attainment-1.0/3) > 1e-12 {
		t.Errorf("%d timed out, attainment %g", r.TimedOut, r.Attainment)
	}
}

// TestCancel: a run obeys its context within 100 ms.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan time.Time, 1)
	time.AfterFunc(30*time.Millisecond, func() { asked <- time.Now(); cancel() })
	_, err := Run(ctx, Config{Engine: vllm(), Steps: llama8B()}, newPoisson(16, 512, 256, math.MaxInt64, 1, 0))
	if late := time.Since(<-asked); !errors.Is(err, context.Canceled) || late > 100*time.Millisecond {
		t.Errorf("%v after %v", err, late)
	}
	_, err = RunReplications(ctx, Config{Engine: vllm(), Steps: llama8B()}, func(k int) (workload.Source, error) {
		return newPoisson(16, 512, 256, math.MaxInt64, 1, k), nil
	}, ReplicationOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("replications: %v", err)
	}
}

// TestBadInput: every mistake is an error that names it.
func TestBadInput(t *testing.T) {
	good := func() Config { return Config{Engine: vllm(), Steps: llama8B()} }
	one := []workload.Request{{ID: 7, InputTokens: 10, OutputTokens: 10}}
	for _, c := range []struct {
		want   string
		change func(*Config)
		src    []workload.Request
	}{
		{"engine.max_sequences: 0", func(c *Config) { c.Engine.MaxSequences = 0 }, one},
		{"engine.max_batched_tokens: -1", func(c *Config) { c.Engine.MaxBatchedTokens = -1 }, one},
		{"engine.block_tokens", func(c *Config) { c.Engine.BlockTokens = 0 }, one},
		{`engine.policy: "orca" is none of vllm-v1`, func(c *Config) { c.Engine.Policy = "orca" }, one},
		{"engine.speculative", func(c *Config) { c.Engine.Speculative.Acceptance = 1.5 }, one},
		{"engine.window_share", func(c *Config) { c.Engine.WindowShare = math.NaN() }, one},
		{"no step model", func(c *Config) { c.Steps = nil }, one},
		{"takes NaN s", func(c *Config) { c.Steps = fakeModel{fixed: math.NaN()} }, one},
		{"takes -1 s", func(c *Config) { c.Steps = fakeModel{fixed: -1} }, one},
		{"takes no time", func(c *Config) { c.Steps = fakeModel{} }, one},
		{"quantile: 2", func(c *Config) { c.SLA.Percentiles = []sla.Limit{{Metric: sla.TTFT, Quantile: 2, Seconds: 1}} }, one},
		{"warmup_share", func(c *Config) { c.Options.WarmupShare = 1 }, one},
		{"request 8 arrives at 5 ns, before the one ahead of it (9 ns)", func(*Config) {}, []workload.Request{
			{ID: 7, ArrivalNanoseconds: 9, InputTokens: 1, OutputTokens: 1}, {ID: 8, ArrivalNanoseconds: 5, InputTokens: 1, OutputTokens: 1}}},
		{"request 9 has 0 input", func(*Config) {}, []workload.Request{{ID: 9, OutputTokens: 1}}},
	} {
		cfg := good()
		c.change(&cfg)
		if _, err := Run(context.Background(), cfg, &list{requests: c.src}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
