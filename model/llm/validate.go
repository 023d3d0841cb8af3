package llm

import (
	"errors"
	"fmt"
	"math"
)

// FieldError is a fault in one field of an architecture.
type FieldError struct {
	Field   string // as in a profile: "kv_heads", "moe.active_experts"
	Problem string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// Limits that no published model comes near; they keep a malformed config from overflowing the arithmetic.
const (
	maxLayers = 4096
	maxWidth  = 1 << 24
	maxTokens = 1 << 31
)

// Validate reports every field that no model can have; the error joins *FieldError values.
func (a Architecture) Validate() error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, &FieldError{field, fmt.Sprintf(format, args...)})
	}
	in := func(field string, v, low, high int) {
		if v < low || v > high {
			bad(field, "%d is not in [%d, %d]", v, low, high)
		}
	}
	in("layers", a.Layers, 1, maxLayers)
	in("hidden", a.Hidden, 1, maxWidth)
	in("vocabulary", a.Vocabulary, 1, maxWidth)
	in("max_context", a.MaxContext, 1, maxTokens)
	in("intermediate", a.Intermediate, 0, maxWidth)
	in("position_rows", a.PositionRows, 0, maxWidth)
	in("attention_layers", a.AttentionLayer, 0, a.Layers)
	in("ffn_layers", a.FFNLayers, 0, a.Layers)
	in("linear.layers", a.Linear.Layers, 0, a.Layers)
	if len(errs) == 0 && a.AttentionLayers() > 0 {
		in("heads", a.Heads, 1, maxWidth)
		in("head_dim", a.HeadDim, 1, maxWidth)
		in("kv_heads", a.KVHeads, 1, max(1, a.Heads))
		if a.KVHeads > 0 && a.MLA.KVRank == 0 && a.Heads%a.KVHeads != 0 {
			bad("kv_heads", "%d does not divide the %d query heads", a.KVHeads, a.Heads)
		}
	}
	a.validateParts(bad, in)
	for _, f := range []struct {
		name  string
		value float64
	}{{"linear.state_bytes", a.Linear.StateBytes}, {"linear.layer_parameters", a.Linear.LayerParameters}, {"extra_parameters", a.ExtraParameters}, {"published_parameters", a.Published}} {
		if !(f.value >= 0) || math.IsInf(f.value, 0) {
			bad(f.name, "%g is not a finite number of at least 0", f.value)
		}
	}
	return errors.Join(errs...)
}

func (a Architecture) validateParts(bad func(string, string, ...any), in func(string, int, int, int)) {
	if m := a.MoE; m != (MoE{}) {
		in("moe.experts", m.Experts, 1, 1<<16)
		in("moe.active_experts", m.ActiveExperts, 1, max(1, m.Experts))
		in("moe.expert_intermediate", m.ExpertIntermediate, 1, maxWidth)
		in("moe.shared_intermediate", m.SharedIntermediate, 0, maxWidth)
		in("moe.expert_hidden", m.ExpertHidden, 0, maxWidth)
		in("moe.dense_layers", m.DenseLayers, 0, max(0, a.ffnLayers()))
		if m.SharedExperts > 0 && m.SharedIntermediate == 0 {
			bad("moe.shared_intermediate", "is missing although there are %d shared experts", m.SharedExperts)
		}
	}
	if a.DenseFFNLayers() > 0 && a.Intermediate == 0 {
		bad("intermediate", "is missing although %d layers have a dense feed-forward", a.DenseFFNLayers())
	}
	if m := a.MLA; m != (MLA{}) {
		in("mla.kv_rank", m.KVRank, 1, maxWidth)
		in("mla.rope_dim", m.RopeDim, 0, maxWidth)
		in("mla.nope_dim", m.NopeDim, 0, maxWidth)
		in("mla.value_dim", m.ValueDim, 1, maxWidth)
		in("mla.q_rank", m.QRank, 0, maxWidth)
		in("mla.index_heads", m.IndexHeads, 0, maxWidth)
		in("mla.index_dim", m.IndexDim, 0, maxWidth)
	}
	if w := a.Window; w != (Window{}) {
		in("window.tokens", w.Tokens, 1, maxTokens)
		in("window.layers", w.Layers, 1, max(1, a.AttentionLayers()))
	}
}

// NewPrecision is the usual precision of a checkpoint with such weights: FP8 and NVFP4 compute in their own format, INT8 in
// INT8, group-quantised INT4 and MXFP4 in 16 bits; the cache is 16-bit.
func NewPrecision(weights DType) Precision {
	p := Precision{Weights: weights, KV: BF16, Activations: weights}
	switch weights {
	case INT4, MXFP4:
		p.Activations = BF16
	case FP32:
		p.KV = FP32
	}
	return p
}
