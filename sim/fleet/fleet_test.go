package fleet

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"scoville/hardware"
	"scoville/model/random"
	"scoville/model/workload"
	"scoville/sim"
)

// linearModel is a step model: base seconds, seconds a token of prompt, a token decoded and a KV token read.
type linearModel struct{ base, prompt, weights, flops, kv float64 }

func (m linearModel) Step(b hardware.Batch) hardware.Work {
	tokens := float64(b.DecodeSequences + b.PrefillTokens)
	s := m.base + m.prompt*float64(b.PrefillTokens) + max(m.weights, m.flops*tokens) + m.kv*(b.DecodeKVTokens+b.PrefillKVTokens)
	return hardware.Work{Seconds: s, FLOPs: tokens, Bytes: 1, Joules: s}
}

func (m linearModel) Decode(n int) hardware.DecodeWork {
	return hardware.DecodeWork{Base: m.Step(hardware.Batch{DecodeSequences: n}), PerKV: hardware.Work{Seconds: m.kv, Joules: m.kv}}
}

func (m linearModel) IdleWatts() float64 { return 0.1 }

// llama8B has the constants of Llama-3.1-8B in BF16 on one H100, as in package sim's benchmark.
func llama8B() linearModel {
	return linearModel{base: 0.5e-3, weights: 16e9 / 3.1e12, flops: 16e9 / 700e12, kv: 131072 / 3e12}
}

func vllm() sim.Engine {
	return sim.Engine{Policy: sim.VLLMV1, MaxBatchedTokens: 8192, MaxSequences: 256, ChunkedPrefill: true, BlockTokens: 16, KVBlocks: 27000}
}

// traffic is Poisson with lognormal or, with sigma 0, fixed lengths.
type traffic struct {
	rate, in, out, sigmaIn, sigmaOut float64
	n, max                           int64
	clock                            float64
	arrivals, lengths                *random.Stream
}

func newTraffic(rate float64, max int64, replication int) *traffic {
	return &traffic{rate: rate, in: 512, out: 256, sigmaIn: 0.8, sigmaOut: 0.7, max: max,
		arrivals: random.New(1, replication, "arrivals"), lengths: random.New(1, replication, "lengths")}
}

func (p *traffic) Next(r *workload.Request) bool {
	if p.n == p.max {
		return false
	}
	p.n++
	p.clock -= math.Log(p.arrivals.Open()) / p.rate
	length := func(mean, sigma float64) int32 {
		return int32(max(1, math.Round(mean*math.Exp(sigma*distuv.UnitNormal.Quantile(p.lengths.Open())-sigma*sigma/2))))
	}
	*r = workload.Request{ID: p.n, ArrivalNanoseconds: int64(p.clock * 1e9), InputTokens: length(p.in, p.sigmaIn), OutputTokens: length(p.out, p.sigmaOut)}
	return true
}

func (p *traffic) Err() error { return nil }

var everyRouting = []Routing{RoundRobin, Random, LeastOutstanding, PowerOfTwo, LeastTokens, Central}

// TestFleetOfOneIsAReplica: whatever the routing, one replica behind a router is that replica.
func TestFleetOfOneIsAReplica(t *testing.T) {
	cfg := sim.Config{Engine: vllm(), Steps: llama8B()}
	want, err := sim.Run(context.Background(), cfg, newTraffic(16, 3000, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, routing := range everyRouting {
		got, err := Run(context.Background(), Config{Replica: cfg, Replicas: 1, Routing: routing}, newTraffic(16, 3000, 0))
		if err != nil {
			t.Fatal(err)
		}
		if got.E2E != want.E2E || got.ITL != want.ITL || got.Joules != want.Joules || got.Verdict != want.Verdict {
			t.Errorf("%s: E2E %+v, alone %+v", routing, got.E2E, want.E2E)
		}
	}
}

// BenchmarkFleet8 is eight replicas at eight times the rate of sim's BenchmarkRun; one iteration is one request.
func BenchmarkFleet8(b *testing.B) { benchmarkFleet(b, 8, RoundRobin) }

func BenchmarkFleet1000(b *testing.B) { benchmarkFleet(b, 1000, LeastOutstanding) }

func benchmarkFleet(b *testing.B, n int, routing Routing) {
	b.ReportAllocs()
	cfg := Config{Replica: sim.Config{Engine: vllm(), Steps: llama8B()}, Replicas: n, Routing: routing}
	if _, err := Run(context.Background(), cfg, newTraffic(16*float64(n), int64(b.N), 0)); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// TestLittle: at every routing rule, requests in the system, those held at the router included, are their times in it; and nobody is lost.
func TestLittle(t *testing.T) {
	cfg := sim.Config{Engine: vllm(), Steps: llama8B(), Options: sim.Options{KeepRequests: true, WarmupShare: -1}}
	cfg.Engine.MaxSequences = 8
	for _, routing := range everyRouting {
		r, err := Run(context.Background(), Config{Replica: cfg, Replicas: 4, Routing: routing}, newTraffic(40, 1000, 0))
		if err != nil {
			t.Fatal(err)
		}
		area, last := 0.0, int64(0)
		perReplica := map[int32]int{}
		for _, q := range r.Records {
			area += float64(q.EndNanos-q.ArrivalNanos) * 1e-9
			perReplica[q.Replica]++
			last = max(last, q.EndNanos)
		}
		if got := (r.MeanRunning + r.MeanWaiting) * r.Seconds; math.Abs(got-area) > 1e-9*area {
			t.Errorf("%s: %g request seconds in the system, their times add up to %g", routing, got, area)
		}
		if len(r.Records) != 1000 || r.Finished != 1000 || len(perReplica) != 4 {
			t.Errorf("%s: %d records, %d finished, spread %v", routing, len(r.Records), r.Finished, perReplica)
		}
		if r.BusySeconds > 4*float64(last)*1e-9 {
			t.Errorf("%s: busy %g s in %g s", routing, r.BusySeconds, float64(last)*1e-9)
		}
	}
}
