package model

import (
	"fmt"
	"strconv"

	"github.com/auxoutput/auxoutput/routing"
)

// The names that model families have for the same number.
var (
	expertNames = []string{"num_experts", "n_routed_experts", "num_local_experts"}
	topKNames   = []string{"num_experts_per_tok", "top_k_experts", "experts_per_token", "num_experts_per_token"}
	dtypeNames  = []string{"dtype", "torch_dtype"}
)

// dtypeBytes has the names of PyTorch's types.
var dtypeBytes = map[string]int{
	"bfloat16": 2, "float16": 2, "half": 2, "float32": 4, "float": 4,
	"float8_e4m3fn": 1, "float8_e5m2": 1,
}

// Parse reads a model's config.json. A model inside another, as multimodal ones have
// it, is read from its text_config, which must hold everything; what the object around
// it repeats must be the same there.
//
// Damage, fields that are missing, of another type or out of range, and fields that
// contradict each other are an [auxerrors.ConfigError] that names the field. Its
// Reason is [ErrUnknown] if the file places its routers in a way that is not known
// here. If only its attention is not known, the model is good for rows, and
// [Model.KVBytesPerToken] reports the error; if only the width of cached values is not,
// KVItemBytes is 0.
//
// Infinity, -Infinity and NaN are no JSON, but Python writes them. They are accepted in
// fields that nothing here depends on, and damage in the others.
func Parse(configJSON []byte) (Model, error) {
	top, err := readObject("config.json", "", configJSON)
	if err != nil {
		return Model{}, err
	}
	text, nested, err := top.inner("text_config")
	switch {
	case err != nil:
		return Model{}, err
	case nested:
		text.outer = &top
	default:
		text = top
	}
	m := Model{}
	if m.Name, err = top.text("model_type"); err != nil {
		return Model{}, err
	}
	if m.Layers, _, err = text.required("the number of layers", bounds{1, MaxLayers}, "num_hidden_layers"); err != nil {
		return Model{}, err
	}
	if m.Experts, _, err = text.required("the number of experts (a dense model has none, and no rows)", bounds{1, routing.MaxExperts}, expertNames...); err != nil {
		return Model{}, err
	}
	topK, name, err := text.required("the number of experts per token", anyNumber, topKNames...)
	switch {
	case err != nil:
		return Model{}, err
	case topK > m.Experts:
		return Model{}, contradiction(text.place+name, topK, fmt.Sprintf("at most the %d experts", m.Experts))
	}
	m.TopK = topK
	if m.Dense, err = text.denseLayers(m.Layers); err != nil {
		return Model{}, err
	}
	m.MoELayers = m.Layers - len(m.Dense)
	if m.ItemBytes, err = itemBytes(text, top); err != nil {
		return Model{}, err
	}
	if m.KVItemBytes, err = kvItemBytes(text, top, m.ItemBytes); err != nil {
		return Model{}, err
	}
	if m.Attention, err = text.attention(m.Layers); err != nil {
		return Model{}, err
	}
	if _, err := m.Profile(true); err != nil {
		return Model{}, err
	}
	return m, nil
}

// itemBytes is the width of the model's dtype, 0 if the file does not tell it. Unlike
// other fields it may be told once for the whole of a multimodal model.
func itemBytes(text, top object) (int, error) {
	width, found := 0, ""
	for _, o := range []object{{fields: text.fields, place: text.place}, top} {
		for _, name := range dtypeNames {
			dtype, err := o.text(name)
			if err != nil {
				return 0, err
			}
			if dtype == "" {
				continue
			}
			bytes, ok := dtypeBytes[dtype]
			switch {
			case !ok:
				return 0, malformed(o.place+name, strconv.Quote(shorten([]byte(dtype))), "a type such as bfloat16")
			case found != "" && bytes != width:
				return 0, contradiction(o.place+name, strconv.Quote(dtype), fmt.Sprintf("the %d bytes of %s", width, found))
			}
			width, found = bytes, o.place+name
		}
	}
	return width, nil
}
