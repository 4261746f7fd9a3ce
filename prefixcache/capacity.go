package prefixcache

import (
	"fmt"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// maxLayers is far beyond any model and keeps the arithmetic small.
const maxLayers = 1 << 16

// LayerType is a set of layers of a model with equal KV caches. Layers that
// attend differently, in full and within a window, are two types even if their
// pages are of one size.
type LayerType struct {
	Layers int // of this type, on one rank
	Page   Page
}

// Plan is how an engine lays a model's KV cache out in blocks. It divides the
// layers into groups of equal size, each of one type; a block holds one page for
// every layer of one group, and serves any group. So a sequence needs blocks for
// each of them, and a block of tokens of a model with three groups takes up to
// three blocks.
type Plan struct {
	BlockTokens int   // tokens per block
	Groups      int   // groups of layers that share the pool
	GroupLayers int   // layers in the largest group
	PageBytes   int64 // bytes per block and layer, the same for all types
	BlockBytes  int64 // bytes per block: GroupLayers x PageBytes
}

// NewPlan lays out a model. Group size is the least number of layers among the
// types, unless the greatest is below 1.5 times that: then it is the greatest.
// Pages of different sizes are brought to the largest, by longer blocks or by
// padding. (Rules of vLLM's kv_cache_utils; they give the numbers of its logs.)
//
// No types, numbers that make no sense, sizes beyond an int64, and a block whose
// attention page is smaller than a state page, are an [auxerrors.ConfigError]; for
// the last see [State.BlockTokens].
func NewPlan(blockTokens int, types ...LayerType) (Plan, error) {
	plan := Plan{BlockTokens: blockTokens}
	if err := checkLeast(bound{"block tokens", blockTokens, 1}, bound{"layer types", len(types), 1}); err != nil {
		return Plan{}, err
	}
	state, attention := int64(0), int64(0)
	least, most := types[0].Layers, types[0].Layers
	for _, t := range types {
		if err := checkLeast(bound{"layers", t.Layers, 1}); err != nil {
			return Plan{}, err
		}
		if t.Layers > maxLayers {
			return Plan{}, &auxerrors.ConfigError{Field: "layers", Value: t.Layers, Want: fmt.Sprintf("at most %d", maxLayers), Reason: auxerrors.ErrTooLarge}
		}
		page, err := pageBytes(t.Page, blockTokens)
		if err != nil {
			return Plan{}, err
		}
		if _, ok := t.Page.(State); ok {
			state = max(state, page)
		} else {
			attention = max(attention, page)
		}
		least, most = min(least, t.Layers), max(most, t.Layers)
	}
	if attention > 0 && state > attention {
		return Plan{}, &auxerrors.ConfigError{Field: "block tokens", Value: blockTokens, Want: fmt.Sprintf("enough for a page of the %d bytes of state", state), Reason: auxerrors.ErrTooSmall}
	}
	plan.PageBytes = max(state, attention)
	plan.GroupLayers = least
	if most*2 < least*3 {
		plan.GroupLayers = most
	}
	for _, t := range types {
		plan.Groups += (t.Layers-1)/plan.GroupLayers + 1
	}
	block, err := product("block bytes", int64(plan.GroupLayers), 1, plan.PageBytes)
	if err != nil {
		return Plan{}, err
	}
	plan.BlockBytes = block
	return plan, nil
}

// Blocks is the number of blocks for which there is room in so many bytes of GPU
// memory, the null block included: vLLM's num_gpu_blocks. available is what
// weights, activations and graphs leave of the share that the engine may use, on
// the rank that has least.
//
// Room for less than 2 blocks or for more than [MaxBlocks] is an
// [auxerrors.ConfigError].
func (p Plan) Blocks(available int64) (int, error) {
	if p.BlockBytes < 1 {
		return 0, &auxerrors.ConfigError{Field: "block bytes", Value: p.BlockBytes, Want: "a plan made by NewPlan", Reason: auxerrors.ErrTooSmall}
	}
	blocks := available / p.BlockBytes
	switch {
	case blocks < 2:
		return 0, &auxerrors.ConfigError{Field: "available bytes", Value: available, Want: fmt.Sprintf("room for at least 2 blocks of %d bytes", p.BlockBytes), Reason: auxerrors.ErrTooSmall}
	case blocks > MaxBlocks:
		return 0, &auxerrors.ConfigError{Field: "available bytes", Value: available, Want: fmt.Sprintf("room for at most %d blocks of %d bytes", MaxBlocks, p.BlockBytes), Reason: auxerrors.ErrTooLarge}
	}
	return int(blocks), nil
}
