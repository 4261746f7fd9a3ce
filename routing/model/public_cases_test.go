package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/routing/model"
)

// Bugs that people met in public projects, as far as the shape of rows and their size
// follow from the model. Each name has the number of the case.

func TestPublicCase_PC_017_ATopKThatIsNotStatedIsNotGuessed(t *testing.T) {
	for name, tc := range map[string]struct {
		config string
		reason error
	}{
		"none":                  {with(`"num_experts": 16`), model.ErrMissing},
		"under an unknown name": {with(`"num_experts": 16, "moe_router_topk": 4`), model.ErrMissing},
		"of null":               {with(`"num_experts": 16, "num_experts_per_tok": null`), model.ErrMissing},
		"of zero":               {with(`"num_experts": 16, "num_experts_per_tok": 0`), auxerrors.ErrTooSmall},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := model.Parse([]byte(tc.config))
			require.ErrorIs(t, err, tc.reason)
			var config *auxerrors.ConfigError
			require.ErrorAs(t, err, &config)
			require.Equal(t, "num_experts_per_tok", config.Field)
		})
	}
	_, err := routing.NewProfile(48, 0, 128)
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
	_, err = model.Model{Layers: 48, MoELayers: 48, Experts: 128}.Profile(false)
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
}

func TestPublicCase_PC_065_TheSizeOfABatchIsKnownBeforeItIsSent(t *testing.T) {
	m, err := model.Find("GLM-4.7-Flash") // 47 layers, top-4
	require.NoError(t, err)
	profile, err := m.Profile(true)
	require.NoError(t, err)
	const tokens = int64(1536 * 32_768)
	require.Equal(t, int64(37_849_399_296), tokens*m.WideRowBytes(), "37.8 GB as int32")
	require.Equal(t, int64(9_462_349_824), tokens*int64(profile.RowBytes()), "9.5 GB as uint8")
}

// llama is the config.json of a dense model, Llama-3.1-8B.
const llama = `{
	"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
	"num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
	"num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072, "hidden_act": "silu"
}`

func TestPublicCase_PC_128_ADenseModelIsAnErrorThatSaysSo(t *testing.T) {
	m, err := model.Parse([]byte(llama))
	require.ErrorIs(t, err, model.ErrMissing)
	require.Zero(t, m)
	var config *auxerrors.ConfigError
	require.ErrorAs(t, err, &config)
	require.Equal(t, "num_experts", config.Field)
	require.ErrorContains(t, err, "a dense model has none, and no rows")
	// Nor does a model that nobody parsed give a profile to start anything with.
	_, err = model.Model{Name: "llama", Layers: 32}.Profile(true)
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
}
