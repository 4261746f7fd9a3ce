package model

import "encoding/json"

// layerKind is an item of a list of names, "" if it is no string.
func layerKind(item json.RawMessage) string {
	var kind string
	if json.Unmarshal(item, &kind) != nil {
		return ""
	}
	return kind
}

// layerIndices is a list of layers, counted from 0, as a set.
func (o object) layerIndices(name string, layers int) (at []bool, given bool, err error) {
	items, given, err := o.list(name)
	if err != nil || !given {
		return nil, false, err
	}
	at = make([]bool, layers)
	for _, item := range items {
		index, err := parseNumber(o.place+name, item, bounds{0, MaxLayers})
		switch {
		case err != nil:
			return nil, false, err
		case index >= layers:
			return nil, false, outOfRange(o.place+name, item, layers)
		}
		at[index] = true
	}
	return at, true, nil
}

// bits is a list of 0 or 1 for each layer.
func (o object) bits(name string, layers int) (at []bool, given bool, err error) {
	items, given, err := o.perLayer(name, layers)
	if err != nil || !given {
		return nil, false, err
	}
	at = make([]bool, layers)
	for layer, item := range items {
		bit, err := parseNumber(o.place+name, item, bounds{0, 1})
		if err != nil {
			return nil, false, err
		}
		at[layer] = bit == 1
	}
	return at, true, nil
}

func countTrue(at []bool) int {
	n := 0
	for _, is := range at {
		if is {
			n++
		}
	}
	return n
}
