package validate

import (
	"fmt"

	"scoville/model/llm"
)

// readSaturation reads the saturation curve of Llama-3.1-8B on one H100 by concurrency: vLLM 0.15, prompts and answers of 128
// tokens, 1024 sequences and 2048 tokens a step.
func readSaturation(path string) ([]Job, []Skip, error) {
	records, err := readTable(path, "concurrency", "real_tok_s")
	if err != nil {
		return nil, nil, err
	}
	var jobs []Job
	for _, r := range records {
		c := int(r.positive("concurrency"))
		measured := r.figures(OutTokens, "real_tok_s")
		if r.err != nil {
			return nil, nil, r.err
		}
		jobs = append(jobs, Job{
			Table: "vllm_h100/saturation_llama31_8b", Load: float64(c), Sweep: "llama31-8b 128x128",
			Deploy:  Deploy{Chip: "h100", Model: "llama-3.1-8b", Engine: "vllm", Version: "0.15", MaxSequences: 1024, MaxBatchedTokens: 2048, Split: llm.Split{Tensor: 1}},
			Traffic: steadyLoop(c, 128, 128),
			Rows:    []Row{{ID: fmt.Sprintf("c%d", c), Regime: regimeOf(c), Measured: measured}},
		})
	}
	return jobs, nil, nil
}

// steadyLoop is a closed loop of fixed lengths, measured after its start.
func steadyLoop(clients, input, output int) Traffic {
	t := closedLoop(clients, int64(max(40, 12*clients)), fixed(input), fixed(output))
	t.Steady, t.Warmup = true, 0.25
	return t
}
