// Package llm describes a language model by its architecture and derives what serving it takes: parameters, FLOPs and
// bytes for a token, and KV bytes per token of context. It reads the config.json of the Hugging Face hub as it comes.
package llm

// Architecture is a decoder-only transformer, or a hybrid of attention and state-space layers. Counts are of the whole model,
// before any parallel split.
type Architecture struct {
	Name           string `toml:"name" json:"name"`                                                      // as users call it: "llama-3.1-8b"
	HuggingFace    string `toml:"hugging_face,omitempty,omitzero" json:"hugging_face,omitempty"`         // repository name, informative
	Layers         int    `toml:"layers" json:"layers"`                                                  // blocks of any kind
	Hidden         int    `toml:"hidden" json:"hidden"`                                                  // width of the residual stream
	Heads          int    `toml:"heads" json:"heads"`                                                    // query heads
	KVHeads        int    `toml:"kv_heads" json:"kv_heads"`                                              // key/value heads (grouped-query attention)
	HeadDim        int    `toml:"head_dim" json:"head_dim"`                                              // width of one head
	Intermediate   int    `toml:"intermediate" json:"intermediate"`                                      // feed-forward width of dense layers
	Vocabulary     int    `toml:"vocabulary" json:"vocabulary"`                                          // rows of the embedding
	TiedEmbeddings bool   `toml:"tied_embeddings,omitempty,omitzero" json:"tied_embeddings,omitempty"`   // the output head is the embedding
	GatedFFN       bool   `toml:"gated_ffn,omitempty,omitzero" json:"gated_ffn,omitempty"`               // three feed-forward matrices (SwiGLU) instead of two
	AttentionBias  bool   `toml:"attention_bias,omitempty,omitzero" json:"attention_bias,omitempty"`     // biases on query, key and value
	AttentionGate  bool   `toml:"attention_gate,omitempty,omitzero" json:"attention_gate,omitempty"`     // an output gate as wide as the queries (Qwen3-Next)
	MaxContext     int    `toml:"max_context" json:"max_context"`                                        // tokens, position scaling included
	PositionRows   int    `toml:"position_rows,omitempty,omitzero" json:"position_rows,omitempty"`       // learned position embeddings (OPT); 0: rotary or ALiBi
	AttentionLayer int    `toml:"attention_layers,omitempty,omitzero" json:"attention_layers,omitempty"` // layers with softmax attention; 0: all that are not linear
	FFNLayers      int    `toml:"ffn_layers,omitempty,omitzero" json:"ffn_layers,omitempty"`             // layers with a feed-forward part; 0: all (Nemotron-H has fewer)

	MoE    MoE    `toml:"moe,omitempty,omitzero" json:"moe,omitzero"`       // zero: dense
	MLA    MLA    `toml:"mla,omitempty,omitzero" json:"mla,omitzero"`       // zero: grouped-query attention
	Window Window `toml:"window,omitempty,omitzero" json:"window,omitzero"` // zero: full attention everywhere
	Linear Linear `toml:"linear,omitempty,omitzero" json:"linear,omitzero"` // zero: no linear-attention or state-space layers

	// Published, when positive, is the count the publisher states. ExtraParameters are resident weights that the text model does
	// not have (vision tower, multi-token-prediction layer): they take memory in 16 bits, and no part in a text step.
	Published       float64 `toml:"published_parameters,omitempty,omitzero" json:"published_parameters,omitempty"`
	ExtraParameters float64 `toml:"extra_parameters,omitempty,omitzero" json:"extra_parameters,omitempty"`
	Source          string  `toml:"source,omitempty,omitzero" json:"source,omitempty"` // where the figures come from
}

// MoE is a mixture of experts.
type MoE struct {
	Experts            int  `toml:"experts" json:"experts"`                                                        // routed experts a layer
	ActiveExperts      int  `toml:"active_experts" json:"active_experts"`                                          // routed experts a token visits
	SharedExperts      int  `toml:"shared_experts,omitempty,omitzero" json:"shared_experts,omitempty"`             // experts every token visits
	ExpertIntermediate int  `toml:"expert_intermediate" json:"expert_intermediate"`                                // width of one routed expert
	SharedIntermediate int  `toml:"shared_intermediate,omitempty,omitzero" json:"shared_intermediate,omitempty"`   // width of all shared experts together
	DenseLayers        int  `toml:"dense_layers,omitempty,omitzero" json:"dense_layers,omitempty"`                 // layers that have a dense feed-forward instead
	ExpertHidden       int  `toml:"expert_hidden,omitempty,omitzero" json:"expert_hidden,omitempty"`               // width routed experts work in (latent MoE); 0: Hidden
	DenseBesideExperts bool `toml:"dense_beside_experts,omitempty,omitzero" json:"dense_beside_experts,omitempty"` // every layer has both
}

// MLA is multi-head latent attention (DeepSeek): the cache holds one compressed vector a token, replicated over tensor-parallel
// ranks. With IndexHeads the attention is sparse: a small indexer picks TopK tokens.
type MLA struct {
	KVRank     int `toml:"kv_rank" json:"kv_rank"`                                      // kv_lora_rank
	RopeDim    int `toml:"rope_dim" json:"rope_dim"`                                    // qk_rope_head_dim
	NopeDim    int `toml:"nope_dim" json:"nope_dim"`                                    // qk_nope_head_dim
	ValueDim   int `toml:"value_dim" json:"value_dim"`                                  // v_head_dim
	QRank      int `toml:"q_rank,omitempty,omitzero" json:"q_rank,omitempty"`           // q_lora_rank; 0: full query projection
	IndexHeads int `toml:"index_heads,omitempty,omitzero" json:"index_heads,omitempty"` // index_n_heads
	IndexDim   int `toml:"index_dim,omitempty,omitzero" json:"index_dim,omitempty"`     // index_head_dim
	TopK       int `toml:"top_k,omitempty,omitzero" json:"top_k,omitempty"`             // index_topk
}

// Window is sliding-window or chunked attention in some layers.
type Window struct {
	Tokens  int  `toml:"tokens" json:"tokens"`
	Layers  int  `toml:"layers" json:"layers"`                                // layers with the window; the others attend in full
	Chunked bool `toml:"chunked,omitempty,omitzero" json:"chunked,omitempty"` // attention within aligned chunks (Llama 4) instead of a sliding window
}

// Linear is layers whose state does not grow with context (Mamba, gated delta-net).
type Linear struct {
	Layers          int     `toml:"layers" json:"layers"`
	StateBytes      float64 `toml:"state_bytes" json:"state_bytes"`           // per sequence, all such layers together
	LayerParameters float64 `toml:"layer_parameters" json:"layer_parameters"` // of one such layer's mixer, its feed-forward apart
}

// Precision is how weights, KV cache and activations are stored and computed. Embeddings, output head, norms and routers stay
// in 16 bits whatever Weights says, as quantised checkpoints keep them.
type Precision struct {
	Weights     DType `toml:"weights" json:"weights"`                                  // of the bulk of the linear layers
	KV          DType `toml:"kv" json:"kv"`                                            // of the cache
	Activations DType `toml:"activations" json:"activations"`                          // the type the matrix units compute in
	Attention   DType `toml:"attention,omitempty,omitzero" json:"attention,omitempty"` // of attention projections; empty: as Weights
	Dense       DType `toml:"dense,omitempty,omitzero" json:"dense,omitempty"`         // of dense feed-forward and shared experts; empty: as Weights
}
