package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// maxConfigBytes bounds a config.json; those of quantised checkpoints list every module and reach a few hundred kilobytes.
const maxConfigBytes = 4 << 20

// ParseHuggingFace reads a config.json of the Hugging Face hub as it comes. name is the model's name and stands in errors. Text
// dimensions are looked for in text_config, language_config, llm_config and thinker_config before the top level; a field that no
// default follows from is an error that names it. Vision and audio towers and multi-token-prediction layers are not counted: set
// ExtraParameters for them.
func ParseHuggingFace(name string, data []byte) (Architecture, Precision, error) {
	fail := func(err error) (Architecture, Precision, error) {
		return Architecture{}, Precision{}, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxConfigBytes {
		return fail(fmt.Errorf("config.json is %d bytes; at most %d are read", len(data), maxConfigBytes))
	}
	top := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&top); err != nil {
		return fail(fmt.Errorf("not a JSON object: %w", err))
	}
	if _, err := d.Token(); err != io.EOF {
		return fail(fmt.Errorf("text after the JSON object"))
	}
	c := &config{text: textConfig(top, 0), top: top}
	c.kind = c.text1("model_type")
	a := c.architecture(name)
	if len(c.errs) > 0 {
		return fail(fmt.Errorf("model_type %q: %s", c.kind, strings.Join(c.errs, "; ")))
	}
	if err := a.Validate(); err != nil {
		return fail(err)
	}
	p, err := c.precision()
	if err != nil {
		return fail(err)
	}
	return a, p, nil
}

// textConfig finds the object with the language model's dimensions.
func textConfig(c map[string]any, depth int) map[string]any {
	if depth > 4 {
		return c
	}
	for _, key := range []string{"text_config", "language_config", "llm_config", "thinker_config"} {
		if inner, ok := c[key].(map[string]any); ok && len(inner) > 0 {
			return textConfig(inner, depth+1)
		}
	}
	return c
}

// config reads fields under their several spellings and collects what is wrong.
type config struct {
	text, top map[string]any
	kind      string // model_type
	errs      []string
}

func (c *config) bad(format string, args ...any) {
	c.errs = append(c.errs, fmt.Sprintf(format, args...))
}

// value is the first of the keys that is present and not null, of the text model first and of the whole next.
func (c *config) value(keys ...string) (any, string) {
	for _, m := range []map[string]any{c.text, c.top} {
		for _, k := range keys {
			if v := m[k]; v != nil {
				return v, k
			}
		}
	}
	return nil, keys[0]
}

// number is an optional integer; ok is false when it is absent.
func (c *config) number(keys ...string) (n int, ok bool) {
	v, key := c.value(keys...)
	if v == nil {
		return 0, false
	}
	if d, isNumber := v.(json.Number); isNumber {
		if f, err := d.Float64(); err == nil && f >= 0 && f <= maxTokens && f == float64(int(f)) {
			return int(f), true
		}
	}
	c.bad("%s is %v, expected a whole number from 0 to %d", key, clip(v), maxTokens)
	return 0, false
}

// must is a required integer.
func (c *config) must(keys ...string) int {
	n, ok := c.number(keys...)
	if v, _ := c.value(keys...); !ok && v == nil {
		other := ""
		if len(keys) > 1 {
			other = " (nor " + strings.Join(keys[1:], ", ") + ")"
		}
		c.bad("%s%s is missing", keys[0], other)
	}
	return n
}

// or is an optional integer with a default.
func (c *config) or(def int, keys ...string) int {
	if n, ok := c.number(keys...); ok {
		return n
	}
	return def
}

func (c *config) flag(def bool, keys ...string) bool {
	v, key := c.value(keys...)
	if v == nil {
		return def
	}
	b, ok := v.(bool)
	if !ok {
		c.bad("%s is %v, expected true or false", key, clip(v))
	}
	return b
}

func (c *config) text1(keys ...string) string {
	v, _ := c.value(keys...)
	s, _ := v.(string)
	return s
}

// list is an optional list of strings; numbers become their text.
func (c *config) list(keys ...string) []string {
	v, _ := c.value(keys...)
	items, ok := v.([]any)
	if !ok {
		return nil
	}
	out := make([]string, len(items))
	for i, x := range items {
		out[i] = fmt.Sprint(x)
	}
	return out
}

func clip(v any) string {
	s := fmt.Sprint(v)
	if len(s) > 40 {
		s = s[:40] + "..."
	}
	return s
}

// family is what a model_type implies and its config.json doesn't say.
type family struct {
	plain bool // two feed-forward matrices
	tied  bool // embeddings tied unless told otherwise
	bias  bool // query, key and value biases unless told otherwise
	wide  bool // feed-forward 4 x hidden unless told otherwise
	rows  int  // learned positions beyond max_position_embeddings; -1: none
}

// families are the model types whose conventions are known. Prefixes of a name count: "qwen3_moe" is found under itself, "qwen3_vl_text"
// under "qwen3".
var families = map[string]family{
	"llama": {rows: -1}, "mllama_text_model": {rows: -1}, "llama4": {rows: -1}, "mistral": {rows: -1}, "mistral3": {rows: -1}, "ministral": {rows: -1}, "mixtral": {rows: -1},
	"qwen": {rows: -1, bias: true}, "qwen2": {rows: -1, bias: true}, "qwen2_moe": {rows: -1, bias: true}, "qwen3": {rows: -1}, "qwen3_moe": {rows: -1}, "qwen3_next": {rows: -1}, "qwen3_5": {rows: -1},
	"gemma": {rows: -1, tied: true}, "gemma2": {rows: -1, tied: true}, "gemma3": {rows: -1, tied: true}, "phi": {rows: -1, plain: true, bias: true}, "phi3": {rows: -1}, "phi3small": {rows: -1, tied: true, bias: true}, "phimoe": {rows: -1, bias: true},
	"deepseek": {rows: -1}, "deepseek_v2": {rows: -1}, "deepseek_v3": {rows: -1}, "deepseek_v32": {rows: -1}, "kimi_k2": {rows: -1}, "kimi_k25": {rows: -1}, "kimi_vl": {rows: -1},
	"gpt_oss": {rows: -1, bias: true}, "glm4": {rows: -1}, "glm4_moe": {rows: -1}, "glm_moe_dsa": {rows: -1}, "minimax": {rows: -1}, "minimax_m2": {rows: -1}, "nemotron_h": {rows: -1, plain: true}, "nemotron": {rows: -1, plain: true},
	"granite": {rows: -1}, "granitemoe": {rows: -1}, "granitemoehybrid": {rows: -1}, "bamba": {rows: -1}, "olmo": {rows: -1}, "olmo2": {rows: -1}, "olmo3": {rows: -1}, "yi": {rows: -1}, "internlm": {rows: -1}, "internlm2": {rows: -1}, "baichuan": {rows: -1}, "exaone": {rows: -1}, "exaone4": {rows: -1}, "cohere": {rows: -1, tied: true}, "cohere2": {rows: -1, tied: true}, "smollm3": {rows: -1, tied: true}, "seed_oss": {rows: -1, bias: true},
	"falcon": {rows: -1, plain: true, tied: true, wide: true}, "gptj": {rows: -1, plain: true, wide: true}, "gpt_neox": {rows: -1, plain: true, bias: true}, "bloom": {rows: -1, plain: true, tied: true, bias: true, wide: true},
	"opt": {rows: 2, plain: true, tied: true, bias: true}, "gpt2": {plain: true, tied: true, bias: true, wide: true}, "gpt_bigcode": {plain: true, tied: true, bias: true, wide: true}, "starcoder2": {rows: -1, plain: true, tied: true, bias: true},
}

// family finds the conventions of the model type. An unknown type is taken when its activation tells a gated feed-forward.
func (c *config) family() family {
	kind := strings.ToLower(c.kind)
	for k := kind; k != ""; {
		if f, ok := families[k]; ok {
			return f
		}
		i := strings.LastIndex(k, "_")
		if i < 0 {
			break
		}
		k = k[:i]
	}
	switch act := c.text1("hidden_act", "hidden_activation"); act {
	case "silu", "swiglu", "swish":
		return family{rows: -1}
	default:
		c.bad("unknown architecture, and hidden_act %q doesn't tell whether the feed-forward is gated (silu would)", act)
	}
	return family{rows: -1}
}

func (c *config) architecture(name string) Architecture {
	f := c.family()
	a := Architecture{
		Name:       name,
		Layers:     c.must("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
		Hidden:     c.must("hidden_size", "n_embd", "n_embed", "d_model", "dim"),
		Vocabulary: c.must("vocab_size", "padded_vocab_size"),
		GatedFFN:   !f.plain,
		Source:     "config.json",
	}
	if len(c.errs) > 0 {
		return a
	}
	if a.Layers > maxLayers {
		c.bad("num_hidden_layers is %d, at most %d are read", a.Layers, maxLayers)
		return a
	}
	a.Heads = c.must("num_attention_heads", "n_head", "n_heads", "num_heads")
	a.TiedEmbeddings = c.flag(f.tied, "tie_word_embeddings")
	a.AttentionBias = c.flag(f.bias, "attention_bias", "qkv_bias", "add_qkv_bias", "use_bias", "bias")
	a.MaxContext = c.maxContext()
	if f.rows >= 0 {
		a.PositionRows = c.or(a.MaxContext, "max_position_embeddings", "n_positions") + f.rows
	}
	a.KVHeads = c.kvHeads(a.Heads)
	if a.Heads > 0 {
		a.HeadDim = c.or(a.Hidden/a.Heads, "head_dim", "attention_head_dim", "kv_channels")
	}
	if f.wide {
		a.Intermediate = c.or(4*a.Hidden, "intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim")
	} else {
		a.Intermediate = c.or(0, "intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "ffn_intermediate_size")
	}
	if c.kind == "qwen" {
		a.Intermediate /= 2 // the first Qwen counts gate and up together
	}
	c.latent(&a)
	c.mixture(&a)
	c.layerKinds(&a)
	return a
}

func (c *config) kvHeads(heads int) int {
	if n, ok := c.number("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"); ok && n > 0 {
		if c.kind != "falcon" || c.flag(false, "new_decoder_architecture") {
			return n
		}
	}
	if c.flag(c.kind == "gpt_bigcode", "multi_query") {
		return 1
	}
	return heads
}

// maxContext follows the position scaling: YaRN multiplies the original length; Llama 3's scaling is already in the length given.
func (c *config) maxContext() int {
	length, _ := c.number("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "max_seq_len", "n_ctx", "model_max_length")
	if length == 0 && c.kind == "bloom" || length == 0 && c.kind == "falcon" {
		length = 2048 // ALiBi; what these were trained on
	}
	if length == 0 && len(c.errs) == 0 {
		c.bad("max_position_embeddings (nor n_positions, seq_length) is missing")
	}
	v, _ := c.value("rope_scaling", "rope_parameters")
	scaling, ok := v.(map[string]any)
	if !ok {
		return length
	}
	s := &config{text: scaling, top: scaling}
	kind := s.text1("rope_type", "type")
	factor, _ := s.float("factor")
	original, has := s.number("original_max_position_embeddings")
	if strings.Contains(kind, "yarn") && has && original > 0 && factor >= 1 && factor <= 1024 {
		return int(float64(original) * factor)
	}
	return length
}

func (c *config) float(keys ...string) (float64, bool) {
	v, _ := c.value(keys...)
	d, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := d.Float64()
	return f, err == nil
}

func (c *config) latent(a *Architecture) {
	rank, ok := c.number("kv_lora_rank")
	if !ok || rank == 0 {
		return
	}
	a.MLA = MLA{KVRank: rank, RopeDim: c.must("qk_rope_head_dim"), NopeDim: c.must("qk_nope_head_dim"), ValueDim: c.must("v_head_dim"),
		QRank: c.or(0, "q_lora_rank"), IndexHeads: c.or(0, "index_n_heads"), IndexDim: c.or(0, "index_head_dim"), TopK: c.or(0, "index_topk")}
	a.HeadDim = a.MLA.RopeDim + a.MLA.NopeDim
	a.KVHeads = a.Heads
}
