package model

import (
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

	// ItemBytes is the width of the model's own dtype: 2 for bfloat16. The KV cache
	// has the same, unless the engine is told otherwise. 0 if it is not known.
	ItemBytes int

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

// WideRowBytes is one token's row as SGLang returns it: int32, all hidden layers.
func (m Model) WideRowBytes() int64 { return 4 * int64(m.Layers) * int64(m.TopK) }
