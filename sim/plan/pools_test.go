package plan

import (
	"context"
	"math"
	"testing"
)

// Spares for an availability are confirmed by simulating failures.
func TestAvailabilityIsConfirmed(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of simulation")
	}
	f := mustParse(t, small, "fleet.availability=0.999", "fleet.failures_per_chip_year=2.0", "fleet.repair_hours=72", "workload.peak_qps=300")
	f.Candidates = f.Candidates[:1]
	r, err := Run(context.Background(), f, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	fleet := r.Candidates[0].Fleet
	t.Logf("%d + %d, %.5f by formula, %.5f simulated", fleet.Replicas, fleet.SpareReplicas, fleet.Availability, fleet.AvailabilitySeen)
	if fleet.SpareReplicas < 1 || fleet.Availability < 0.999 {
		t.Errorf("%d spares give %.5f", fleet.SpareReplicas, fleet.Availability)
	}
	if math.Abs(fleet.AvailabilitySeen-fleet.Availability) > 0.002 {
		t.Errorf("simulated %.5f, by formula %.5f", fleet.AvailabilitySeen, fleet.Availability)
	}
}

// Prompts apart: the fleet is sized as a whole, and decoding isn't held up by prompts.
func TestPrefillApart(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of simulation")
	}
	f := mustParse(t, small, "fleet.prefill_share=0.5", "workload.peak_qps=100")
	f.Candidates = f.Candidates[:1]
	r, err := Run(context.Background(), f, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	apart := r.Candidates[0].Fleet
	if apart.PrefillReplicas != prefillReplicas(0.5, apart.Replicas) || apart.PrefillReplicas == 0 || !apart.Peak.Met {
		t.Errorf("%d of %d only prefill, met %v", apart.PrefillReplicas, apart.Replicas, apart.Peak.Met)
	}
	f = mustParse(t, small, "workload.peak_qps=100")
	f.Candidates = f.Candidates[:1]
	if r, err = Run(context.Background(), f, Options{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	if together := r.Candidates[0].Fleet; apart.Peak.ITL.P99 >= together.Peak.ITL.P99 {
		t.Errorf("p99 of the gaps: %.4f s apart, %.4f s together", apart.Peak.ITL.P99, together.Peak.ITL.P99)
	}
}
