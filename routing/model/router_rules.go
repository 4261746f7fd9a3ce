package model

// routerRules are the families' ways to say which layers have a router.
var routerRules = []func(o object, layers int) (routers, error){
	object.afterFirstDense, object.numDense, object.listedFrequency, object.everyStep,
	object.interleaved, object.listedLayers, object.listedTypes, object.patternRouters,
	object.blockRouters,
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
	return routersAt(o.place+field, layers, func(layer int) bool { return layer >= dense && layer%every == 0 }), nil
}

// numDense is the rule of LFM2-MoE and AFMoE: the first num_dense_layers have none.
func (o object) numDense(layers int) (routers, error) {
	const name = "num_dense_layers"
	dense, given, err := o.number(name, bounds{0, layers})
	if err != nil || !given {
		return routers{}, err
	}
	return routersAt(o.place+name, layers, func(layer int) bool { return layer >= dense }), nil
}

// listedFrequency is a moe_layer_freq with a 1 for every layer that has a router.
func (o object) listedFrequency(layers int) (routers, error) {
	const name = "moe_layer_freq"
	if value, err := o.raw(name); err != nil || value == nil || value[0] != '[' {
		return routers{}, err
	}
	at, _, err := o.bits(name, layers)
	if err != nil {
		return routers{}, err
	}
	return routers{o.place + name, at}, nil
}

// everyStep is Qwen's rule: a router in each decoder_sparse_step-th layer, counted from
// 1, except in those of mlp_only_layers.
func (o object) everyStep(layers int) (routers, error) {
	step, stepped, err := o.number("decoder_sparse_step", bounds{1, MaxLayers})
	if err != nil {
		return routers{}, err
	}
	dense, listed, err := o.layerIndices("mlp_only_layers", layers)
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
	return routersAt(o.place+field, layers, func(layer int) bool {
		return (layer+1)%step == 0 && !(listed && dense[layer])
	}), nil
}

// interleaved is Llama 4's rule: a router in each interleave_moe_layer_step-th layer,
// counted from 1.
func (o object) interleaved(layers int) (routers, error) {
	const name = "interleave_moe_layer_step"
	step, given, err := o.number(name, bounds{1, MaxLayers})
	if err != nil || !given {
		return routers{}, err
	}
	return routersAt(o.place+name, layers, func(layer int) bool { return (layer+1)%step == 0 }), nil
}

// listedLayers is Llama 4's list of the layers that have a router.
func (o object) listedLayers(layers int) (routers, error) {
	const name = "moe_layers"
	at, given, err := o.layerIndices(name, layers)
	if err != nil || !given {
		return routers{}, err
	}
	return routers{o.place + name, at}, nil
}

// listedTypes is an mlp_layer_types that calls every layer dense or sparse.
func (o object) listedTypes(layers int) (routers, error) {
	const name = "mlp_layer_types"
	items, given, err := o.perLayer(name, layers)
	if err != nil || !given {
		return routers{}, err
	}
	r := routers{o.place + name, make([]bool, layers)}
	for layer, item := range items {
		switch layerKind(item) {
		case "sparse":
			r.at[layer] = true
		case "dense":
		default:
			return routers{}, malformed(r.field, shorten(item), "dense or sparse")
		}
	}
	return r, nil
}

// patternRouters and blockRouters read Nemotron-H's two ways to name what each layer is.
func (o object) patternRouters(layers int) (routers, error) {
	pattern, err := o.pattern(layers)
	return o.routersOf(fieldPattern, pattern, err)
}

func (o object) blockRouters(layers int) (routers, error) {
	pattern, err := o.blockTypes(layers)
	return o.routersOf(fieldBlockTypes, pattern, err)
}

func (o object) routersOf(field, pattern string, err error) (routers, error) {
	if err != nil || pattern == "" {
		return routers{}, err
	}
	return routersAt(o.place+field, len(pattern), func(layer int) bool { return pattern[layer] == 'E' }), nil
}
