package plan

import (
	"context"
	"math"
	"testing"
)

// A plan turned round twice is the plan: what a fleet's chips hold is at least the peak it was sized for, and the fleet sized for what they
// hold has those chips.
func TestTurnedRound(t *testing.T) {
	f := mustParse(t, small)
	f.Candidates = f.Candidates[:1]
	r, err := Run(context.Background(), f, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Candidates[0]
	held, err := Turn(context.Background(), f, Budget{Chips: c.Fleet.Chips}, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	h := held.Candidates[0]
	if h.Chips != c.Fleet.Chips || h.High < 30 {
		t.Errorf("%d chips hold [%.4g, %.4g]/s; they were sized for 30/s as %d", h.Chips, h.Low, h.High, c.Fleet.Chips)
	}
	for _, b := range []Budget{{Watts: c.Fleet.FacilityKilowatts * 1000 * 1.001}, {USD: h.TCO * 1.05}} {
		other, err := Turn(context.Background(), f, b, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := other.Candidates[0]; math.Abs(float64(got.Chips-c.Fleet.Chips)) > 1 {
			t.Errorf("%+v: %d chips, want about %d", b, got.Chips, c.Fleet.Chips)
		}
	}
	if _, err := Turn(context.Background(), f, Budget{USD: 10}, Options{}); err == nil {
		t.Error("10 dollars hold a load")
	}
}
