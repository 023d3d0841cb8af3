// Package llm describes a language model by its architecture and derives what serving it takes: parameters, FLOPs and
// bytes for a token, and KV bytes for a token of context.
package llm

// Architecture is a decoder-only transformer. Counts are of the whole model, before any parallel split.
type Architecture struct {
	Name           string // as users call it: "llama-3.1-8b"
	HuggingFace    string // repository name, informative
	Layers         int
	Hidden         int
	Heads          int // query heads
	KVHeads        int // key/value heads (grouped-query attention)
	HeadDim        int
	Intermediate   int // feed-forward width of dense layers
	Vocabulary     int
	TiedEmbeddings bool
	GatedFFN       bool // three feed-forward matrices (SwiGLU) instead of two
	AttentionBias  bool
	MaxContext     int

	MoE    MoE    // zero: dense
	MLA    MLA    // zero: grouped-query attention
	Window Window // zero: full attention everywhere
	Linear Linear // zero: no linear-attention or state-space layers

	// Parameters, when positive, is the published count and overrides the derived one for memory (vision towers and the like).
	Parameters float64
	Source     string // where the figures come from
}

// MoE is a mixture of experts.
type MoE struct {
	Experts            int // routed experts a layer
	ActiveExperts      int // routed experts a token visits
	SharedExperts      int // experts every token visits
	ExpertIntermediate int // width of one routed expert
	SharedIntermediate int // width of all shared experts together
	DenseLayers        int // layers that have a dense feed-forward instead
}

// MLA is multi-head latent attention (DeepSeek): the cache holds one compressed vector a token, replicated over tensor-parallel ranks.
type MLA struct {
	KVRank   int // kv_lora_rank
	RopeDim  int // qk_rope_head_dim
	NopeDim  int // qk_nope_head_dim
	ValueDim int // v_head_dim
	QRank    int // q_lora_rank; 0: full query projection
}

// Window is sliding-window or chunked attention in some layers.
type Window struct {
	Tokens  int
	Layers  int  // layers with the window; the others attend in full
	Chunked bool // attention within aligned chunks (Llama 4) instead of a sliding window
}

// Linear is layers whose state does not grow with context (Mamba, gated delta-net).
type Linear struct {
	Layers     int
	StateBytes float64 // per sequence, all such layers together
}

// Precision is how weights, KV cache and activations are stored and computed.
type Precision struct {
	Weights     DType // of the bulk of the linear layers
	KV          DType
	Activations DType // the type the matrix units compute in
}

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
