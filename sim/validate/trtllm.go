package validate

import (
	"fmt"
	"strings"

	"scoville/model/llm"
)

// readTRTLLM reads NVIDIA's saturation throughputs: synthetic fixed lengths, every request queued at the start, the whole job timed.
func readTRTLLM(path string) ([]Job, []Skip, error) {
	const table = "trtllm_perf_overview_throughput"
	records, err := readTable(path, "version", "model", "weight_dtype", "chip", "tp", "isl", "osl", "throughput_out_tok_s")
	if err != nil {
		return nil, nil, err
	}
	out := skips{table: table}
	var jobs []Job
	for _, r := range records {
		v, isl, osl := r.text("version"), int(r.positive("isl")), int(r.positive("osl"))
		tp, pp, dp, ep := r.count("tp", 1), max(1, r.count("pp", 1)), max(1, r.count("dp", 1)), max(1, r.count("ep", 1))
		n := r.count("num_requests", requestsOf(isl, osl))
		id := fmt.Sprintf("%s %s %s %s tp%d pp%d dp%d %dx%d", v, r.text("model"), r.text("weight_dtype"), r.text("chip"), tp, pp, dp, isl, osl)
		measured := r.figures(OutTokens, "throughput_out_tok_s")
		weights, typeErr := dtype(r.text("weight_dtype"))
		kv, kvErr := dtype(r.text("kv_dtype"))
		if r.err != nil {
			return nil, nil, r.err
		}
		switch {
		case typeErr != nil || kvErr != nil:
			out.add(id, "number format unknown")
			continue
		case dp > 1:
			out.add(id, "data-parallel attention")
			continue
		case v == "0.10" && strings.Contains(r.text("model"), "v3"):
			out.add(id, "v0.10 Llama 3 rows ran with swapped feed-forward widths")
			continue
		}
		jobs = append(jobs, Job{
			Table: table, Sweep: fmt.Sprint(v, r.text("model"), r.text("chip"), tp, pp), Load: float64(n),
			Deploy: Deploy{Chip: r.text("chip"), Model: r.text("model"), Engine: "tensorrt-llm", Version: v, Weights: weights, KV: kv, MemoryShare: 0.95,
				Split: llm.Split{Tensor: tp, Pipeline: pp, Expert: ep}},
			Traffic: allAtOnce(n, fixed(isl), fixed(osl)),
			Rows:    []Row{{ID: id, Regime: Saturated, Measured: measured}},
		})
	}
	return jobs, out.list, nil
}

// requestsOf is the number of requests NVIDIA's documentation lists for a shape; rows that state their own follow the same list.
func requestsOf(isl, osl int) int {
	switch total := isl + osl; {
	case total <= 256:
		return 30000
	case total <= 2500:
		return 3000
	case total <= 10000:
		return 1500
	}
	return 1000
}
