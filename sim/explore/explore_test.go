package explore

import (
	"context"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
	"scoville/sim"
)

// fixed holds a known load at a known speed.
func fixed(name string, chips int, holds float64) Deployment {
	return Deployment{Name: name, Group: "chip", Chips: chips, Ceiling: 2 * holds, Interactivity: 1e6, Start: 1,
		Probe: func(ctx context.Context, rate float64, _ int, _ int64) (*sim.Result, error) {
			if rate <= holds {
				return &sim.Result{Verdict: sim.Stable, SLAMet: true}, ctx.Err()
			}
			return &sim.Result{Verdict: sim.Unstable}, ctx.Err()
		}}
}

func TestSearchFindsEachCapacity(t *testing.T) {
	all := []Deployment{fixed("a", 1, 3), fixed("b", 4, 40), fixed("c", 2, 0.5)}
	r, err := Search(context.Background(), all, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{3, 40, 0.5} {
		if got := r.Judged[i]; got.Capacity > want || got.Capacity < want/1.021 || math.Abs(got.PerChip-got.Low/float64(all[i].Chips)) > 1e-12 {
			t.Errorf("%s: %+v, want %g", all[i].Name, got, want)
		}
	}
	if r.Partial {
		t.Error("partial")
	}
}

func TestABoundBehindAnotherIsNotJudged(t *testing.T) {
	fast, slow := fixed("fast", 1, 10), fixed("slow", 1, 3)
	slow.Ceiling, slow.Interactivity = 5, 0 // no better than the fast one in either respect
	many := []Deployment{slow}
	for k := range 9 {
		many = append(many, fixed(fmt.Sprint("fast ", k), 1, 10))
	}
	other := slow
	other.Group, other.Name = "another chip", "other"
	r, err := Search(context.Background(), append(many, fast, other), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Judged[0].Replications != 0 || r.Judged[0].Left == "" {
		t.Errorf("slow was judged: %+v", r.Judged[0])
	}
	if last := r.Judged[len(r.Judged)-1]; last.Replications == 0 {
		t.Errorf("a deployment on another chip was ruled out: %+v", last)
	}
}

func TestBreakingOffKeepsWhatIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var all []Deployment
	for k := range 40 {
		all = append(all, fixed(fmt.Sprint(k), 1, float64(1+k)))
	}
	r, err := Search(ctx, all, Options{Parallel: 1, Progress: func(done, _ int) {
		if done == 10 {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, j := range r.Judged {
		if j.Replications > 0 {
			n++
		}
	}
	if !r.Partial || n != 10 {
		t.Errorf("partial %v, %d judged, want 10", r.Partial, n)
	}
}

func TestANoLoadDeploymentIsNoError(t *testing.T) {
	r, err := Search(context.Background(), []Deployment{fixed("none", 1, 0), fixed("some", 1, 2)}, Options{})
	if err != nil || r.Judged[0].Left == "" || r.Judged[1].Capacity == 0 {
		t.Errorf("%v %+v", err, r)
	}
}

func TestFront(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "n")
		x := rapid.SliceOfN(rapid.Float64Range(0, 5), n, n).Draw(t, "x")
		y := rapid.SliceOfN(rapid.Float64Range(0, 5), n, n).Draw(t, "y")
		front := Front(n, func(i int) float64 { return x[i] }, func(i int) float64 { return y[i] })
		for i := range n {
			beaten := x[i] == 0 || y[i] == 0
			for k := range n {
				if x[k] > 0 && y[k] > 0 && x[k] >= x[i] && y[k] >= y[i] && (x[k] > x[i] || y[k] > y[i] || k < i) {
					beaten = true
				}
			}
			if front[i] == beaten {
				t.Fatalf("point %d (%g, %g): front %v, beaten %v", i, x[i], y[i], front[i], beaten)
			}
		}
	})
}
