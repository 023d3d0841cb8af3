package sim

import (
	"context"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
	"scoville/model/sla"
	"scoville/model/workload"
)

// scenario is a random configuration and its traffic.
type scenario struct {
	cfg      Config
	requests []workload.Request
}

// drawScenario draws small, busy systems: every policy and feature, KV pools that hold only a few requests.
func drawScenario(t *rapid.T) scenario {
	draw := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
	flip := func(name string) bool { return rapid.Bool().Draw(t, name) }
	e := Engine{
		Policy:         rapid.SampledFrom([]Policy{VLLMV1, VLLMV1, VLLMV1, NoEvict, Static}).Draw(t, "policy"),
		MaxSequences:   draw("maxSequences", 1, 12),
		ChunkedPrefill: flip("chunked"),
		BlockTokens:    rapid.SampledFrom([]int{1, 4, 16}).Draw(t, "block"),
		PrefixCaching:  flip("prefix"),
		PriorityQueue:  flip("priority"),

		AsyncScheduling: flip("async"),
	}
	e.MaxBatchedTokens = e.MaxSequences + draw("budget", 1, 300)
	if flip("bounded") {
		e.KVBlocks = int64(draw("kvBlocks", 2, 400) * 16 / e.BlockTokens)
	}
	if flip("window") {
		e.WindowTokens = draw("windowTokens", 1, 200)
		e.WindowShare = rapid.SampledFrom([]float64{0, 0.5, 0.8, 1}).Draw(t, "windowShare")
	}
	if flip("speculative") {
		e.Speculative = Speculative{Draft: draw("draft", 1, 4), Acceptance: float64(draw("acceptance", 0, 10)) / 10, DraftCost: 0.1}
		e.MaxBatchedTokens += 5 * e.MaxSequences
	}
	if flip("queueLimit") {
		e.QueueLimit = draw("limit", 1, 20)
	}
	if flip("maxLen") {
		e.MaxModelLen = draw("modelLen", 50, 600)
	}
	if flip("overhead") {
		e.OverheadTTFTSeconds = 0.003
	}
	m := fakeModel{fixed: 1e-3, perToken: 1e-5, perSequence: 1e-5, perKV: 1e-7, perKVWin: 3e-8, perPair: 1e-9, perPairWin: 2e-9, weights: 2e-3, flops: 3e-5, idle: 50}
	s := scenario{cfg: Config{Engine: e, Steps: m, SLA: sla.Limits{PerRequest: []sla.Limit{{Metric: sla.TTFT, Seconds: 0.1}, {Metric: sla.E2E, Seconds: 2}}, Attainment: 0.5}}}
	s.cfg.Options.KeepRequests = true
	s.cfg.Options.WarmupShare = -1
	n := draw("requests", 1, 60)
	gap := draw("gap", 0, 60)
	timeouts := flip("timeouts")
	at := int64(0)
	for k := range n {
		at += int64(rapid.IntRange(0, gap*1_000_000).Draw(t, "wait"))
		q := workload.Request{ID: int64(k + 1), ArrivalNanoseconds: at, InputTokens: int32(draw("in", 1, 300)), OutputTokens: int32(draw("out", 1, 150)),
			Priority: int32(draw("priority", 0, 2))}
		if timeouts && flip("impatient") {
			q.TimeoutNanoseconds = int64(draw("timeout", 1, 2000)) * 1_000_000
		}
		if e.PrefixCaching && flip("shares") {
			for head := draw("runs", 1, 4); head > 0; head-- {
				q.Blocks = append(q.Blocks, workload.PrefixBlock{Key: uint64(draw("key", 1, 3)), Tokens: int32(draw("runTokens", 1, 80))})
			}
		}
		s.requests = append(s.requests, q)
	}
	return s
}

func (s scenario) run(walk bool) (*Result, error) {
	cfg := s.cfg
	cfg.Options.DisableLeap = walk
	return Run(context.Background(), cfg, &list{requests: s.requests})
}

// TestLeapEqualsWalk: the same completion times and counters, whatever the scenario. Times are equal to the nanosecond: leaps sum in
// whole ticks.
func TestLeapEqualsWalk(t *testing.T) {
	for range 10 { // of 100 scenarios each by default
		rapid.Check(t, leapEqualsWalk)
	}
}

func leapEqualsWalk(t *rapid.T) { leapEqualsWalkOf(t, drawScenario(t)) }

func leapEqualsWalkOf(t *rapid.T, s scenario) {
	t.Helper()
	leap, err := s.run(false)
	if err != nil {
		t.Fatal(err)
	}
	walk, err := s.run(true)
	if err != nil {
		t.Fatal(err)
	}
	if len(leap.Records) != len(walk.Records) || len(leap.Records) != len(s.requests) {
		t.Fatalf("%d records leaping, %d walking, %d requests", len(leap.Records), len(walk.Records), len(s.requests))
	}
	for i, a := range leap.Records {
		if b := walk.Records[i]; a != b {
			t.Fatalf("record %d:\nleap %+v\nwalk %+v", i, a, b)
		}
	}
	counters := func(r *Result) string {
		return fmt.Sprint(r.Verdict, r.Arrived, r.Finished, r.Rejected, r.TimedOut, r.Unfinished, r.Preemptions, r.Steps, r.InputTokens,
			r.CachedInputTokens, r.OutputTokens, r.Seconds, r.BusySeconds, r.TTFT, r.TPOT, r.E2E, r.QueueWait, r.ITL.Count, r.ITL.P50, r.ITL.P99,
			r.ITL.Max, r.MeanBatch, r.MaxKVShare, r.Attainment, r.Violations)
	}
	if a, b := counters(leap), counters(walk); a != b {
		t.Fatalf("counters\nleap %s\nwalk %s", a, b)
	}
	for _, f := range [][2]float64{{leap.FLOPs, walk.FLOPs}, {leap.Bytes, walk.Bytes}, {leap.Joules, walk.Joules}, {leap.ITL.Mean, walk.ITL.Mean},
		{leap.OutputTokensPerSecond, walk.OutputTokensPerSecond}, {leap.MeanRunning, walk.MeanRunning}, {leap.MeanWaiting, walk.MeanWaiting}} {
		if math.Abs(f[0]-f[1]) > 1e-9*math.Max(1e-9, math.Abs(f[1])) {
			t.Fatalf("work %g leaping, %g walking", f[0], f[1])
		}
	}
}
