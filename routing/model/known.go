package model

import (
	"slices"
	"strconv"
	"strings"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

const bfloat16 = 2 // bytes

// Attention of full layers only: grouped-query heads with 128 values each, and the
// latent that DeepSeek's models share.
func grouped(layers, heads int) Attention {
	return Attention{FullLayers: layers, KVHeads: heads, HeadK: 128, HeadV: 128}
}

func latent(layers int) Attention {
	return Attention{FullLayers: layers, Latent: 512, Rope: 64}
}

// Layers with a window alternate with full ones; one layer in four attends in full, the
// others keep a state.
func alternating(layers int) Attention {
	return Attention{FullLayers: layers / 2, WindowLayers: layers / 2, KVHeads: 8, HeadK: 64, HeadV: 64}
}

func oneInFour(layers int) Attention {
	return Attention{FullLayers: layers / 4, StateLayers: layers - layers/4, KVHeads: 2, HeadK: 256, HeadV: 256}
}

// known has the models in order of their rows' size, MoE layers only. Layers, experts
// and heads are those of the models' public configurations; Qwen3-Next and Qwen3.5 are
// taken to have full attention in one layer of four, and Nemotron's 40 MoE layers are
// the number in vLLM's own example.
var known = []Model{
	{"Mixtral-8x7B", 32, 32, 8, 2, bfloat16, grouped(32, 8)},
	{"gpt-oss-20b", 24, 24, 32, 4, bfloat16, alternating(24)},
	{"Mixtral-8x22B", 56, 56, 8, 2, bfloat16, grouped(56, 8)},
	{"gpt-oss-120b", 36, 36, 128, 4, bfloat16, alternating(36)},
	{"Moonlight-16B", 27, 26, 64, 6, bfloat16, latent(27)},
	{"DeepSeek-V2-Lite", 27, 26, 64, 6, bfloat16, latent(27)},
	{"GLM-4.7-Flash", 47, 46, 64, 4, bfloat16, latent(47)},
	{"Qwen3.5-35B-A3B", 40, 40, 256, 8, bfloat16, oneInFour(40)},
	{"GLM-4.5-Air", 46, 45, 128, 8, bfloat16, grouped(46, 8)},
	{"Qwen3-30B-A3B", 48, 48, 128, 8, bfloat16, grouped(48, 4)},
	{"DeepSeek-V3", 61, 58, 256, 8, bfloat16, latent(61)},
	{"DeepSeek-R1", 61, 58, 256, 8, bfloat16, latent(61)},
	{"MiniMax-M2", 62, 62, 256, 8, bfloat16, grouped(62, 8)},
	{"GLM-5", 78, 75, 256, 8, bfloat16, latent(78)},
	{"GLM-4.5", 92, 89, 160, 8, bfloat16, grouped(92, 8)},
	{"Qwen3-235B-A22B", 94, 94, 128, 8, bfloat16, grouped(94, 4)},
	{"Qwen3-Next-80B-A3B", 48, 48, 512, 10, bfloat16, oneInFour(48)},
	{"Kimi-K2", 61, 60, 384, 8, bfloat16, latent(61)},
	{"Nemotron-3-Super", 88, 40, 512, 22, bfloat16, Attention{Unknown: fieldPattern}},
}

// All lists the known models, those with the smallest rows first.
func All() []Model { return slices.Clone(known) }

// Find finds a known model by its name, upper and lower case alike. An unknown name is
// an [auxerrors.ConfigError] that lists the known ones.
func Find(name string) (Model, error) {
	names := make([]string, len(known))
	for i, m := range known {
		if strings.EqualFold(m.Name, name) {
			return m, nil
		}
		names[i] = m.Name
	}
	return Model{}, &auxerrors.ConfigError{
		Field: "model", Value: strconv.Quote(name),
		Want: "one of " + strings.Join(names, ", "), Reason: auxerrors.ErrMismatch,
	}
}
