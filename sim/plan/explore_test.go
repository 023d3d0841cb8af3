package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const exploring = `
as_of = "2026-11-30"
[workload]
profile = "azure-2023-conversation"
peak_qps = 30
[model]
name = "llama-3.1-8b"
[sla]
ttft_p99 = 2.0
tpot_p90 = 0.05
[search]
requests = 1000
replications = 2
monte_carlo_draws = -1
[cost]
ownership = "rent"
[explore]
chips = ["h100-sxm", "l40s", "rtx-4090"]
tensor_parallel = "all"
max_batched_tokens = [2048, 8192]
requests = 600
keep = 2
`

func TestExplore(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of simulation")
	}
	var texts [2][]byte
	for i := range texts {
		r, err := Run(context.Background(), mustParse(t, exploring), Options{Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, r)
		checkExplored(t, r)
		if texts[i], err = json.Marshal(r); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("the same plan and seed gave different bytes")
	}
}

func checkExplored(t *testing.T, r *Result) {
	t.Helper()
	x := r.Explored
	if x.Combinations != 24 || len(x.Points) != 24 { // 3 chips x 4 degrees x 2 budgets
		t.Errorf("%d combinations, %d points, want 24", x.Combinations, len(x.Points))
	}
	names, kept := map[string]bool{}, 0
	for _, p := range x.Points {
		if names[p.Name] {
			t.Errorf("two points are called %s", p.Name)
		}
		names[p.Name] = true
		if p.Low > 0 == (p.Left != "") {
			t.Errorf("%s: holds %g, left out for %q", p.Name, p.Low, p.Left)
		}
		if p.Kept {
			kept++
		}
		for _, q := range x.Points {
			if p.SpeedFront && q.Replications == p.Replications && q.GoodputPerChip > p.GoodputPerChip && q.Interactivity > p.Interactivity {
				t.Errorf("%s is on the front of speed, behind %s", p.Name, q.Name)
			}
			if p.CostFront && q.Replications == p.Replications && q.PerM > 0 && q.PerM < p.PerM && q.E2ESeconds < p.E2ESeconds {
				t.Errorf("%s is on the front of cost, behind %s", p.Name, q.Name)
			}
		}
	}
	if kept != 2 || len(r.Candidates) != 2 || r.Candidates[0].Chip == r.Candidates[1].Chip {
		t.Errorf("%d kept, %d candidates; want the best of two chips", kept, len(r.Candidates))
	}
}

func TestExploreBrokenOffKeepsWhatIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, err := Run(ctx, mustParse(t, exploring), Options{Seed: 5, Progress: func(stage string, done, _ int) {
		if strings.HasPrefix(stage, "exploring") && done == 5 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || r == nil || !r.Partial || !r.Explored.Partial {
		t.Fatalf("%v, %+v", err, r)
	}
	n := 0
	for _, p := range r.Explored.Points {
		if p.Replications > 0 {
			n++
		}
	}
	if n < 5 || n > 8 {
		t.Errorf("%d deployments judged, want about 5", n)
	}
}

func TestExploreFaults(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`["h100-sxm", "l40s", "rtx-4090"]`, `[]`, "explore.chips: is empty"},
		{`"l40s"`, `"l4os"`, "l4os"},
		{`"all"`, `"most"`, "expected a list of degrees"},
		{`"all"`, `[0]`, "a degree of at least 1"},
		{`[2048, 8192]`, `[-1]`, "explore.max_batched_tokens: holds -1"},
	} {
		f, err := Parse("plan.toml", []byte(strings.Replace(exploring, c.from, c.to, 1)), nil)
		if err == nil {
			_, err = Run(context.Background(), f, Options{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s -> %s: got %v, want %q", c.from, c.to, err, c.want)
		}
	}
}

// The bound that rules deployments out is one: no capacity found is above it.
func TestNoCapacityIsAboveItsCeiling(t *testing.T) {
	r, err := Run(context.Background(), mustParse(t, small), Options{Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Candidates {
		if top := c.Capacity.SaturationPerSecond; top > c.Capacity.CeilingPerSecond*1.01 || c.Capacity.CeilingPerSecond > 4*top {
			t.Errorf("%s: %.4g requests/s saturated, the bound is %.4g", c.Name, top, c.Capacity.CeilingPerSecond)
		}
	}
}
