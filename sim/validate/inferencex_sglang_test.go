package validate

import (
	"testing"

	"scoville/model/llm"
)

func TestReceiveIntervalOfInferenceX(t *testing.T) {
	for _, c := range []struct {
		model, chip     string
		weights         llm.DType
		tensor, clients int
		want            int
	}{
		{"deepseek-ai/DeepSeek-R1", "b200_sxm", llm.FP4, 8, 15, 10},
		{"deepseek-ai/DeepSeek-R1", "b200_sxm", llm.FP4, 8, 16, 30},
		{"deepseek-ai/DeepSeek-R1", "b200_sxm", llm.FP8, 4, 32, 10},
		{"Qwen/Qwen3.5-397B-A17B", "b300_sxm", llm.FP8, 4, 64, 10},
		{"Qwen/Qwen3.5-397B-A17B", "b200_sxm", llm.FP4, 4, 8, 30},
		{"Qwen/Qwen3.5-397B-A17B", "b300_sxm", llm.BF16, 8, 64, 30},
		{"Qwen/Qwen3.5-397B-A17B", "h200_sxm", llm.FP8, 8, 64, 0},
		{"deepseek-ai/DeepSeek-R1", "gb200", llm.FP8, 8, 64, 0},
		{"zhipuai/GLM-5", "b200_sxm", llm.FP8, 8, 64, 0},
	} {
		if got := receiveInterval(c.model, c.chip, c.weights, c.tensor, c.clients); got != c.want {
			t.Errorf("%s on %s %s TP%d, %d clients: %d, want %d", c.model, c.chip, c.weights, c.tensor, c.clients, got, c.want)
		}
	}
}
