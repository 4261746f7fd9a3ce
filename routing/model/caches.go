package model

import "fmt"

// foreignCaches are fields of families whose layers keep their KV cache in a way not
// known here: heads that differ between layers, compression, other hybrids.
var foreignCaches = []string{
	"linear_attn_config", "hybrid_layer_pattern", "swa_num_key_value_heads", "compress_ratios",
	"global_head_dim", "num_global_key_value_heads", "num_kv_shared_layers", "swa_head_dim", "num_key_value_heads_per_layer",
	"attn_layer_period", "attn_layer_indices",
}

// stateFields are fields of layers that keep a state. A file that has them must tell
// which layers they are.
var stateFields = []string{
	"linear_num_value_heads", "linear_conv_kernel_dim", "conv_L_cache",
	"mamba_num_heads", "mamba_n_heads", "mamba_d_state", "ssm_state_size",
}

// partialFields are fields of which uniform layers have none.
var partialFields = append([]string{"attention_chunk_size", "sliding_window_pattern"}, stateFields...)

// caches is how many layers keep what, and the field that says so.
type caches struct {
	field               string // "" if no such field is given
	full, window, state int
	unknown             bool // the field names something that is not known here
}

// attention reads what the layers keep.
func (o object) attention(layers int) (Attention, error) {
	switch name, err := o.anyOf(foreignCaches...); {
	case err != nil:
		return Attention{}, err
	case name != "":
		return Attention{Unknown: o.place + name}, nil
	}
	found, err := o.caches(layers)
	switch {
	case err != nil:
		return Attention{}, err
	case found.unknown:
		return Attention{Unknown: found.field}, nil
	}
	a, err := o.heads()
	if err != nil {
		return Attention{}, err
	}
	a.FullLayers, a.WindowLayers, a.StateLayers = found.full, found.window, found.state
	return a, nil
}

// caches counts the layers by what they keep. Every field that says something about it
// must come to the same numbers.
func (o object) caches(layers int) (caches, error) {
	var found caches
	for _, read := range cacheRules {
		c, err := read(o, layers)
		switch {
		case err != nil:
			return caches{}, err
		case c.field == "" || found.unknown:
		case c.unknown:
			found = c
		case found.field != "" && (c.full != found.full || c.window != found.window || c.state != found.state):
			return caches{}, contradiction(c.field, c.String(), fmt.Sprintf("the %v of %s", found, found.field))
		default:
			found = c
		}
	}
	switch {
	case found.field == "":
		return o.uniform(layers)
	case !found.unknown && found.full+found.window == 0:
		return caches{}, contradiction(found.field, "no layer with attention", fmt.Sprintf("at least one of %d layers", layers))
	}
	return found, nil
}

// String is for errors.
func (c caches) String() string {
	return fmt.Sprintf("%d full, %d window and %d state layers", c.full, c.window, c.state)
}

// uniform is for files that tell no layers apart: all of them attend in full, or within
// sliding_window (Mistral's rule). Qwen's use_sliding_window means some of them, as do
// fields of chunks, of patterns and of states.
func (o object) uniform(layers int) (caches, error) {
	some, told, err := o.flag("use_sliding_window")
	if err != nil {
		return caches{}, err
	}
	_, windowed, err := o.number("sliding_window", anyNumber)
	if err != nil {
		return caches{}, err
	}
	partial, err := o.anyOf(partialFields...)
	switch {
	case err != nil:
		return caches{}, err
	case partial != "":
		return caches{field: o.place + partial, unknown: true}, nil
	case windowed && some:
		return caches{field: o.place + "use_sliding_window", unknown: true}, nil
	case windowed && !told:
		return caches{window: layers}, nil
	}
	return caches{full: layers}, nil
}
