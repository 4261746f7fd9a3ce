package model

import (
	"fmt"
	"slices"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// foreignRouters are fields of families that place routers in a way not known here.
var foreignRouters = []string{
	"moe_layers_enum",                                                    // Step
	"moe_layer_interval", "moe_layer_start_index", "moe_layer_frequency", // Ernie, Arctic
	"expert_layer_period", "expert_layer_offset", // Jamba
	"first_last_k_dense_replace", "moe_layer_num_skipped", "is_moe_layer",
	"block_configs", // pruned models, whose experts differ between layers
}

// routers are the layers that have one, and the field that says so.
type routers struct {
	field string // "" if no such field is given
	at    []bool // by layer
}

// routersAt asks a rule for each layer.
func routersAt(field string, layers int, has func(layer int) bool) routers {
	r := routers{field, make([]bool, layers)}
	for layer := range r.at {
		r.at[layer] = has(layer)
	}
	return r
}

func (r routers) count() int { return countTrue(r.at) }

// denseLayers lists the layers without a router. Every field that says something about
// them must come to the same layers. A family without such a field has a router in
// every layer; one that calls its experts n_routed_experts always has dense layers to
// tell of, so there it is missing.
func (o object) denseLayers(layers int) ([]int, error) {
	if err := o.refuseForeignRouters(); err != nil {
		return nil, err
	}
	var found routers
	for _, read := range routerRules {
		r, err := read(o, layers)
		switch {
		case err != nil:
			return nil, err
		case r.field == "":
		case found.field != "" && !slices.Equal(r.at, found.at):
			return nil, contradiction(r.field, r.besides(found), fmt.Sprintf("the %d of %s", found.count(), found.field))
		default:
			found = r
		}
	}
	switch {
	case found.field == "" && o.own("n_routed_experts") != nil:
		return nil, o.missing("the dense layers", "first_k_dense_replace", "moe_layer_freq", "mlp_layer_types")
	case found.field == "":
		return nil, nil
	case found.count() == 0:
		return nil, contradiction(found.field, "no MoE layer", fmt.Sprintf("at least one of %d layers", layers))
	}
	if found.count() == layers {
		return nil, nil
	}
	dense := make([]int, 0, layers-found.count())
	for layer, has := range found.at {
		if !has {
			dense = append(dense, layer)
		}
	}
	return dense, nil
}

// besides describes r by the first layer in which it differs from other.
func (r routers) besides(other routers) string {
	layer, not := 0, ""
	for r.at[layer] == other.at[layer] {
		layer++
	}
	if !r.at[layer] {
		not = "not "
	}
	return fmt.Sprintf("%d MoE layers, layer %d %samong them", r.count(), layer, not)
}

// refuseForeignRouters refuses a file whose routers are not where the rules of this
// package would look for them.
func (o object) refuseForeignRouters() error {
	switch name, err := o.anyOf(foreignRouters...); {
	case err != nil:
		return err
	case name != "":
		return &auxerrors.ConfigError{Field: o.place + name, Value: "given", Want: "a family that places its routers in a known way", Reason: ErrUnknown}
	}
	// A list of what layers attend to may name layers that do not attend at all, but
	// consist of experts.
	items, _, err := o.list(fieldLayerTypes)
	if err != nil {
		return err
	}
	for _, item := range items {
		switch layerKind(item) {
		case "moe", "mlp", "sparse", "dense":
			return &auxerrors.ConfigError{Field: o.place + fieldLayerTypes, Value: shorten(item), Want: "kinds of attention", Reason: ErrUnknown}
		}
	}
	return nil
}
