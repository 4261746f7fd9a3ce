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

// firstDense is a model in bfloat16 whose layers all have a router, except the first.
func firstDense(name string, layers, moe, experts, topK int, attention Attention) Model {
	m := Model{
		Name: name, Layers: layers, MoELayers: moe, Experts: experts, TopK: topK,
		ItemBytes: bfloat16, KVItemBytes: bfloat16, Attention: attention,
	}
	for layer := range layers - moe {
		m.Dense = append(m.Dense, layer)
	}
	return m
}

// lettered is a model in bfloat16 with a pattern of Nemotron-H.
func lettered(name, pattern string, experts, topK int, attention Attention) Model {
	attention.FullLayers, attention.StateLayers = strings.Count(pattern, "*"), strings.Count(pattern, "M")
	m := firstDense(name, len(pattern), len(pattern), experts, topK, attention)
	for layer, letter := range pattern {
		if letter != 'E' {
			m.Dense = append(m.Dense, layer)
		}
	}
	m.MoELayers -= len(m.Dense)
	return m
}

const nemotronSuper = "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"

// known has the models in order of their rows' size, MoE layers only. Layers, experts
// and heads are those of the models' public configurations; Qwen3-Next and Qwen3.5 are
// taken to have full attention in one layer of four.
var known = []Model{
	firstDense("Mixtral-8x7B", 32, 32, 8, 2, grouped(32, 8)),
	firstDense("gpt-oss-20b", 24, 24, 32, 4, alternating(24)),
	firstDense("Mixtral-8x22B", 56, 56, 8, 2, grouped(56, 8)),
	firstDense("gpt-oss-120b", 36, 36, 128, 4, alternating(36)),
	firstDense("Moonlight-16B", 27, 26, 64, 6, latent(27)),
	firstDense("DeepSeek-V2-Lite", 27, 26, 64, 6, latent(27)),
	firstDense("GLM-4.7-Flash", 47, 46, 64, 4, latent(47)),
	firstDense("Qwen3.5-35B-A3B", 40, 40, 256, 8, oneInFour(40)),
	firstDense("GLM-4.5-Air", 46, 45, 128, 8, grouped(46, 8)),
	firstDense("Qwen3-30B-A3B", 48, 48, 128, 8, grouped(48, 4)),
	firstDense("DeepSeek-V3", 61, 58, 256, 8, latent(61)),
	firstDense("DeepSeek-R1", 61, 58, 256, 8, latent(61)),
	firstDense("MiniMax-M2", 62, 62, 256, 8, grouped(62, 8)),
	firstDense("GLM-5", 78, 75, 256, 8, latent(78)),
	firstDense("GLM-4.5", 92, 89, 160, 8, grouped(92, 8)),
	firstDense("Qwen3-235B-A22B", 94, 94, 128, 8, grouped(94, 4)),
	firstDense("Qwen3-Next-80B-A3B", 48, 48, 512, 10, oneInFour(48)),
	firstDense("Kimi-K2", 61, 60, 384, 8, latent(61)),
	lettered("Nemotron-3-Super", nemotronSuper, 512, 22, Attention{KVHeads: 2, HeadK: 128, HeadV: 128}),
}

// All lists the known models, those with the smallest rows first.
func All() []Model {
	all := slices.Clone(known)
	for i := range all {
		all[i].Dense = slices.Clone(all[i].Dense)
	}
	return all
}

// Find finds a known model by its name, upper and lower case alike. An unknown name is
// an [auxerrors.ConfigError] that lists the known ones.
func Find(name string) (Model, error) {
	names := make([]string, len(known))
	for i, m := range known {
		if strings.EqualFold(m.Name, name) {
			m.Dense = slices.Clone(m.Dense)
			return m, nil
		}
		names[i] = m.Name
	}
	return Model{}, &auxerrors.ConfigError{
		Field: "model", Value: strconv.Quote(name),
		Want: "one of " + strings.Join(names, ", "), Reason: auxerrors.ErrMismatch,
	}
}
