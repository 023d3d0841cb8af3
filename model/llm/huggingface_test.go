package llm_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"scoville/model/llm"
	"scoville/profiles"
)

// configs are the fields that matter of published config.json files, written out for this test; each must come to the same
// architecture as the profile that ships.
var configs = []struct{ profile, json string }{
	{"llama-2-7b", `{"model_type":"llama","hidden_size":4096,"intermediate_size":11008,"num_attention_heads":32,"num_hidden_layers":32,"vocab_size":32000,"max_position_embeddings":4096,"torch_dtype":"float16"}`},
	{"llama-3.1-8b", `{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":131072,"rope_scaling":{"factor":8.0,"original_max_position_embeddings":8192,"rope_type":"llama3"},"tie_word_embeddings":false,"torch_dtype":"bfloat16"}`},
	{"llama-3.2-1b", `{"model_type":"llama","hidden_size":2048,"head_dim":64,"intermediate_size":8192,"num_attention_heads":32,"num_hidden_layers":16,"num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":131072,"tie_word_embeddings":true}`},
	{"llama-4-scout", `{"model_type":"llama4","tie_word_embeddings":false,"text_config":{"model_type":"llama4_text","attention_chunk_size":8192,"head_dim":128,"hidden_size":5120,"interleave_moe_layer_step":1,"intermediate_size":8192,"intermediate_size_mlp":16384,"max_position_embeddings":10485760,"num_attention_heads":40,"num_experts_per_tok":1,"num_hidden_layers":48,"num_key_value_heads":8,"num_local_experts":16,"vocab_size":202048},"vision_config":{"hidden_size":1408,"num_hidden_layers":34}}`},
	{"llama-4-maverick", `{"model_type":"llama4","text_config":{"model_type":"llama4_text","attention_chunk_size":8192,"head_dim":128,"hidden_size":5120,"interleave_moe_layer_step":2,"intermediate_size":8192,"intermediate_size_mlp":16384,"max_position_embeddings":1048576,"num_attention_heads":40,"num_experts_per_tok":1,"num_hidden_layers":48,"num_key_value_heads":8,"num_local_experts":128,"vocab_size":202048}}`},
	{"qwen2.5-7b", `{"model_type":"qwen2","hidden_size":3584,"intermediate_size":18944,"max_position_embeddings":32768,"max_window_layers":28,"num_attention_heads":28,"num_hidden_layers":28,"num_key_value_heads":4,"sliding_window":131072,"tie_word_embeddings":false,"use_sliding_window":false,"vocab_size":152064}`},
	{"qwen1.5-moe-a2.7b", `{"model_type":"qwen2_moe","decoder_sparse_step":1,"hidden_size":2048,"intermediate_size":5632,"max_position_embeddings":8192,"moe_intermediate_size":1408,"num_attention_heads":16,"num_experts":60,"num_experts_per_tok":4,"num_hidden_layers":24,"num_key_value_heads":16,"shared_expert_intermediate_size":5632,"vocab_size":151936,"use_sliding_window":false,"sliding_window":32768}`},
	{"qwen3-32b", `{"model_type":"qwen3","attention_bias":false,"head_dim":128,"hidden_size":5120,"intermediate_size":25600,"max_position_embeddings":40960,"num_attention_heads":64,"num_hidden_layers":64,"num_key_value_heads":8,"sliding_window":null,"use_sliding_window":false,"vocab_size":151936}`},
	{"qwen3-30b-a3b", `{"model_type":"qwen3_moe","decoder_sparse_step":1,"head_dim":128,"hidden_size":2048,"intermediate_size":6144,"max_position_embeddings":262144,"mlp_only_layers":[],"moe_intermediate_size":768,"num_attention_heads":32,"num_experts":128,"num_experts_per_tok":8,"num_hidden_layers":48,"num_key_value_heads":4,"vocab_size":151936}`},
	{"qwen3-next-80b-a3b", `{"model_type":"qwen3_next","decoder_sparse_step":1,"full_attention_interval":4,"head_dim":256,"hidden_size":2048,"intermediate_size":5120,"linear_conv_kernel_dim":4,"linear_key_head_dim":128,"linear_num_key_heads":16,"linear_num_value_heads":32,"linear_value_head_dim":128,"max_position_embeddings":262144,"mlp_only_layers":[],"moe_intermediate_size":512,"num_attention_heads":16,"num_experts":512,"num_experts_per_tok":10,"num_hidden_layers":48,"num_key_value_heads":2,"shared_expert_intermediate_size":512,"vocab_size":151936}`},
	{"mistral-7b-v0.1", `{"model_type":"mistral","hidden_size":4096,"intermediate_size":14336,"max_position_embeddings":32768,"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"sliding_window":4096,"vocab_size":32000}`},
	{"mistral-nemo-12b", `{"model_type":"mistral","head_dim":128,"hidden_size":5120,"intermediate_size":14336,"max_position_embeddings":131072,"num_attention_heads":32,"num_hidden_layers":40,"num_key_value_heads":8,"sliding_window":null,"vocab_size":131072}`},
	{"mixtral-8x7b", `{"model_type":"mixtral","hidden_size":4096,"intermediate_size":14336,"max_position_embeddings":32768,"num_attention_heads":32,"num_experts_per_tok":2,"num_hidden_layers":32,"num_key_value_heads":8,"num_local_experts":8,"sliding_window":null,"vocab_size":32000}`},
	{"gemma-2-9b", `{"model_type":"gemma2","head_dim":256,"hidden_size":3584,"intermediate_size":14336,"max_position_embeddings":8192,"num_attention_heads":16,"num_hidden_layers":42,"num_key_value_heads":8,"sliding_window":4096,"vocab_size":256000}`},
	{"gemma-3-27b", `{"model_type":"gemma3","text_config":{"model_type":"gemma3_text","head_dim":128,"hidden_size":5376,"intermediate_size":21504,"max_position_embeddings":131072,"num_attention_heads":32,"num_hidden_layers":62,"num_key_value_heads":16,"sliding_window":1024,"sliding_window_pattern":6,"vocab_size":262208},"vision_config":{"hidden_size":1152}}`},
	{"phi-3-medium", `{"model_type":"phi3","hidden_size":5120,"intermediate_size":17920,"max_position_embeddings":4096,"num_attention_heads":40,"num_hidden_layers":40,"num_key_value_heads":10,"vocab_size":32064,"attention_bias":false}`},
	{"phi-2", `{"model_type":"phi","hidden_size":2560,"intermediate_size":10240,"max_position_embeddings":2048,"num_attention_heads":32,"num_hidden_layers":32,"vocab_size":51200,"tie_word_embeddings":false}`},
	{"deepseek-v2-lite", `{"model_type":"deepseek_v2","first_k_dense_replace":1,"hidden_size":2048,"intermediate_size":10944,"kv_lora_rank":512,"max_position_embeddings":163840,"moe_intermediate_size":1408,"moe_layer_freq":1,"n_routed_experts":64,"n_shared_experts":2,"num_attention_heads":16,"num_experts_per_tok":6,"num_hidden_layers":27,"num_key_value_heads":16,"q_lora_rank":null,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"vocab_size":102400}`},
	{"deepseek-r1", `{"model_type":"deepseek_v3","first_k_dense_replace":3,"hidden_size":7168,"intermediate_size":18432,"kv_lora_rank":512,"max_position_embeddings":163840,"moe_intermediate_size":2048,"moe_layer_freq":1,"n_routed_experts":256,"n_shared_experts":1,"num_attention_heads":128,"num_experts_per_tok":8,"num_hidden_layers":61,"num_key_value_heads":128,"num_nextn_predict_layers":1,"q_lora_rank":1536,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"vocab_size":129280,"rope_scaling":{"factor":40,"original_max_position_embeddings":4096,"type":"yarn"},"quantization_config":{"quant_method":"fp8","fmt":"e4m3","weight_block_size":[128,128]}}`},
	{"kimi-k2.5", `{"model_type":"kimi_k25","text_config":{"model_type":"kimi_k2","first_k_dense_replace":1,"hidden_size":7168,"intermediate_size":18432,"kv_lora_rank":512,"max_position_embeddings":262144,"moe_intermediate_size":2048,"moe_layer_freq":1,"n_routed_experts":384,"n_shared_experts":1,"num_attention_heads":64,"num_experts_per_tok":8,"num_hidden_layers":61,"num_key_value_heads":64,"q_lora_rank":1536,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"vocab_size":163840,"quantization_config":{"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"group_0":{"input_activations":null,"weights":{"num_bits":4,"type":"int","group_size":32}}},"ignore":["lm_head","re:.*self_attn.*","re:.*shared_experts.*","re:.*mlp\\.(gate|up|gate_up|down)_proj.*"]}}}`},
	{"glm-4.5", `{"model_type":"glm4_moe","attention_bias":true,"first_k_dense_replace":3,"head_dim":128,"hidden_size":5120,"intermediate_size":12288,"max_position_embeddings":131072,"moe_intermediate_size":1536,"n_routed_experts":160,"n_shared_experts":1,"num_attention_heads":96,"num_experts_per_tok":8,"num_hidden_layers":92,"num_key_value_heads":8,"num_nextn_predict_layers":1,"vocab_size":151552}`},
	{"minimax-m2", `{"model_type":"minimax_m2","head_dim":128,"hidden_size":3072,"intermediate_size":1536,"max_position_embeddings":196608,"num_attention_heads":48,"num_experts_per_tok":8,"num_hidden_layers":62,"num_key_value_heads":8,"num_local_experts":256,"shared_intermediate_size":0,"vocab_size":200064,"quantization_config":{"quant_method":"fp8"}}`},
	{"gpt-oss-120b", `{"model_type":"gpt_oss","attention_bias":true,"head_dim":64,"hidden_size":2880,"intermediate_size":2880,"initial_context_length":4096,"max_position_embeddings":131072,"num_attention_heads":64,"num_experts_per_tok":4,"num_hidden_layers":36,"num_key_value_heads":8,"num_local_experts":128,"sliding_window":128,"vocab_size":201088,"quantization_config":{"quant_method":"mxfp4","modules_to_not_convert":["model.layers.*.self_attn","model.layers.*.mlp.router","model.embed_tokens","lm_head"]}}`},
	{"nemotron-nano-12b-v2", `{"model_type":"nemotron_h","attention_bias":false,"conv_kernel":4,"head_dim":128,"hidden_size":5120,"hybrid_override_pattern":"M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M-","intermediate_size":20480,"mamba_head_dim":80,"mamba_num_heads":128,"max_position_embeddings":131072,"n_groups":8,"num_attention_heads":40,"num_hidden_layers":62,"num_key_value_heads":8,"ssm_state_size":128,"vocab_size":131072}`},
	{"granite-3.1-8b", `{"model_type":"granite","hidden_size":4096,"intermediate_size":12800,"max_position_embeddings":131072,"num_attention_heads":32,"num_hidden_layers":40,"num_key_value_heads":8,"tie_word_embeddings":true,"vocab_size":49155}`},
	{"olmo-2-7b", `{"model_type":"olmo2","hidden_size":4096,"intermediate_size":11008,"max_position_embeddings":4096,"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":32,"vocab_size":100352}`},
	{"falcon-7b", `{"model_type":"falcon","bias":false,"hidden_size":4544,"multi_query":true,"new_decoder_architecture":false,"num_attention_heads":71,"num_hidden_layers":32,"num_kv_heads":71,"vocab_size":65024}`},
	{"falcon-40b", `{"model_type":"falcon","bias":false,"hidden_size":8192,"multi_query":true,"new_decoder_architecture":true,"num_attention_heads":128,"num_hidden_layers":60,"num_kv_heads":8,"vocab_size":65024}`},
	{"yi-34b", `{"model_type":"llama","hidden_size":7168,"intermediate_size":20480,"max_position_embeddings":4096,"num_attention_heads":56,"num_hidden_layers":60,"num_key_value_heads":8,"vocab_size":64000}`},
	{"codellama-34b", `{"model_type":"llama","hidden_size":8192,"intermediate_size":22016,"max_position_embeddings":16384,"num_attention_heads":64,"num_hidden_layers":48,"num_key_value_heads":8,"vocab_size":32000}`},
	{"gpt-j-6b", `{"model_type":"gptj","n_embd":4096,"n_head":16,"n_inner":null,"n_layer":28,"n_positions":2048,"vocab_size":50400,"tie_word_embeddings":false}`},
	{"opt-6.7b", `{"model_type":"opt","ffn_dim":16384,"hidden_size":4096,"max_position_embeddings":2048,"num_attention_heads":32,"num_hidden_layers":32,"vocab_size":50272}`},
	{"bloom-176b", `{"model_type":"bloom","n_embed":14336,"n_head":112,"n_layer":70,"vocab_size":250880,"seq_length":2048}`},
}

func TestParseHuggingFace(t *testing.T) {
	ignore := cmpopts.IgnoreFields(llm.Architecture{}, "Name", "HuggingFace", "Source", "Published", "ExtraParameters", "MaxContext", "Intermediate")
	for _, c := range configs {
		want, precision, err := profiles.Model(c.profile)
		if err != nil {
			t.Fatal(err)
		}
		got, p, err := llm.ParseHuggingFace(c.profile, []byte(c.json))
		if err != nil {
			t.Error(err)
			continue
		}
		if d := cmp.Diff(want, got, ignore); d != "" {
			t.Errorf("%s: -shipped +read\n%s", c.profile, d)
		}
		if want.DenseFFNLayers() > 0 && want.Intermediate != got.Intermediate {
			t.Errorf("%s: feed-forward width %d, want %d", c.profile, got.Intermediate, want.Intermediate)
		}
		if d := cmp.Diff(precision, p); d != "" && c.profile != "gpt-oss-120b" { // the profile also names its absent dense part
			t.Errorf("%s: -shipped +read\n%s", c.profile, d)
		}
	}
}

func TestQuantisationConfigs(t *testing.T) {
	const body = `{"model_type":"llama","hidden_size":64,"intermediate_size":128,"num_attention_heads":4,"num_hidden_layers":2,"vocab_size":512,"max_position_embeddings":2048,"torch_dtype":"bfloat16","quantization_config":`
	for _, c := range []struct {
		json string
		want llm.Precision
	}{
		{`{"quant_method":"gptq","bits":8}`, llm.Precision{Weights: llm.INT8, KV: llm.BF16, Activations: llm.BF16}},
		{`{"quant_method":"awq","bits":4}`, llm.Precision{Weights: llm.INT4, KV: llm.BF16, Activations: llm.BF16}},
		{`{"quant_method":"compressed-tensors","config_groups":{"group_0":{"weights":{"num_bits":8,"type":"float"},"input_activations":{"num_bits":8}}},"kv_cache_scheme":{"num_bits":8}}`, llm.Precision{Weights: llm.FP8, KV: llm.FP8, Activations: llm.FP8}},
		{`{"quant_method":"compressed-tensors","config_groups":{"group_0":{"weights":{"num_bits":8,"type":"int"},"input_activations":{"num_bits":8}}}}`, llm.Precision{Weights: llm.INT8, KV: llm.BF16, Activations: llm.INT8}},
		{`{"quant_method":"modelopt","quant_algo":"NVFP4","kv_cache_quant_algo":"FP8","ignore":["lm_head","model.layers.0.self_attn.q_proj"]}`, llm.Precision{Weights: llm.FP4, KV: llm.FP8, Activations: llm.FP4, Attention: llm.BF16}},
		{`{"quant_method":"quark","global_quant_config":{"weight":{"dtype":"fp4"},"input_tensors":{"dtype":"fp4"}}}`, llm.Precision{Weights: llm.MXFP4, KV: llm.BF16, Activations: llm.FP4}},
	} {
		_, got, err := llm.ParseHuggingFace("test", []byte(body+c.json+"}"))
		if err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", c.json, got, err, c.want)
		}
	}
	if _, _, err := llm.ParseHuggingFace("test", []byte(body+`{"quant_method":"magic"}}`)); err == nil || !strings.Contains(err.Error(), `"magic" is not one of`) {
		t.Errorf("got %v", err)
	}
}

func TestContextLength(t *testing.T) {
	const body = `{"model_type":"qwen3","hidden_size":64,"intermediate_size":128,"num_attention_heads":4,"num_hidden_layers":2,"vocab_size":512,`
	for _, c := range []struct {
		json string
		want int
	}{
		{`"max_position_embeddings":1048576,"rope_scaling":{"original_max_position_embeddings":32768,"factor":32,"type":"deepseek_yarn"}}`, 1048576},
		{`"max_position_embeddings":163840,"rope_scaling":{"original_max_position_embeddings":4096,"factor":40,"type":"yarn"}}`, 163840},
		{`"max_position_embeddings":40960,"rope_scaling":{"original_max_position_embeddings":32768,"factor":4.0,"rope_type":"yarn"}}`, 131072},
		{`"max_position_embeddings":131072,"rope_scaling":{"original_max_position_embeddings":8192,"factor":8.0,"rope_type":"llama3"}}`, 131072},
	} {
		a, _, err := llm.ParseHuggingFace("test", []byte(body+c.json))
		if err != nil || a.MaxContext != c.want {
			t.Errorf("%s: %d, %v; want %d", c.json, a.MaxContext, err, c.want)
		}
	}
}

func TestParseHuggingFaceErrors(t *testing.T) {
	for _, c := range []struct{ json, want string }{
		{`{`, "not a JSON object"},
		{`[]`, "not a JSON object"},
		{`{} {}`, "text after the JSON object"},
		{`{"model_type":"llama"}`, "num_hidden_layers (nor n_layer, n_layers, num_layers) is missing"},
		{`{"model_type":"frob","hidden_size":64,"num_attention_heads":4,"num_hidden_layers":2,"vocab_size":512}`, "unknown architecture"},
		{`{"model_type":"gemma3","text_config":{"model_type":"gemma3_text","hidden_size":2560,"num_hidden_layers":34}}`, "vocab_size (nor padded_vocab_size) is missing"},
		{`{"model_type":"llama","hidden_size":-4,"num_attention_heads":4,"num_hidden_layers":2,"vocab_size":512}`, "hidden_size is -4, expected a whole number"},
		{`{"model_type":"llama","hidden_size":64,"intermediate_size":128,"num_attention_heads":4,"num_hidden_layers":2,"vocab_size":512}`, "max_position_embeddings"},
	} {
		_, _, err := llm.ParseHuggingFace("test", []byte(c.json))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.json, err, c.want)
		}
	}
}

// Whatever is read without error must be usable.
func FuzzParseHuggingFace(f *testing.F) {
	for _, c := range configs {
		f.Add([]byte(c.json))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, p, err := llm.ParseHuggingFace("fuzz", data)
		if err != nil {
			return
		}
		if err := a.Validate(); err != nil {
			t.Fatal(err)
		}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		for _, v := range []float64{a.Parameters().Total(), a.WeightBytes(p), a.FLOPsPerToken(), a.KVBytesPerToken(p.KV, 8), a.RankWeightBytes(p, llm.Split{Tensor: 2})} {
			if !(v >= 0) || v > 1e40 {
				t.Fatalf("%g from %s", v, data)
			}
		}
	})
}
