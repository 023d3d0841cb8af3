package validate

import (
	"fmt"
	"strings"

	"scoville/model/llm"
	"scoville/model/workload"
)

// staticBatch is one batch run from start to end.
func staticBatch(batch, isl, osl int) Traffic { return allAtOnce(batch, fixed(isl), fixed(osl)) }

// staticTable describes a table of static batches.
type staticTable struct {
	name     string
	required []string
	engine   func(r *record) (name, version string)
	leaveOut func(r *record) string
	measured []string // metric, column pairs
}

func (t staticTable) read(path string) ([]Job, []Skip, error) {
	records, err := readTable(path, append([]string{"model", "chip", "tp", "isl", "osl", "load", "weight_dtype"}, t.required...)...)
	if err != nil {
		return nil, nil, err
	}
	out := skips{table: t.name}
	var jobs []Job
	for _, r := range records {
		engine, release := t.engine(r)
		tp, isl, osl, batch := r.count("tp", 1), r.count("isl", 0), r.count("osl", 0), r.count("load", 0)
		id := fmt.Sprintf("%s %s %s %s tp%d %dx%d b%d", r.text("model"), r.text("weight_dtype"), r.text("chip"), r.text("engine"), tp, isl, osl, batch)
		measured := r.figures(t.measured...)
		weights, typeErr := dtype(r.text("weight_dtype"))
		if r.err != nil {
			return nil, nil, r.err
		}
		if reason := t.leaveOut(r); reason != "" {
			out.add(id, reason)
			continue
		}
		if isl < 1 || osl < 1 || batch < 1 {
			out.add(id, "lengths or batch not published")
			continue
		}
		if typeErr != nil {
			out.add(id, typeErr.Error())
			continue
		}
		jobs = append(jobs, Job{
			Table: t.name, Sweep: fmt.Sprint(engine, r.text("model"), r.text("chip"), tp, isl, osl), Load: float64(batch),
			Deploy:  Deploy{Chip: r.text("chip"), Model: r.text("model"), Engine: engine, Version: release, Weights: weights, Split: llm.Split{Tensor: tp}, MaxSequences: batch, MaxBatchedTokens: max(8192, isl+osl)},
			Traffic: staticBatch(batch, isl, osl),
			Rows:    []Row{{ID: id, Regime: regimeOf(batch), Measured: measured}},
		})
	}
	return jobs, out.list, nil
}

// readSplitwise reads Splitwise's timings on vLLM of 2023, before CUDA graphs: a floor of 28 to 45 ms a step, which no profile of a
// later engine has. Scored to show the distance between versions.
func readSplitwise(path string) ([]Job, []Skip, error) {
	return staticTable{
		name: "splitwise_prompt_token_times", required: []string{"ttft_mean_s", "tpot_mean_s"},
		engine: func(*record) (string, string) { return "vllm", "0.2" },
		leaveOut: func(r *record) string {
			switch {
			case strings.Contains(r.text("chip"), "pcap"):
				return "power-capped at an unpublished limit"
			case r.text("model") == "llama2-70b" && r.text("tp") == "2" && r.text("load") == "64":
				return "the published row is broken: its prompt takes less than that of batch 32"
			}
			return ""
		},
		measured: []string{TTFTMean, "ttft_mean_s", TPOTMean, "tpot_mean_s"},
	}.read(path)
}

// readArgonne reads LLM-Inference-Bench of 2024: static batches, tokens of prompt and answer over the whole time.
func readArgonne(path string) ([]Job, []Skip, error) {
	return staticTable{
		name: "argonne_llm_inference_bench", required: []string{"engine", "throughput_total_tok_s"},
		engine: func(r *record) (string, string) { return engineName(r.text("engine")), "0.5" },
		leaveOut: func(r *record) string {
			switch e := engineName(r.text("engine")); {
			case e == "llama.cpp":
				return "llama.cpp rows count tokens in another way"
			case e != "vllm" && e != "tensorrt-llm":
				return "no profile of engine " + r.text("engine")
			case strings.Contains(r.text("chip"), "MI250"):
				return "MI250 rows don't say whether a chip is one die or two"
			case strings.Contains(r.text("chip"), "A100"):
				return "A100 rows don't say whether 40 or 80 GB"
			}
			return ""
		},
		measured: []string{AllTokens, "throughput_total_tok_s"},
	}.read(path)
}

// readGaudi reads Intel's tuned static batches. There is no profile of optimum-habana; the nearest engine's overheads stand in.
func readGaudi(path string) ([]Job, []Skip, error) {
	return staticTable{
		name: "intel_gaudi", required: []string{"throughput_out_tok_s"},
		engine:   func(*record) (string, string) { return "vllm", "" },
		leaveOut: func(*record) string { return "" },
		measured: []string{OutTokens, "throughput_out_tok_s"},
	}.read(path)
}

// readGPUConc reads closed loops of gpt-oss-20b by concurrency. Clients gave up after 30 s, so loads at which any did are left out.
func readGPUConc(path string) ([]Job, []Skip, error) {
	const table = "gpuconc_gptoss20b"
	records, err := readTable(path, "model", "chip", "tp", "isl", "osl", "load", "throughput_out_tok_s", "req_s", "success_rate")
	if err != nil {
		return nil, nil, err
	}
	out := skips{table: table}
	var jobs []Job
	for _, r := range records {
		c, isl := int(r.positive("load")), int(r.positive("isl"))
		ok, _ := r.number("success_rate")
		tokens, _ := r.number("throughput_out_tok_s")
		requests := r.positive("req_s")
		id := fmt.Sprintf("%s c%d", r.text("chip"), c)
		measured := r.figures(OutTokens, "throughput_out_tok_s", TTFTMean, "ttft_mean_s", E2EMean, "e2e_mean_s")
		tp := r.count("tp", 1)
		if r.err != nil {
			return nil, nil, r.err
		}
		osl := int(tokens / requests) // answers stop early: their real mean
		if ok < 1 || osl < 2 {
			out.add(id, "clients gave up after 30 s")
			continue
		}
		t := closedLoop(c, int64(max(30, 6*c)), fixed(isl), workload.Distribution{Kind: "lognormal", Mean: float64(osl), CV: 0.3, Min: 2, Max: 2000})
		t.Steady, t.Warmup = true, 0.2
		jobs = append(jobs, Job{
			Table: table, Sweep: r.text("chip"), Load: float64(c),
			Deploy:  Deploy{Chip: r.text("chip"), Model: r.text("model"), Engine: "vllm", Version: "0.11", Split: llm.Split{Tensor: tp}, MaxSequences: max(c, 256)},
			Traffic: t,
			Rows:    []Row{{ID: id, Regime: regimeOf(c), Measured: measured}},
		})
	}
	return jobs, out.list, nil
}
