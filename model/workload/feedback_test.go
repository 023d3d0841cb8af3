package workload

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const closed = `
name = "closed"
[arrivals]
process = "closed-loop"
[arrivals.closed_loop]
concurrency = 4
initial_burst = true
[lengths]
input = { distribution = "uniform", low = 819, high = 1024 }
output = { distribution = "fixed", value = 10 }
`

func TestClosedLoopKeepsItsClients(t *testing.T) {
	w := mustDecode(t, closed)
	s := mustSource(t, w, SourceOptions{Seed: 1, MaxRequests: 11}).(Feedback)
	var inFlight []Request
	var r Request
	for s.Next(&r) {
		inFlight = append(inFlight, r)
	}
	if len(inFlight) != 4 {
		t.Fatalf("%d requests at once, want 4", len(inFlight))
	}
	for _, r := range inFlight {
		if r.ArrivalNanoseconds != 0 || r.InputTokens < 819 || r.InputTokens > 1024 {
			t.Errorf("%+v: the initial burst comes at 0, lengths are in [819, 1024]", r)
		}
	}
	if _, ok := s.Peek(); ok {
		t.Error("a request is to come though all clients wait")
	}
	total := len(inFlight)
	for len(inFlight) > 0 {
		done := inFlight[0]
		inFlight = inFlight[1:]
		at := done.ArrivalNanoseconds + 5e9
		s.Done(&done, at)
		if next, ok := s.Peek(); ok && next != at {
			t.Errorf("next at %d, want %d", next, at)
		}
		if s.Next(&r) {
			total++
			inFlight = append(inFlight, r)
		}
		if len(inFlight) > 4 {
			t.Fatal("more requests than clients")
		}
	}
	if total != 11 {
		t.Errorf("%d requests, want MaxRequests 11", total)
	}
}

func TestClosedLoopStartsAndThinks(t *testing.T) {
	w := mustDecode(t, strings.Replace(closed, "initial_burst = true", "ramp_seconds = 8\nthink_seconds = { distribution = \"fixed\", value = 2 }", 1))
	got := drain(t, mustSource(t, w, SourceOptions{Seed: 1}), 1e9, 6)
	want := []int64{0, 2e9, 3e9, 4e9, 5e9, 6e9} // starts at 0, 2, 4, 6; the first two come again 3 s after their start
	for i := range want {
		if got[i].ArrivalNanoseconds != want[i] {
			t.Errorf("arrival %d at %d, want %d", i, got[i].ArrivalNanoseconds, want[i])
		}
	}
	if open := mustSource(t, w, SourceOptions{RequestsPerSecond: 3}); !isOpen(open) {
		t.Error("a closed loop given a rate is offered openly")
	}
	if n := len(drain(t, mustSource(t, w, SourceOptions{Concurrency: 2, HorizonSeconds: 0.5}), 1e9, 100)); n != 1 {
		t.Errorf("%d requests within 0.5 s of 2 clients over 8 s, want 1", n)
	}
}

func isOpen(s Source) bool { _, feedback := s.(Feedback); return !feedback }

const sessions = `
name = "sessions"
[arrivals]
requests_per_second = 10
[lengths]
input = { distribution = "uniform", low = 20, high = 60 }
output = { distribution = "lognormal", mean = 100, cv = 1.0, max = 1000 }
[prefix]
system_tokens = 300
system_prompts = 2
[sessions]
turns = { distribution = "exponential", mean = 4, max = 20 }
think_seconds = { distribution = "exponential", mean = 5 }
first_input = { distribution = "fixed", value = 500 }
max_context = 4000
`

// TestSessionsGrow: each turn's prompt is all that went before plus new tokens, in blocks under the same keys, and it
// comes after the answer to the last.
func TestSessionsGrow(t *testing.T) {
	type state struct {
		blocks []PrefixBlock
		output int32
		key    uint64
		done   int64
	}
	last := map[int64]state{}
	s := mustSource(t, mustDecode(t, sessions), SourceOptions{Seed: 5}).(Feedback)
	const service = 2e9
	var r Request
	turns := 0
	for range 5000 {
		if !s.Next(&r) {
			t.Fatal("ended")
		}
		sum := int32(0)
		for _, b := range r.Blocks {
			sum += b.Tokens
		}
		if sum != r.InputTokens || r.InputTokens+r.OutputTokens > 4000 || r.Session == 0 {
			t.Fatalf("blocks cover %d of %d tokens: %+v", sum, r.InputTokens, r)
		}
		if p, ok := last[r.Session]; ok {
			turns++
			want := append(append([]PrefixBlock(nil), p.blocks...), PrefixBlock{p.key, p.output})
			if len(r.Blocks) != len(want)+1 || r.ArrivalNanoseconds < p.done {
				t.Fatalf("turn with %d blocks at %d after %d blocks done at %d", len(r.Blocks), r.ArrivalNanoseconds, len(p.blocks), p.done)
			}
			for i := range want {
				if r.Blocks[i] != want[i] {
					t.Fatalf("block %d is %+v, was %+v", i, r.Blocks[i], want[i])
				}
			}
		} else if r.InputTokens != 800 || r.Blocks[0].Tokens != 300 {
			t.Fatalf("first turn %+v, want 300 + 500 tokens", r)
		}
		last[r.Session] = state{append([]PrefixBlock(nil), r.Blocks...), r.OutputTokens, r.OutputKey, r.ArrivalNanoseconds + service}
		s.Done(&r, r.ArrivalNanoseconds+service)
	}
	if turns < 2000 {
		t.Errorf("%d later turns of 5000", turns)
	}
}

// The rate of requests is the one asked for, whatever the number of turns.
func TestSessionsMeetTheirRate(t *testing.T) {
	s := mustSource(t, mustDecode(t, sessions), SourceOptions{Seed: 2, HorizonSeconds: 4000})
	n := 0
	for _, r := range drain(t, s, 1e9, 1<<30) {
		if r.ArrivalNanoseconds > 400e9 { // after the sessions have filled up
			n++
		}
	}
	if rate := float64(n) / 3600; math.Abs(rate/10-1) > 0.05 {
		t.Errorf("%.2f requests/s, want 10", rate)
	}
}

// Turns don't depend on what the system does: only when they come.
func TestSessionsAreTheSameForTwoSystems(t *testing.T) {
	w := mustDecode(t, sessions)
	type turn struct{ in, out int32 }
	collect := func(service int64) map[int64][]turn {
		out := map[int64][]turn{}
		for _, r := range drain(t, mustSource(t, w, SourceOptions{Seed: 9, HorizonSeconds: 200}), service, 1<<30) {
			out[r.Session] = append(out[r.Session], turn{r.InputTokens, r.OutputTokens})
		}
		return out
	}
	fast, slow := collect(1e6), collect(5e9)
	for id, turns := range slow {
		if len(turns) > len(fast[id]) {
			continue
		}
		for i := range turns {
			if turns[i] != fast[id][i] {
				t.Fatalf("session %d turn %d is %+v and %+v", id, i, turns[i], fast[id][i])
			}
		}
	}
	if len(slow) != len(fast) || len(fast) < 200 {
		t.Errorf("%d and %d sessions", len(slow), len(fast))
	}
}

func TestMixOfClasses(t *testing.T) {
	w := mustDecode(t, `
name = "mix"
[arrivals]
requests_per_second = 1
[[classes]]
name = "chat"
share = 3
priority = 1
timeout_seconds = 30
sla = { ttft_p99 = 1.0, tpot_mean = 0.05, each_e2e = 20, attainment = 0.99 }
lengths = { input = { distribution = "fixed", value = 100 }, output = { distribution = "fixed", value = 10 } }
[[classes]]
name = "batch"
share = 1
priority = 9
lengths = { input = { distribution = "fixed", value = 1000 }, output = { distribution = "fixed", value = 500 } }
`)
	n := [2]int{}
	for _, r := range drain(t, mustSource(t, w, SourceOptions{Seed: 1, MaxRequests: 20000}), 0, 1<<30) {
		n[r.Class]++
		if want := w.Classes[r.Class].Lengths.Input.Value; float64(r.InputTokens) != want || r.Priority != w.Classes[r.Class].Priority {
			t.Fatalf("%+v", r)
		}
		if timeout := int64(30e9); (r.Class == 0) != (r.TimeoutNanoseconds == timeout) {
			t.Fatalf("timeout of %+v", r)
		}
	}
	if share := float64(n[0]) / 20000; math.Abs(share-0.75) > 5*math.Sqrt(0.75*0.25/20000) {
		t.Errorf("share of chat %g, want 0.75", share)
	}
	l, err := w.Classes[0].Limits()
	if err != nil || len(l.Percentiles) != 2 || len(l.PerRequest) != 1 || l.Attainment != 0.99 || l.Percentiles[1].Quantile != 0.99 {
		t.Errorf("limits %+v, %v", l, err)
	}
	if mean := w.MeanInput(); mean != 325 {
		t.Errorf("mean input %g, want 325", mean)
	}
}

// TestSharedPrefixes: 3 system prompts of 1000 tokens, 5 questions of 200 each, repeated in turn.
func TestSharedPrefixes(t *testing.T) {
	w := mustDecode(t, `
name = "shared"
[arrivals]
requests_per_second = 1
[lengths]
input = { distribution = "fixed", value = 1200 }
output = { distribution = "fixed", value = 50 }
[prefix]
system_tokens = 1000
system_prompts = 3
prompts_per_system = 5
`)
	got := drain(t, mustSource(t, w, SourceOptions{Seed: 1, MaxRequests: 45}), 0, 100)
	systems, prompts := map[uint64]int{}, map[uint64]int{}
	for i, r := range got {
		if len(r.Blocks) != 2 || r.Blocks[0].Tokens != 1000 || r.Blocks[1].Tokens != 200 {
			t.Fatalf("%+v", r)
		}
		systems[r.Blocks[0].Key]++
		prompts[r.Blocks[1].Key]++
		if i >= 15 && r.Blocks[1] != got[i-15].Blocks[1] {
			t.Fatalf("request %d is not the prompt of 15 requests before", i)
		}
	}
	if len(systems) != 3 || len(prompts) != 15 {
		t.Errorf("%d system prompts and %d prompts, want 3 and 15", len(systems), len(prompts))
	}
	for k, n := range prompts {
		if n != 3 {
			t.Errorf("prompt %x came %d times of 45, want 3", k, n)
		}
	}
}

// The hit rate of an endless cache comes out as the reuse asked for.
func TestReuse(t *testing.T) {
	w := mustDecode(t, `
name = "reuse"
[arrivals]
requests_per_second = 1
[lengths]
input = { distribution = "fixed", value = 4000 }
output = { distribution = "fixed", value = 50 }
[prefix]
reuse = { distribution = "uniform", low = 0.0, high = 0.8 }
documents = 20
chunk_tokens = 16
skew = 1.0
`)
	s, err := w.Summary()
	if err != nil || math.Abs(s.PrefixShare-0.4) > 0.01 {
		t.Errorf("share %g, %v; want 0.40", s.PrefixShare, err)
	}
}

// Whatever valid description: order, positive lengths, blocks within the prompt, no more requests than asked.
func TestSourcesHoldTheirContract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &Workload{Name: "random"}
		w.Arrivals.Process = rapid.SampledFrom([]string{"poisson", "deterministic", "gamma", "weibull", "on-off"}).Draw(t, "process")
		switch w.Arrivals.Process {
		case "gamma", "weibull":
			w.Arrivals.CV = rapid.Float64Range(0.1, 8).Draw(t, "cv")
		case "on-off":
			w.Arrivals.OnOff = &OnOff{OnSeconds: rapid.Float64Range(0.1, 30).Draw(t, "on"), OffSeconds: rapid.Float64Range(0.1, 30).Draw(t, "off"), RateCV: rapid.Float64Range(0.01, 2).Draw(t, "rate cv"), RateHold: 1}
		}
		if rapid.Bool().Draw(t, "spike") {
			w.Arrivals.Spike = &Spike{AtSeconds: 5, Seconds: 10, Factor: rapid.Float64Range(0, 20).Draw(t, "factor")}
		}
		w.Lengths = Lengths{Input: Distribution{Kind: "gamma", Mean: rapid.Float64Range(1, 5000).Draw(t, "in"), CV: rapid.Float64Range(0.1, 3).Draw(t, "in cv")},
			Output: Distribution{Kind: "exponential", Mean: rapid.Float64Range(1, 500).Draw(t, "out")}, Correlation: rapid.Float64Range(-0.9, 0.9).Draw(t, "rho")}
		if rapid.Bool().Draw(t, "prefix") {
			w.Prefix = &Prefix{SystemTokens: rapid.IntRange(0, 2000).Draw(t, "system"), Reuse: &Distribution{Kind: "uniform", High: rapid.Float64Range(0.01, 1).Draw(t, "reuse")}, DocumentChunks: 64}
		}
		if err := w.Validate(); err != nil {
			t.Fatal(err)
		}
		s, err := w.Source(SourceOptions{RequestsPerSecond: rapid.Float64Range(0.01, 1000).Draw(t, "rate"), Seed: rapid.Uint64().Draw(t, "seed"), MaxRequests: 300})
		if err != nil {
			t.Fatal(err)
		}
		var r Request
		last, n := int64(0), 0
		for s.Next(&r) {
			n++
			covered := int32(0)
			for _, b := range r.Blocks {
				covered += b.Tokens
			}
			if r.ArrivalNanoseconds < last || r.InputTokens < 1 || r.OutputTokens < 1 || covered > r.InputTokens || r.ID != int64(n) {
				t.Fatalf("request %d after %d: %+v", n, last, r)
			}
			last = r.ArrivalNanoseconds
		}
		if n > 300 {
			t.Fatalf("%d requests", n)
		}
	})
}
