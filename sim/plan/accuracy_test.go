package plan

import (
	"strings"
	"testing"

	"scoville/hardware"
	"scoville/model/workload"
	"scoville/profiles"
)

func TestShippedAccuracyFallsBack(t *testing.T) {
	score := func(chip, vendor, engine, metric string, rows int, mean float64) profiles.AccuracyScore {
		return profiles.AccuracyScore{Chip: chip, Vendor: vendor, Engine: engine, Metric: metric, Tables: []string{"table-" + chip}, Rows: rows, Mean: mean,
			Input: [2]float64{100, 1000}, Output: [2]float64{100, 500}, Points: []profiles.AccuracyPoint{{Label: chip, Measured: 1, Predicted: 1 + mean}}}
	}
	scores := &profiles.Accuracy{Date: "2026-12-01", Scores: []profiles.AccuracyScore{
		score("a1", "A", "vllm", "ttft", 10, 0.1), score("a1", "A", "vllm", "tpot", 10, 0.2), score("a1", "A", "sglang", "tpot", 30, 0.4),
		score("b1", "B", "vllm", "tpot", 60, 0.9),
	}}
	for _, c := range []struct {
		name, chip, vendor, engine string
		input                      float64
		tpot                       float64
		inside                     bool
		points                     int
		want, not                  string
	}{
		{"chip and engine", "a1", "A", "vllm", 500, 0.2, true, 2, "on unseen runs of a1 with vllm: TTFT off by 10 %", "no measured run"},
		{"lengths beyond", "a1", "A", "vllm", 5000, 0.2, false, 2, "prompts of 5000 tokens (measured: 100 to 1000)", "answers"},
		{"chip with other engines", "a1", "A", "tensorrt-llm", 500, 0.35, true, 3, "other engines (none with tensorrt-llm)", "no measured run"},
		{"vendor", "a2", "A", "vllm", 500, 0.35, false, 0, "no measured run of this chip; not calibrated on this machine; the shipped profiles on unseen runs of other A chips", "all chips"},
		{"all", "c1", "C", "vllm", 500, 0.68, false, 0, "no measured run of this chip; not calibrated on this machine; the shipped profiles on unseen runs of all chips", "other C chips"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &deployment{chip: hardware.Chip{Name: c.chip, Vendor: c.vendor}, engine: hardware.EngineProfile{Name: c.engine}}
			a := shippedAccuracy(scores, d, &traffic{summary: &workload.Summary{MeanInput: c.input, MeanOutput: 200}})
			if diff := a.TPOTError - c.tpot; diff > 1e-9 || diff < -1e-9 {
				t.Errorf("TPOT error %g, want %g", a.TPOTError, c.tpot)
			}
			if a.InsideRange != c.inside || len(a.Points) != c.points {
				t.Errorf("inside %v, %d points; want %v, %d", a.InsideRange, len(a.Points), c.inside, c.points)
			}
			if !strings.Contains(a.Basis, c.want) || strings.Contains(a.Basis, c.not) {
				t.Errorf("basis %q, want it to say %q and not %q", a.Basis, c.want, c.not)
			}
			if !strings.Contains(a.Basis, "2026-12-01") {
				t.Errorf("basis %q has no date", a.Basis)
			}
		})
	}
	d := &deployment{chip: hardware.Chip{Name: "a1"}}
	if a := shippedAccuracy(&profiles.Accuracy{}, d, &traffic{}); !strings.Contains(a.Basis, "no measured run") || a.InsideRange {
		t.Errorf("without scores: %+v", a)
	}
}
