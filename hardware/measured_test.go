package hardware_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"scoville/hardware"
	"scoville/model/llm"
	"scoville/profiles"
)

// sharedFile finds ../shared/name beside the repository, or skips.
func sharedFile(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Skip("../shared is absent: no go.mod above")
		}
		dir = parent
	}
	p := filepath.Join(filepath.Dir(dir), "shared", name)
	if _, err := os.Stat(p); err != nil {
		t.Skip("../shared is absent: no " + name)
	}
	return p
}

type record map[string]string

func (r record) number(key string) float64 {
	v, err := strconv.ParseFloat(r[key], 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

func readCSV(t testing.TB, name string) []record {
	t.Helper()
	f, err := os.Open(sharedFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := csv.NewReader(f)
	c.Comment = '#'
	rows, err := c.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []record
	for _, row := range rows[1:] {
		r := record{}
		for i, h := range rows[0] {
			r[h] = row[i]
		}
		out = append(out, r)
	}
	return out
}

// scores gathers relative errors by group.
type scores map[string][]float64

func (s scores) add(err float64, groups ...string) {
	for _, g := range groups {
		s[g] = append(s[g], err)
	}
}

// within fails where the mean absolute error of a group exceeds a bound: a regression of the curves or the engine profiles.
func (s scores) within(t *testing.T, group string, bound float64) {
	t.Helper()
	sum := 0.0
	for _, e := range s[group] {
		sum += math.Abs(e) / float64(len(s[group]))
	}
	if len(s[group]) == 0 || !(sum <= bound) {
		t.Errorf("%s: mean error %.1f %% over %d rows, bound %.0f %%", group, 100*sum, len(s[group]), 100*bound)
	}
}

func (s scores) log(t *testing.T) {
	var keys []string
	for k := range s {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		mape, bias, abs := 0.0, 0.0, []float64{}
		for _, e := range s[k] {
			mape, bias, abs = mape+math.Abs(e)/float64(len(s[k])), bias+e/float64(len(s[k])), append(abs, math.Abs(e))
		}
		sort.Float64s(abs)
		t.Logf("%-70s n %4d  MAPE %6.1f %%  median %6.1f %%  p90 %6.1f %%  bias %+6.1f %%", k, len(abs), 100*mape, 100*abs[len(abs)/2], 100*abs[len(abs)*9/10], 100*bias)
	}
}

type models struct {
	cache   map[string]hardware.StepModel
	archs   map[string]llm.Architecture
	chips   map[string]hardware.Chip
	engines map[string]hardware.EngineProfile
}

func newModels() *models {
	return &models{map[string]hardware.StepModel{}, map[string]llm.Architecture{}, map[string]hardware.Chip{}, map[string]hardware.EngineProfile{}}
}

func precisionOf(weights, model, engine string) llm.Precision {
	switch {
	case weights == "fp8":
		p := llm.NewPrecision(llm.FP8)
		p.KV = llm.FP8
		return p
	case weights == "int4":
		return llm.NewPrecision(llm.INT4)
	case weights == "fp4" && strings.Contains(model, "gpt-oss"):
		p := llm.NewPrecision(llm.MXFP4)
		p.Attention = llm.BF16
		return p
	case weights == "fp4":
		p := llm.NewPrecision(llm.FP4)
		p.KV = llm.FP8
		return p
	}
	return llm.NewPrecision(llm.BF16)
}

func (m *models) deployment(chip, model, weights, engine, version string, split llm.Split) (hardware.Deployment, error) {
	e, err := profiles.Engine(engine, version)
	if err != nil {
		return hardware.Deployment{}, err
	}
	c, ok := m.chips[chip]
	if !ok {
		var err error
		if c, err = profiles.Chip(chip); err != nil {
			return hardware.Deployment{}, err
		}
		m.chips[chip] = c
	}
	a, ok := m.archs[model]
	if !ok {
		var err error
		if a, _, err = profiles.Model(model); err != nil {
			return hardware.Deployment{}, err
		}
		m.archs[model] = a
	}
	return hardware.Deployment{Chip: c, Model: a, Precision: precisionOf(weights, model, engine), Split: split, Engine: e}, nil
}

func (m *models) get(chip, model, weights, engine, version string, split llm.Split) (hardware.StepModel, hardware.EngineProfile, error) {
	ek := engine + "@" + version
	e, ok := m.engines[ek]
	if !ok {
		var err error
		if e, err = profiles.Engine(engine, version); err != nil {
			return nil, e, err
		}
		m.engines[ek] = e
	}
	key := fmt.Sprint(chip, model, weights, engine, e.Version, split)
	if s, ok := m.cache[key]; ok {
		return s, e, nil
	}
	d, err := m.deployment(chip, model, weights, engine, version, split)
	if err != nil {
		return nil, e, err
	}
	s, err := hardware.NewStepModel(d)
	if err == nil {
		m.cache[key] = s
	}
	return s, e, err
}

// steadyTPOT is the mean time between tokens of a closed loop of c requests: decode steps, and the share of the prompts'
// prefill that falls into each.
func steadyTPOT(s hardware.StepModel, e hardware.EngineProfile, a llm.Architecture, c int, isl, osl float64) (decode, prefill float64) {
	window := math.Max(float64(a.Window.Tokens), 1)
	context := isl + osl/2
	b := hardware.Batch{DecodeSequences: c, DecodeKVTokens: float64(c) * context, DecodeKVWindow: float64(c) * math.Min(context, window)}
	decode = s.Step(b).Seconds
	chunks := math.Ceil(isl / float64(e.Scheduler.MaxBatchedTokens))
	size := isl / chunks
	b.DecodeSequences, b.DecodeKVTokens, b.DecodeKVWindow = c-1, b.DecodeKVTokens*float64(c-1)/float64(c), b.DecodeKVWindow*float64(c-1)/float64(c)
	without := s.Step(b).Seconds
	if c == 1 {
		return decode, 0
	}
	b.PrefillSequences, b.PrefillTokens, b.PrefillPairs = 1, int(size), size*isl/2
	b.PrefillPairsWin = size * math.Min(isl/2, window)
	extra := s.Step(b).Seconds - without
	return decode, float64(c-1) / osl * extra * chunks
}

func TestInferenceXDecodeStatically(t *testing.T) {
	rows := readCSV(t, "data/measured/inferencex_silicon_ttft_tpot.csv")
	m := newModels()
	s := scores{}
	skipped := map[string]int{}
	for _, r := range rows {
		if r["mode"] != "agg" || r.number("dp") > 1 || r.number("tp") > 8 || r.number("pp") > 1 {
			continue
		}
		if r.number("tpot_s") < 5e-4 || !(r.number("load") >= 1) {
			continue // no measurement
		}
		ep := r.number("ep")
		split := llm.Split{Tensor: int(r.number("tp")), Expert: int(math.Max(1, ep))}
		step, e, err := m.get(r["chip"], r["model"], r["weight_dtype"], r["engine"], r["version"], split)
		if err != nil {
			skipped[err.Error()]++
			continue
		}
		a := m.archs[r["model"]]
		c := int(r.number("load"))
		scale := 1.0
		if strings.HasPrefix(r["lengths"], "uniform") {
			scale = 0.9
		}
		decode, prefill := steadyTPOT(step, e, a, c, scale*r.number("isl"), scale*r.number("osl"))
		if prefill > 0.3*decode {
			continue // the order of prefills decides: a matter for the simulator
		}
		got, want := decode+prefill, r.number("tpot_s")
		err1 := got/want - 1
		band := "c<=8"
		if c > 8 {
			band = "c 9-64"
		}
		if c > 64 {
			band = "c>64"
		}
		s.add(err1, "all", "engine "+r["engine"], "engine "+r["engine"]+" band "+band, "chip "+r["chip"], "model "+r["model"]+" "+r["weight_dtype"], "band "+band,
			"z "+r["engine"]+" "+r["model"]+" "+r["weight_dtype"]+" "+r["chip"]+" "+band)
	}
	for k, n := range skipped {
		t.Logf("skipped %d: %s", n, k)
	}
	s.log(t)
	s.within(t, "engine vllm band c<=8", 0.10)
	s.within(t, "engine vllm band c 9-64", 0.13)
	s.within(t, "engine trtllm band c 9-64", 0.16)
	s.within(t, "engine sglang band c 9-64", 0.18)
}

func TestExplainAddsUp(t *testing.T) {
	d, err := newModels().deployment("h100", "meta-llama/Llama-3.1-70B", "fp8", "vllm", "0.15", llm.Split{Tensor: 4})
	if err != nil {
		t.Fatal(err)
	}
	b := hardware.Batch{DecodeSequences: 16, DecodeKVTokens: 16000, PrefillSequences: 1, PrefillTokens: 800, PrefillPairs: 320000}
	terms, err := hardware.Explain(d, b)
	if err != nil {
		t.Fatal(err)
	}
	s, err := hardware.NewStepModel(d)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, x := range terms {
		sum += x.Seconds
	}
	if want := s.Step(b).Seconds; math.Abs(sum/want-1) > 1e-6 {
		t.Errorf("terms %v add up to %g s, the step takes %g s", terms, sum, want)
	}
}

// closedPoint is the mean gap between tokens and the watts of a chip in a closed loop of n running sequences.
func closedPoint(s hardware.StepModel, a llm.Architecture, n, isl, osl, chips float64) (tpot, watts float64) {
	window := math.Max(float64(a.Window.Tokens), 1)
	context := isl + osl/2
	b := hardware.Batch{DecodeSequences: int(n + 0.5), DecodeKVTokens: n * context, DecodeKVWindow: n * math.Min(context, window)}
	decode := s.Step(b)
	share := n / osl // prompts a step
	k := math.Max(1, share)
	mixed := b
	mixed.PrefillSequences, mixed.PrefillTokens, mixed.PrefillPairs = int(k+0.5), int(k*isl), k*isl*isl/2
	mixed.PrefillPairsWin = k * isl * math.Min(isl/2, window)
	w := decode.Times(1 - share/k).Plus(s.Step(mixed).Times(share / k))
	return w.Seconds, w.Joules / w.Seconds / chips
}

func TestMLEnergyStatically(t *testing.T) {
	m, s := newModels(), scores{}
	prompts := map[string]float64{"lm-arena-chat": 550, "gpqa": 300} // not published: what the slope of H100 gaps against the batch implies
	for _, r := range readCSV(t, "data/measured/mlenergy_v3_llm.csv") {
		if r["workload"] != "lm-arena-chat" && r["workload"] != "gpqa" || r.number("dp") > 1 {
			continue
		}
		weights := map[string]string{"bfloat16": "bf16", "fp8": "fp8", "mxfp4": "fp4"}[r["weight_dtype"]]
		step, _, err := m.get(r["chip"], r["model"], weights, "vllm", r["version"], llm.Split{Tensor: int(r.number("tp")), Expert: int(math.Max(1, r.number("ep")))})
		if err != nil {
			s.add(math.NaN(), "skipped "+r["model"]+" "+err.Error())
			continue
		}
		tpot, watts := closedPoint(step, m.archs[r["model"]], r.number("avg_batch"), prompts[r["workload"]], r.number("osl"), r.number("tp"))
		band := "n<=16"
		if r.number("load") > 16 {
			band = "n 17-128"
		}
		if r.number("load") > 128 {
			band = "n>128"
		}
		e1, e2 := tpot*r.number("throughput_out_tok_s")/r.number("avg_batch")-1, watts/(r.number("power_w")/r.number("chips"))-1
		s.add(e1, "TPOT "+r["workload"]+" "+r["chip"], "TPOT "+r["workload"]+" "+r["chip"]+" "+band, "z TPOT "+r["chip"]+" "+r["model"])
		s.add(e2, "watts "+r["workload"]+" "+r["chip"], "watts "+r["workload"]+" "+r["chip"]+" "+band, "z watts "+r["chip"]+" "+r["model"])
	}
	s.log(t)
	s.within(t, "watts lm-arena-chat H100", 0.13)
	s.within(t, "watts lm-arena-chat B200", 0.15)
}

func TestEvalMatrixStatically(t *testing.T) {
	m, s := newModels(), scores{}
	loads := map[string][3]float64{"general": {8, 20, 248}, "general-lite": {2.5, 6, 248}, "codegen": {5, 10, 247}, "roleplay": {6, 6, 251}}
	for _, file := range []string{"eval_matrix", "trainval"} {
		for _, r := range readCSV(t, "data/measured/vllm_h100/"+file+"/actual_metrics.csv") {
			l, ok := loads[r["workload"]]
			if !ok || r["stage"] == "-1" || r.number("dp") > 1 {
				continue
			}
			rate := l[int(r.number("stage"))]
			weights := "bf16"
			if r["precision"] == "FP8" {
				weights = "fp8"
			}
			step, _, err := m.get(r["gpu"], r["model"], weights, "vllm", "0.15.1", llm.Split{Tensor: int(r.number("tp"))})
			if err != nil {
				s.add(math.NaN(), "skipped "+err.Error())
				continue
			}
			osl, isl := l[2], 560.0
			want := (r.number("e2e_mean_ms") - r.number("ttft_mean_ms")) / 1e3 / (osl - 1)
			got := want
			for range 30 { // Little: sequences in flight = rate x time in the system
				n := math.Max(1, rate*osl*got)
				window := math.Max(float64(m.archs[r["model"]].Window.Tokens), 1)
				context := isl + osl/2
				b := hardware.Batch{DecodeSequences: int(math.Min(n, 128) + 0.5), DecodeKVTokens: n * context, DecodeKVWindow: n * math.Min(context, window)}
				d := step.Step(b).Seconds
				b.PrefillSequences, b.PrefillTokens, b.PrefillPairs, b.PrefillKVTokens = 1, 16, 16*isl, isl
				got = d + math.Min(1, rate*d)*(step.Step(b).Seconds-d)
			}
			e := got/want - 1
			s.add(e, file+" all", file+" "+r["gpu"]+" "+r["model"])
		}
	}
	s.log(t)
	s.within(t, "eval_matrix all", 0.08)
}

func TestSaturationStatically(t *testing.T) {
	m := newModels()
	step, e, err := m.get("h100", "meta-llama/Llama-3.1-8B-Instruct", "bf16", "vllm", "0.15.1", llm.Split{})
	if err != nil {
		t.Fatal(err)
	}
	e.Scheduler.MaxBatchedTokens = 2048
	for _, p := range [][2]float64{{1, 155}, {64, 7296}, {256, 15964}, {1024, 16471}} {
		tpot, watts := closedPoint(step, m.archs["meta-llama/Llama-3.1-8B-Instruct"], p[0], 128, 128, 1)
		t.Logf("c %4.0f: %.2f ms, %6.0f tok/s, measured %6.0f (%+.1f %%), %.0f W", p[0], tpot*1e3, p[0]/tpot, p[1], 100*(p[0]/tpot/p[1]-1), watts)
		if e := p[0]/tpot/p[1] - 1; math.Abs(e) > 0.10 {
			t.Errorf("%g in flight: %+.1f %% off the measured rate", p[0], 100*e)
		}
	}
}
