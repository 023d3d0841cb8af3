package validate

import (
	"strings"

	"scoville/model/llm"
)

// receiveInterval is the --scheduler-recv-interval with which InferenceX starts SGLang, by its public launch scripts
// (github.com/SemiAnalysisAI/InferenceX, benchmarks/single_node/{dsr1,qwen3.5}_{bf16,fp8,fp4}_{b200,b300}.sh): 30 from 16 clients on and
// 10 below for DeepSeek R1 (and V3, one architecture) and Qwen3.5 on B200 and B300, with the exceptions below; its scripts for Hopper
// and for GLM-5 don't set it. Rows of other benchmarks in the same table ran on Hopper and take the engine's default.
func receiveInterval(model, chip string, weights llm.DType, tensor, clients int) int {
	model, chip = strings.ToLower(model), strings.ToLower(chip)
	b200, b300 := strings.HasPrefix(chip, "b200"), strings.HasPrefix(chip, "b300")
	deepseek, qwen := strings.Contains(model, "deepseek-r1") || strings.Contains(model, "deepseek-v3"), strings.Contains(model, "qwen3.5")
	many := 16
	switch {
	case !b200 && !b300 || !deepseek && !qwen:
		return 0
	case deepseek && weights == llm.FP8 && tensor == 4, qwen && weights == llm.FP8 && b300:
		return 10
	case qwen && weights == llm.FP4 && b200:
		many = 5
	}
	if clients >= many {
		return 30
	}
	return 10
}
