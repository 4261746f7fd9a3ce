package model_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing/model"
)

func TestAConfigurationGivesWhatIsKnownByName(t *testing.T) {
	for _, want := range model.All() {
		t.Run(want.Name, func(t *testing.T) {
			got, err := model.Parse([]byte(configs[want.Name]))
			require.NoError(t, err)
			require.NotEmpty(t, got.Name)
			got.Name = want.Name
			require.Equal(t, want, got)
		})
	}
}

// with is a JSON object of the given fields behind those that every model needs.
func with(fields string) string {
	return `{"num_hidden_layers": 12, "num_key_value_heads": 2, "head_dim": 8, ` + fields + `}`
}

// small is with the experts in Mixtral's name, which says nothing of dense layers.
func small(fields string) string {
	return with(`"num_local_experts": 16, "num_experts_per_tok": 4, ` + fields)
}

func TestTopKHasMoreThanOneName(t *testing.T) {
	for _, name := range []string{"num_experts_per_tok", "top_k_experts", "experts_per_token", "num_experts_per_token"} {
		m, err := model.Parse([]byte(with(`"num_experts": 16, "` + name + `": 4`)))
		require.NoError(t, err, name)
		require.Equal(t, 4, m.TopK)
		require.Equal(t, 16, m.Experts)
	}
}

func TestRoutersAreCountedByTheFamilysRule(t *testing.T) {
	for _, c := range []struct {
		name, fields string
		want         int
	}{
		{"no rule is a router in each layer", `"x": 1`, 12},
		{"the first layers are dense", `"first_k_dense_replace": 3`, 9},
		{"no layer is dense", `"first_k_dense_replace": 0`, 12},
		{"every second layer, counted from 0", `"moe_layer_freq": 2`, 6},
		{"every fifth layer, the last a router", `"moe_layer_freq": 5`, 3},
		{"every fifth layer behind the first dense one", `"first_k_dense_replace": 1, "moe_layer_freq": 5`, 2},
		{"a list of layers", `"moe_layer_freq": [0, 1,1,1, 1,1,1 ,1,1,1,1,1 ]`, 11},
		{"a list that agrees with the first layers", `"first_k_dense_replace": 1, "moe_layer_freq": [0,1,1,1,1,1,1,1,1,1,1,1]`, 11},
		{"every second layer, counted from 1", `"decoder_sparse_step": 2`, 6},
		{"every fifth layer, counted from 1", `"decoder_sparse_step": 5`, 2},
		{"some layers are dense", `"mlp_only_layers": [0, 11, 0]`, 10},
		{"a dense layer between the steps counts once", `"decoder_sparse_step": 2, "mlp_only_layers": [0, 1]`, 5},
		{"layers by name", `"mlp_layer_types": ` + repeat(12, `"dense"`, `"sparse"`, `"sparse"`), 8},
		{"a pattern of letters", `"hybrid_override_pattern": "MEME*EMEM-ME"`, 5},
		{"a pattern of names", `"layers_block_type": ` + repeat(12, `"mamba"`, `"moe"`, `"attention"`, `"mlp"`), 3},
		{"the first layers are dense, by another name", `"num_dense_layers": 3`, 9},
		{"both names alike", `"num_dense_layers": 3, "first_k_dense_replace": 3`, 9},
		{"every second layer, counted from 1, by another name", `"interleave_moe_layer_step": 2`, 6},
		{"layers by number", `"moe_layers": [0, 5, 11, 5]`, 3},
		{"layers by number and by name", `"moe_layers": [1, 3, 5, 7, 9, 11], "mlp_layer_types": ` + repeat(12, `"dense"`, `"sparse"`), 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := model.Parse([]byte(small(c.fields)))
			require.NoError(t, err)
			require.Equal(t, c.want, m.MoELayers)
			require.Equal(t, 12, m.Layers)
		})
	}
}

func TestCachesAreCountedByTheFamilysRule(t *testing.T) {
	for _, c := range []struct {
		name, fields        string
		full, window, state int
		unknown             string
	}{
		{"no rule is attention in full", `"x": 1`, 12, 0, 0, ""},
		{"a window for all", `"sliding_window": 128`, 0, 12, 0, ""},
		{"a window that is not used", `"sliding_window": 128, "use_sliding_window": false`, 12, 0, 0, ""},
		{"a window for some", `"sliding_window": 128, "use_sliding_window": true`, 0, 0, 0, "use_sliding_window"},
		{"chunks for some", `"attention_chunk_size": 8192`, 0, 0, 0, "attention_chunk_size"},
		{"layers by name", `"layer_types": ` + repeat(12, `"full_attention"`, `"sliding_attention"`, `"mamba"`), 4, 4, 4, ""},
		{"an interval", `"full_attention_interval": 5`, 2, 0, 10, ""},
		{"an interval and layers by name", `"full_attention_interval": 2, "layer_types": ` + repeat(12, `"linear_attention"`, `"full_attention"`), 6, 0, 6, ""},
		{"a list of bits", `"attn_type_list": ` + repeat(12, "0", "0", "1"), 4, 0, 8, ""},
		{"a pattern of letters", `"hybrid_override_pattern": "MEME*EMEM-ME"`, 1, 0, 5, ""},
		{"a pattern of names", `"layers_block_type": ` + repeat(12, `"mamba"`, `"moe"`, `"attention"`, `"moe"`), 3, 0, 3, ""},
		{"an interval of full layers among windows", `"sliding_window": 8, "global_attn_every_n_layers": 5`, 2, 10, 0, ""},
		{"groups and a tail", `"layer_group_size": 5`, 4, 0, 8, ""},
		{"layers by number", `"full_attn_idxs": [0, 5, 5]`, 2, 0, 10, ""},
		{"convolutions", `"layer_types": ` + repeat(12, `"conv"`, `"full_attention"`), 6, 0, 6, ""},
		{"a kind that is not known", `"layer_types": ` + repeat(12, `"full_attention"`, `"hybrid"`), 0, 0, 0, "layer_types"},
		{"a kind that is not known, and an interval", `"full_attention_interval": 4, "layer_types": ` + repeat(12, `"hybrid"`), 0, 0, 0, "layer_types"},
		{"windows in a pattern", `"sliding_window": 8, "sliding_window_pattern": "LLLG"`, 0, 0, 0, "sliding_window_pattern"},
		{"states in layers that are not told", `"linear_num_value_heads": 32`, 0, 0, 0, "linear_num_value_heads"},
		{"heads that differ between layers", `"hybrid_layer_pattern": [0]`, 0, 0, 0, "hybrid_layer_pattern"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := model.Parse([]byte(small(c.fields)))
			require.NoError(t, err)
			a := m.Attention
			require.Equal(t, []int{c.full, c.window, c.state}, []int{a.FullLayers, a.WindowLayers, a.StateLayers})
			require.Equal(t, c.unknown, a.Unknown)
			kv, err := m.KVBytesPerToken(2, 1)
			if c.unknown != "" {
				require.ErrorIs(t, err, model.ErrUnknown)
				require.ErrorContains(t, err, c.unknown)
				_, err := m.Profile(false)
				require.NoError(t, err, "it is good for rows")
				return
			}
			require.NoError(t, err)
			require.Equal(t, int64(c.full+c.window)*2*(8+8)*2, kv)
		})
	}
}

func TestHeadsAreReadOrDerived(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		k, v   int
	}{
		"stated":               {small(`"v_head_dim": null`), 8, 8},
		"of different size":    {small(`"v_head_dim": 6`), 8, 6},
		"from the hidden size": {strings.Replace(small(`"hidden_size": 96, "num_attention_heads": 8`), `"head_dim": 8, `, "", 1), 12, 12},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := model.Parse([]byte(c.config))
			require.NoError(t, err)
			require.Equal(t, 2, m.Attention.KVHeads)
			require.Equal(t, []int{c.k, c.v}, []int{m.Attention.HeadK, m.Attention.HeadV})
		})
	}
}

func TestTheDTypeIsTheModelsOwn(t *testing.T) {
	for fields, want := range map[string]int{
		`"x": null`:                0,
		`"torch_dtype": "float32"`: 4,
		`"dtype": "bfloat16"`:      2,
		`"dtype": "bfloat16", "torch_dtype": "bfloat16"`: 2,
		`"torch_dtype": "float8_e4m3fn"`:                 1,
	} {
		m, err := model.Parse([]byte(small(fields)))
		require.NoError(t, err, fields)
		require.Equal(t, want, m.ItemBytes, fields)
	}
}

func TestANestedConfigurationIsReadFromInside(t *testing.T) {
	inner := small(`"first_k_dense_replace": 2, "model_type": "inner"`)
	for name, config := range map[string]string{
		"alone":                    `{"text_config": ` + inner + `}`,
		"repeated outside":         `{"num_hidden_layers": 12, "num_local_experts": 16, "text_config": ` + inner + `}`,
		"null outside":             `{"num_hidden_layers": null, "text_config": ` + inner + `}`,
		"beside another":           `{"vision_config": {"num_hidden_layers": 99}, "text_config": ` + inner + `}`,
		"in a list spaced apart":   `{"layer_types": [  ` + strings.Repeat(`"full_attention",  `, 11) + `"full_attention"], "text_config": ` + small(`"first_k_dense_replace": 2, "layer_types": `+repeat(12, `"full_attention"`)) + `}`,
		"a text_config of nothing": strings.Replace(inner, "{", `{"text_config": null, `, 1),
	} {
		t.Run(name, func(t *testing.T) {
			m, err := model.Parse([]byte(config))
			require.NoError(t, err)
			require.Equal(t, 10, m.MoELayers)
			require.Equal(t, 12, m.Attention.FullLayers)
		})
	}
}

// TestAFieldOutsideOnlyIsRefused has a text_config that lacks the field: a family's
// default would hold inside, and the object around it says something else.
func TestAFieldOutsideOnlyIsRefused(t *testing.T) {
	inner := `{"num_hidden_layers": 12, "num_local_experts": 16, "num_experts_per_tok": 4, "num_key_value_heads": 2`
	for inner, fields := range map[string][]string{
		inner + `}`: {
			"num_experts", "top_k_experts", "experts_per_token", "head_dim", "num_attention_heads",
			"moe_layer_freq", "decoder_sparse_step", "mlp_only_layers", "mlp_layer_types", "hybrid_override_pattern",
			"kv_lora_rank", "layer_types", "full_attention_interval", "attn_type_list", "sliding_window",
			"use_sliding_window", "attention_chunk_size", "linear_num_value_heads", "moe_layer_interval", "compress_ratios",
		},
		inner + `, "num_attention_heads": 4}`: {"hidden_size"},
		inner + `, "head_dim": 8}`:            {"v_head_dim", "n_routed_experts"},
		inner + `, "kv_lora_rank": 8}`:        {"qk_rope_head_dim"},
	} {
		for _, field := range fields {
			_, err := model.Parse([]byte(`{"` + field + `": 1, "text_config": ` + inner + `}`))
			var config *auxerrors.ConfigError
			require.ErrorAs(t, err, &config, field)
			require.ErrorIs(t, err, auxerrors.ErrMismatch)
			require.Equal(t, field, config.Field)
		}
	}
}
