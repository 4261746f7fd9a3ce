package model

import (
	"encoding/json"
	"fmt"
	"strings"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

const fieldPattern = "hybrid_override_pattern"

// foreignRouters are fields of families that place routers in a way not known here.
var foreignRouters = []string{
	"interleave_moe_layer_step", "moe_layers", "moe_layers_enum", // Llama 4, Step
	"moe_layer_interval", "moe_layer_start_index", "moe_layer_frequency", // Ernie, Arctic
	"expert_layer_period", "expert_layer_offset", // Jamba
	"num_dense_layers", "first_last_k_dense_replace", "moe_layer_num_skipped", "is_moe_layer",
	"layers_block_type",
}

// routers is how many layers have one, and the field that says so.
type routers struct {
	field  string // "" if no such field is given
	layers int
}

// moeLayers counts the layers with a router. Every field that says something about it
// must come to the same number. A family without such a field has a router in every
// layer; one that calls its experts n_routed_experts always has dense layers to tell
// of, so there it is missing.
func (o object) moeLayers(layers int) (int, error) {
	switch name, err := o.anyOf(foreignRouters...); {
	case err != nil:
		return 0, err
	case name != "":
		return 0, &auxerrors.ConfigError{Field: o.place + name, Value: "given", Want: "a family that places its routers in a known way", Reason: ErrUnknown}
	}
	var found routers
	for _, read := range []func(object, int) (routers, error){
		object.afterFirstDense, object.listedFrequency, object.everyStep, object.listedTypes, object.patternRouters,
	} {
		r, err := read(o, layers)
		switch {
		case err != nil:
			return 0, err
		case r.field == "":
		case found.field != "" && r.layers != found.layers:
			return 0, contradiction(r.field, fmt.Sprintf("%d MoE layers", r.layers), fmt.Sprintf("the %d of %s", found.layers, found.field))
		default:
			found = r
		}
	}
	if found.field != "" {
		if found.layers == 0 {
			return 0, contradiction(found.field, "no MoE layer", fmt.Sprintf("at least one of %d layers", layers))
		}
		return found.layers, nil
	}
	if o.own("n_routed_experts") != nil {
		return 0, o.missing("the dense layers", "first_k_dense_replace", "moe_layer_freq", "mlp_layer_types")
	}
	return layers, nil
}

// afterFirstDense is DeepSeek's rule: a router in each moe_layer_freq-th layer, counted
// from 0, except among the first ones.
func (o object) afterFirstDense(layers int) (routers, error) {
	dense, given, err := o.number("first_k_dense_replace", bounds{0, layers})
	if err != nil {
		return routers{}, err
	}
	field, every := "first_k_dense_replace", 1
	switch value, err := o.raw("moe_layer_freq"); {
	case err != nil:
		return routers{}, err
	case value != nil && value[0] != '[':
		if every, err = parseNumber(o.place+"moe_layer_freq", value, bounds{1, MaxLayers}); err != nil {
			return routers{}, err
		}
		if !given {
			field = "moe_layer_freq"
		}
	case !given:
		return routers{}, nil
	}
	multiples := func(below int) int { return (below + every - 1) / every }
	return routers{o.place + field, multiples(layers) - multiples(dense)}, nil
}

// listedFrequency is a moe_layer_freq with a 1 for every layer that has a router.
func (o object) listedFrequency(layers int) (routers, error) {
	const name = "moe_layer_freq"
	if value, err := o.raw(name); err != nil || value == nil || value[0] != '[' {
		return routers{}, err
	}
	items, _, err := o.perLayer(name, layers)
	if err != nil {
		return routers{}, err
	}
	r := routers{field: o.place + name}
	for _, item := range items {
		bit, err := parseNumber(r.field, item, bounds{0, 1})
		if err != nil {
			return routers{}, err
		}
		r.layers += bit
	}
	return r, nil
}

// everyStep is Qwen's rule: a router in each decoder_sparse_step-th layer, counted from
// 1, except in those of mlp_only_layers.
func (o object) everyStep(layers int) (routers, error) {
	step, stepped, err := o.number("decoder_sparse_step", bounds{1, MaxLayers})
	if err != nil {
		return routers{}, err
	}
	dense, listed, err := o.list("mlp_only_layers")
	if err != nil {
		return routers{}, err
	}
	field := "decoder_sparse_step"
	switch {
	case !stepped && !listed:
		return routers{}, nil
	case !stepped:
		field, step = "mlp_only_layers", 1
	}
	r := routers{o.place + field, layers / step}
	seen := map[int]bool{}
	for _, item := range dense {
		index, err := parseNumber(o.place+"mlp_only_layers", item, bounds{0, MaxLayers})
		switch {
		case err != nil:
			return routers{}, err
		case index >= layers:
			return routers{}, outOfRange(o.place+"mlp_only_layers", item, layers)
		case !seen[index] && (index+1)%step == 0:
			r.layers--
		}
		seen[index] = true
	}
	return r, nil
}

// listedTypes is an mlp_layer_types that calls every layer dense or sparse.
func (o object) listedTypes(layers int) (routers, error) {
	const name = "mlp_layer_types"
	items, given, err := o.perLayer(name, layers)
	if err != nil || !given {
		return routers{}, err
	}
	r := routers{field: o.place + name}
	for _, item := range items {
		switch kind := layerKind(item); kind {
		case "sparse":
			r.layers++
		case "dense":
		default:
			return routers{}, malformed(r.field, shorten(item), "dense or sparse")
		}
	}
	return r, nil
}

// patternRouters is Nemotron-H's string of one letter a layer, E for experts.
func (o object) patternRouters(layers int) (routers, error) {
	pattern, err := o.pattern(layers)
	if err != nil || pattern == "" {
		return routers{}, err
	}
	return routers{o.place + fieldPattern, strings.Count(pattern, "E")}, nil
}

// pattern is Nemotron-H's string: M a Mamba layer, * attention, E experts, - a dense
// layer. "" if it is absent.
func (o object) pattern(layers int) (string, error) {
	pattern, err := o.text(fieldPattern)
	if err != nil || pattern == "" {
		return "", err
	}
	if len(pattern) != layers {
		return "", contradiction(o.place+fieldPattern, fmt.Sprintf("%d letters", len(pattern)), fmt.Sprintf("one for each of %d layers", layers))
	}
	if rest := strings.Trim(pattern, "M*E-"); rest != "" {
		return "", malformed(o.place+fieldPattern, shorten([]byte(rest)), "the letters M, *, E and -")
	}
	return pattern, nil
}

// layerKind is an item of a list of names, "" if it is no string.
func layerKind(item json.RawMessage) string {
	var kind string
	if json.Unmarshal(item, &kind) != nil {
		return ""
	}
	return kind
}
