package model

import "strings"

const fieldLayerTypes = "layer_types"

// cacheRules are the families' ways to say what each layer keeps.
var cacheRules = []func(o object, layers int) (caches, error){
	object.listedAttention, object.fullInterval, object.globalInterval, object.layerGroups,
	object.listedFull, object.listedBits, object.patternAttention, object.blockAttention,
}

// listedAttention is a layer_types that names what every layer does. DeepSeek's sparse
// attention reads some of the tokens, and keeps all of them.
func (o object) listedAttention(layers int) (caches, error) {
	items, given, err := o.perLayer(fieldLayerTypes, layers)
	if err != nil || !given {
		return caches{}, err
	}
	c := caches{field: o.place + fieldLayerTypes}
	for _, item := range items {
		switch layerKind(item) {
		case "full_attention", "attention", "deepseek_sparse_attention":
			c.full++
		case "sliding_attention", "chunked_attention":
			c.window++
		case "linear_attention", "mamba", "conv":
			c.state++
		case "":
			return caches{}, malformed(c.field, shorten(item), "the name of a kind of attention")
		default:
			c.unknown = true
		}
	}
	return c, nil
}

// fullInterval is Qwen3-Next's rule: each full_attention_interval-th layer, counted
// from 1, attends in full, the others keep a state.
func (o object) fullInterval(layers int) (caches, error) {
	const name = "full_attention_interval"
	interval, given, err := o.number(name, bounds{1, MaxLayers})
	if err != nil || !given {
		return caches{}, err
	}
	full := layers / interval
	return caches{field: o.place + name, full: full, state: layers - full}, nil
}

// globalInterval is AFMoE's rule: each global_attn_every_n_layers-th layer, counted
// from 1, attends in full, the others within a window.
func (o object) globalInterval(layers int) (caches, error) {
	const name = "global_attn_every_n_layers"
	interval, given, err := o.number(name, bounds{1, MaxLayers})
	if err != nil || !given {
		return caches{}, err
	}
	full := layers / interval
	return caches{field: o.place + name, full: full, window: layers - full}, nil
}

// layerGroups is the rule of Ling's hybrids: the last layer of each group of
// layer_group_size attends in full, as do those behind the last whole group. The
// others keep a state.
func (o object) layerGroups(layers int) (caches, error) {
	const name = "layer_group_size"
	size, given, err := o.number(name, bounds{1, MaxLayers})
	if err != nil || !given {
		return caches{}, err
	}
	full := layers/size + layers%size
	return caches{field: o.place + name, full: full, state: layers - full}, nil
}

// listedFull is LFM2's list of the layers that attend in full. The others keep a state.
func (o object) listedFull(layers int) (caches, error) {
	const name = "full_attn_idxs"
	at, given, err := o.layerIndices(name, layers)
	if err != nil || !given {
		return caches{}, err
	}
	return o.cachesAt(name, at), nil
}

// listedBits is MiniMax's attn_type_list: 1 for every layer that attends in full, 0
// for one that keeps a state.
func (o object) listedBits(layers int) (caches, error) {
	const name = "attn_type_list"
	at, given, err := o.bits(name, layers)
	if err != nil || !given {
		return caches{}, err
	}
	return o.cachesAt(name, at), nil
}

// cachesAt counts the layers that attend in full and those that keep a state.
func (o object) cachesAt(name string, full []bool) caches {
	n := countTrue(full)
	return caches{field: o.place + name, full: n, state: len(full) - n}
}

// patternAttention and blockAttention read Nemotron-H's two ways to name what each
// layer is.
func (o object) patternAttention(layers int) (caches, error) {
	pattern, err := o.pattern(layers)
	return o.cachesOf(fieldPattern, pattern, err)
}

func (o object) blockAttention(layers int) (caches, error) {
	pattern, err := o.blockTypes(layers)
	return o.cachesOf(fieldBlockTypes, pattern, err)
}

func (o object) cachesOf(field, pattern string, err error) (caches, error) {
	if err != nil || pattern == "" {
		return caches{}, err
	}
	return caches{
		field: o.place + field,
		full:  strings.Count(pattern, "*"), state: strings.Count(pattern, "M"),
	}, nil
}
