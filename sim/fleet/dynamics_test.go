package fleet

import (
	"context"
	"math"
	"testing"

	"scoville/model/cost"
	"scoville/model/workload"
	"scoville/sim"
)

// balanced checks that every request is accounted for, once, at the end of a run that was not cut off.
func balanced(t *testing.T, r *sim.Result, offered int64) {
	t.Helper()
	if r.Arrived != offered || r.Finished+r.Rejected+r.TimedOut != offered || r.Unfinished != 0 {
		t.Errorf("%d offered; %d arrived = %d finished + %d rejected + %d timed out + %d unfinished", offered, r.Arrived, r.Finished, r.Rejected, r.TimedOut, r.Unfinished)
	}
	if int64(len(r.Records)) != offered {
		t.Errorf("%d records of %d requests", len(r.Records), offered)
	}
	seen, area := map[int64]bool{}, 0.0
	for _, q := range r.Records {
		if seen[q.ID] {
			t.Errorf("request %d ends twice", q.ID)
		}
		seen[q.ID] = true
		area += float64(q.EndNanos-q.ArrivalNanos) * 1e-9
		if q.Outcome == sim.Finished && (q.FirstTokenNanos < q.ArrivalNanos || q.EndNanos < q.FirstTokenNanos || q.StartNanos < q.ArrivalNanos) {
			t.Errorf("request %d out of order: %+v", q.ID, q)
		}
	}
	if got := (r.MeanRunning + r.MeanWaiting) * r.Seconds; math.Abs(got-area) > 1e-6*area+1e-6 { // Little
		t.Errorf("%g request seconds in the system, their times add up to %g", got, area)
	}
	if r.BusySeconds > r.Seconds*1e6 || r.Utilisation > 1 {
		t.Errorf("utilisation %g", r.Utilisation)
	}
}

func whole(cfg sim.Config) sim.Config {
	cfg.Options.KeepRequests, cfg.Options.WarmupShare = true, -1
	return cfg
}

func TestDisaggregation(t *testing.T) {
	const n = 2000
	replica := whole(sim.Config{Engine: vllm(), Steps: llama8B()})
	cfg := Config{Replica: replica, Replicas: 3, Routing: LeastOutstanding,
		Disaggregate: &Disaggregation{Prefill: replica, Replicas: 2, BytesPerToken: 131072, LinkBytesPerSecond: 50e9, LatencySeconds: 1e-3}}
	r, report, err := RunReport(context.Background(), cfg, newTraffic(40, n, 0))
	if err != nil {
		t.Fatal(err)
	}
	balanced(t, r, n)
	src, tokens, one := newTraffic(40, n, 0), 0.0, int64(0)
	var q workload.Request
	for src.Next(&q) {
		if q.OutputTokens > 1 {
			tokens += float64(q.InputTokens)
		} else {
			one++
		}
	}
	if report.Transfers != n-one || math.Abs(report.TransferBytes-tokens*131072) > 1 {
		t.Errorf("%d transfers of %g bytes, want %d of %g", report.Transfers, report.TransferBytes, n-one, tokens*131072)
	}
	if want := report.TransferBytes/50e9 + float64(report.Transfers)*1e-3; math.Abs(report.TransferSeconds-want) > 1e-9*want {
		t.Errorf("%g s on links, want %g", report.TransferSeconds, want)
	}
	if report.LongestTransferSeconds < 1e-3 {
		t.Errorf("longest transfer %g s", report.LongestTransferSeconds)
	}
	together, err := Run(context.Background(), Config{Replica: replica, Replicas: 5, Routing: LeastOutstanding}, newTraffic(40, n, 0))
	if err != nil {
		t.Fatal(err)
	}
	if r.ITL.P99 >= together.ITL.P99 {
		t.Errorf("p99 of gaps %g s, not below %g s: prompts still stand in the way of decoding", r.ITL.P99, together.ITL.P99)
	}
	if r.OutputTokens != together.OutputTokens || r.InputTokens != together.InputTokens {
		t.Errorf("tokens %d in and %d out, together %d and %d", r.InputTokens, r.OutputTokens, together.InputTokens, together.OutputTokens)
	}
}

// A slower link delays the second token, not the first, by just its time.
func TestTransferTakesItsTime(t *testing.T) {
	run := func(bandwidth float64) (ttft, e2e float64) {
		replica := whole(sim.Config{Engine: vllm(), Steps: llama8B()})
		cfg := Config{Replica: replica, Replicas: 1, Disaggregate: &Disaggregation{Prefill: replica, Replicas: 1, BytesPerToken: 1e5, LinkBytesPerSecond: bandwidth}}
		r, err := Run(context.Background(), cfg, &loop{due: []workload.Request{{ID: 1, InputTokens: 1000, OutputTokens: 50}}})
		if err != nil {
			t.Fatal(err)
		}
		return r.TTFT.Mean, r.E2E.Mean
	}
	fastTTFT, fast := run(1e9)
	slowTTFT, slow := run(1e8)
	if fastTTFT != slowTTFT {
		t.Errorf("TTFT %g and %g s", fastTTFT, slowTTFT)
	}
	if d := slow - fast; math.Abs(d-0.9) > 1e-6 { // 1e8 bytes: 0.1 and 1 s
		t.Errorf("the slower link costs %g s, want 0.9", d)
	}
}

func TestPreemptionAfterTransferComputesThePromptAgain(t *testing.T) {
	replica := whole(sim.Config{Engine: vllm(), Steps: llama8B()})
	replica.Engine.KVBlocks = 400
	prefill := replica
	prefill.Engine.KVBlocks = 27000
	r, err := Run(context.Background(), Config{Replica: replica, Replicas: 1, Disaggregate: &Disaggregation{Prefill: prefill, Replicas: 1, BytesPerToken: 1e5, LinkBytesPerSecond: 50e9}}, newTraffic(20, 300, 0))
	if err != nil {
		t.Fatal(err)
	}
	if r.Preemptions == 0 {
		t.Fatal("the case does not show what it should: nobody is preempted")
	}
	balanced(t, r, 300)
}

func TestFailuresLoseNobody(t *testing.T) {
	const n = 3000
	for _, routing := range []Routing{RoundRobin, Random, LeastOutstanding, PowerOfTwo, LeastTokens, SessionAffinity, PrefixAware, Central} {
		cfg := Config{Replica: whole(sim.Config{Engine: vllm(), Steps: llama8B()}), Replicas: 8, Routing: routing, Seed: 2,
			Failures: []FailureLevel{{1, 60, 10}, {4, 200, 30}}}
		r, report, err := RunReport(context.Background(), cfg, newTraffic(40, n, 0))
		if err != nil {
			t.Fatalf("%s: %v", routing, err)
		}
		balanced(t, r, n)
		if report.Failures < 5 || report.Lost == 0 {
			t.Errorf("%s: %d failures lost %d requests: too few to tell anything", routing, report.Failures, report.Lost)
		}
	}
}

// hourly is a trickle of requests that keeps a fleet's clock running.
type hourly struct{ n, max int64 }

func (h *hourly) Next(r *workload.Request) bool {
	if h.n == h.max {
		return false
	}
	h.n++
	*r = workload.Request{ID: h.n, ArrivalNanoseconds: h.n * 3600e9, InputTokens: 10, OutputTokens: 1}
	return true
}
func (h *hourly) Err() error { return nil }

// TestSparesByFailures: nodes of 8 chips at 0.17 failures a chip-year and 72 h of repair. Simulated, 100 of 100 + k are up as often as the
// binomial tail says: 0.329, 0.693, 0.896, 0.972, 0.9988 for k = 0, 1, 2, 3, 5.
func TestSparesByFailures(t *testing.T) {
	if testing.Short() {
		t.Skip("a century of failures")
	}
	const need, hours = 100, 72.0
	mtbf := 8766 / (0.17 * 8) * 3600
	up := cost.NodeAvailability(0.17, 8, hours)
	for _, k := range []int{0, 1, 2, 3, 5} {
		want := cost.AtLeastUp(need, k, up)
		cfg := Config{Replica: sim.Config{Engine: vllm(), Steps: llama8B()}, Replicas: need + k, Seed: 9, Need: need, Failures: []FailureLevel{{1, mtbf, hours * 3600}}}
		_, report, err := RunReport(context.Background(), cfg, &hourly{max: 80 * 8766})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(report.AvailableShare-up) > 0.0005 {
			t.Errorf("k = %d: a node is up %.5f of the time, theory %.5f", k, report.AvailableShare, up)
		}
		if sd := math.Sqrt(want * (1 - want) * 2 * hours / (80 * 8766)); math.Abs(report.EnoughShare-want) > 4*sd+1e-3 { // correlated over the time to repair
			t.Errorf("k = %d: enough up %.4f of the time, the binomial tail is %.4f", k, report.EnoughShare, want)
		} else {
			t.Logf("k = %d: simulated %.4f, binomial %.4f, %d failures", k, report.EnoughShare, want, report.Failures)
		}
	}
}

func TestShedAndRetry(t *testing.T) {
	const n = 1000
	cfg := Config{Replica: whole(sim.Config{Engine: vllm(), Steps: llama8B()}), Replicas: 2, Routing: LeastOutstanding, Seed: 1, Shed: 20}
	none, first, err := RunReport(context.Background(), cfg, newTraffic(80, n, 0))
	if err != nil {
		t.Fatal(err)
	}
	balanced(t, none, n)
	if first.Shed == 0 || none.Rejected != first.Shed || first.GaveUp != first.Shed {
		t.Errorf("%d shed, %d given up, %d rejected", first.Shed, first.GaveUp, none.Rejected)
	}
	cfg.Retry = &Retry{Attempts: 3, BackoffSeconds: 0.5, Jitter: 0.5}
	again, second, err := RunReport(context.Background(), cfg, newTraffic(80, n, 0))
	if err != nil {
		t.Fatal(err)
	}
	balanced(t, again, n)
	if again.Finished <= none.Finished || second.Retried == 0 || second.Shed != second.Retried+second.GaveUp {
		t.Errorf("%d finished with retries, %d without; %d shed = %d retried + %d given up", again.Finished, none.Finished, second.Shed, second.Retried, second.GaveUp)
	}
	if again.TTFT.P99 <= none.TTFT.P99 {
		t.Error("back-off costs no time")
	}
}

// swing is Poisson whose rate alternates between low and high.
type swing struct {
	*traffic
	low, high, half float64
}

func (s *swing) Next(r *workload.Request) bool {
	s.rate = s.low
	if int(s.clock/s.half)%2 == 1 {
		s.rate = s.high
	}
	return s.traffic.Next(r)
}

func TestAutoscale(t *testing.T) {
	const n = 6000
	source := func() workload.Source { return &swing{newTraffic(1, n, 0), 10, 100, 60} }
	static := Config{Replica: whole(sim.Config{Engine: vllm(), Steps: llama8B()}), Replicas: 10, Routing: LeastOutstanding}
	r, fixed, err := RunReport(context.Background(), static, source())
	if err != nil {
		t.Fatal(err)
	}
	balanced(t, r, n)
	scaled := static
	scaled.Autoscale = &Autoscale{Min: 2, EverySeconds: 2, Outstanding: 15, StartupSeconds: 10}
	r, moving, err := RunReport(context.Background(), scaled, source())
	if err != nil {
		t.Fatal(err)
	}
	balanced(t, r, n)
	if moving.ReplicaSeconds >= 0.9*fixed.ReplicaSeconds || moving.MostOn <= 2 {
		t.Errorf("%g replica seconds, static %g; most on %d", moving.ReplicaSeconds, fixed.ReplicaSeconds, moving.MostOn)
	}
	scheduled := static
	scheduled.Autoscale = &Autoscale{Min: 2, EverySeconds: 1, StartupSeconds: 5, Schedule: []ScheduledSize{{0, 2}, {50, 8}, {120, 2}}}
	r, plan, err := RunReport(context.Background(), scheduled, source())
	if err != nil {
		t.Fatal(err)
	}
	balanced(t, r, n)
	if plan.MostOn != 8 {
		t.Errorf("most on %d, scheduled 8", plan.MostOn)
	}
}

// sessions asks turns that begin with all that went before.
type sessions struct {
	n, max int64
	rate   float64
}

func (s *sessions) Next(r *workload.Request) bool {
	if s.n == s.max {
		return false
	}
	s.n++
	session, turn := 1+(s.n-1)%50, (s.n-1)/50
	blocks := make([]workload.PrefixBlock, turn+1)
	for k := range blocks {
		blocks[k] = workload.PrefixBlock{Key: uint64(session)<<32 | uint64(k+1), Tokens: 512}
	}
	*r = workload.Request{ID: s.n, Session: session, ArrivalNanoseconds: int64(float64(s.n) / s.rate * 1e9), InputTokens: int32(512 * len(blocks)), OutputTokens: 20, Blocks: blocks}
	return true
}
func (s *sessions) Err() error { return nil }

// TestAffinityFindsPrefixes: keeping a conversation, or a prompt's head, on one replica finds far more of it in the cache.
func TestAffinityFindsPrefixes(t *testing.T) {
	hits := map[Routing]float64{}
	for _, routing := range []Routing{Random, SessionAffinity, PrefixAware} {
		cfg := Config{Replica: whole(sim.Config{Engine: vllm(), Steps: llama8B()}), Replicas: 8, Routing: routing, Seed: 4}
		cfg.Replica.Engine.PrefixCaching = true
		r, err := Run(context.Background(), cfg, &sessions{max: 500, rate: 20})
		if err != nil {
			t.Fatal(err)
		}
		balanced(t, r, 500)
		hits[routing] = r.PrefixHitRate
	}
	t.Log(hits)
	if hits[SessionAffinity] < 0.75 || hits[PrefixAware] < 0.75 || hits[Random] > 0.6 {
		t.Errorf("hit rates %v", hits)
	}
}

func TestDynamicsAreRepeatable(t *testing.T) {
	run := func() (*sim.Result, *Report) {
		cfg := Config{Replica: whole(sim.Config{Engine: vllm(), Steps: llama8B()}), Replicas: 8, Seed: 2, Shed: 60, Retry: &Retry{Attempts: 2, BackoffSeconds: 1, Jitter: 1},
			Autoscale: &Autoscale{Min: 3, EverySeconds: 2, Outstanding: 15, StartupSeconds: 4}, Failures: []FailureLevel{{1, 60, 10}}}
		r, report, err := RunReport(context.Background(), cfg, newTraffic(60, 1500, 0))
		if err != nil {
			t.Fatal(err)
		}
		balanced(t, r, 1500)
		return r, report
	}
	a, first := run()
	b, second := run()
	if *first != *second || a.E2E != b.E2E || a.Joules != b.Joules {
		t.Errorf("%+v and %+v", first, second)
	}
}

func TestBadDynamics(t *testing.T) {
	good := sim.Config{Engine: vllm(), Steps: llama8B()}
	for _, c := range []Config{
		{Replica: good, Replicas: 1, Disaggregate: &Disaggregation{Prefill: good}},
		{Replica: good, Replicas: 1, Disaggregate: &Disaggregation{Prefill: good, Replicas: 1, BytesPerToken: 1}},
		{Replica: good, Replicas: 1, Failures: []FailureLevel{{1, 0, 1}}},
		{Replica: good, Replicas: 1, Autoscale: &Autoscale{}},
		{Replica: good, Replicas: 1, Shed: -1},
		{Replica: good, Replicas: 1, Retry: &Retry{Attempts: 1}},
	} {
		if _, err := Run(context.Background(), c, newTraffic(1, 1, 0)); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}
