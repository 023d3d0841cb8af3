package sim

import (
	"context"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
	"scoville/hardware"
	"scoville/model/random"
	"scoville/model/workload"
)

// fakeModel is a step model of one term each, linear in KV tokens as the contract asks.
type fakeModel struct {
	fixed, perToken, perSequence, perKV, perKVWin, perPair, perPairWin float64 // seconds
	weights, flops                                                     float64 // roofline of the dense part: seconds to read the weights, seconds a token
	idle                                                               float64
}

func (m fakeModel) Step(b hardware.Batch) hardware.Work {
	tokens := float64(b.DecodeSequences*max(1, b.Speculative) + b.PrefillTokens)
	s := m.fixed + m.perToken*tokens + m.perSequence*float64(b.DecodeSequences+b.PrefillSequences) +
		m.perKV*(b.DecodeKVTokens+b.PrefillKVTokens) + m.perKVWin*b.DecodeKVWindow + m.perPair*b.PrefillPairs + m.perPairWin*b.PrefillPairsWin + max(m.weights, m.flops*tokens)
	return hardware.Work{Seconds: s, FLOPs: 16e9 * tokens, Bytes: 16e9 + 131072*(b.DecodeKVTokens+b.PrefillKVTokens), Joules: 100*s + 0.001*tokens}
}

func (m fakeModel) Decode(n int) hardware.DecodeWork {
	base := m.Step(hardware.Batch{DecodeSequences: n, Speculative: 1})
	return hardware.DecodeWork{Base: base,
		PerKV:    hardware.Work{Seconds: m.perKV, Bytes: 131072, Joules: 100 * m.perKV},
		PerKVWin: hardware.Work{Seconds: m.perKVWin, Joules: 100 * m.perKVWin}}
}

func (m fakeModel) IdleWatts() float64 { return m.idle }

// llama8B has the constants of Llama-3.1-8B in BF16 on one H100: 16 GB of weights at 3.1 TB/s, 16 GFLOP a token at 700 TFLOP/s,
// 131,072 bytes of KV a token at 3 TB/s, half a millisecond a step.
func llama8B() fakeModel {
	return fakeModel{fixed: 0.5e-3, weights: 16e9 / 3.1e12, flops: 16e9 / 700e12, perKV: 131072 / 3e12, idle: 100}
}

func vllm() Engine {
	return Engine{Policy: VLLMV1, MaxBatchedTokens: 8192, MaxSequences: 256, ChunkedPrefill: true, BlockTokens: 16, KVBlocks: 27000}
}

// list is a source of given requests.
type list struct {
	requests []workload.Request
	next     int
}

func (l *list) Next(r *workload.Request) bool {
	if l.next == len(l.requests) {
		return false
	}
	*r = l.requests[l.next]
	l.next++
	return true
}

func (l *list) Err() error { return nil }

// poisson draws arrivals at a rate with lognormal lengths, by inverse distribution functions.
type poisson struct {
	rate             float64
	muIn, muOut      float64
	sigmaIn, sigOut  float64
	n, max           int64
	clock            float64
	arrivals, length *random.Stream
}

func newPoisson(rate, meanIn, meanOut float64, n int64, seed uint64, replication int) *poisson {
	return &poisson{rate: rate, muIn: math.Log(meanIn) - 0.32, muOut: math.Log(meanOut) - 0.245, sigmaIn: 0.8, sigOut: 0.7, max: n,
		arrivals: random.New(seed, replication, "arrivals"), length: random.New(seed, replication, "lengths")}
}

func (p *poisson) Next(r *workload.Request) bool {
	if p.n == p.max {
		return false
	}
	p.n++
	p.clock -= math.Log(p.arrivals.Open()) / p.rate
	*r = workload.Request{ID: p.n, ArrivalNanoseconds: int64(p.clock * 1e9), InputTokens: p.lognormal(p.muIn, p.sigmaIn), OutputTokens: p.lognormal(p.muOut, p.sigOut)}
	return true
}

func (p *poisson) lognormal(mu, sigma float64) int32 {
	return int32(max(1, math.Round(math.Exp(mu+sigma*distuv.UnitNormal.Quantile(p.length.Open())))))
}

func (p *poisson) Err() error { return nil }

// failer is a test, of the standard kind or of rapid.
type failer interface {
	Helper()
	Fatal(...any)
}

func mustRun(t failer, cfg Config, src workload.Source) *Result {
	t.Helper()
	r, err := Run(context.Background(), cfg, src)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
