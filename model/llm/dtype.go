package llm

import (
	"fmt"
	"strings"

	"scoville/model/tomlfile"
)

// DType is a number format, block scales included in its bytes.
type DType string

// The formats.
const (
	FP32  DType = "fp32"
	BF16  DType = "bf16" // also fp16: the same bytes and rate
	FP8   DType = "fp8"
	INT8  DType = "int8"
	INT4  DType = "int4"  // group-quantised weights, 16-bit compute
	FP4   DType = "fp4"   // NVFP4: 4 bits and an 8-bit scale for 16 values
	MXFP4 DType = "mxfp4" // 4 bits and an 8-bit scale for 32 values
)

// DTypes lists the formats.
func DTypes() []string {
	return []string{string(FP32), string(BF16), string(FP8), string(INT8), string(INT4), string(FP4), string(MXFP4)}
}

// Bytes is what one stored value takes with its share of the scales: an 8-bit scale for 16 (NVFP4) or 32 (MXFP4) values, a
// 16-bit scale and a 4-bit zero for 128 (INT4 groups), a 32-bit scale for 128 x 128 (FP8 blocks). It is 0 for an unknown format.
func (d DType) Bytes() float64 {
	switch d {
	case FP32:
		return 4
	case BF16:
		return 2
	case FP8:
		return 1 + 4.0/(128*128)
	case INT8:
		return 1 + 4.0/4096 // one 32-bit scale an output channel
	case INT4:
		return 0.5 + 2.5/128
	case FP4:
		return 0.5 + 1.0/16
	case MXFP4:
		return 0.5 + 1.0/32
	}
	return 0
}

// KVBytes is what one value of the cache takes; per-tensor scales weigh nothing there.
func (d DType) KVBytes() float64 {
	switch d {
	case FP8, INT8:
		return 1
	}
	return d.Bytes()
}

// Quantised reports whether the format has fewer than 16 bits.
func (d DType) Quantised() bool { return d.Bytes() > 0 && d.Bytes() < 2 }

// ParseDType reads a format as plans and configs spell it: "bfloat16", "fp16", "half", "fp8_e4m3", "nvfp4", "w4a16".
func ParseDType(s string) (DType, error) {
	t := strings.ToLower(strings.TrimPrefix(strings.TrimSpace(s), "torch."))
	switch {
	case t == "fp32" || t == "float32" || t == "float":
		return FP32, nil
	case t == "bf16" || t == "bfloat16" || t == "fp16" || t == "float16" || t == "half" || t == "f16":
		return BF16, nil
	case strings.HasPrefix(t, "fp8") || strings.HasPrefix(t, "float8") || strings.HasPrefix(t, "mxfp8"):
		return FP8, nil
	case t == "int8" || t == "w8a8" || t == "w8a16":
		return INT8, nil
	case t == "int4" || t == "w4a16" || t == "awq" || t == "gptq" || t == "uint4":
		return INT4, nil
	case t == "fp4" || t == "nvfp4":
		return FP4, nil
	case t == "mxfp4":
		return MXFP4, nil
	}
	err := fmt.Errorf("number format %q is not one of %s", s, strings.Join(DTypes(), ", "))
	if near := tomlfile.Nearest(s, DTypes()); near != "" {
		err = fmt.Errorf("%w (did you mean %q?)", err, near)
	}
	return "", err
}

// AttentionType is the format of the attention projections.
func (p Precision) AttentionType() DType { return first(p.Attention, p.Weights) }

// DenseType is the format of dense feed-forward layers and shared experts.
func (p Precision) DenseType() DType { return first(p.Dense, p.Weights) }

// PlainType is the format of what quantisation leaves alone: embeddings, head, norms, routers.
func (p Precision) PlainType() DType {
	if p.Weights == FP32 {
		return FP32
	}
	return BF16
}

// Check refuses a precision with an unknown or missing format.
func (p Precision) Check() error {
	for _, f := range []struct {
		name  string
		value DType
		must  bool
	}{{"weights", p.Weights, true}, {"kv", p.KV, true}, {"activations", p.Activations, true}, {"attention", p.Attention, false}, {"dense", p.Dense, false}} {
		if f.value == "" && !f.must {
			continue
		}
		if f.value.Bytes() == 0 {
			return fmt.Errorf("precision %s: %q is not one of %s", f.name, f.value, strings.Join(DTypes(), ", "))
		}
	}
	return nil
}

func first(a, b DType) DType {
	if a != "" {
		return a
	}
	return b
}
