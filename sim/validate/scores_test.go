package validate

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"scoville/model/tomlfile"
	"scoville/profiles"
)

func TestAccuracyByChipAndEngine(t *testing.T) {
	const ix, old = "inferencex_silicon_ttft_tpot", "argonne_llm_inference_bench"
	point := func(table, chip, engine, metric string, measured, predicted float64) Point {
		return Point{Table: table, Chip: chip, Engine: engine, Metric: metric, Model: "m", Tensor: 2, Load: 8, Measured: measured, Predicted: predicted, Input: 100 * measured, Output: 50}
	}
	var points []Point
	for i := 1; i <= 20; i++ {
		points = append(points, point(ix, "h100", "vllm 0.15", TPOTMean, float64(i), float64(i)*1.1))
	}
	points = append(points,
		point(ix, "h100", "vllm 0.19", ITLMean, 1, 0.7),
		point(ix, "h100", "vllm 0.15", E2EMean, 1, 9),                                                       // no metric of the file
		point("mlperf_inference_llm", "h100", "vllm 0.15", TTFTMean, 0.2, 60),                               // at its latency limit
		point(old, "h100", "vllm 0.6", AllTokens, 100, 300), point(old, "h100", "vllm 0.6", TPOTMean, 1, 9), // TPOT has rows of current engines
	)
	a := Accuracy(points, func(string) string { return "NVIDIA" }, Stamp{Date: "2026-12-01", Commit: "abc"})
	if len(a.Scores) != 2 {
		t.Fatalf("%d scores, want throughput and tpot: %+v", len(a.Scores), a.Scores)
	}
	thr, tpot := a.Scores[0], a.Scores[1]
	if thr.Metric != "throughput" || thr.Rows != 1 || thr.Mean != 2 || fmt.Sprint(thr.Tables) != "["+old+"]" {
		t.Errorf("throughput: %+v", thr)
	}
	if want := (20*0.1 + 0.3) / 21; tpot.Metric != "tpot" || tpot.Rows != 21 || math.Abs(tpot.Mean-want) > 1e-9 || math.Abs(tpot.Bias-(20*0.1-0.3)/21) > 1e-9 {
		t.Errorf("tpot: %+v, want mean %g", tpot, want)
	}
	if tpot.Input != [2]float64{100, 2000} || len(tpot.Points) != shownPoints || tpot.Points[0].Measured > 2 || tpot.Points[shownPoints-1].Measured < 19 {
		t.Errorf("range and points: %+v", tpot)
	}
	var b bytes.Buffer
	if err := WriteAccuracy(&b, a); err != nil {
		t.Fatal(err)
	}
	var back profiles.Accuracy
	if err := tomlfile.Decode("accuracy.toml", b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if got, scope := back.Find("h100", "NVIDIA", "vllm", profiles.AccuracyTPOT); scope != profiles.SameSetUp || got.Rows != 21 || math.Abs(got.Mean-tpot.Mean) > 1e-4 {
		t.Errorf("read back at scope %d: %+v", scope, got)
	}
}
