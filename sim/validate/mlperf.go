package validate

import (
	"fmt"
	"strings"

	"scoville/model/llm"
	"scoville/profiles"
)

// mlperfWorkload names the shipped workload of an MLPerf benchmark whose lengths are known, and the model it runs.
func mlperfWorkload(benchmark string) (load, model string) {
	switch b := strings.ReplaceAll(benchmark, "_", "."); {
	case b == "llama2-70b-99", b == "llama2-70b-99.9":
		return "mlperf-llama2-70b", "llama-2-70b"
	case b == "llama3.1-8b":
		return "mlperf-llama3.1-8b", "llama-3.1-8b"
	}
	return "", ""
}

// mlperfEngine maps the software that a submitter states to a profile.
func mlperfEngine(stated string) string {
	s := strings.ToLower(stated)
	switch {
	case strings.Contains(s, "vllm"):
		return "vllm"
	case strings.Contains(s, "sglang"):
		return "sglang"
	case strings.Contains(s, "tensorrt"):
		return "tensorrt-llm"
	}
	return ""
}

// readMLPerf reads MLPerf Inference: Poisson arrivals of the whole system (server, interactive), or all queued (offline). Where a
// submission states no tensor-parallel degree, the smallest that holds the model is taken, as submitters do for throughput.
// Node watts are wall power of the server.
func readMLPerf(path string) ([]Job, []Skip, error) {
	const table = "mlperf_inference_llm"
	records, err := readTable(path, "engine", "model", "weight_dtype", "chip", "chips", "workload", "load", "throughput_out_tok_s", "ttft_mean_s", "tpot_mean_s", "power_w")
	if err != nil {
		return nil, nil, err
	}
	out := skips{table: table}
	var jobs []Job
	seen := map[string]bool{}
	for _, r := range records {
		id := mlperfID(r)
		if seen[id] {
			out.add(id, "the 99 and 99.9 entries are one run")
			continue
		}
		seen[id] = true
		job, reason, err := mlperfJob(r, id)
		if err != nil {
			return nil, nil, err
		}
		if reason != "" {
			out.add(id, reason)
			continue
		}
		job.Table = table
		jobs = append(jobs, *job)
	}
	return jobs, out.list, nil
}

func mlperfID(r *record) string {
	return fmt.Sprintf("%s %s %s %s %s x%s %s %s tok/s", r.text("source"), strings.TrimSuffix(strings.TrimSuffix(r.text("model"), ".9"), "-99"), r.text("workload"), r.text("system_id"), r.text("chip"),
		r.text("chips"), r.text("load"), r.text("throughput_out_tok_s"))
}

func mlperfJob(r *record, id string) (*Job, string, error) {
	name, model := mlperfWorkload(r.text("model"))
	engine := mlperfEngine(r.text("engine"))
	chips := r.count("chips", 0)
	weights, typeErr := dtype(r.text("weight_dtype"))
	rate, _ := r.number("load")
	tp := r.count("tp", 0)
	if r.err != nil {
		return nil, "", r.err
	}
	switch {
	case name == "":
		return nil, "lengths of " + r.text("model") + "'s data set are not shipped", nil
	case engine == "":
		return nil, "no profile of engine " + r.text("engine"), nil
	case typeErr != nil || weights == "":
		return nil, "number format unknown", nil
	case chips < 1 || chips > 8:
		return nil, "more than one server, or chips not stated", nil
	case strings.Contains(r.text("division"), "open"):
		return nil, "open division", nil
	}
	if weights == llm.BF16 && strings.Contains(r.text("engine"), "TensorRT") {
		weights = llm.FP8 // the field is of the model submitted: NVIDIA runs 70B with one replica a chip, whose memory 16-bit weights would fill
	}
	spec, err := profiles.Workload(name)
	if err != nil {
		return nil, "", err
	}
	job := &Job{Sweep: id, Load: rate, Deploy: Deploy{Chip: r.text("chip"), Model: model, Engine: engine, Weights: weights, KV: llm.FP8, Split: llm.Split{Tensor: max(1, tp)}}}
	if tp == 0 {
		if !job.Deploy.smallestSplit(chips) {
			return nil, "no degree of tensor parallelism that fits", nil
		}
	}
	tp = job.Deploy.Split.Tensor
	job.Deploy.Replicas = max(1, chips/tp)
	job.Deploy.MaxSequences = r.count("max_batch", 0)
	row := Row{ID: id, Regime: OpenLoop}
	switch r.text("workload") {
	case "server", "interactive":
		if rate <= 0 {
			return nil, "no rate", nil
		}
		per := rate / float64(job.Deploy.Replicas)
		job.Traffic = poisson(per, int64(max(2000, min(12000, 400*per))), spec.Lengths)
		row.Measured = r.figures(TTFTMean, "ttft_mean_s", TPOTMean, "tpot_mean_s", NodeWatts, "power_w")
	case "offline":
		row.Regime = Saturated
		job.Traffic = allAtOnce(8000, spec.Lengths.Input, spec.Lengths.Output)
		row.Measured = r.figures(OutTokens, "throughput_out_tok_s", NodeWatts, "power_w")
	default:
		return nil, "scenario " + r.text("workload"), nil
	}
	job.Rows = []Row{row}
	return job, "", r.err
}

// smallestSplit sets the smallest tensor-parallel degree at which the model and a useful cache fit.
func (d *Deploy) smallestSplit(chips int) bool {
	for tp := 1; tp <= chips; tp *= 2 {
		d.Split = llm.Split{Tensor: tp}
		if s, err := d.resolve(); err == nil && s.Engine.KVBlocks*int64(s.Engine.BlockTokens) > 20_000 {
			return true
		}
	}
	return false
}
