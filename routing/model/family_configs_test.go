package model_test

import (
	"fmt"
	"strings"
)

// Files of more families. They are our own, with the fields and the numbers of published
// ones as far as anything here depends on them.

// nemotron is Nemotron-H's form as Python writes it, with a number that is none.
func nemotron(pattern string, experts, topK int) string {
	return fmt.Sprintf(`{
		"model_type": "nemotron_h", "torch_dtype": "bfloat16", "num_hidden_layers": %d,
		"hybrid_override_pattern": %q, "mtp_hybrid_override_pattern": "*E", "num_nextn_predict_layers": 1,
		"n_routed_experts": %d, "n_shared_experts": 1, "num_experts_per_tok": %d,
		"num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "hidden_size": 4096,
		"mamba_num_heads": 128, "mamba_head_dim": 64, "ssm_state_size": 128, "time_step_limit": [0.0, Infinity]
	}`, len(pattern), pattern, experts, topK)
}

const (
	superPattern = "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"
	nanoPattern  = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
)

// ling is the form of Ling-3.0: groups of layers, of which the last keeps a latent.
func ling(layers, group, dense, experts int) string {
	return fmt.Sprintf(`{
		"model_type": "bailing_hybrid", "torch_dtype": "bfloat16", "num_hidden_layers": %d, "layer_group_size": %d,
		"first_k_dense_replace": %d, "num_experts": %d, "num_shared_experts": 1, "num_experts_per_tok": 8,
		"kv_lora_rank": 512, "qk_rope_head_dim": 64, "num_attention_heads": 32, "num_key_value_heads": 32,
		"linear_conv_kernel_dim": 4, "hidden_size": 2048
	}`, layers, group, dense, experts)
}

// glm52 is DeepSeek's form with a name for its sparse attention, and its routers told
// twice.
func glm52(kind string) string {
	return strings.Replace(deepseek(78, 3, 256, 8), "{", `{
		"layer_types": `+repeat(78, `"`+kind+`"`)+`, "index_topk": 2048, "indexer_types": `+repeat(78, `"full"`)+`,
		"mlp_layer_types": ["dense", "dense", "dense", `+repeat(75, `"sparse"`)[1:]+`,`, 1)
}

// kimi25 is a multimodal model with quantisation outside, and inside a file of another
// origin that says nothing of the cache.
func kimi25(quantisation string) string {
	inner := strings.Replace(deepseek(61, 1, 384, 8), "{", `{"quantization_config": {"kv_cache_scheme": null, "quant_method": "compressed-tensors"}, "top_k": 50, `, 1)
	return `{"model_type": "kimi_k25", "dtype": "bfloat16", "quantization_config": ` + quantisation + `, "text_config": ` + inner + `}`
}

const eightBitCache = `{"kv_cache_scheme": {"dynamic": false, "num_bits": 8, "type": "float"}, "quant_algo": "NVFP4", "quant_method": "modelopt"}`

func llama4(step, experts int, more string) string {
	return fmt.Sprintf(`{
		"model_type": "llama4", "torch_dtype": "bfloat16", "vision_config": {"num_hidden_layers": 34},
		"text_config": {
			"model_type": "llama4_text", "torch_dtype": "bfloat16", "num_hidden_layers": 48, "interleave_moe_layer_step": %d,
			"num_local_experts": %d, "num_experts_per_tok": 1, "num_attention_heads": 40, "num_key_value_heads": 8,
			"head_dim": 128, "hidden_size": 5120, "attention_chunk_size": 8192 %s
		}
	}`, step, experts, more)
}

// lfm2 has no head_dim: 2048 values of 32 heads are 64 each. Six of 24 layers attend.
func lfm2(attends string) string {
	return `{
		"model_type": "lfm2_moe", "dtype": "bfloat16", "num_hidden_layers": 24, "num_dense_layers": 2,
		"num_experts": 32, "num_experts_per_tok": 4, "num_attention_heads": 32, "num_key_value_heads": 8,
		"hidden_size": 2048, "conv_L_cache": 3, ` + attends + `
	}`
}

const lfm2Kinds = `"layer_types": ["conv", "conv", "full_attention", "conv", "conv", "conv", "full_attention", "conv",
	"conv", "conv", "full_attention", "conv", "conv", "conv", "full_attention", "conv",
	"conv", "conv", "full_attention", "conv", "conv", "full_attention", "conv", "conv"]`

func afmoe(kinds string) string {
	return `{
		"model_type": "afmoe", "dtype": "bfloat16", "num_hidden_layers": 32, "num_dense_layers": 2,
		"num_experts": 128, "num_shared_experts": 1, "num_experts_per_tok": 8, "num_attention_heads": 32,
		"num_key_value_heads": 4, "head_dim": 128, "hidden_size": 2048, "sliding_window": 2048,
		"global_attn_every_n_layers": 4` + kinds + `
	}`
}

// inside puts a file into a text_config.
func inside(modelType, config string) string {
	return `{"model_type": "` + modelType + `", "vision_config": {"depth": 27}, "text_config": ` + config + `}`
}

func qwen35Of(layers, experts, topK int) string {
	return inside("qwen3_5_moe", fmt.Sprintf(`{
		"dtype": "bfloat16", "num_hidden_layers": %d, "num_experts": %d, "num_experts_per_tok": %d, "mlp_only_layers": [],
		"full_attention_interval": 4, "layer_types": %s, "num_attention_heads": 32, "num_key_value_heads": 2,
		"head_dim": 256, "linear_conv_kernel_dim": 4, "linear_num_value_heads": 64, "mtp_num_hidden_layers": 1
	}`, layers, experts, topK, repeat(layers, `"linear_attention"`, `"linear_attention"`, `"linear_attention"`, `"full_attention"`)))
}

// firstOnes is a list of n items: zeros, then ones.
func firstOnes(zeros, ones int) string {
	return "[" + strings.Repeat("0, ", zeros) + repeat(ones, "1")[1:]
}

var miniMaxM3 = inside("minimax_m3_vl", `{
	"dtype": "bfloat16", "num_hidden_layers": 60, "num_local_experts": 128, "num_experts_per_tok": 4, "n_shared_experts": 1,
	"moe_layer_freq": `+firstOnes(3, 57)+`, "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128,
	"hidden_size": 6144, "sparse_attention_config": {"sparse_index_dim": 128, "sparse_attention_freq": `+firstOnes(3, 57)+`}
}`)

var mimoV2 = `{
	"model_type": "mimo_v2_flash", "torch_dtype": "bfloat16", "num_hidden_layers": 48, "n_routed_experts": 256,
	"num_experts_per_tok": 8, "moe_layer_freq": ` + firstOnes(1, 47) + `, "hybrid_layer_pattern": ` + repeat(48, "0", "1", "1", "1", "1", "1") + `,
	"num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128, "sliding_window": 128,
	"swa_num_key_value_heads": 8, "swa_head_dim": 192, "swa_v_head_dim": 128
}`

var gemma4 = inside("gemma4", `{
	"dtype": "bfloat16", "num_hidden_layers": 30, "enable_moe_block": true, "num_experts": 128, "top_k_experts": 8,
	"layer_types": `+repeat(30, `"sliding_attention"`, `"sliding_attention"`, `"sliding_attention"`, `"sliding_attention"`, `"sliding_attention"`, `"full_attention"`)+`,
	"num_attention_heads": 16, "num_key_value_heads": 8, "num_global_key_value_heads": 2, "head_dim": 256,
	"global_head_dim": 512, "hidden_size": 2816, "sliding_window": 1024, "num_kv_shared_layers": 0
}`)

var kimiK3 = inside("kimi_k3", `{
	"model_type": "kimi_linear", "dtype": "bfloat16", "num_hidden_layers": 93, "first_k_dense_replace": 1, "moe_layer_freq": 1,
	"num_experts": 896, "num_shared_experts": 2, "num_experts_per_token": 16, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
	"num_attention_heads": 64, "linear_attn_config": {"full_attn_layers": [4, 8], "kda_layers": [1, 2, 3]}
}`)

var laguna = `{
	"model_type": "laguna", "torch_dtype": "bfloat16", "num_hidden_layers": 48, "num_experts": 256, "num_experts_per_tok": 10,
	"decoder_sparse_step": 1, "mlp_only_layers": [0], "mlp_layer_types": ["dense", ` + repeat(47, `"sparse"`)[1:] + `,
	"layer_types": ` + repeat(48, `"full_attention"`, `"sliding_attention"`, `"sliding_attention"`, `"sliding_attention"`) + `,
	"num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "sliding_window": 512, "hidden_size": 3072,
	"quantization_config": {"quant_method": "compressed-tensors", "kv_cache_scheme": {"actorder": null, "dynamic": false, "num_bits": 8, "strategy": "tensor", "type": "float"}}
}`

var step37 = `{
	"model_type": "step3p7", "torch_dtype": "bfloat16", "num_hidden_layers": 45, "first_k_dense_replace": 3,
	"num_experts": 288, "num_experts_per_tok": 8, "n_shared_experts": 1, "num_attention_heads": 64, "num_key_value_heads": 8,
	"head_dim": 128, "sliding_window": 512,
	"layer_types": ` + repeat(45, `"full_attention"`, `"sliding_attention"`, `"sliding_attention"`, `"sliding_attention"`) + `
}`

// sparseDeepSeek has the fields of an indexer, whose own cache is not counted.
func sparseDeepSeek() string {
	return strings.Replace(deepseek(61, 3, 256, 8), "{", `{"index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048, `, 1)
}

// blockNamed is Nemotron-H's form with a name for each layer instead of a letter.
func blockNamed(pattern string, experts, topK int) string {
	kinds := map[rune]string{'M': `"mamba"`, '*': `"attention"`, 'E': `"moe"`, '-': `"mlp"`}
	var names []string
	for _, letter := range pattern {
		names = append(names, kinds[letter])
	}
	return strings.Replace(nemotron(pattern, experts, topK), fmt.Sprintf(`"hybrid_override_pattern": %q`, pattern), `"layers_block_type": [`+strings.Join(names, ", ")+`]`, 1)
}

// groupedHeads is a hybrid of groups without a latent.
func groupedHeads() string {
	return `{
		"model_type": "bailing_moe_linear", "torch_dtype": "bfloat16", "num_hidden_layers": 20, "layer_group_size": 5,
		"first_k_dense_replace": 1, "num_experts": 256, "num_experts_per_tok": 8, "num_attention_heads": 16,
		"num_key_value_heads": 4, "head_dim": 128, "hidden_size": 2048, "group_norm_size": 4
	}`
}
