package model_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing/model"
)

// TestBadConfigurationsAreErrorsThatNameTheField includes the case of vLLM PR 41401: a
// top-k under a name that is not known must not become a default.
func TestBadConfigurationsAreErrorsThatNameTheField(t *testing.T) {
	full := `"num_experts": 16, "num_experts_per_tok": 4, `
	for _, c := range []struct {
		name, config, field string
		reason              error
	}{
		{"nothing", ``, "config.json", model.ErrMalformed},
		{"no object", `[1]`, "config.json", model.ErrMalformed},
		{"null", `null`, "config.json", model.ErrMalformed},
		{"cut off behind an empty name", `{"":`, "config.json", model.ErrMalformed},
		{"cut off in a name", `{"num_hid`, "config.json", model.ErrMalformed},
		{"cut off in a value", `{"num_hidden_layers": "1`, "num_hidden_layers", model.ErrMalformed},
		{"cut off behind a value", `{"num_hidden_layers": 1 `, "config.json", model.ErrMalformed},
		{"cut off behind a comma", `{"num_hidden_layers": 1,`, "config.json", model.ErrMalformed},
		{"two objects", `{} {}`, "config.json", model.ErrMalformed},
		{"an endless value", `{"x": ` + strings.Repeat("[", 20000), "x", model.ErrMalformed},
		{"a field given twice", `{"num_experts": 8, "num_experts": 8}`, "num_experts", auxerrors.ErrMismatch},

		{"no layers", `{` + full + `"x": 1}`, "num_hidden_layers", model.ErrMissing},
		{"layers of another spelling", `{"Num_Hidden_Layers": 4}`, "num_hidden_layers", model.ErrMissing},
		{"zero layers", `{"num_hidden_layers": 0}`, "num_hidden_layers", auxerrors.ErrTooSmall},
		{"negative layers", `{"num_hidden_layers": -1}`, "num_hidden_layers", auxerrors.ErrTooSmall},
		{"huge layers", `{"num_hidden_layers": 65537}`, "num_hidden_layers", auxerrors.ErrTooLarge},
		{"layers beyond an int64", `{"num_hidden_layers": 99999999999999999999}`, "num_hidden_layers", auxerrors.ErrTooLarge},
		{"layers below an int64", `{"num_hidden_layers": -99999999999999999999}`, "num_hidden_layers", auxerrors.ErrTooSmall},
		{"layers as text", `{"num_hidden_layers": "4"}`, "num_hidden_layers", model.ErrMalformed},
		{"half a layer", `{"num_hidden_layers": 4.5}`, "num_hidden_layers", model.ErrMalformed},
		{"layers with an exponent", `{"num_hidden_layers": 1e400}`, "num_hidden_layers", model.ErrMalformed},

		{"no experts", with(`"num_experts_per_tok": 4`), "num_experts", model.ErrMissing},
		{"experts of null", with(`"num_experts_per_tok": 4, "num_experts": null`), "num_experts", model.ErrMissing},
		{"zero experts", with(`"num_experts_per_tok": 4, "n_routed_experts": 0`), "n_routed_experts", auxerrors.ErrTooSmall},
		{"huge experts", with(`"num_experts_per_tok": 4, "num_local_experts": 65537`), "num_local_experts", auxerrors.ErrTooLarge},
		{"experts that contradict each other", with(`"num_experts": 16, "num_local_experts": 8`), "num_local_experts", auxerrors.ErrMismatch},
		{"no top-k", with(`"num_experts": 16`), "num_experts_per_tok", model.ErrMissing},
		{"top-k under an unknown name", with(`"num_experts": 16, "moe_topk": 4`), "num_experts_per_tok", model.ErrMissing},
		{"top-k of null", with(`"num_experts": 16, "num_experts_per_tok": null`), "num_experts_per_tok", model.ErrMissing},
		{"a top-k of zero", with(`"num_experts": 16, "num_experts_per_tok": 0`), "num_experts_per_tok", auxerrors.ErrTooSmall},
		{"a top-k of a list", with(`"num_experts": 16, "num_experts_per_tok": [4]`), "num_experts_per_tok", model.ErrMalformed},
		{"a huge top-k", with(`"num_experts": 16, "top_k_experts": 2147483648`), "top_k_experts", auxerrors.ErrTooLarge},
		{"more chosen than there are", with(`"num_experts": 16, "top_k_experts": 17`), "top_k_experts", auxerrors.ErrMismatch},
		{"top-k that contradict each other", with(`"num_experts": 16, "num_experts_per_tok": 4, "experts_per_token": 8`), "experts_per_token", auxerrors.ErrMismatch},
		{"rows beyond 2 GiB", `{"num_hidden_layers": 65536, "num_experts": 65536, "num_experts_per_tok": 65536, "num_key_value_heads": 1, "head_dim": 1}`, "row bytes", auxerrors.ErrTooLarge},

		{"dense layers not told", with(`"n_routed_experts": 16, "num_experts_per_tok": 4`), "first_k_dense_replace", model.ErrMissing},
		{"negative dense layers", small(`"first_k_dense_replace": -1`), "first_k_dense_replace", auxerrors.ErrTooSmall},
		{"more dense layers than layers", small(`"first_k_dense_replace": 13`), "first_k_dense_replace", auxerrors.ErrTooLarge},
		{"only dense layers", small(`"first_k_dense_replace": 12`), "first_k_dense_replace", auxerrors.ErrMismatch},
		{"a frequency of zero", small(`"moe_layer_freq": 0`), "moe_layer_freq", auxerrors.ErrTooSmall},
		{"a frequency as text", small(`"moe_layer_freq": "1"`), "moe_layer_freq", model.ErrMalformed},
		{"a frequency for too few layers", small(`"moe_layer_freq": [1]`), "moe_layer_freq", auxerrors.ErrMismatch},
		{"a frequency of twos", small(`"moe_layer_freq": ` + repeat(12, "2")), "moe_layer_freq", auxerrors.ErrTooLarge},
		{"a step of zero", small(`"decoder_sparse_step": 0`), "decoder_sparse_step", auxerrors.ErrTooSmall},
		{"a step beyond the layers", small(`"decoder_sparse_step": 13`), "decoder_sparse_step", auxerrors.ErrMismatch},
		{"a dense layer that is none", small(`"mlp_only_layers": [12]`), "mlp_only_layers", auxerrors.ErrOutOfRange},
		{"a dense layer before the first", small(`"mlp_only_layers": [-1]`), "mlp_only_layers", auxerrors.ErrTooSmall},
		{"dense layers that are no list", small(`"mlp_only_layers": 3`), "mlp_only_layers", model.ErrMalformed},
		{"rules for dense layers that disagree", small(`"first_k_dense_replace": 1, "decoder_sparse_step": 1`), "decoder_sparse_step", auxerrors.ErrMismatch},
		{"a kind of layer that is none", small(`"mlp_layer_types": ` + repeat(12, `"sparse"`, `7`)), "mlp_layer_types", model.ErrMalformed},
		{"kinds for too many layers", small(`"mlp_layer_types": ` + repeat(13, `"sparse"`)), "mlp_layer_types", auxerrors.ErrMismatch},
		{"a pattern of too few letters", small(`"hybrid_override_pattern": "ME*"`), "hybrid_override_pattern", auxerrors.ErrMismatch},
		{"a pattern of other letters", small(`"hybrid_override_pattern": "MEMEMEMEMEM?"`), "hybrid_override_pattern", model.ErrMalformed},
		{"a pattern without experts", small(`"hybrid_override_pattern": "M*M*M*M*M*M-"`), "hybrid_override_pattern", auxerrors.ErrMismatch},
		{"a pattern that is no text", small(`"hybrid_override_pattern": 7`), "hybrid_override_pattern", model.ErrMalformed},
		{"names for too few layers", small(`"layers_block_type": ["moe"]`), "layers_block_type", auxerrors.ErrMismatch},
		{"names that are not known", small(`"layers_block_type": ` + repeat(12, `"moe"`, `"hybrid"`)), "layers_block_type", model.ErrUnknown},
		{"names without experts", small(`"layers_block_type": ` + repeat(12, `"mamba"`, `"attention"`)), "layers_block_type", model.ErrUnknown},
		{"names that are no list", small(`"layers_block_type": "moe"`), "layers_block_type", model.ErrMalformed},
		{"names and letters that disagree", small(`"hybrid_override_pattern": "MEMEMEMEMEM*", "layers_block_type": ` + repeat(12, `"moe"`, `"mamba"`)), "layers_block_type", auxerrors.ErrMismatch},
		{"more first dense layers than layers", small(`"num_dense_layers": 13`), "num_dense_layers", auxerrors.ErrTooLarge},
		{"first dense layers as a list", small(`"num_dense_layers": [0]`), "num_dense_layers", model.ErrMalformed},
		{"only first dense layers", small(`"num_dense_layers": 12`), "num_dense_layers", auxerrors.ErrMismatch},
		{"first dense layers that disagree", small(`"num_dense_layers": 1, "first_k_dense_replace": 2`), "num_dense_layers", auxerrors.ErrMismatch},
		{"an interleaving of zero", small(`"interleave_moe_layer_step": 0`), "interleave_moe_layer_step", auxerrors.ErrTooSmall},
		{"an interleaving beyond the layers", small(`"interleave_moe_layer_step": 13`), "interleave_moe_layer_step", auxerrors.ErrMismatch},
		{"routers beyond the last layer", small(`"moe_layers": [12]`), "moe_layers", auxerrors.ErrOutOfRange},
		{"routers in half a layer", small(`"moe_layers": [1.5]`), "moe_layers", model.ErrMalformed},
		{"routers in no layer", small(`"moe_layers": []`), "moe_layers", auxerrors.ErrMismatch},
		{"routers in a text", small(`"moe_layers": "1,2"`), "moe_layers", model.ErrMalformed},
		{"experts that differ between layers", small(`"block_configs": []`), "block_configs", model.ErrUnknown},
		{"as many routers in other layers", small(`"interleave_moe_layer_step": 2, "moe_layer_freq": 2`), "interleave_moe_layer_step", auxerrors.ErrMismatch},
		{"routers placed in an unknown way", small(`"expert_layer_period": 2`), "expert_layer_period", model.ErrUnknown},

		{"no KV heads", `{"num_hidden_layers": 12, ` + full + `"head_dim": 8}`, "num_key_value_heads", model.ErrMissing},
		{"zero KV heads", `{"num_hidden_layers": 1, ` + full + `"num_key_value_heads": 0}`, "num_key_value_heads", auxerrors.ErrTooSmall},
		{"no size of a head", `{"num_hidden_layers": 12, ` + full + `"num_key_value_heads": 8}`, "head_dim", model.ErrMissing},
		{"no hidden size either", `{"num_hidden_layers": 12, ` + full + `"num_key_value_heads": 8, "num_attention_heads": 8}`, "head_dim", model.ErrMissing},
		{"heads that do not divide the hidden size", `{"num_hidden_layers": 12, ` + full + `"num_key_value_heads": 8, "num_attention_heads": 7, "hidden_size": 8}`, "hidden_size", auxerrors.ErrMismatch},
		{"value heads of size zero", small(`"v_head_dim": 0`), "v_head_dim", auxerrors.ErrTooSmall},
		{"a latent without a rotary part", small(`"kv_lora_rank": 512`), "qk_rope_head_dim", model.ErrMissing},
		{"a negative latent", small(`"kv_lora_rank": -512`), "kv_lora_rank", auxerrors.ErrTooSmall},
		{"an interval of zero", small(`"full_attention_interval": 0`), "full_attention_interval", auxerrors.ErrTooSmall},
		{"an interval beyond the layers", small(`"full_attention_interval": 13`), "full_attention_interval", auxerrors.ErrMismatch},
		{"no attention at all", small(`"layer_types": ` + repeat(12, `"conv"`)), "layer_types", auxerrors.ErrMismatch},
		{"attention that is no name", small(`"layer_types": ` + repeat(12, "7")), "layer_types", model.ErrMalformed},
		{"a kind that is not known and a bad interval", small(`"full_attention_interval": 0, "layer_types": ` + repeat(12, `"hybrid"`)), "full_attention_interval", auxerrors.ErrTooSmall},
		{"layers of attention beyond the last", small(`"full_attn_idxs": [12]`), "full_attn_idxs", auxerrors.ErrOutOfRange},
		{"layers of attention that are no list", small(`"full_attn_idxs": 7`), "full_attn_idxs", model.ErrMalformed},
		{"no layers of attention", small(`"full_attn_idxs": []`), "full_attn_idxs", auxerrors.ErrMismatch},
		{"groups of nothing", small(`"layer_group_size": 0`), "layer_group_size", auxerrors.ErrTooSmall},
		{"groups beyond an int64", small(`"layer_group_size": 99999999999999999999`), "layer_group_size", auxerrors.ErrTooLarge},
		{"groups as text", small(`"layer_group_size": "4"`), "layer_group_size", model.ErrMalformed},
		{"a global interval of zero", small(`"global_attn_every_n_layers": 0`), "global_attn_every_n_layers", auxerrors.ErrTooSmall},
		{"attention in too few layers", small(`"layer_types": ["full_attention"]`), "layer_types", auxerrors.ErrMismatch},
		{"attention of bits beyond 1", small(`"attn_type_list": ` + repeat(12, "2")), "attn_type_list", auxerrors.ErrTooLarge},
		{"bits for too few layers", small(`"attn_type_list": [1]`), "attn_type_list", auxerrors.ErrMismatch},
		{"rules for attention that disagree", small(`"full_attention_interval": 4, "layer_types": ` + repeat(12, `"full_attention"`)), "full_attention_interval", auxerrors.ErrMismatch},
		{"a window of zero", small(`"sliding_window": 0`), "sliding_window", auxerrors.ErrTooSmall},
		{"a use of windows that is neither", small(`"sliding_window": 1, "use_sliding_window": "no"`), "use_sliding_window", model.ErrMalformed},

		{"an unknown dtype", small(`"torch_dtype": "auto"`), "torch_dtype", model.ErrMalformed},
		{"dtypes that contradict each other", small(`"dtype": "float32", "torch_dtype": "bfloat16"`), "torch_dtype", auxerrors.ErrMismatch},
		{"a dtype inside and another outside", `{"dtype": "float32", "text_config": ` + small(`"dtype": "bfloat16"`) + `}`, "dtype", auxerrors.ErrMismatch},
		{"a dtype that is no text", small(`"dtype": 7`), "dtype", model.ErrMalformed},
		{"a long value", small(`"decoder_sparse_step": "` + strings.Repeat("é", 1000) + `"`), "decoder_sparse_step", model.ErrMalformed},
		{"a name that is no text", small(`"model_type": 7`), "model_type", model.ErrMalformed},
		{"a text_config that is no object", small(`"text_config": 7`), "text_config", model.ErrMalformed},
		{"a damaged text_config", small(`"text_config": {"num_experts": }`), "text_config", model.ErrMalformed},
		{"experts missing inside", `{"text_config": ` + with(`"num_experts_per_tok": 4`) + `}`, "text_config.num_experts", model.ErrMissing},
		{"experts inside and others outside", `{"num_local_experts": 8, "text_config": ` + small(`"x": 1`) + `}`, "num_local_experts", auxerrors.ErrMismatch},
		{"experts outside only", `{"num_local_experts": 8, "text_config": ` + with(`"num_experts_per_tok": 4`) + `}`, "num_local_experts", auxerrors.ErrMismatch},
		{"dense layers outside only", `{"first_k_dense_replace": 1, "text_config": ` + small(`"x": 1`) + `}`, "first_k_dense_replace", auxerrors.ErrMismatch},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := model.Parse([]byte(c.config))
			var config *auxerrors.ConfigError
			require.ErrorAs(t, err, &config)
			require.Equal(t, c.field, config.Field, err.Error())
			require.ErrorIs(t, err, c.reason)
			require.Less(t, len(err.Error()), 400)
			require.Zero(t, m)
		})
	}
}

func TestAnErrorTellsWhereANumberWasLookedFor(t *testing.T) {
	_, err := model.Parse([]byte(`{"text_config": {"num_hidden_layers": 4, "num_experts": 8}}`))
	require.EqualError(t, err, "auxoutput: text_config.num_experts_per_tok = absent: field is missing: "+
		"want the number of experts per token under num_experts_per_tok, top_k_experts, experts_per_token, num_experts_per_token")
	_, again := model.Parse([]byte(`{"text_config": {"num_hidden_layers": 4, "num_experts": 8}}`))
	require.Equal(t, err.Error(), again.Error())
}

// TestNumbersInAFileAllocateNothing gives the largest numbers that are accepted.
func TestNumbersInAFileAllocateNothing(t *testing.T) {
	config := []byte(`{"num_hidden_layers": 65536, "num_experts": 65536, "num_experts_per_tok": 1,
		"first_k_dense_replace": 65535, "num_key_value_heads": 2147483647, "head_dim": 2147483647, "full_attention_interval": 65536}`)
	m, err := model.Parse(config)
	require.NoError(t, err)
	require.Equal(t, 1, m.MoELayers)
	require.Less(t, testing.AllocsPerRun(10, func() { _, _ = model.Parse(config) }), 200.0)
	_, err = m.KVBytesPerToken(2, 1)
	require.ErrorIs(t, err, auxerrors.ErrTooLarge)
}

func TestImpossibleSetUpsOfAModelAreRefused(t *testing.T) {
	glm, err := model.Find("GLM-4.5")
	require.NoError(t, err)
	kimi, err := model.Find("Kimi-K2")
	require.NoError(t, err)
	attention := func(change func(*model.Attention)) model.Model {
		m := glm
		change(&m.Attention)
		return m
	}
	for _, c := range []struct {
		name             string
		model            model.Model
		itemBytes, ranks int
		reason           error
	}{
		{"no bytes per value", glm, 0, 1, auxerrors.ErrTooSmall},
		{"no bytes per value of a latent", kimi, 0, 1, auxerrors.ErrTooSmall},
		{"no ranks", glm, 2, 0, auxerrors.ErrTooSmall},
		{"no ranks for a latent", kimi, 2, 0, auxerrors.ErrTooSmall},
		{"ranks that do not divide the heads", glm, 2, 3, auxerrors.ErrMismatch},
		{"a model of nothing", model.Model{}, 2, 1, auxerrors.ErrTooSmall},
		{"a latent and heads", attention(func(a *model.Attention) { a.Latent = 512 }), 2, 1, auxerrors.ErrMismatch},
		{"negative layers", attention(func(a *model.Attention) { a.FullLayers = -1 }), 2, 1, auxerrors.ErrTooSmall},
		{"negative layers with a window", attention(func(a *model.Attention) { a.WindowLayers = -1 }), 2, 1, auxerrors.ErrTooSmall},
		{"endless heads", attention(func(a *model.Attention) { a.KVHeads, a.HeadK, a.HeadV = 1<<30, 1<<30, 1<<30 }), 1, 1, auxerrors.ErrTooLarge},
		{"no values in a head", attention(func(a *model.Attention) { a.HeadK = 0 }), 2, 1, auxerrors.ErrTooSmall},
		{"a layout that is not known", attention(func(a *model.Attention) { a.Unknown = "x" }), 2, 1, model.ErrUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.model.KVBytesPerToken(c.itemBytes, c.ranks)
			var config *auxerrors.ConfigError
			require.ErrorAs(t, err, &config)
			require.ErrorIs(t, err, c.reason)
			_, err = c.model.LayerTypes(c.itemBytes, c.ranks)
			require.ErrorIs(t, err, c.reason)
		})
	}
	_, err = model.Model{Layers: 4}.Profile(false)
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
}

// FuzzParse looks for files that panic, that are refused without a typed error, or that
// give a model which is none.
func FuzzParse(f *testing.F) {
	for _, config := range configs {
		f.Add([]byte(config))
	}
	f.Add([]byte(small(`"hybrid_override_pattern": "MEME*EMEM-ME"`)))
	for _, config := range []string{
		ling(42, 6, 2, 512), glm52("deepseek_sparse_attention"), kimi25(eightBitCache), llama4(2, 128, ""), lfm2(lfm2Kinds),
		afmoe(""), miniMaxM3, mimoV2, gemma4, laguna, blockNamed(nanoPattern, 128, 6),
		small(`"a": [NaN, -Infinity], "moe_layers": [1, 2], "full_attn_idxs": [3]`),
	} {
		f.Add([]byte(config))
	}
	f.Add([]byte(small(`"decoder_sparse_step": 2, "mlp_only_layers": [0, 1], "sliding_window": 4`)))
	f.Fuzz(func(t *testing.T, config []byte) {
		m, err := model.Parse(config)
		var typed *auxerrors.ConfigError
		if err != nil {
			if !errors.As(err, &typed) || typed.Reason == nil || typed.Field == "" {
				t.Fatalf("no typed error: %v", err)
			}
			return
		}
		if m.MoELayers < 1 || m.MoELayers > m.Layers {
			t.Fatalf("%d MoE layers of %d", m.MoELayers, m.Layers)
		}
		if m.KVItemBytes < 0 || m.KVItemBytes > 4 {
			t.Fatalf("%d bytes a cached value", m.KVItemBytes)
		}
		if layers, err := m.LayerMap(); err != nil || len(layers.MoE) != m.MoELayers || layers.All != m.Layers {
			t.Fatalf("no map of layers: %v", err)
		}
		for _, all := range []bool{false, true} {
			if _, err := m.Profile(all); err != nil {
				t.Fatal(err)
			}
		}
		a := m.Attention
		if a.Unknown == "" && a.FullLayers+a.WindowLayers+a.StateLayers > m.Layers {
			t.Fatal(fmt.Sprint("more layers than there are: ", a))
		}
		if kv, err := m.KVBytesPerToken(1, 1); err == nil && kv < 1 {
			t.Fatalf("%d bytes of KV cache", kv)
		} else if err != nil && !errors.As(err, &typed) {
			t.Fatalf("no typed error: %v", err)
		}
	})
}
