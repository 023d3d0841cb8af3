package profiles

import (
	"math"
	"testing"

	"scoville/model/llm"
)

// Every shipped architecture must come to the parameter count its publisher states.
func TestModelParametersMatchPublished(t *testing.T) {
	all, err := Models()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 30 {
		t.Fatalf("%d models shipped, want at least 30", len(all))
	}
	for _, m := range all {
		got := m.Parameters().Total()
		if d := got/m.Published - 1; !(math.Abs(d) <= 0.02) {
			t.Errorf("%s: %.4g parameters derived, %.4g published (%+.2f %%)", m.Name, got, m.Published, 100*d)
		}
	}
}

func TestModelNames(t *testing.T) {
	for _, c := range []struct {
		name, want                  string
		weights, activations, atten llm.DType
	}{
		{"llama-3.1-8b", "llama-3.1-8b", llm.BF16, llm.BF16, llm.BF16},
		{"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b", llm.BF16, llm.BF16, llm.BF16},
		{"Llama-3.3-70B-Instruct", "llama-3.3-70b", llm.BF16, llm.BF16, llm.BF16},
		{"LLaMA v3.1 8B", "llama-3.1-8b", llm.BF16, llm.BF16, llm.BF16},
		{"RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "llama-3.3-70b", llm.FP8, llm.FP8, llm.FP8},
		{"RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "llama-3.1-8b", llm.INT4, llm.BF16, llm.INT4},
		{"nvidia/DeepSeek-R1-NVFP4", "deepseek-r1", llm.FP4, llm.FP4, llm.BF16},
		{"deepseek-ai/DeepSeek-R1", "deepseek-r1", llm.FP8, llm.FP8, llm.FP8},
		{"openai/gpt-oss-120b", "gpt-oss-120b", llm.MXFP4, llm.BF16, llm.BF16},
		{"zai-org/GLM-5-FP8", "glm-5", llm.FP8, llm.FP8, llm.FP8},
		{"Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", "qwen2.5-7b", llm.INT8, llm.BF16, llm.INT8},
	} {
		a, p, err := Model(c.name)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if a.Name != c.want || p.Weights != c.weights || p.Activations != c.activations || p.AttentionType() != c.atten {
			t.Errorf("%s: got %s %+v, want %+v", c.name, a.Name, p, c)
		}
	}
	_, _, err := Model("lama-3.1-8b")
	if want := `unknown model "lama-3.1-8b" (did you mean "llama-3.1-8b"?)`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
