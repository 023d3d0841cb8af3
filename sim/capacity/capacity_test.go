package capacity

import (
	"context"
	"errors"
	"math"
	"testing"

	"scoville/sim"
)

// stepProbe passes below a root that differs by replication.
func stepProbe(roots []float64) Probe {
	return func(_ context.Context, rate float64, r int) (*sim.Result, error) {
		if rate <= roots[r] {
			return &sim.Result{Verdict: sim.Stable, SLAMet: true}, nil
		}
		return &sim.Result{Verdict: sim.Stable, Violations: []string{"TTFT p99 too long"}}, nil
	}
}

func TestFindBracketsFromAnyStart(t *testing.T) {
	roots := []float64{9.7, 10, 10.3, 10.1}
	for _, start := range []float64{0.01, 1, 10, 500} {
		a, err := Find(context.Background(), Search{Probe: stepProbe(roots), Start: start, Replications: 4, Precision: 0.005})
		if err != nil {
			t.Fatal(err)
		}
		for r, got := range a.Roots {
			if got > roots[r] || got < roots[r]*0.994 {
				t.Errorf("start %g: root %d = %g, want just below %g", start, r, got, roots[r])
			}
		}
		if !(a.Low < a.Mean && a.Mean < a.High) || a.Low < 9 {
			t.Errorf("start %g: interval [%g, %g] around %g", start, a.Low, a.High, a.Mean)
		}
	}
}

func TestFindReportsAnSLANoLoadMeets(t *testing.T) {
	_, err := Find(context.Background(), Search{Probe: stepProbe([]float64{0, 0, 0, 0, 0, 0}), Start: 5})
	var none *ErrNoLoad
	if !errors.As(err, &none) || none.Best == nil {
		t.Fatalf("err = %v, want ErrNoLoad with the best run", err)
	}
}

func TestFindRefusesCapacityAboveThePhysicalBound(t *testing.T) {
	_, err := Find(context.Background(), Search{Probe: stepProbe([]float64{1e9, 1e9, 1e9, 1e9, 1e9, 1e9}), Start: 1, Ceiling: 50})
	if err == nil {
		t.Fatal("a load above the ceiling passed unnoticed")
	}
}

func TestSizeFindsTheSmallestFleet(t *testing.T) {
	for need := 1; need <= 40; need++ {
		for _, guess := range []int{1, 7, 40, 100} {
			probes := 0
			s, err := Size(context.Background(), func(_ context.Context, n int) (*sim.Result, error) {
				probes++
				return &sim.Result{Verdict: sim.Stable, SLAMet: n >= need}, nil
			}, guess, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if s.Replicas != need || !s.At.SLAMet || (need > 1 && s.OneFewer.SLAMet) || (need == 1 && s.OneFewer != nil) {
				t.Fatalf("need %d, guess %d: got %+v", need, guess, s)
			}
			if limit := 4 + 3*int(math.Log2(float64(max(need, guess))+1)); probes > limit {
				t.Errorf("need %d, guess %d took %d probes, want at most %d", need, guess, probes, limit)
			}
		}
	}
}

func TestSizeSaysWhenNoFleetServes(t *testing.T) {
	_, err := Size(context.Background(), func(context.Context, int) (*sim.Result, error) {
		return &sim.Result{Verdict: sim.Unstable}, nil
	}, 3, 50)
	if err == nil {
		t.Fatal("no error")
	}
}
