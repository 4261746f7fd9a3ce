package model

import (
	"fmt"

	"github.com/auxoutput/auxoutput/routing"
)

// MaxLayers is the largest number of hidden layers that a config.json may state. It is
// far beyond any model and keeps the arithmetic small.
const MaxLayers = 1 << 16

// Model is what sizes depend on in a model.
type Model struct {
	Name      string // of a known model; the model_type of a parsed one
	Layers    int    // hidden layers, those without a router included
	MoELayers int    // layers with a router
	Experts   int    // routed experts a router chooses from; shared ones are not counted
	TopK      int    // experts chosen per token and layer

	// Dense lists the layers without a router, ascending and counted from 0. They are
	// Layers - MoELayers in number.
	Dense []int

	// ItemBytes is the width of the model's own dtype: 2 for bfloat16. 0 if it is not
	// known.
	ItemBytes int

	// KVItemBytes is the width of a value in the KV cache of an engine that is not
	// told another one (vLLM's --kv-cache-dtype auto): 1 if the checkpoint has its cache
	// in 8-bit floats, else ItemBytes. 0 if it is not known, or the checkpoint
	// quantises its cache in a way not known here.
	KVItemBytes int

	Attention Attention
}

// Profile is the shape of a row: of all hidden layers, or of the MoE layers only. Who
// sends which is told in docs/rl.md#how-many-layers-a-row-has. Numbers that are no
// profile are an [auxerrors.ConfigError].
func (m Model) Profile(allLayers bool) (routing.Profile, error) {
	if allLayers {
		return routing.NewProfile(m.Layers, m.TopK, m.Experts)
	}
	return routing.NewProfile(m.MoELayers, m.TopK, m.Experts)
}

// LayerMap relates rows of the MoE layers only to rows of all hidden layers. A model
// whose Dense does not list every layer without a router is an [auxerrors.ConfigError].
func (m Model) LayerMap() (routing.LayerMap, error) {
	switch {
	case m.Layers > MaxLayers:
		return routing.LayerMap{}, tooLarge("layers", m.Layers, MaxLayers)
	case m.MoELayers < 1:
		return routing.LayerMap{}, tooSmall("MoE layers", m.MoELayers, 1)
	case len(m.Dense) != m.Layers-m.MoELayers:
		return routing.LayerMap{}, contradiction("dense layers", len(m.Dense), fmt.Sprintf("the %d without a router", m.Layers-m.MoELayers))
	}
	moe, dense := make([]int, 0, m.MoELayers), m.Dense
	for layer := range m.Layers {
		if len(dense) > 0 && dense[0] == layer {
			dense = dense[1:]
			continue
		}
		moe = append(moe, layer)
	}
	if len(dense) > 0 {
		return routing.LayerMap{}, contradiction("dense layers", dense[0], fmt.Sprintf("ascending layers from 0 to %d", m.Layers-1))
	}
	return routing.NewLayerMap(m.Layers, moe)
}

// WideRowBytes is one token's row as SGLang returns it: int32, all hidden layers.
func (m Model) WideRowBytes() int64 { return 4 * int64(m.Layers) * int64(m.TopK) }
