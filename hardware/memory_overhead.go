package hardware

import (
	"strconv"
	"strings"

	"scoville/model/llm"
)

// Bytes for each logit of the largest batch that the warm-up sampler has live at once: 16-bit and 32-bit logits and 64-bit sort
// indices since vLLM 0.17, several more copies before. Read off start-up logs of Llama-3.1-8B, Qwen2.5-7B and Qwen3-14B on H100
// (llm-d-planner pull 205, 2026; versions 0.15 to 0.19).
const (
	samplerBytes    = 14
	samplerBytesOld = 38 // up to 0.16
)

// predictOverheads estimates what a chip holds beside the cache, from the architecture and the engine's settings.
func predictOverheads(a llm.Architecture, p llm.Precision, in MemoryInput) Overheads {
	return Overheads{
		Weights:    a.RankWeightBytes(p, in.Split) + paddedExperts(a, p, in.Split),
		Activation: activationPeak(a, p, in),
		NonTorch:   nonTorchBytes(in),
		Graphs:     0.9 * gibibyte, // the logs above show 0.5 to 1.9 GiB
	}
}

// mxfp4Multiple is the multiple to which MXFP4 kernels pad the width of an expert's shard: the logged weights of gpt-oss-120b
// (64.38 GiB, llm-d-planner, 2026) are those of experts 3072 wide, not 2880.
const mxfp4Multiple = 256

func paddedExperts(a llm.Architecture, p llm.Precision, s llm.Split) float64 {
	width := a.MoE.ExpertIntermediate
	if p.Weights != llm.MXFP4 || width == 0 {
		return 0
	}
	ranks, shards := s.Tensor, s.Tensor
	if s.Expert > 1 {
		ranks, shards = s.Expert, 1
	}
	shard := float64(width) / float64(shards)
	padded := float64(ceilDiv(int(shard), mxfp4Multiple) * mxfp4Multiple)
	all := a.Parameters().Experts * p.Weights.Bytes() / float64(ranks*s.Pipeline)
	return all * (padded/shard - 1)
}

// activationPeak is the peak of torch memory over weights in a profiling step: the larger of the widest layer and the sampler, each
// beside the residual stream, plus the workspace of the fused experts, which stays allocated.
func activationPeak(a llm.Architecture, p llm.Precision, in MemoryInput) float64 {
	const width = 2 // activations are 16-bit between layers
	tokens, tp := float64(in.MaxBatchedTokens), float64(in.Split.Tensor)
	hidden := float64(a.Hidden)
	logit := float64(samplerBytes)
	if in.Engine == "vllm" && olderThan(in.Version, 0, 17) {
		logit = samplerBytesOld
	}
	sampler := logit*float64(in.MaxSequences)*float64(a.Vocabulary) + 2*width*tokens*hidden
	if in.Split.Pipeline > 1 {
		sampler /= float64(in.Split.Pipeline) // only the last stage samples; the fullest stage is another one
	}
	dense := width * tokens * (3*float64(a.Intermediate)/tp + 4*hidden) // gate, up and their product; residual, input, output, copy
	peak := max(sampler, dense)
	if m := a.MoE; m.Experts > 0 && p.Weights != llm.MXFP4 {
		inner := float64(m.ExpertIntermediate)
		if in.Split.Expert <= 1 {
			inner /= tp
		}
		peak += width * tokens * float64(m.ActiveExperts) * (max(2*inner, hidden) + inner)
	}
	return peak
}

// nonTorchBytes is context and communication buffers: vLLM start-up logs on H100, 0.25 GiB alone and about 2.1 GiB with NCCL and
// custom all-reduce since 0.18; 0.13 and 0.55 GiB before.
func nonTorchBytes(in MemoryInput) float64 {
	old := in.Engine == "vllm" && olderThan(in.Version, 0, 18)
	ranks := in.Split.Tensor * in.Split.Data
	switch {
	case ranks == 1 && old:
		return 0.13 * gibibyte
	case ranks == 1 && in.Split.Pipeline > 1:
		return 0.07 * gibibyte
	case ranks == 1:
		return 0.25 * gibibyte
	case old:
		return 0.55 * gibibyte
	case ranks == 2:
		return 2.07 * gibibyte
	}
	return 2.15 * gibibyte
}

// countsGraphs tells whether the engine takes its CUDA graphs out of its budget. vLLM up to 0.19 captures them after the cache is
// allotted, beside the budget.
func countsGraphs(in MemoryInput) bool {
	return in.Engine == "vllm" && !olderThan(in.Version, 0, 20)
}

// olderThan compares a version such as "0.15.1", "~0.8" or "<=0.16" with major.minor. An empty version is the newest.
func olderThan(version string, major, minor int) bool {
	parts := strings.Split(strings.TrimLeft(version, "<=~v "), ".")
	if len(parts) < 2 {
		return false
	}
	gotMajor, err1 := strconv.Atoi(parts[0])
	gotMinor, err2 := strconv.Atoi(parts[1])
	if err1 != nil || err2 != nil {
		return false
	}
	return gotMajor < major || gotMajor == major && gotMinor < minor
}
