package capacity_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"scoville/hardware"
	"scoville/model/random"
	"scoville/model/sla"
	"scoville/model/workload"
	"scoville/sim"
	"scoville/sim/capacity"
	"scoville/sim/fleet"
)

var scenarios = flag.Bool("scenarios", false, "run all of TestFleetScenarios and print the table of docs/fleet-scenarios.md")

// unit is what inference-fleet-sim calls a GPU: an iteration takes W + H for each sequence of 8,192 tokens, whatever prompt it computes.
type unit struct {
	w, h   float64 // seconds
	chunk  int
	blocks int64
	slots  int
}

func (u unit) Step(b hardware.Batch) hardware.Work {
	return hardware.Work{Seconds: u.w + u.h/8192*(b.DecodeKVTokens+b.PrefillKVTokens+float64(b.PrefillTokens))}
}
func (u unit) Decode(int) hardware.DecodeWork {
	return hardware.DecodeWork{Base: hardware.Work{Seconds: u.w}, PerKV: hardware.Work{Seconds: u.h / 8192}}
}
func (unit) IdleWatts() float64 { return 0 }

func units() map[string]unit {
	return map[string]unit{
		"A100": {8e-3, 0.65e-3, 512, 65536, 128}, "H100": {4e-3, 0.32e-3, 1024, 65536, 256}, "A10G": {12e-3, 0.90e-3, 256, 32768, 64},
	}
}

// totals is a distribution of total tokens, straight lines between its points; 80 % are the prompt.
type totals struct{ tokens, share []float64 }

func readTotals(t *testing.T, name string) totals {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "simulators", "fleet_sim", name+"_cdf.json"))
	if err != nil {
		t.Skip("../shared is absent beside the repository: ", err)
	}
	var points [][2]float64
	if json.Unmarshal(data, &points) != nil {
		var nested struct{ Cdf [][2]float64 }
		if err := json.Unmarshal(data, &nested); err != nil {
			t.Fatal(err)
		}
		points = nested.Cdf
	}
	c := totals{tokens: []float64{1}, share: []float64{0}}
	for _, p := range points {
		c.tokens, c.share = append(c.tokens, p[0]), append(c.share, p[1])
	}
	return c
}

func (c totals) at(u float64) float64 {
	i := max(1, sort.SearchFloat64s(c.share, u))
	if i >= len(c.share) || c.share[i] == c.share[i-1] {
		return c.tokens[min(i, len(c.tokens)-1)]
	}
	return c.tokens[i-1] + (u-c.share[i-1])/(c.share[i]-c.share[i-1])*(c.tokens[i]-c.tokens[i-1])
}

// between is Poisson traffic of which only requests with totals in (low, high] pass: a part of a Poisson stream, itself Poisson.
type between struct {
	lengths
	of        totals
	low, high float64
}

func (b *between) Next(r *workload.Request) bool {
	for {
		if b.n == b.max {
			return false
		}
		b.n++
		b.clock -= math.Log(b.gaps.Open()) / b.rate
		total := b.of.at(b.draws.Open())
		if total > b.low && total <= b.high {
			in := max(1, int32(0.8*total))
			*r = workload.Request{ID: b.n, ArrivalNanoseconds: int64(b.clock * 1e9), InputTokens: in, OutputTokens: max(1, int32(total)-in)}
			return true
		}
	}
}

// sized is the smallest pool that serves its part of the traffic, and its p99 of TTFT.
func sized(t *testing.T, of totals, low, high, rate float64, gpu string, slo float64) (n int, ttft float64) {
	t.Helper()
	run := func(ctx context.Context, n int) (*sim.Result, error) {
		return fleet.Run(ctx, fleet.Config{Replica: unitConfig(gpu, slo), Replicas: n, Routing: fleet.LeastOutstanding}, part(of, low, high, rate))
	}
	s, err := capacity.Size(context.Background(), run, 4, 600)
	if err != nil { // no number: a request alone takes too long
		idle, err := run(context.Background(), 600)
		if err != nil {
			t.Fatal(err)
		}
		return 0, idle.TTFT.P99
	}
	return s.Replicas, s.At.TTFT.P99
}

func unitConfig(gpu string, slo float64) sim.Config {
	u := units()[gpu]
	return sim.Config{Steps: u, SLA: sla.Limits{Percentiles: []sla.Limit{{Metric: sla.TTFT, Quantile: 0.99, Seconds: slo}}, ErrorBudget: 0.001},
		Engine: sim.Engine{MaxBatchedTokens: u.chunk, MaxSequences: u.slots, ChunkedPrefill: true, BlockTokens: 16, KVBlocks: u.blocks}}
}

func part(of totals, low, high, rate float64) *between {
	return &between{lengths{rate: rate, max: int64(300 * rate), gaps: random.New(1, 0, "arrivals"), draws: random.New(1, 0, "lengths")}, of, low, high}
}

// TestFleetScenarios sets our sizes beside those that inference-fleet-sim published for its seven scenarios, on its own step model and
// length distributions. docs/fleet-scenarios.md has the table and the reasons.
func TestFleetScenarios(t *testing.T) {
	azure := readTotals(t, "azure")
	// Scenario 4, homogeneous: theirs needs 3 4 6 9 12 20 26 H100. Sizes grow with load and with the same unit never by more than in proportion.
	last := 0
	for _, rate := range []float64{25, 50, 100} {
		n, ttft := sized(t, azure, 0, 1e9, rate, "H100", 0.5)
		if n < last || ttft > 0.5 {
			t.Errorf("%g/s: %d after %d, TTFT %.3f s", rate, n, last, ttft)
		}
		last = n
	}
	if !*scenarios {
		return
	}
	lmsys, agent := readTotals(t, "lmsys"), readTotals(t, "agent_heavy")
	row := func(scenario, theirs string, of totals, rate float64, slo float64, cuts []float64, gpus ...string) {
		edges := append(append([]float64{0}, cuts...), 1e9)
		text, total := "", 0
		for k, gpu := range gpus {
			n, ttft := sized(t, of, edges[k], edges[k+1], rate, gpu, slo)
			total += n
			if n == 0 {
				text += fmt.Sprintf(" no number of %s (%.0f ms on 600)", gpu, 1000*ttft)
				continue
			}
			text += fmt.Sprintf(" %d %s (%.0f ms)", n, gpu, 1000*ttft)
		}
		fmt.Printf("| %s | %s | %d:%s |\n", scenario, theirs, total, text)
	}
	row("1 LMSYS 100/s, 500 ms, one pool", "14 A100", lmsys, 100, 0.5, nil, "A100")
	row("1 LMSYS 100/s, split at 4,096", "3 + 5 A100", lmsys, 100, 0.5, []float64{4096}, "A100", "A100")
	row("1 Azure 200/s, 500 ms, one pool", "24 A100", azure, 200, 0.5, nil, "A100")
	row("1 Azure 200/s, split at 3,072", "7 + 16 A100", azure, 200, 0.5, []float64{3072}, "A100", "A100")
	row("1 agents 200/s, 500 ms, one pool", "480 A100", agent, 200, 0.5, nil, "A100")
	row("1 agents 200/s, split at 16,384", "157 + 259 A100", agent, 200, 0.5, []float64{16384}, "A100", "A100")
	row("2 agents 20/s, 1 s, one pool", "24 H100 (fails its own simulation)", agent, 20, 1, nil, "H100")
	row("2 agents 20/s, split at 4,096", "2 + 23 H100", agent, 20, 1, []float64{4096}, "H100", "H100")
	row("3 Azure 100/s, 500 ms", "6 H100", azure, 100, 0.5, nil, "H100")
	row("3 Azure 100/s, 500 ms", "12 A100", azure, 100, 0.5, nil, "A100")
	row("3 Azure 100/s, 500 ms", "21 A10G", azure, 100, 0.5, nil, "A10G")
	for i, rate := range []float64{25, 50, 100, 150, 200, 300, 400} {
		row(fmt.Sprintf("4 Azure %g/s", rate), fmt.Sprintf("%d H100", []int{3, 4, 6, 9, 12, 20, 26}[i]), azure, rate, 0.5, nil, "H100")
	}
	for _, routing := range []fleet.Routing{fleet.Random, fleet.LeastOutstanding, fleet.LeastTokens} {
		r, err := fleet.Run(context.Background(), fleet.Config{Replica: unitConfig("H100", 1), Replicas: 25, Routing: routing, Seed: 1}, part(agent, 0, 1e9, 20))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("| 5 agents 20/s on 25 H100, %s | %s | %s, p99 TTFT %.0f ms |\n", routing, map[fleet.Routing]string{fleet.Random: "292 ms"}[routing], r.Verdict, 1000*r.TTFT.P99)
	}
	row("6 Azure 100/s, A10G to 4,096, then H100", "12 (A10G + H100)", azure, 100, 0.5, []float64{4096}, "A10G", "H100")
	row("6 LMSYS 100/s, A10G to 4,096, then H100", "7 (A10G + H100)", lmsys, 100, 0.5, []float64{4096}, "A10G", "H100")
	for _, c := range []struct{ p, d, theirs string }{{"H100", "A100", "1 + 6"}, {"H100", "H100", "1 + 3"}, {"A100", "H100", "1 + 3"}} {
		for prefill := 1; ; prefill++ {
			cfg := unitConfig(c.d, 0.5)
			cfg.SLA.Percentiles = append(cfg.SLA.Percentiles, sla.Limit{Metric: sla.TPOT, Quantile: 0.99, Seconds: 0.1})
			s, err := capacity.Size(context.Background(), func(ctx context.Context, n int) (*sim.Result, error) {
				return fleet.Run(ctx, fleet.Config{Replica: cfg, Replicas: n, Routing: fleet.LeastOutstanding,
					Disaggregate: &fleet.Disaggregation{Prefill: unitConfig(c.p, 0.5), Replicas: prefill, BytesPerToken: 327680, LinkBytesPerSecond: 400e9}}, part(azure, 0, 1e9, 100))
			}, 4, 40)
			if err != nil {
				continue // too few prefill replicas
			}
			fmt.Printf("| 7 Azure 100/s, 500 ms and 100 ms, prompts on %s, decoding on %s | %s | %d + %d, TTFT %.0f ms, TPOT %.0f ms |\n", c.p, c.d, c.theirs, prefill, s.Replicas, 1000*s.At.TTFT.P99, 1000*s.At.TPOT.P99)
			break
		}
	}
}
