package validate

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scoville/hardware"
	"scoville/model/llm"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTableErrorsNameFileLineAndColumn(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "is empty"},
		{"missing column", "concurency,real_tok_s\n", `column "concurrency" is missing (there is "concurency")`},
		{"not a number", "concurrency,real_tok_s\n1,155\nmany,3\n", `sat.csv:3: concurrency is "many", expected a number`},
		{"infinite", "concurrency,real_tok_s\n1,+Inf\n", "expected a number"},
		{"negative", "concurrency,real_tok_s\n-1,3\n", "expected a positive number"},
		{"ragged", "concurrency,real_tok_s\n1\n", "wrong number of fields"},
	} {
		_, _, err := readSaturation(write(t, "sat.csv", c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestColumnsInAnyOrderWithOthersAndComments(t *testing.T) {
	jobs, _, err := readSaturation(write(t, "s.csv", "# note\nextra,real_tok_s,concurrency\nx,155,1\n"))
	if err != nil || len(jobs) != 1 || jobs[0].Load != 1 || jobs[0].Rows[0].Measured[0] != (Figure{OutTokens, 155}) {
		t.Fatalf("%+v, %v", jobs, err)
	}
}

const inferenceXHead = "engine,version,model,chip,chips,tp,pp,dp,ep,isl,osl,load,mode,weight_dtype,ttft_s,tpot_s,orig_id,moe_tp,lengths\n"

func TestInferenceXLeavesOutWhatItCantPredict(t *testing.T) {
	text := inferenceXHead +
		"vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,4,4,1,1,1,1024,1024,16,agg,fp8,0.1,0.011,good,4,\"uniform[0.8L,L]\"\n" +
		"vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,4,4,1,1,1,1024,1024,16,disagg,fp8,0.1,0.01,a,4,\n" +
		"vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,4,4,1,1,1,1024,1024,16,agg,fp8,0.1,0.01,x_mtp,4,\n" +
		"vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,8,4,1,1,1,1024,1024,16,agg,fp8,0.1,0.01,b,4,\n" +
		"vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,8,4,1,2,1,1024,1024,16,agg,fp8,0.1,0.01,c,4,\n"
	jobs, skipped, err := readInferenceX(write(t, "i.csv", text))
	if err != nil || len(jobs) != 1 || len(skipped) != 4 {
		t.Fatalf("%d jobs, skipped %v, %v", len(jobs), skipped, err)
	}
	in := jobs[0].Spec.Lengths.Input
	if in.Low != 819 || in.High != 1024 || jobs[0].Options.MaxRequests != 160 || !jobs[0].Spec.Arrivals.ClosedLoop.InitialBurst {
		t.Errorf("the load is not InferenceX's: %+v, %d requests", in, jobs[0].Options.MaxRequests)
	}
}

// A row with TPOT a hundredth of what its cache reads take is no measurement of that load.
func TestImpossibleRows(t *testing.T) {
	for _, c := range []struct {
		tpot string
		out  bool
	}{{"0.011", false}, {"0.00011", true}} {
		jobs, _, err := readInferenceX(write(t, "i.csv", inferenceXHead+
			"vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,4,4,1,1,1,1024,1024,64,agg,fp8,0.1,"+c.tpot+",r,4,\n"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := jobs[0].Deploy.resolve()
		if err != nil {
			t.Fatal(err)
		}
		if reason := impossible(&jobs[0], &jobs[0].Rows[0], s); (reason != "") != c.out {
			t.Errorf("TPOT %s: %q", c.tpot, reason)
		}
	}
}

func TestMatrixContradictions(t *testing.T) {
	head := "experiment,model,gpu,tp,precision,workload,stage,ttft_mean_ms,e2e_mean_ms,itl_mean_ms\n"
	row := func(name, workload, figures string) string {
		return name + ",meta-llama/Llama-3.1-8B,H100,1,FP16," + workload + "," + figures + "\n"
	}
	for _, c := range []struct {
		name, text string
		rows       int
	}{
		{"consistent", row("1-x-general", "general", "0,25,1900,7.6") + row("1-x-general", "general", "1,30,2280,9.1") + row("1-x-general", "general", "-1,29,2170,8.7"), 3},
		{"pool outside the stages", row("1-x-general", "general", "0,25,1900,7.6") + row("1-x-general", "general", "1,30,2280,9.1") + row("1-x-general", "general", "-1,99,2170,8.4"), 2},
		{"faster under more load", row("1-x-general", "general", "0,25,2280,9.1") + row("1-x-general", "general", "1,30,1900,7.6"), 0},
		{"pool alone", row("1-x-general", "general", "-1,29,2170,8.7"), 0},
		{"figures disagree", row("1-x-roleplay", "roleplay", "0,25,1900,9.5"), 0},
		{"unknown template", row("1-x-poetry", "poetry", "0,25,1900,7.6"), 0},
	} {
		jobs, _, err := readEvalMatrix(write(t, "a.csv", head+c.text))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, j := range jobs {
			n += len(j.Rows)
		}
		if n != c.rows {
			t.Errorf("%s: %d rows, want %d", c.name, n, c.rows)
		}
	}
}

func TestPerRequestSharesPromptsAndSpotsOverload(t *testing.T) {
	dir := t.TempDir()
	settings := `{"experiment":"1-llama-2-7b-tp1-codegen","model_id":"meta-llama/Llama-2-7b-hf","profile":{"data":{"shared_prefix":{"num_unique_system_prompts":11,"num_users_per_system_prompt":4,"output_len":247,"question_len":466,"system_prompt_len":100}}},"config":{"tensor_parallelism":1,"max_num_seqs":128,"max_num_batched_tokens":2048,"kv_blocks_total_gpu":7462,"block_size":16}}`
	rows := "index,arrival_us,input_tokens,output_tokens,has_error,ttft_s,e2e_s\n60,100,591,9,0,0.03,2.0\n160,200,591,9,0,0.03,2.0\n61,150,590,9,1,,\n"
	for name, text := range map[string]string{"r.json": settings, "r.csv": rows} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	jobs, _, err := readPerRequest(dir)
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	j := jobs[0]
	if m := j.Rows[0].Measured; len(m) != 1 || m[0] != (Figure{Overloaded, 1}) {
		t.Errorf("a run with failures is overloaded, got %v", m)
	}
	if len(j.Trace) != 3 || j.Trace[1].ID != 62 || j.Trace[0].OutputTokens != 247 || j.Trace[0].Blocks[1].Key != j.Trace[2].Blocks[1].Key || j.Trace[0].Blocks[1].Key == j.Trace[1].Blocks[1].Key {
		t.Errorf("trace %+v", j.Trace)
	}
}

func TestScore(t *testing.T) {
	points := []Point{{Table: "t", Metric: TPOTMean, Measured: 1, Predicted: 1.1}, {Table: "t", Metric: TPOTMean, Measured: 2, Predicted: 1.6}, {Table: "t", Metric: TPOTMean, Measured: 4, Predicted: 4}}
	s := Scores(points, ByTable)[0]
	for name, c := range map[string][2]float64{"mape": {s.MAPE, 0.1}, "median": {s.Median, 0.1}, "bias": {s.Bias, -0.1 / 3}, "worst": {s.Worst, 0.2}, "p90": {s.P90, 0.18}} {
		if math.Abs(c[0]-c[1]) > 1e-9 {
			t.Errorf("%s %g, want %g", name, c[0], c[1])
		}
	}
	v := Check(points, []Target{{"t", TPOTMean, "mape", 0.09}, {"t", TPOTMean, "worst", 0.21}, {"u", TPOTMean, "mape", 1}})
	if v[0].Met || !v[1].Met || v[2].Met {
		t.Errorf("verdicts %+v", v)
	}
}

func TestCalibrationEntries(t *testing.T) {
	job := &Job{Table: "inferencex_silicon_ttft_tpot", Load: 8}
	job.words("sglang", "0.5.6.post2", "llama-3.1-8b", "fp8", "h200_sxm")
	for _, c := range []struct {
		table, entry string
		load         float64
		want         bool
	}{
		{"inferencex_silicon_ttft_tpot.csv", "every row of load <= 8 with trtllm", 8, true},
		{"inferencex_silicon_ttft_tpot.csv", "every row of load <= 8 with trtllm", 9, false},
		{"mlenergy_v3_llm.csv", "every row of load <= 8", 8, false},
		{"inferencex_silicon_ttft_tpot.csv", "llama-3.1-8b fp8 h200 sglang 0.5.6.post2, load 512: the highest", 512, true},
		{"inferencex_silicon_ttft_tpot.csv", "llama-3.1-8b fp8 h200 sglang 0.5.6.post2, load 512: the highest", 256, false},
		{"inferencex_silicon_ttft_tpot.csv", "llama-3.1-70b fp8 h200", 8, false},
	} {
		job.Load = c.load
		if got := calibratedOn([]hardware.Calibration{{Table: c.table, Rows: []string{c.entry}}}, job); got != c.want {
			t.Errorf("%s %q at load %g: %v", c.table, c.entry, c.load, got)
		}
	}
}

// Factors of zero leave a step model alone, and a tuned model keeps the contract: a step without prefill is a decode step.
func TestTunedStepModel(t *testing.T) {
	d := Deploy{Chip: "h100", Model: "llama-3.1-8b", Engine: "vllm", Weights: llm.BF16}
	s, err := d.resolve()
	if err != nil {
		t.Fatal(err)
	}
	m, err := hardware.NewStepModel(s.Hardware)
	if err != nil {
		t.Fatal(err)
	}
	if tune(m, Factors{}) != m {
		t.Error("zero factors changed the model")
	}
	k := tune(m, Factors{Host: 0.2, Dense: 0.1, Attention: -0.3, Prefill: 0.4})
	b := hardware.Batch{DecodeSequences: 32, DecodeKVTokens: 32000, Speculative: 1}
	w := k.Decode(32)
	if got, want := k.Step(b).Seconds, w.Base.Seconds+w.PerKV.Seconds*b.DecodeKVTokens; math.Abs(got/want-1) > 1e-6 {
		t.Errorf("step %g, decode %g", got, want)
	}
	if f := bounded([factorCount]float64{99, 9, -9, 9, 99}); f.Host != 5 || f.Dense > 1.7 || f.Attention < -1.7 || f.First != 30 {
		t.Errorf("bounds %+v", f)
	}
}

// The shared measurements, where they are there: the fast tables run, and no prediction is missing or negative.
func TestSharedTables(t *testing.T) {
	data := shared(t)
	out, err := Run(context.Background(), Options{Data: data, Tables: []string{"vllm_h100/saturation_llama31_8b", "llmservingsim_vllm_requests"}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Points) < 4 {
		t.Fatalf("only %d figures compared", len(out.Points))
	}
	for _, p := range out.Points {
		if !(p.Predicted > 0) || p.Error() > 1 {
			t.Errorf("%+v", p)
		}
	}
	again, err := Run(context.Background(), Options{Data: data, Tables: []string{"vllm_h100/saturation_llama31_8b", "llmservingsim_vllm_requests"}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(out)
	b, _ := json.Marshal(again)
	if string(a) != string(b) {
		t.Error("the same seed gave another outcome")
	}
}

// shared finds the folder of measurements beside the repository.
func shared(t *testing.T) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			data := filepath.Join(dir, "..", "shared", "data", "measured")
			if _, err := os.Stat(data); err == nil {
				return data
			}
		}
	}
	t.Skip("../shared is absent: no measurements to predict")
	return ""
}

func FuzzTable(f *testing.F) {
	f.Add("concurrency,real_tok_s\n1,155\n")
	f.Add("# c\n\"a\",b\n1,\"2\n")
	f.Fuzz(func(t *testing.T, text string) {
		records, err := parseTable("f.csv", strings.NewReader(text), "concurrency")
		if err != nil {
			return
		}
		for _, r := range records {
			r.positive("concurrency")
			if r.err == nil && !(func() bool { v, _ := r.number("concurrency"); return v > 0 }()) {
				t.Errorf("accepted %q", r.fields)
			}
		}
	})
}

// The chips' power was read off some ML.ENERGY rows: their power figures are not scored, their times are.
func TestPowerCalibrationIsLeftOut(t *testing.T) {
	head := "model,weight_dtype,chip,tp,dp,ep,workload,osl,load,throughput_out_tok_s,tpot_p50_s,power_w,energy_j_per_out_tok,version\n"
	for _, c := range []struct {
		row  string
		left int // figures scored
	}{
		{"Qwen/Qwen3-14B,bfloat16,H100,1,1,1,lm-arena-chat,600,16,1168,0.0133,465,0.4,0.11.1\n", 2},
		{"Qwen/Qwen3-14B,bfloat16,H100,1,1,1,lm-arena-chat,600,512,6000,0.05,650,0.1,0.11.1\n", 4},
		{"Qwen/Qwen3-32B,bfloat16,H100,1,1,1,lm-arena-chat,600,16,589,0.0264,566,0.9,0.11.1\n", 4},
	} {
		jobs, _, err := readMLEnergy(write(t, "m.csv", head+c.row))
		if err != nil {
			t.Fatal(err)
		}
		s, err := jobs[0].Deploy.resolve()
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := jobs[0].scored(s)
		if len(rows) != 1 || len(rows[0].Measured) != c.left {
			t.Errorf("%s: %+v", c.row, rows)
		}
	}
}
