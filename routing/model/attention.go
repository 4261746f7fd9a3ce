package model

import (
	"math"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/prefixcache"
)

// Attention is what the KV cache of a model is made of. Either Latent and Rope are
// given, or KVHeads and HeadK. Caches that some engines keep beside it, such as that
// of a sparse attention's indexer, are not part of it.
type Attention struct {
	FullLayers   int // layers that keep every token
	WindowLayers int // layers that keep the last tokens: a sliding window or a chunk
	StateLayers  int // layers that keep a state of fixed size: Mamba, gated delta nets

	KVHeads int // key and value heads of a layer, of the whole model
	HeadK   int // values per key head
	HeadV   int // values per value head

	Latent int // multi-head latent attention: values of the latent, kv_lora_rank
	Rope   int // and of its rotary part, qk_rope_head_dim

	// Unknown names the field of config.json that fixes the layout, if the layout is
	// not known here or not at hand. All else is zero then.
	Unknown string
}

// KVBytesPerToken is the KV cache of one token on one rank, in bytes: of all layers
// that keep it, those with a window included, without the state of layers that keep a
// state. itemBytes is the width of a cached value (2 for bfloat16, 1 for fp8), ranks
// the size of tensor parallelism: heads are split evenly over ranks and repeated if
// there are more ranks than heads, a latent is kept in full by each. For the whole
// model ranks is 1.
//
// Numbers that make no sense together are an [auxerrors.ConfigError]; its Reason is
// [ErrUnknown] if the model's attention is not known.
func (m Model) KVBytesPerToken(itemBytes, ranks int) (int64, error) {
	_, bytes, err := m.Attention.page(itemBytes, ranks)
	return bytes, err
}

// LayerTypes is the model's KV cache as [prefixcache.NewPlan] takes it, on one of so
// many tensor-parallel ranks: the layers that attend in full, and those that attend
// within a window. Layers that keep a state are not among them: add a
// [prefixcache.State] for the StateLayers. Errors are those of KVBytesPerToken.
func (m Model) LayerTypes(itemBytes, ranks int) ([]prefixcache.LayerType, error) {
	page, _, err := m.Attention.page(itemBytes, ranks)
	if err != nil {
		return nil, err
	}
	var types []prefixcache.LayerType
	for _, layers := range []int{m.Attention.FullLayers, m.Attention.WindowLayers} {
		if layers > 0 {
			types = append(types, prefixcache.LayerType{Layers: layers, Page: page})
		}
	}
	return types, nil
}

// page is what one layer keeps on one rank, and the bytes of all layers for one token.
func (a Attention) page(itemBytes, ranks int) (page prefixcache.Page, bytes int64, err error) {
	switch {
	case a.Unknown != "":
		err = &auxerrors.ConfigError{Field: a.Unknown, Value: "not read", Want: "layers that attend in full, within a window, or keep a state", Reason: ErrUnknown}
	case a.FullLayers < 0:
		err = tooSmall("layers with full attention", a.FullLayers, 0)
	case a.WindowLayers < 0:
		err = tooSmall("layers with a window", a.WindowLayers, 0)
	case a.FullLayers == 0 && a.WindowLayers == 0:
		err = tooSmall("layers with a KV cache", 0, 1)
	case ranks < 1:
		err = tooSmall("ranks", ranks, 1)
	case a.Latent != 0 && a.KVHeads != 0:
		err = contradiction("KV heads", a.KVHeads, "none beside a latent")
	case a.Latent != 0:
		page = prefixcache.MLA{Rank: a.Latent, Rope: a.Rope, ItemBytes: itemBytes}
	default:
		var heads int
		heads, err = prefixcache.HeadsPerRank(a.KVHeads, ranks)
		page = prefixcache.GQA{Heads: heads, HeadK: a.HeadK, HeadV: a.HeadV, ItemBytes: itemBytes}
	}
	if err != nil {
		return nil, 0, err
	}
	if bytes, err = page.PageBytes(1); err != nil {
		return nil, 0, err
	}
	layers := int64(a.FullLayers) + int64(a.WindowLayers)
	if layers > math.MaxInt64/bytes {
		return nil, 0, &auxerrors.ConfigError{Field: "KV bytes a token", Value: "beyond an int64", Want: "fewer layers, heads or values", Reason: auxerrors.ErrTooLarge}
	}
	return page, layers * bytes, nil
}
