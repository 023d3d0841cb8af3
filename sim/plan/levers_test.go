package plan_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"scoville/reports"
	"scoville/sim/plan"
)

// TestLeversEqualAnotherPlan moves price, tariff, PUE and utilisation in a saved result, as the sheet and the page do, and compares with the
// plan run again under those figures.
func TestLeversEqualAnotherPlan(t *testing.T) {
	const text = `as_of = "2026-11-30"
workload = { profile = "azure-2023-conversation", peak_qps = 8, mean_qps = 4 }
model = { name = "llama-3.1-8b" }
sla = { ttft_p99 = 2.0 }
search = { requests = 500, replications = 3, precision = 0.1, monte_carlo_draws = -1 }
[cost]
ownership = "buy"
[cost.buy]
spare_parts_share = 0.03
sales_tax_share = 0.08
accelerator = { price = 30000, life_years = 5, per = "chip", residual_share = 0.1 }
[cost.running]
maintenance_share = 0.05
pue = 1.3
electricity = { usd_per_kwh = 0.12 }
[[candidate]]
chip = "h100-sxm"
`
	run := func(overrides ...string) *plan.Cost {
		t.Helper()
		f, err := plan.Parse("plan.toml", []byte(text), overrides)
		if err != nil {
			t.Fatal(err)
		}
		r, err := plan.Run(context.Background(), f, plan.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return r.Candidates[0].Cost
	}
	planned := run()
	for _, c := range []struct {
		name                              string
		price, tariff, pue, meanOfPlanned float64
		within                            float64 // relative
	}{
		{"nothing", 30000, 0.12, 1.3, 1, 1e-6},
		{"price", 21000, 0.12, 1.3, 1, 1e-6},
		{"tariff", 30000, 0.31, 1.3, 1, 1e-6},
		{"PUE", 30000, 0.12, 1.08, 1, 1e-6},
		{"utilisation", 30000, 0.12, 1.3, 0.61, 1e-3}, // between two tabulated points
		{"all", 42000, 0.2, 1.5, 1.4, 1e-3},
	} {
		want := run(fmt.Sprintf("cost.buy.accelerator.price=%g", c.price), fmt.Sprintf("cost.running.electricity.usd_per_kwh=%g", c.tariff),
			fmt.Sprintf("cost.running.pue=%g", c.pue), fmt.Sprintf("workload.mean_qps=%g", 4*c.meanOfPlanned))
		got := reports.Move(planned, c.price, c.tariff, c.pue, want.Utilisation)
		for _, v := range []struct {
			what      string
			got, want float64
		}{{"TCO", got.TCO, want.TCO}, {"$/M", got.PerM, want.PerMBoth}, {"$/M input", got.PerMIn, want.PerMInput}, {"$/M output", got.PerMOut, want.PerMOutput}} {
			if !(math.Abs(v.got-v.want) <= c.within*v.want) {
				t.Errorf("%s moved: %s is %g by the levers, %g by the plan", c.name, v.what, v.got, v.want)
			}
		}
	}
	if same := run("cost.buy.accelerator.price=21000"); same.TCO >= planned.TCO {
		t.Error("a cheaper chip does not lower the TCO: the test compares nothing")
	}
}
