package hardware_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"scoville/hardware"
	"scoville/model/llm"
	"scoville/profiles"
)

const h100, h200, b200 = 79.19 * gib, 140.4 * gib, 178.36 * gib

func model(t testing.TB, name string) (llm.Architecture, llm.Precision) {
	t.Helper()
	a, p, err := profiles.Model(name)
	if err != nil {
		t.Fatal(err)
	}
	return a, p
}

func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if !(math.Abs(got/want-1) <= share) {
		t.Errorf("%s: %.6g, want %.6g within %.1f %%", what, got, want, 100*share)
	}
}

// aiconfigurator issue 1396: Kimi-K2.5-NVFP4 on four B200, 8192 + 1024 tokens, FP8 cache. The tool took 96 sequences a rank, 28.95 GiB
// of cache; beside the 151.95 GiB of weights measured a worker admits 29, and 17 or 18 with a transfer layer; by Little's law 34.5 ran at once.
func TestAdmissionOfLatentCache(t *testing.T) {
	a, p := model(t, "nvidia/Kimi-K2.5-NVFP4")
	p.KV = llm.FP8
	near(t, "cache of 96 sequences", 96*9216*a.KVBytesPerToken(llm.FP8, 4)/gib, 28.95, 0.001)
	split := llm.Split{Data: 4, Expert: 4} // attention is not split: 11.49 GiB on each rank
	near(t, "weights of a rank", a.RankWeightBytes(p, split)/gib, 151.95, 0.02)
	near(t, "attention in 16 bits", a.Parameters().Attention*2/gib, 11.49, 0.02)
	in := hardware.MemoryInput{MemoryBytes: b200, Utilisation: 0.9, Engine: "vllm", Split: split, MaxLength: 9216}
	m, err := hardware.FitMemory(a, p, in)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d sequences admitted, cache %.2f GiB", m.SequencesAt(9216), m.KVBytes/gib)
	if got := m.SequencesAt(9216); got < 17 || got > 34 {
		t.Errorf("%d sequences admitted, want 17 to 34", got)
	}
	in.Blocks = 29 * 9216 / 16 / 4
	if m, err = hardware.FitMemory(a, p, in); err != nil || int(4*m.ConcurrencyAt(9216)) != 29 {
		t.Errorf("with the measured blocks: %d sequences, %v", m.SequencesAt(9216), err)
	}
}

// LLMServingSim issue 59: Llama-3.1-8B on an RTX 4090 had 2588 blocks, where 24 GiB x 0.9 - weights gives 54400 tokens.
func TestMeasuredBlocksOverride(t *testing.T) {
	a, p := model(t, "llama-3.1-8b")
	in := hardware.MemoryInput{MemoryBytes: 23.53 * gib, Utilisation: 0.9, Engine: "vllm", Version: "0.19", MaxSequences: 256, MaxBatchedTokens: 2048, MaxLength: 32768}
	predicted, err := hardware.FitMemory(a, p, in)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("predicted %d tokens, measured 41408 (%+.1f %%)", predicted.KVTokens, 100*(float64(predicted.KVTokens)/41408-1))
	if predicted.KVTokens >= 54400*95/100 {
		t.Errorf("%d tokens: no reserve was taken", predicted.KVTokens)
	}
	in.Blocks = 2588
	m, err := hardware.FitMemory(a, p, in)
	if err != nil || m.KVTokens != 41408 || !m.Measured {
		t.Errorf("got %d tokens, %v; want 41408", m.KVTokens, err)
	}
}

// aisimulate issue 263: DeepSeek-R1 FP8 on 8 H200 under SGLang at 0.82 has about 509k tokens of 16-bit latent cache.
func TestStaticFractionOfLatentModel(t *testing.T) {
	a, p := model(t, "deepseek-r1")
	m, err := hardware.FitMemory(a, p, hardware.MemoryInput{MemoryBytes: h200, Utilisation: 0.82, Rule: hardware.RuleWeightsKV, Engine: "sglang",
		Split: llm.Split{Tensor: 8}, MaxBatchedTokens: 32768, BlockTokens: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("weights %.2f GiB a rank, %d tokens", m.Weights/gib, m.KVTokens)
	near(t, "tokens", float64(m.KVTokens), 509000, 0.05)
}

// dynamo issue 10104 and InferenceX issue 1587: a deployment must hold one request of its greatest length, or say what does.
func TestLongestRequest(t *testing.T) {
	a, p := model(t, "moonshotai/Kimi-K2.5")
	p.KV = llm.FP8
	_, err := hardware.FitMemory(a, p, hardware.MemoryInput{MemoryBytes: h100, Utilisation: 0.9, Engine: "vllm", Version: "0.19", Split: llm.Split{Tensor: 8}, MaxLength: 262144})
	var refused *hardware.Refusal
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want a refusal", err)
	}
	t.Log(err)
	near(t, "need of 262144 tokens", 262144*a.KVBytesPerToken(llm.FP8, 8)/gib, 8.58, 0.001)
	if refused.SmallestTensorParallel != 16 {
		t.Errorf("smallest degree %d, want 16", refused.SmallestTensorParallel)
	}
	a, p = model(t, "llama-3.1-8b")
	_, err = hardware.FitMemory(a, p, hardware.MemoryInput{MemoryBytes: 23.53 * gib, Utilisation: 0.9, Split: llm.Split{Tensor: 1}, MaxLength: 131072})
	if !errors.As(err, &refused) || refused.Memory.LongestLength <= 0 || refused.Memory.LongestLength >= 131072 {
		t.Fatalf("got %v, want a refusal with the longest length", err)
	}
	if !strings.Contains(err.Error(), "the longest that fits has") {
		t.Error(err)
	}
	shorter := hardware.MemoryInput{MemoryBytes: 23.53 * gib, Utilisation: 0.9, MaxLength: refused.Memory.LongestLength}
	if _, err := hardware.FitMemory(a, p, shorter); err != nil {
		t.Errorf("the length the refusal names: %v", err)
	}
	shorter.MaxLength++
	if _, err := hardware.FitMemory(a, p, shorter); err == nil {
		t.Error("one token more fits too")
	}
}

// llmfit issue 230: all experts are resident; judged by active ones, models that can't load look perfect.
func TestExpertsAreResident(t *testing.T) {
	for _, c := range []struct {
		name      string
		low, high float64 // GB at 4 bits
	}{{"Qwen/Qwen3.5-122B-A10B-AWQ", 63, 75}, {"deepseek-ai/DeepSeek-V3-AWQ", 345, 395}} {
		a, p := model(t, c.name)
		if got := a.WeightBytes(p) / 1e9; got < c.low || got > c.high {
			t.Errorf("%s: %.1f GB, want %g to %g", c.name, got, c.low, c.high)
		}
		if n := a.Parameters(); n.Active() > n.Total()/5 {
			t.Errorf("%s: %.3g active of %.3g", c.name, n.Active(), n.Total())
		}
	}
}

// peakinfer.com: Llama-70B at 2048 tokens takes 640 MiB a request, and its 16-bit weights don't fit one 80 GB card.
func TestSeventyBillion(t *testing.T) {
	a, p := model(t, "llama-3.1-70b")
	if got := 2048 * a.KVBytesPerToken(llm.BF16, 1); got != 640<<20 {
		t.Errorf("%.0f bytes a request, want 640 MiB", got)
	}
	in := hardware.MemoryInput{MemoryBytes: h100, Utilisation: 0.9, Engine: "vllm", Version: "0.19", MaxLength: 2048}
	_, err := hardware.FitMemory(a, p, in)
	var refused *hardware.Refusal
	if !errors.As(err, &refused) || refused.SmallestTensorParallel != 2 || refused.Chips != 2 {
		t.Fatalf("got %v, want a refusal that names tensor parallel 2, where 1.5 GiB are left", err)
	}
	in.Split.Tensor = 4
	m, err := hardware.FitMemory(a, p, in)
	if err != nil || m.SequencesAt(2048) < 100 {
		t.Errorf("4 chips: %d requests, %v", m.SequencesAt(2048), err)
	}
	// garagegeekblog.com sizing guide: four bits are half a byte and their scales
	a, p = model(t, "llama-3.1-70b-NVFP4")
	if got := a.WeightBytes(p) / 1e9; got < 37 || got > 43 {
		t.Errorf("FP4: %.1f GB", got)
	}
	n := a.Parameters()
	if got := (n.Attention + n.DenseFFN) * llm.FP4.Bytes() / 1e9; got < 37 || got > 39.5 {
		t.Errorf("FP4 layers: %.1f GB, want 37 to 39.5", got)
	}
}

// More chips never hold fewer tokens; a bigger share of memory never either.
func TestMoreMemoryHoldsMore(t *testing.T) {
	a, p := model(t, "qwen3-32b")
	rapid.Check(t, func(t *rapid.T) {
		in := hardware.MemoryInput{MemoryBytes: rapid.Float64Range(90, 300).Draw(t, "GiB") * gib, Utilisation: rapid.Float64Range(0.85, 0.9).Draw(t, "u"),
			Rule: rapid.SampledFrom([]string{hardware.RuleAll, hardware.RuleWeightsKV, hardware.RuleFree}).Draw(t, "rule")}
		small, err := hardware.FitMemory(a, p, in)
		if err != nil {
			t.Fatal(err)
		}
		more := in
		more.Utilisation += 0.05
		big, err := hardware.FitMemory(a, p, more)
		if err != nil || big.KVTokens < small.KVTokens {
			t.Fatalf("%d tokens at %g, %d at %g: %v", small.KVTokens, in.Utilisation, big.KVTokens, more.Utilisation, err)
		}
		more.Split.Tensor = 2
		wide, err := hardware.FitMemory(a, p, more)
		if err != nil || wide.KVTokens < big.KVTokens {
			t.Fatalf("tensor parallel 2 holds %d, 1 holds %d: %v", wide.KVTokens, big.KVTokens, err)
		}
		if used := float64(small.Blocks) * small.Cache.BlockBytes; used > small.KVBytes {
			t.Fatalf("blocks of %g bytes in a cache of %g", used, small.KVBytes)
		}
	})
}
