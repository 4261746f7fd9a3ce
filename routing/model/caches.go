package model

import (
	"fmt"
	"strings"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// foreignCaches are fields of families whose layers keep their KV cache in a way not
// known here: heads that differ between layers, compression, other hybrids.
var foreignCaches = []string{
	"linear_attn_config", "hybrid_layer_pattern", "swa_num_key_value_heads", "compress_ratios",
	"global_head_dim", "num_global_key_value_heads", "num_kv_shared_layers",
	"attn_layer_period", "attn_layer_indices",
}

// stateFields are fields of layers that keep a state. A file that has them must tell
// which layers they are.
var stateFields = []string{"linear_num_value_heads", "linear_conv_kernel_dim", "mamba_num_heads", "mamba_d_state"}

// caches is how many layers keep what, and the field that says so.
type caches struct {
	field               string // "" if no such field is given
	full, window, state int
}

// attention reads what the layers keep.
func (o object) attention(layers int) (Attention, error) {
	switch name, err := o.anyOf(foreignCaches...); {
	case err != nil:
		return Attention{}, err
	case name != "":
		return Attention{Unknown: o.place + name}, nil
	}
	found, unknown, err := o.caches(layers)
	if err != nil || unknown != "" {
		return Attention{Unknown: unknown}, err
	}
	a, err := o.heads()
	if err != nil {
		return Attention{}, err
	}
	a.FullLayers, a.WindowLayers, a.StateLayers = found.full, found.window, found.state
	return a, nil
}

// heads reads what one layer keeps of a token: a latent (DeepSeek's MLA), or keys and
// values for each head.
func (o object) heads() (a Attention, err error) {
	isLatent := false
	if a.Latent, isLatent, err = o.number("kv_lora_rank", anyNumber); err != nil {
		return Attention{}, err
	}
	if isLatent {
		a.Rope, _, err = o.required("the rotary part of the latent", anyNumber, "qk_rope_head_dim")
		return a, err
	}
	if a.KVHeads, _, err = o.required("the number of KV heads", anyNumber, "num_key_value_heads"); err != nil {
		return Attention{}, err
	}
	if a.HeadK, err = o.headDim(); err != nil {
		return Attention{}, err
	}
	valued := false
	if a.HeadV, valued, err = o.number("v_head_dim", anyNumber); err != nil {
		return Attention{}, err
	}
	if !valued {
		a.HeadV = a.HeadK
	}
	return a, nil
}

// headDim is head_dim or, in files that leave it out, the hidden size divided by the
// number of query heads.
func (o object) headDim() (int, error) {
	if dim, given, err := o.number("head_dim", anyNumber); err != nil || given {
		return dim, err
	}
	heads, given, err := o.number("num_attention_heads", anyNumber)
	if err != nil {
		return 0, err
	}
	if !given {
		return 0, o.missing("the values per head", "head_dim", "num_attention_heads with hidden_size")
	}
	hidden, given, err := o.number("hidden_size", anyNumber)
	switch {
	case err != nil:
		return 0, err
	case !given:
		return 0, o.missing("the values per head", "head_dim", "hidden_size with num_attention_heads")
	case hidden%heads != 0:
		return 0, contradiction(o.place+"hidden_size", hidden, fmt.Sprintf("a multiple of the %d heads, or a head_dim", heads))
	}
	return hidden / heads, nil
}

// caches counts the layers by what they keep. Every field that says something about it
// must come to the same numbers. unknown is a field that says it in a way not known
// here.
func (o object) caches(layers int) (found caches, unknown string, err error) {
	for _, read := range []func(object, int) (caches, error){
		object.listedAttention, object.fullInterval, object.listedBits, object.patternAttention,
	} {
		c, err := read(o, layers)
		switch {
		case err != nil:
			return caches{}, "", err
		case c.field == "":
		case found.field != "" && (c.full != found.full || c.window != found.window || c.state != found.state):
			return caches{}, "", contradiction(c.field, c.String(), fmt.Sprintf("the %v of %s", found, found.field))
		default:
			found = c
		}
	}
	switch {
	case found.field == "":
		return o.uniform(layers)
	case found.full+found.window == 0:
		return caches{}, "", contradiction(found.field, "no layer with attention", fmt.Sprintf("at least one of %d layers", layers))
	}
	return found, "", nil
}

// String is for errors.
func (c caches) String() string {
	return fmt.Sprintf("%d full, %d window and %d state layers", c.full, c.window, c.state)
}

// uniform is for files that tell no layers apart: all of them attend in full, or within
// sliding_window (Mistral's rule). Qwen's use_sliding_window means some of them.
func (o object) uniform(layers int) (found caches, unknown string, err error) {
	switch name, err := o.anyOf(stateFields...); {
	case err != nil:
		return caches{}, "", err
	case name != "":
		return caches{}, "", o.missing("the layers that keep a state", "layer_types", "full_attention_interval")
	}
	some, told, err := o.flag("use_sliding_window")
	if err != nil {
		return caches{}, "", err
	}
	_, windowed, err := o.number("sliding_window", anyNumber)
	if err != nil {
		return caches{}, "", err
	}
	chunked, err := o.anyOf("attention_chunk_size")
	switch {
	case err != nil:
		return caches{}, "", err
	case chunked != "":
		return caches{}, o.place + chunked, nil
	case windowed && some:
		return caches{}, o.place + "use_sliding_window", nil
	case windowed && !told:
		return caches{window: layers}, "", nil
	}
	return caches{full: layers}, "", nil
}

// listedAttention is a layer_types that names what every layer does.
func (o object) listedAttention(layers int) (caches, error) {
	const name = "layer_types"
	items, given, err := o.perLayer(name, layers)
	if err != nil || !given {
		return caches{}, err
	}
	c := caches{field: o.place + name}
	for _, item := range items {
		switch layerKind(item) {
		case "full_attention", "attention":
			c.full++
		case "sliding_attention", "chunked_attention":
			c.window++
		case "linear_attention", "mamba":
			c.state++
		default:
			return caches{}, &auxerrors.ConfigError{Field: c.field, Value: shorten(item), Want: "full, sliding, chunked or linear attention, or mamba", Reason: ErrUnknown}
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

// listedBits is MiniMax's attn_type_list: 1 for every layer that attends in full, 0
// for one that keeps a state.
func (o object) listedBits(layers int) (caches, error) {
	const name = "attn_type_list"
	items, given, err := o.perLayer(name, layers)
	if err != nil || !given {
		return caches{}, err
	}
	c := caches{field: o.place + name}
	for _, item := range items {
		bit, err := parseNumber(c.field, item, bounds{0, 1})
		if err != nil {
			return caches{}, err
		}
		c.full += bit
		c.state += 1 - bit
	}
	return c, nil
}

// patternAttention is Nemotron-H's string: see pattern.
func (o object) patternAttention(layers int) (caches, error) {
	pattern, err := o.pattern(layers)
	if err != nil || pattern == "" {
		return caches{}, err
	}
	return caches{
		field: o.place + fieldPattern,
		full:  strings.Count(pattern, "*"), state: strings.Count(pattern, "M"),
	}, nil
}
