package validate

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"testing"
	"time"

	"scoville/hardware"
	"scoville/hardware/calibrate"
)

func sharedMeasured(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	folder := filepath.Join(dir, "..", "shared", "data", "measured")
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("../shared is absent: %v", err)
	}
	return folder
}

// TestThreeLoadsCalibrateASweep scores hardware/calibrate on sweeps of InferenceX, one in SCOVILLE_SWEEPS (default: a few of them).
func TestThreeLoadsCalibrateASweep(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	jobs, _, err := Load(Options{Data: sharedMeasured(t), Tables: []string{"inferencex_silicon_ttft_tpot"}})
	if err != nil {
		t.Fatal(err)
	}
	sweeps := sweepsOf(jobs)
	every := 100
	if n, err := strconv.Atoi(os.Getenv("SCOVILLE_SWEEPS")); err == nil && n > 0 {
		every = n
	}
	plain, smooth := map[string][]float64{}, map[string][]float64{}
	used := 0
	for i := 0; i < len(sweeps); i += every {
		began := time.Now()
		a, b, err := calibratedSweep(context.Background(), sweeps[i], 1)
		if err != nil {
			t.Fatal(err)
		}
		for k := range a {
			plain[a[k].Metric] = append(plain[a[k].Metric], math.Abs(a[k].Error()))
			smooth[b[k].Metric] = append(smooth[b[k].Metric], math.Abs(b[k].Error()))
			if math.Abs(b[k].Error()) > 0.25 {
				t.Logf("far off: %s c%.0f %s measured %.4g, factors %.4g, with residuals %.4g", b[k].ID, b[k].Load, b[k].Metric, b[k].Measured, a[k].Predicted, b[k].Predicted)
			}
		}
		if len(a) > 0 {
			used++
		}
		if d := time.Since(began); d > 20*time.Second {
			t.Logf("%v for %s", d, sweeps[i][0].Sweep)
		}
	}
	for _, m := range []string{TPOTMean, TTFTMean} {
		for name, v := range map[string][]float64{"factors": plain[m], "factors and residuals": smooth[m]} {
			if len(v) == 0 {
				t.Fatalf("no held-out %s", m)
			}
			sort.Float64s(v)
			t.Logf("%-22s %-10s %d held-out points of %d sweeps: mean %.1f %%, median %.1f %%, p90 %.1f %%", name, m, len(v), used, 100*mean(v), 100*quantile(v, 0.5), 100*quantile(v, 0.9))
		}
		if v := mean(smooth[m]); v > 0.5 {
			t.Errorf("%s is %.0f %% off on average", m, 100*v)
		}
	}
}

// TestTwoThirdsPredictTheLast calibrates every run of the per-request table on its first two thirds and predicts its last third; and
// calibrates all runs but every third one together and predicts those. It takes minutes: SCOVILLE_FULL=1 asks for it.
func TestTwoThirdsPredictTheLast(t *testing.T) {
	if os.Getenv("SCOVILLE_FULL") == "" {
		t.Skip("set SCOVILLE_FULL=1: takes minutes")
	}
	files, err := filepath.Glob(filepath.Join(sharedMeasured(t), "vllm_h100", "per_request", "*.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var all, kept []calibrate.Load
	var some hardware.Deployment
	var off []float64
	for i, path := range files {
		before, after, d, err := thirds(path, 1)
		if err != nil {
			t.Fatal(err)
		}
		if before == nil {
			t.Logf("%s: overloaded, left out", filepath.Base(path))
			continue
		}
		before.Name, after.Name = filepath.Base(path), filepath.Base(path)
		if some = d; i%3 == 1 {
			kept = append(kept, *after)
		} else {
			all = append(all, *before)
		}
		f, err := calibrate.Run(context.Background(), d, []calibrate.Load{*before}, calibrate.Options{})
		if err != nil {
			t.Logf("%s: %v", before.Name, err)
			continue
		}
		scores, err := calibrate.Score(context.Background(), f.Factors, []calibrate.Load{*after})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range scores {
			t.Logf("own first two thirds: %-45s %-10s measured %8.3f predicted %8.3f %+6.1f %%", s.Load, s.Metric, s.Measured, s.Predicted, 100*s.Error())
			if s.Metric == calibrate.E2EP50 {
				off = append(off, math.Abs(s.Error()))
			}
		}
	}
	if len(off) == 0 {
		t.Fatal("no run could be scored")
	}
	t.Logf("E2E p50 of the last third: mean error %.1f %%", 100*mean(off))
	if mean(off) > 0.2 {
		t.Errorf("E2E p50 of the last third is %.0f %% off on average", 100*mean(off))
	}
	f, err := calibrate.Run(context.Background(), some, all, calibrate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	scores, err := calibrate.Score(context.Background(), f.Factors, kept)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scores {
		t.Logf("other runs' factors: %-45s %-10s measured %8.3f predicted %8.3f %+6.1f %%", s.Load, s.Metric, s.Measured, s.Predicted, 100*s.Error())
	}
}
