package model

import (
	"fmt"
	"strings"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Nemotron-H's layers are one thing each, in a string of letters or a list of names.
const (
	fieldPattern    = "hybrid_override_pattern"
	fieldBlockTypes = "layers_block_type"
)

// pattern is the string of letters: M a Mamba layer, * attention, E experts, - a dense
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

// blockTypes is the list of names as such a string, "" if it is absent. Other families
// have a list of this name for what their layers attend to, with experts inside each
// of them: a list without experts says nothing of routers, and is not known.
func (o object) blockTypes(layers int) (string, error) {
	items, given, err := o.perLayer(fieldBlockTypes, layers)
	if err != nil || !given {
		return "", err
	}
	letters := map[string]byte{"mamba": 'M', "attention": '*', "moe": 'E', "mlp": '-'}
	pattern := make([]byte, layers)
	experts := false
	for layer, item := range items {
		letter, known := letters[layerKind(item)]
		if !known {
			return "", unknownBlocks(o, shorten(item))
		}
		pattern[layer] = letter
		experts = experts || letter == 'E'
	}
	if !experts {
		return "", unknownBlocks(o, "no moe layer")
	}
	return string(pattern), nil
}

func unknownBlocks(o object, found string) error {
	return &auxerrors.ConfigError{Field: o.place + fieldBlockTypes, Value: found, Want: "mamba, attention, moe and mlp layers", Reason: ErrUnknown}
}
