package model_test

import (
	"fmt"

	"github.com/auxoutput/auxoutput/routing/model"
)

// A model's own file tells the size of its rows and of its KV cache.
func Example() {
	m, err := model.Parse([]byte(`{
		"model_type": "deepseek_v3", "torch_dtype": "bfloat16", "num_hidden_layers": 61,
		"n_routed_experts": 256, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
		"kv_lora_rank": 512, "qk_rope_head_dim": 64
	}`))
	if err != nil {
		panic(err)
	}
	moe, err := m.Profile(false)
	if err != nil {
		panic(err)
	}
	all, err := m.Profile(true)
	if err != nil {
		panic(err)
	}
	kv, err := m.KVBytesPerToken(m.ItemBytes, 1)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d bytes a row with %d MoE layers, %d with all %d\n", moe.RowBytes(), moe.Layers, all.RowBytes(), all.Layers)
	fmt.Printf("%d bytes of KV cache a token\n", kv)
	// Output:
	// 464 bytes a row with 58 MoE layers, 488 with all 61
	// 70272 bytes of KV cache a token
}

func ExampleFind() {
	m, err := model.Find("kimi-k2")
	if err != nil {
		panic(err)
	}
	profile, err := m.Profile(false)
	if err != nil {
		panic(err)
	}
	kv, err := m.KVBytesPerToken(m.ItemBytes, 1)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d bytes of rows a token, %.2f %% of its KV cache\n", profile.RowBytes(), 100*float64(profile.RowBytes())/float64(kv))
	// Output: 960 bytes of rows a token, 1.37 % of its KV cache
}

// A top-k under a name that is not known is an error, not a guess.
func ExampleParse_missing() {
	_, err := model.Parse([]byte(`{"num_hidden_layers": 32, "num_experts": 64, "moe_topk": 8}`))
	fmt.Println(err)
	// Output: auxoutput: num_experts_per_tok = absent: field is missing: want the number of experts per token under num_experts_per_tok, top_k_experts, experts_per_token, num_experts_per_token
}
