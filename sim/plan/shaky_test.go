package plan

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestShakyCapacityIsNoPlan: two short replications have an interval that reaches zero, on which nothing can be planned.
func TestShakyCapacityIsNoPlan(t *testing.T) {
	f, err := Parse("plan.toml", []byte(`as_of = "2026-11-30"
workload = { profile = "azure-2023-conversation", peak_qps = 2 }
model = { name = "llama-3.1-8b" }
sla = { ttft_p99 = 1.0, tpot_p90 = 0.04 }
search = { requests = 200, replications = 2, precision = 0.2, monte_carlo_draws = -1 }
cost = { ownership = "rent" }
candidate = [{ chip = "l40s" }]
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), f, Options{Seed: 1})
	var none *NoAnswer
	if !errors.As(err, &none) || !none.Limited || !strings.Contains(none.Error(), "2 replications are too few") {
		t.Fatalf("got %v and %+v; a refusal for want of replications is expected", err, r.Candidates[0].Capacity)
	}
}
