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
