package llm

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func llama8b() Architecture {
	return Architecture{Name: "llama-3.1-8b", Layers: 32, Hidden: 4096, Heads: 32, KVHeads: 8, HeadDim: 128, Intermediate: 14336, Vocabulary: 128256, GatedFFN: true, MaxContext: 131072}
}

func deepseek() Architecture {
	return Architecture{Name: "deepseek-v3", Layers: 61, Hidden: 7168, Heads: 128, KVHeads: 128, HeadDim: 192, Intermediate: 18432, Vocabulary: 129280, GatedFFN: true, MaxContext: 163840,
		MoE: MoE{Experts: 256, ActiveExperts: 8, SharedExperts: 1, ExpertIntermediate: 2048, SharedIntermediate: 2048, DenseLayers: 3},
		MLA: MLA{KVRank: 512, RopeDim: 64, NopeDim: 128, ValueDim: 128, QRank: 1536}}
}

func TestParameters(t *testing.T) {
	if got := llama8b().Parameters().Total(); got != 8030261248 {
		t.Errorf("Llama-3.1-8B: %.0f parameters, published 8030261248", got)
	}
	p := deepseek().Parameters()
	if math.Abs(p.Total()/671e9-1) > 0.005 || math.Abs(p.Active()/37e9-1) > 0.02 {
		t.Errorf("DeepSeek-V3: %.4g total, %.4g active; published 671B and 37B", p.Total(), p.Active())
	}
}

func TestFLOPs(t *testing.T) {
	a := llama8b()
	p := a.Parameters()
	want := 2 * (p.Total() - p.Embedding - p.Head - p.Norms)
	if got := a.FLOPsPerToken(); got != want {
		t.Errorf("%g FLOPs a token, want %g", got, want)
	}
	if got := a.AttentionFLOPsPerPair(); got != 4*4096 {
		t.Errorf("%g FLOPs a pair and layer, want %d", got, 4*4096)
	}
	if got := deepseek().DecodeFLOPsPerPair(); got != 2*128*(2*512+64) {
		t.Errorf("%g FLOPs a pair of latent decode", got)
	}
}

func TestKVBytesPerToken(t *testing.T) {
	qwen7b := Architecture{Layers: 28, Hidden: 3584, Heads: 28, KVHeads: 4, HeadDim: 128}
	qwen4b := Architecture{Layers: 36, Hidden: 2560, Heads: 32, KVHeads: 8, HeadDim: 128} // hidden/heads would be 80
	for _, c := range []struct {
		name string
		a    Architecture
		d    DType
		tp   int
		want float64
	}{
		{"vllm issue 22291", qwen7b, BF16, 1, 57344},
		{"head_dim as given", qwen4b, BF16, 1, 147456},
		{"replicated heads", qwen7b, BF16, 8, 28 * 2 * 128 * 2},
		{"same as at the number of heads", qwen7b, BF16, 4, 28 * 2 * 128 * 2},
		{"llama", llama8b(), BF16, 1, 131072},
		{"llama, 8-bit cache", llama8b(), FP8, 1, 65536},
		{"latent", deepseek(), BF16, 1, 70272},
		{"latent is not divided", deepseek(), BF16, 8, 70272},
	} {
		if got := c.a.KVBytesPerToken(c.d, c.tp); got != c.want {
			t.Errorf("%s: %.0f bytes a token, want %.0f", c.name, got, c.want)
		}
	}
	if got := 3072 * qwen7b.KVBytesPerToken(BF16, 1) / (1 << 30); math.Abs(got-0.164) > 0.0005 {
		t.Errorf("a request of 3072 tokens takes %.4f GiB, want 0.164", got)
	}
}

func TestSequenceBytesStopAtWindow(t *testing.T) {
	oss := Architecture{Layers: 24, Heads: 64, KVHeads: 8, HeadDim: 64, Window: Window{Tokens: 128, Layers: 12}}
	l := oss.KV(BF16, 1)
	if got, want := l.SequenceBytes(8192), 2048.0*12*(8192+128); got != want {
		t.Errorf("%.0f bytes, want %.0f", got, want)
	}
}

func TestTensorParallelDegrees(t *testing.T) {
	if got := llama8b().TensorParallelDegrees(64); !slices.Equal(got, []int{1, 2, 4, 8, 16, 32}) {
		t.Errorf("Llama-3.1-8B: %v", got)
	}
	qwen14b := Architecture{Layers: 40, Hidden: 5120, Heads: 40, KVHeads: 8, HeadDim: 128, Intermediate: 17408, Vocabulary: 151936, MaxContext: 40960}
	if err := qwen14b.CheckTensorParallel(5); err == nil {
		t.Error("degree 5 divides 40 heads but not 151936 rows, and must be refused")
	}
	padded := llama8b()
	padded.Vocabulary = 32001
	if err := padded.CheckTensorParallel(2); err != nil {
		t.Errorf("32001 rows are padded to 32064: %v", err)
	}
}

func TestRankWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom([]Architecture{llama8b(), deepseek()}).Draw(t, "model")
		p := NewPrecision(rapid.SampledFrom([]DType{BF16, FP8, INT4, FP4}).Draw(t, "weights"))
		if got, want := a.RankWeightBytes(p, Split{}), a.WeightBytes(p); math.Abs(got/want-1) > 1e-9 {
			t.Fatalf("one rank holds %g of %g", got, want)
		}
		tp := rapid.SampledFrom(a.TensorParallelDegrees(64)).Draw(t, "tp")
		if got, want := a.RankWeightBytes(p, Split{Tensor: tp})*float64(tp), a.WeightBytes(p); got < want*(1-1e-9) {
			t.Fatalf("%d ranks hold %g of %g", tp, got, want)
		}
	})
}

func TestDTypeBytes(t *testing.T) {
	for d, want := range map[DType]float64{FP32: 4, BF16: 2, FP4: 0.5625, MXFP4: 0.53125} {
		if d.Bytes() != want {
			t.Errorf("%s: %g bytes, want %g", d, d.Bytes(), want)
		}
	}
	for _, d := range []DType{INT4, FP4, MXFP4} {
		if d.Bytes() <= 0.5 || d.Bytes() > 0.57 {
			t.Errorf("%s: %g bytes, want half a byte and its scales", d, d.Bytes())
		}
	}
	if _, err := ParseDType("bfloat15"); err == nil {
		t.Error("bfloat15 was accepted")
	}
}

func TestValidateNamesFields(t *testing.T) {
	a := llama8b()
	a.KVHeads, a.Vocabulary = 5, 0
	err := a.Validate()
	var field *FieldError
	if !errors.As(err, &field) {
		t.Fatalf("got %v", err)
	}
	if want := "vocabulary: 0 is not in [1, 16777216]"; field.Error() != want {
		t.Errorf("got %q, want %q", field, want)
	}
}
