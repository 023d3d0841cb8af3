package llm

import (
	"fmt"
	"sort"
	"strings"
)

// precision reads quantization_config, or the plain type of the weights.
func (c *config) precision() (Precision, error) {
	plain := BF16
	if s := c.text1("torch_dtype", "dtype"); s != "" && s != "auto" {
		d, err := ParseDType(s)
		if err != nil {
			return Precision{}, fmt.Errorf("torch_dtype: %w", err)
		}
		plain = d
	}
	v, _ := c.value("quantization_config", "compression_config")
	if v == nil {
		return NewPrecision(plain), nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return Precision{}, fmt.Errorf("quantization_config is %v, expected an object", clip(v))
	}
	q := &config{text: m, top: m}
	p, err := q.quantised()
	if err != nil {
		return Precision{}, fmt.Errorf("quantization_config: %w", err)
	}
	if len(q.errs) > 0 {
		return Precision{}, fmt.Errorf("quantization_config: %s", strings.Join(q.errs, "; "))
	}
	if !p.Weights.Quantised() {
		return NewPrecision(plain), nil
	}
	for _, module := range q.list("modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers") {
		switch s := strings.ToLower(module); {
		case strings.Contains(s, "attn") && !strings.Contains(s, "visual") && !strings.Contains(s, "vision"):
			p.Attention = BF16
		case strings.Contains(s, "shared_expert") && !strings.Contains(s, "gate"):
			p.Dense = BF16
		}
	}
	if s := c.text1("expert_dtype"); s != "" { // experts in a format of their own
		d, err := ParseDType(s)
		if err != nil {
			return Precision{}, fmt.Errorf("expert_dtype: %w", err)
		}
		p.Attention, p.Dense, p.Weights = p.AttentionType(), p.DenseType(), d
	}
	return p, nil
}

func (q *config) quantised() (Precision, error) {
	method := strings.ToLower(q.text1("quant_method", "method"))
	switch method {
	case "fp8", "fbgemm_fp8":
		return NewPrecision(FP8), nil
	case "mxfp4":
		return NewPrecision(MXFP4), nil
	case "gptq", "awq", "auto-round", "auto_round", "gptq_marlin", "awq_marlin":
		return weightOnly(q.must("bits", "w_bit"))
	case "bitsandbytes":
		if q.flag(false, "load_in_4bit", "_load_in_4bit") {
			return weightOnly(4)
		}
		return weightOnly(8)
	case "compressed-tensors":
		return q.compressed()
	case "modelopt", "modelopt_fp4", "":
		return q.modelopt()
	case "quark":
		return q.quark()
	}
	return Precision{}, fmt.Errorf("quant_method %q is not one of fp8, mxfp4, gptq, awq, bitsandbytes, compressed-tensors, modelopt, quark", method)
}

// weightOnly is group-quantised integers that are computed in 16 bits.
func weightOnly(bits int) (Precision, error) {
	switch bits {
	case 4:
		return NewPrecision(INT4), nil
	case 8:
		p := NewPrecision(INT8)
		p.Activations = BF16
		return p, nil
	}
	return Precision{}, fmt.Errorf("bits is %d, expected 4 or 8", bits)
}

// compressed reads the first group of compressed-tensors, in order of name: {"weights": {"num_bits", "type"}, "input_activations"}.
func (q *config) compressed() (Precision, error) {
	v, _ := q.value("config_groups")
	groups, _ := v.(map[string]any)
	names := make([]string, 0, len(groups))
	for name := range groups {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		group, _ := groups[name].(map[string]any)
		weights, ok := group["weights"].(map[string]any)
		if !ok {
			continue
		}
		w := &config{text: weights, top: weights}
		bits, kind := w.must("num_bits"), w.text1("type")
		if len(w.errs) > 0 {
			return Precision{}, fmt.Errorf("config_groups.%s.weights: %s", name, w.errs[0])
		}
		d, ok := map[string]DType{"float8": FP8, "int8": INT8, "int4": INT4, "float4": FP4}[fmt.Sprintf("%s%d", kind, bits)]
		if !ok {
			return Precision{}, fmt.Errorf("config_groups.%s.weights: %d bits of type %q; expected float 4 or 8, int 4 or 8", name, bits, kind)
		}
		p := NewPrecision(d)
		if group["input_activations"] == nil {
			p.Activations = BF16
		}
		if scheme, _ := q.value("kv_cache_scheme"); scheme != nil {
			p.KV = FP8
		}
		return p, nil
	}
	return Precision{}, fmt.Errorf("config_groups has no group with weights")
}

// modelopt reads NVIDIA's form: {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}, at times under "quantization".
func (q *config) modelopt() (Precision, error) {
	if inner, ok := q.text["quantization"].(map[string]any); ok {
		q.text, q.top = inner, inner
	}
	algorithm := strings.ToUpper(q.text1("quant_algo"))
	var p Precision
	switch algorithm {
	case "FP8", "FP8_PB_WO", "FP8_BLOCK_SCALES", "FP8_PER_CHANNEL_PER_TOKEN":
		p = NewPrecision(FP8)
	case "NVFP4", "W4A4_NVFP4", "MIXED_PRECISION", "NVFP4_AWQ":
		p = NewPrecision(FP4)
	case "W4A16_AWQ", "INT4_AWQ", "W4A8_AWQ":
		p = NewPrecision(INT4)
	case "INT8_SQ", "W8A8_SQ":
		p = NewPrecision(INT8)
	default:
		return Precision{}, fmt.Errorf("quant_algo %q is not one of FP8, NVFP4, W4A16_AWQ, INT8_SQ", algorithm)
	}
	if s := q.text1("kv_cache_quant_algo"); strings.EqualFold(s, "FP8") {
		p.KV = FP8
	}
	return p, nil
}

// quark reads AMD's form: {"global_quant_config": {"weight": {"dtype": "fp8_e4m3"}}}.
func (q *config) quark() (Precision, error) {
	global, _ := q.text["global_quant_config"].(map[string]any)
	weight, _ := global["weight"].(map[string]any)
	s, _ := weight["dtype"].(string)
	d, err := ParseDType(s)
	if err != nil {
		return Precision{}, fmt.Errorf("global_quant_config.weight.dtype: %w", err)
	}
	if d == FP4 {
		d = MXFP4 // AMD's four bits are OCP microscaling
	}
	p := NewPrecision(d)
	if global["input_tensors"] != nil && d == MXFP4 {
		p.Activations = FP4
	}
	return p, nil
}
