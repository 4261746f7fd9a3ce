package model_test

import (
	"fmt"
	"strings"
)

// repeat is a JSON list of n items that follow a cycle.
func repeat(n int, cycle ...string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = cycle[i%len(cycle)]
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// The files of DeepSeek's family, whose attention is the same everywhere.
func deepseek(layers, dense, experts, topK int) string {
	return fmt.Sprintf(`{
		"model_type": "deepseek_v3", "torch_dtype": "bfloat16", "num_hidden_layers": %d,
		"n_routed_experts": %d, "n_shared_experts": 1, "num_experts_per_tok": %d,
		"first_k_dense_replace": %d, "moe_layer_freq": 1, "num_nextn_predict_layers": 1,
		"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
		"num_attention_heads": 128, "num_key_value_heads": 128, "hidden_size": 7168
	}`, layers, experts, topK, dense)
}

func qwen3(layers int) string {
	return fmt.Sprintf(`{
		"model_type": "qwen3_moe", "torch_dtype": "bfloat16", "num_hidden_layers": %d,
		"num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [],
		"num_key_value_heads": 4, "num_attention_heads": 32, "head_dim": 128, "hidden_size": 2048,
		"sliding_window": null, "use_sliding_window": false, "max_window_layers": %[1]d
	}`, layers)
}

func glm45(layers, dense, experts int) string {
	return fmt.Sprintf(`{
		"model_type": "glm4_moe", "torch_dtype": "bfloat16", "num_hidden_layers": %d,
		"n_routed_experts": %d, "num_experts_per_tok": 8, "first_k_dense_replace": %d,
		"num_key_value_heads": 8, "num_attention_heads": 96, "head_dim": 128, "hidden_size": 4096,
		"num_nextn_predict_layers": 1
	}`, layers, experts, dense)
}

func mixtral(layers, hidden, heads int) string {
	return fmt.Sprintf(`{
		"model_type": "mixtral", "torch_dtype": "bfloat16", "num_hidden_layers": %d,
		"num_local_experts": 8, "num_experts_per_tok": 2, "num_key_value_heads": 8,
		"hidden_size": %d, "num_attention_heads": %d, "head_dim": null, "sliding_window": null
	}`, layers, hidden, heads)
}

func gptOSS(layers, experts int) string {
	return fmt.Sprintf(`{
		"model_type": "gpt_oss", "torch_dtype": "bfloat16", "num_hidden_layers": %d,
		"num_local_experts": %d, "num_experts_per_tok": 4, "experts_per_token": 4,
		"num_key_value_heads": 8, "num_attention_heads": 64, "head_dim": 64, "sliding_window": 128,
		"layer_types": %s
	}`, layers, experts, repeat(layers, `"sliding_attention"`, `"full_attention"`))
}

const qwen3Next = `{
	"model_type": "qwen3_next", "torch_dtype": "bfloat16", "num_hidden_layers": 48,
	"num_experts": 512, "num_experts_per_tok": 10, "decoder_sparse_step": 1, "mlp_only_layers": [],
	"full_attention_interval": 4, "num_key_value_heads": 2, "num_attention_heads": 16, "head_dim": 256,
	"linear_num_value_heads": 32, "linear_conv_kernel_dim": 4
}`

// A multimodal model: the numbers that count are inside, and the dtype is outside.
var qwen35 = `{
	"model_type": "qwen3_5_moe", "dtype": "bfloat16", "vision_config": {"hidden_size": 1152, "num_experts": 3},
	"text_config": {
		"model_type": "qwen3_5_moe_text", "num_hidden_layers": 40, "num_experts": 256, "num_experts_per_tok": 8,
		"layer_types": ` + repeat(40, `"linear_attention"`, `"linear_attention"`, `"linear_attention"`, `"full_attention"`) + `,
		"num_key_value_heads": 2, "num_attention_heads": 16, "head_dim": 256, "linear_num_value_heads": 32
	}
}`

var miniMax = `{
	"model_type": "minimax_m2", "dtype": "bfloat16", "num_hidden_layers": 62, "num_local_experts": 256,
	"num_experts_per_tok": 8, "num_key_value_heads": 8, "num_attention_heads": 48, "head_dim": 128,
	"attn_type_list": ` + repeat(62, "1") + `
}`

// configs has a minimal file for each known model.
var configs = map[string]string{
	"Mixtral-8x7B":       mixtral(32, 4096, 32),
	"gpt-oss-20b":        gptOSS(24, 32),
	"Mixtral-8x22B":      mixtral(56, 6144, 48),
	"gpt-oss-120b":       gptOSS(36, 128),
	"Moonlight-16B":      deepseek(27, 1, 64, 6),
	"DeepSeek-V2-Lite":   deepseek(27, 1, 64, 6),
	"GLM-4.7-Flash":      deepseek(47, 1, 64, 4),
	"Qwen3.5-35B-A3B":    qwen35,
	"GLM-4.5-Air":        glm45(46, 1, 128),
	"Qwen3-30B-A3B":      qwen3(48),
	"DeepSeek-V3":        deepseek(61, 3, 256, 8),
	"DeepSeek-R1":        deepseek(61, 3, 256, 8),
	"MiniMax-M2":         miniMax,
	"GLM-5":              deepseek(78, 3, 256, 8),
	"GLM-4.5":            glm45(92, 3, 160),
	"Qwen3-235B-A22B":    qwen3(94),
	"Qwen3-Next-80B-A3B": qwen3Next,
	"Kimi-K2":            deepseek(61, 1, 384, 8),
	"Nemotron-3-Super":   nemotron(superPattern, 512, 22),
}
