package calibrate

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"scoville/hardware"
	"scoville/model/llm"
	"scoville/profiles"
	"scoville/sim"
)

// shared finds a folder beside the repository's root, or skips.
func shared(t *testing.T, path string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the package")
		}
		dir = filepath.Dir(dir)
	}
	full := filepath.Join(dir, "..", "shared", filepath.FromSlash(path))
	if _, err := os.Stat(full); err != nil {
		t.Skipf("../shared is absent: %v", err)
	}
	return full
}

// cpuEngine is llama.cpp on one thread of some CPU, serving a model of 12 million parameters, as its prior knows it.
func cpuEngine(t testing.TB) *Deployment {
	t.Helper()
	chip, err := profiles.Chip("cpu-server")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := profiles.Engine("llama.cpp", "0.6000")
	if err != nil {
		t.Fatal(err)
	}
	engine.Scheduler.MaxSequences, engine.Scheduler.MaxBatchedTokens = 8, 512
	model := llm.Architecture{Name: "random-12m", Layers: 8, Hidden: 320, Heads: 8, KVHeads: 4, HeadDim: 40, Intermediate: 896, Vocabulary: 4096, GatedFFN: true, MaxContext: 2048}
	return &Deployment{
		Hardware: hardware.Deployment{Chip: chip, Model: model, Precision: llm.NewPrecision(llm.FP32), Split: llm.Split{}.Normal(), Engine: engine},
		Engine:   sim.Engine{Policy: sim.VLLMV1, MaxBatchedTokens: 512, MaxSequences: 8, BlockTokens: 16, ChunkedPrefill: true},
	}
}

func readClientCSV(t *testing.T, path string) []sample {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []sample
	for _, row := range rows[1:] {
		var v [6]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(row[i], 64); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, sample{sent: v[0], input: int(v[1]), output: int(v[2]), ttft: v[3] / 1e3, tpot: v[4] / 1e3, e2e: v[5] / 1e3})
	}
	return out
}

// TestRealEngineOfOtherDays calibrates on closed loops of llama.cpp on a quiet machine, recorded by another client, and predicts
// open loops of the same repeat.
func TestRealEngineOfOtherDays(t *testing.T) {
	folder := shared(t, "engine/data")
	d := cpuEngine(t)
	repeats := 1
	if os.Getenv("SCOVILLE_FULL") != "" {
		repeats = 3
	}
	for repeat := 1; repeat <= repeats; repeat++ {
		var loads, open []Load
		for _, isl := range []int{64, 256, 1024} {
			for _, c := range []int{1, 2, 4, 8} {
				name := fmt.Sprintf("closed-isl%d-c%d", isl, c)
				loads = append(loads, *d.load(name, readClientCSV(t, filepath.Join(folder, fmt.Sprintf("m12-f32-%s-r%d.csv", name, repeat))), c, true))
			}
		}
		for _, name := range []string{"open65", "open90", "cap"} {
			path := filepath.Join(folder, fmt.Sprintf("m12-f32-%s-r%d.csv", name, repeat))
			if _, err := os.Stat(path); err != nil {
				continue // kept back by whoever measured
			}
			clients := 0
			if strings.HasPrefix(name, "cap") {
				clients = 8
			}
			open = append(open, *d.load(name, readClientCSV(t, path), clients, true))
		}
		f, err := Run(context.Background(), d.Hardware, loads, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("repeat %d: loss %.2f, model error %.3f, %d rounds, converged %v", repeat, f.Loss, f.ModelError, f.Rounds, f.Converged)
		for _, e := range f.Estimates {
			t.Logf("  %-20s %.4g [%.4g, %.4g] informed %v bound %v", e.Name, e.Value, e.Low, e.High, e.Informed, e.AtBound)
		}
		for _, r := range f.Residuals {
			t.Logf("  fit %-20s %-10s %8.4f %8.4f %+6.1f %%", r.Load, r.Metric, r.Measured, r.Predicted, 100*r.Error())
		}
		scores, err := Score(context.Background(), f.Factors, open)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range scores {
			t.Logf("  %-8s %-26s measured %8.4f predicted %8.4f %+6.1f %%", r.Load, r.Metric, r.Measured, r.Predicted, 100*r.Error())
			if (r.Metric == TPOTMean || r.Metric == TTFTP50 || r.Metric == Throughput) && math.Abs(r.Error()) > 0.35 {
				t.Errorf("repeat %d, %s: %s is %+.0f %% off", repeat, r.Load, r.Metric, 100*r.Error())
			}
		}
	}
}
