package validate

import (
	"fmt"

	"scoville/model/llm"
	"scoville/model/workload"
)

// promptsOf are the prompt lengths assumed for ML.ENERGY tasks, which publish none; ours are of the public data sets' kind: chat
// questions, and graduate-level questions with their choices and instructions. Tasks with images, videos or whole source files as
// prompts are not run: there the prompt decides.
func promptsOf(task string) (workload.Distribution, bool) {
	switch task {
	case "lm-arena-chat":
		return workload.Distribution{Kind: "lognormal", Mean: 120, CV: 1, Min: 10, Max: 2048}, true
	case "gpqa":
		return workload.Distribution{Kind: "lognormal", Mean: 250, CV: 0.5, Min: 50, Max: 1500}, true
	}
	return workload.Distribution{}, false
}

// readMLEnergy reads ML.ENERGY v3: all requests queued, the engine's batch capped at the load, the steady part measured. Answers
// vary about their published mean; their spread is assumed lognormal with a coefficient of variation of 0.8.
func readMLEnergy(path string) ([]Job, []Skip, error) {
	const table = "mlenergy_v3_llm"
	records, err := readTable(path, "model", "weight_dtype", "chip", "tp", "dp", "ep", "workload", "osl", "load", "throughput_out_tok_s", "power_w", "energy_j_per_out_tok")
	if err != nil {
		return nil, nil, err
	}
	out := skips{table: table}
	var jobs []Job
	for _, r := range records {
		tp, dp, ep := r.count("tp", 1), r.count("dp", 1), r.count("ep", 1)
		batch, osl := int(r.positive("load")), r.positive("osl")
		id := fmt.Sprintf("%s %s tp%d ep%d %s b%d", r.text("model"), r.text("chip"), tp, ep, r.text("workload"), batch)
		measured := r.figures(OutTokens, "throughput_out_tok_s", ITLP50, "tpot_p50_s", Watts, "power_w", Joules, "energy_j_per_out_tok")
		weights, typeErr := dtype(r.text("weight_dtype"))
		tokens := r.count("max_num_batched_tokens", 8192)
		if r.err != nil {
			return nil, nil, r.err
		}
		prompts, ok := promptsOf(r.text("workload"))
		switch {
		case typeErr != nil:
			out.add(id, typeErr.Error())
			continue
		case !ok:
			out.add(id, "prompt lengths of "+r.text("workload")+" are not published")
			continue
		case dp > 1:
			out.add(id, "data-parallel attention")
			continue
		}
		longest := 4096.0
		if r.text("workload") == "gpqa" {
			longest = 32768
		}
		answers := workload.Distribution{Kind: "lognormal", Mean: osl, CV: 0.8, Min: 1, Max: longest}
		t := closedLoop(batch, int64(max(120, 6*batch)), prompts, answers)
		t.Steady, t.Warmup = true, 0.25
		job := Job{
			Table: table, Sweep: fmt.Sprint(r.text("model"), r.text("chip"), tp, ep, r.text("workload")), Load: float64(batch),
			Deploy: Deploy{Chip: r.text("chip"), Model: r.text("model"), Engine: "vllm", Version: version(r.text("version")), Weights: weights,
				Split: llm.Split{Tensor: tp, Expert: max(1, ep)}, MaxSequences: batch, MaxBatchedTokens: tokens},
			Traffic: t,
			Rows:    []Row{{ID: id, Regime: regimeOf(batch), Measured: measured}},
		}
		job.words(r.text("model"), r.text("chip"), fmt.Sprint("tp", tp), r.text("workload"))
		jobs = append(jobs, job)
	}
	return jobs, out.list, nil
}
