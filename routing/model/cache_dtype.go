package model

import (
	"fmt"
	"strconv"
	"strings"
)

// cacheNames are the names that checkpoints have for the type of their KV cache, in
// lower case, beside those of PyTorch.
var cacheNames = map[string]int{"fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "bf16": 2, "fp16": 2}

// kvItemBytes is the width of a cached value as the checkpoint has it: that of its
// kv_cache_scheme or kv_cache_quant_algo, or else the model's own. Unlike other fields
// they may be told for the whole of a multimodal model, or for the text alone.
func kvItemBytes(text, top object, own int) (int, error) {
	places := []object{top}
	if text.place != "" {
		places = append(places, text)
	}
	var found cacheType
	for _, o := range places {
		told, err := o.cacheTypes()
		if err != nil {
			return 0, err
		}
		for _, c := range told {
			switch {
			case found.field == "" || c.bytes == 0:
				found = c
			case found.bytes != 0 && found.bytes != c.bytes:
				return 0, contradiction(c.field, c.name, fmt.Sprintf("the %d bytes of %s", found.bytes, found.field))
			}
		}
	}
	if found.field == "" {
		return own, nil
	}
	return found.bytes, nil
}

// cacheType is the type of cached values.
type cacheType struct {
	field string // "" if no such field is given
	name  string // for errors
	bytes int    // 0 if the type is not known here
}

// cacheTypes are the types that a quantization_config tells. The file of NVIDIA's
// ModelOpt has its fields one level deeper.
func (o object) cacheTypes() (told []cacheType, err error) {
	for _, name := range []string{"quantization_config", "quantization"} {
		inner, given, err := o.inner(name)
		if err != nil || !given {
			return told, err
		}
		o = inner
		for _, read := range []func(object) (cacheType, error){object.cacheScheme, object.cacheAlgorithm} {
			c, err := read(o)
			if err != nil {
				return nil, err
			}
			if c.field != "" {
				told = append(told, c)
			}
		}
	}
	return told, nil
}

// cacheScheme is compressed-tensors' kv_cache_scheme: 8-bit floats with a fixed scale,
// or something else. ModelOpt may write a name there.
func (o object) cacheScheme() (cacheType, error) {
	const name = "kv_cache_scheme"
	value := o.own(name)
	if value == nil || value[0] == '"' {
		return o.namedCache(name)
	}
	scheme, _, err := o.inner(name)
	if err != nil {
		return cacheType{}, err
	}
	bits, _, err := scheme.number("num_bits", anyNumber)
	if err != nil {
		return cacheType{}, err
	}
	kind, err := scheme.text("type")
	if err != nil {
		return cacheType{}, err
	}
	c := cacheType{field: o.place + name, name: fmt.Sprintf("%d-bit %s", bits, shorten([]byte(kind)))}
	dynamic := scheme.own("dynamic")
	if bits == 8 && kind == "float" && (dynamic == nil || string(dynamic) == "false") {
		c.bytes = 1
	}
	return c, nil
}

// cacheAlgorithm is ModelOpt's kv_cache_quant_algo.
func (o object) cacheAlgorithm() (cacheType, error) { return o.namedCache("kv_cache_quant_algo") }

func (o object) namedCache(field string) (cacheType, error) {
	kind, err := o.text(field)
	if err != nil || kind == "" {
		return cacheType{}, err
	}
	c := cacheType{field: o.place + field, name: strconv.Quote(shorten([]byte(kind)))}
	c.bytes = cacheNames[strings.ToLower(kind)]
	if c.bytes == 0 {
		c.bytes = dtypeBytes[strings.ToLower(kind)]
	}
	return c, nil
}
