package llm

import (
	"strconv"
	"strings"
)

// mixture reads the experts.
func (c *config) mixture(a *Architecture) {
	experts, _ := c.number("num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts", "num_moe_experts")
	if experts <= 1 {
		return
	}
	m := MoE{Experts: experts, ActiveExperts: c.must("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k", "top_k_experts", "experts_per_token")}
	m.ExpertIntermediate = c.or(a.Intermediate, "moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size")
	if m.ExpertIntermediate == 0 {
		c.bad("moe_intermediate_size (nor intermediate_size) is missing")
	}
	if n, ok := c.number("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"); ok && n > 0 {
		m.SharedExperts, m.SharedIntermediate = n, n*m.ExpertIntermediate
	}
	if w, ok := c.number("moe_shared_expert_intermediate_size", "shared_expert_intermediate_size", "shared_intermediate_size"); ok && w > 0 {
		m.SharedExperts, m.SharedIntermediate = max(1, m.SharedExperts), w
	}
	if strings.HasPrefix(c.kind, "llama4") {
		m.SharedExperts, m.SharedIntermediate = 1, m.ExpertIntermediate
		a.Intermediate = c.or(a.Intermediate, "intermediate_size_mlp")
	}
	m.ExpertHidden = c.or(0, "moe_latent_size")
	m.DenseLayers = c.denseLayers(a.Layers)
	a.MoE = m
	if m.DenseLayers == 0 {
		a.Intermediate = 0
	}
}

// denseLayers counts the layers without experts under the several ways to say so.
func (c *config) denseLayers(layers int) int {
	if freq := c.list("moe_layer_freq"); freq != nil { // one entry a layer
		return count(freq, func(s string) bool { return s == "0" })
	}
	first := c.or(0, "first_k_dense_replace", "num_dense_layers")
	every := max(1, c.or(1, "moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step"))
	offset := 0 // layers whose index is a multiple have experts
	if _, key := c.value("moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step"); key != "moe_layer_freq" {
		offset = 1 // layers whose ordinal is
	}
	named := map[string]bool{}
	for _, l := range c.list("mlp_only_layers") {
		named[l] = true
	}
	dense := 0
	for i := range layers {
		if i < first || (i+offset)%every != 0 || named[strconv.Itoa(i)] {
			dense++
		}
	}
	return dense
}

// layerKinds counts window, chunked, full and recurrent layers.
func (c *config) layerKinds(a *Architecture) {
	if pattern := c.blockPattern(); pattern != nil {
		c.hybrid(a, pattern)
		return
	}
	types := c.list("layer_types")
	if types != nil && len(types) != a.Layers {
		c.bad("layer_types has %d entries for %d layers", len(types), a.Layers)
		return
	}
	linear := count(types, func(s string) bool { return s == "linear_attention" })
	if n, ok := c.number("full_attention_interval"); ok && n > 0 && types == nil {
		linear = a.Layers - a.Layers/n
	}
	if linear > 0 || strings.HasPrefix(c.kind, "qwen3_next") {
		c.gatedDelta(a, linear)
	}
	c.window(a, types)
}

func (c *config) window(a *Architecture, types []string) {
	if size, ok := c.number("attention_chunk_size"); ok && size > 0 {
		layers := a.Layers - a.Layers/4 // every fourth layer attends in full unless no_rope_layers says otherwise
		if rope := c.list("no_rope_layers"); len(rope) > 0 {
			layers = count(rope, func(s string) bool { return s == "1" })
		}
		a.Window = Window{Tokens: size, Layers: layers, Chunked: true}
	} else if size, ok := c.number("sliding_window", "window_size"); ok && size > 0 && c.flag(true, "use_sliding_window") {
		layers := a.AttentionLayers()
		switch {
		case types != nil:
			layers = count(types, func(s string) bool { return strings.HasPrefix(s, "sliding") })
		case strings.HasPrefix(c.kind, "gemma2") || strings.HasPrefix(c.kind, "gpt_oss"):
			layers = (a.Layers + 1) / 2
		case strings.HasPrefix(c.kind, "gemma3") || strings.HasPrefix(c.kind, "cohere2"):
			layers -= a.Layers / max(1, c.or(6, "sliding_window_pattern", "_sliding_window_pattern"))
		case strings.HasPrefix(c.kind, "qwen"):
			layers -= min(layers, c.or(0, "max_window_layers"))
		}
		a.Window = Window{Tokens: size, Layers: layers}
	}
	if a.Window.Layers <= 0 || a.Window.Tokens >= a.MaxContext {
		a.Window = Window{}
	}
}

// gatedDelta sizes the gated delta-net of Qwen3-Next: projections of queries, keys, values and gate, two scalars a head, a causal
// convolution, and the way back; its state is one key x value matrix a value head in 32 bits and the convolution's tail in 16.
func (c *config) gatedDelta(a *Architecture, layers int) {
	kh, vh := c.must("linear_num_key_heads"), c.must("linear_num_value_heads")
	dk, dv := c.must("linear_key_head_dim"), c.must("linear_value_head_dim")
	conv := c.or(4, "linear_conv_kernel_dim")
	channels := float64(2*kh*dk + vh*dv)
	hidden, value := float64(a.Hidden), float64(vh*dv)
	a.Linear = Linear{
		Layers:          layers,
		StateBytes:      float64(layers) * (float64(vh*dk)*float64(dv)*4 + float64(conv-1)*channels*2),
		LayerParameters: hidden*(channels+value) + hidden*2*float64(vh) + float64(conv)*channels + value*hidden + float64(2*vh+dv),
	}
	a.AttentionGate = c.flag(true, "attn_output_gate")
}

// blockPattern is the kind of each layer of a Mamba hybrid: "mamba", "attention", "mlp", "moe"; nil for other models.
func (c *config) blockPattern() []string {
	if s := c.text1("hybrid_override_pattern"); s != "" {
		names := map[rune]string{'M': "mamba", '*': "attention", '-': "mlp", 'E': "moe"}
		var out []string
		for _, r := range s {
			if names[r] == "" {
				c.bad("hybrid_override_pattern has %q, expected M, *, - or E", r)
				return nil
			}
			out = append(out, names[r])
		}
		return out
	}
	for _, key := range []string{"layers_block_type", "layer_types"} {
		if types := c.list(key); count(types, func(s string) bool { return s == "mamba" }) > 0 {
			return types
		}
	}
	return nil
}

// hybrid sizes Mamba-2 mixers: one projection to gate, input, B, C and time step, a causal convolution, and the way back
// (arXiv 2405.21060, section 8); the state is heads x width x state size in 32 bits and the convolution's tail in 16.
func (c *config) hybrid(a *Architecture, pattern []string) {
	if len(pattern) != a.Layers {
		c.bad("the layer pattern has %d entries for %d layers", len(pattern), a.Layers)
		return
	}
	is := func(kind string) int { return count(pattern, func(s string) bool { return s == kind }) }
	heads, width := c.must("mamba_num_heads", "mamba_n_heads"), c.must("mamba_head_dim", "mamba_d_head")
	state := c.must("ssm_state_size", "mamba_d_state")
	groups, conv := c.or(1, "n_groups", "mamba_n_groups"), c.or(4, "conv_kernel", "mamba_d_conv")
	inner := float64(heads * width)
	channels := inner + 2*float64(groups*state)
	hidden, layers := float64(a.Hidden), is("mamba")
	a.Linear = Linear{
		Layers:          layers,
		StateBytes:      float64(layers) * (inner*float64(state)*4 + float64(conv-1)*channels*2),
		LayerParameters: hidden*(inner+channels+float64(heads)) + float64(conv)*channels + inner*hidden + inner + 3*float64(heads),
	}
	a.AttentionLayer = is("attention")
	if n := is("mlp") + is("moe"); n > 0 { // a layer is one thing only
		a.FFNLayers = n
		a.MoE.DenseLayers = is("mlp")
		if is("moe") == 0 {
			a.MoE = MoE{}
			a.Intermediate = c.must("intermediate_size")
		}
	}
}

func count(list []string, match func(string) bool) int {
	n := 0
	for _, s := range list {
		if match(s) {
			n++
		}
	}
	return n
}
