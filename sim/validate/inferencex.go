package validate

import (
	"fmt"
	"strings"

	"scoville/model/llm"
)

// readInferenceX reads InferenceX sweeps: closed loops of 10 prompts a client, random data, all clients starting at once. Rows of
// InferenceX proper draw lengths uniformly from 80 to 100 % of the nominal ones, the gap-analysis rows are taken as fixed.
// The table has one central figure of TTFT and TPOT; its source's documentation calls them means.
func readInferenceX(path string) ([]Job, []Skip, error) {
	const table = "inferencex_silicon_ttft_tpot"
	records, err := readTable(path, "engine", "model", "chip", "chips", "tp", "isl", "osl", "load", "mode", "ttft_s", "tpot_s")
	if err != nil {
		return nil, nil, err
	}
	out := skips{table: table}
	var jobs []Job
	for _, r := range records {
		job, reason := inferenceXJob(r)
		if r.err != nil {
			return nil, nil, r.err
		}
		if reason != "" {
			out.add(inferenceXID(r), reason)
			continue
		}
		job.Table = table
		jobs = append(jobs, job)
	}
	return jobs, out.list, nil
}

func inferenceXID(r *record) string {
	if id := r.text("orig_id"); id != "" {
		return id
	}
	return fmt.Sprintf("%s %s %s %s x%s c%s", r.text("model"), r.text("chip"), r.text("engine"), r.text("isl"), r.text("osl"), r.text("load"))
}

func inferenceXJob(r *record) (job Job, reason string) {
	id := inferenceXID(r)
	tp, pp, dp, ep := r.count("tp", 1), r.count("pp", 1), r.count("dp", 1), r.count("ep", 1)
	chips := r.count("chips", 0)
	low := strings.ToLower(id + r.text("image"))
	switch {
	case r.text("mode") != "agg":
		return job, "disaggregated prefill and decode"
	case strings.Contains(low, "mtp") || strings.Contains(low, "eagle"):
		return job, "speculative decoding of unknown acceptance"
	case dp > 1:
		return job, "data-parallel attention: GPU counts of the table are inconsistent"
	case chips != max(1, tp)*max(1, pp):
		return job, "GPU count is not tp x pp"
	}
	if moe := r.count("moe_tp", 1); ep > 1 && moe*ep != tp {
		return job, "attention and expert GPU products differ"
	}
	weights, err := dtype(r.text("weight_dtype"))
	if err != nil {
		return job, err.Error()
	}
	if weights == "" {
		weights = llm.BF16
	}
	isl, osl, c := r.count("isl", 0), r.count("osl", 0), r.count("load", 0)
	if isl < 1 || osl < 1 || c < 1 {
		return job, "lengths or concurrency not published"
	}
	input, output := upTo(isl), upTo(osl)
	if strings.HasPrefix(r.text("lengths"), "fixed") {
		input, output = fixed(isl), fixed(osl)
	}
	engine := engineName(r.text("engine"))
	job = Job{
		Load: float64(c),
		Deploy: Deploy{Chip: r.text("chip"), Model: r.text("model"), Engine: engine, Version: version(r.text("version")), Date: r.text("date"), Weights: weights,
			KV: kvOf(engine, weights), Split: llm.Split{Tensor: tp, Pipeline: pp, Expert: max(1, ep)}, MaxSequences: c},
		Traffic: closedLoop(c, inferenceXRequests(c), input, output),
		Rows:    []Row{{ID: id, Regime: regimeOf(c), Measured: r.figures(TTFTMean, "ttft_s", TPOTMean, "tpot_s")}},
	}
	if engine == "sglang" && !strings.HasPrefix(r.text("lengths"), "fixed") {
		job.Deploy.ReceiveInterval = receiveInterval(r.text("model"), r.text("chip"), weights, tp, c)
	}
	job.words(r.text("engine"), r.text("version"), r.text("model"), baseName(r.text("model")), string(weights), r.text("chip"), fmt.Sprint("tp", tp))
	job.Sweep = strings.Join([]string{r.text("engine"), r.text("version"), r.text("model"), string(weights), r.text("moe_quant"), r.text("chip"),
		fmt.Sprint(tp, pp, ep), r.text("moe_tp"), fmt.Sprint(isl, "x", osl), r.text("sample_set"), r.text("date"), r.text("image")}, "|")
	return job, ""
}

// inferenceXRequests is 10 prompts a client. A run of many clients has enough of them to be cut: its mean TTFT holds the burst of
// the start, whose share the number of prompts decides, so it must not be.
func inferenceXRequests(c int) int64 { return int64(10 * c) }

func engineName(s string) string {
	switch s = strings.ToLower(s); {
	case strings.HasPrefix(s, "trt"), strings.HasPrefix(s, "tensorrt"):
		return "tensorrt-llm"
	case strings.HasPrefix(s, "vllm"):
		return "vllm"
	case strings.HasPrefix(s, "sglang"):
		return "sglang"
	}
	return s
}

// version keeps what is a release number; nightlies and named builds take the newest profile.
func version(s string) string {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return ""
	}
	return s
}

// kvOf is the cache's format where a table doesn't say: TensorRT-LLM's quantised checkpoints have an FP8 cache, InferenceX starts
// SGLang on quantised ones with --kv-cache-dtype fp8_e4m3, vLLM keeps 16 bits by default.
func kvOf(engine string, weights llm.DType) llm.DType {
	if engine != "vllm" && weights.Quantised() {
		return llm.FP8
	}
	return ""
}

// baseName is a repository's name without its owner and the suffix of instruction-tuned models, as profiles call models.
func baseName(model string) string {
	if i := strings.LastIndex(model, "/"); i >= 0 {
		model = model[i+1:]
	}
	return strings.TrimSuffix(strings.TrimSuffix(model, "-FP8"), "-Instruct")
}
