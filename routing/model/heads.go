package model

import (
	"fmt"
	"math"
)

// heads reads what one layer keeps of a token: a latent (DeepSeek's MLA), or keys and
// values for each head.
func (o object) heads() (a Attention, err error) {
	isLatent := false
	if a.Latent, isLatent, err = o.number("kv_lora_rank", anyNumber); err != nil {
		return Attention{}, err
	}
	if isLatent {
		a.Rope, _, err = o.required("the rotary part of the latent", bounds{0, math.MaxInt32}, "qk_rope_head_dim")
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
