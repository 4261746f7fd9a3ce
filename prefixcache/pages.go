package prefixcache

import (
	"fmt"
	"math"
	"math/bits"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Page is the memory that one block takes in one layer, on one rank.
type Page interface {
	// PageBytes is its size in bytes for blocks of so many tokens, at least 1.
	// Numbers that make no sense, and sizes beyond an int64, are an
	// [auxerrors.ConfigError].
	PageBytes(blockTokens int) (int64, error)
}

// GQA is a layer of multi-head, multi-query or grouped-query attention, with
// or without a window.
type GQA struct {
	Heads           int  // KV heads on one rank: see HeadsPerRank
	HeadK           int  // values per key head
	HeadV           int  // values per value head; 0 means as many as HeadK
	ItemBytes       int  // bytes per value: 2 for bfloat16, 1 for fp8
	TokenHeadScales bool // two float32 scales per token and head, for per-token-head quantisation
}

// PageBytes is block x heads x (head_k + head_v) x item, plus the scales.
func (a GQA) PageBytes(blockTokens int) (int64, error) {
	headV := a.HeadV
	if headV == 0 {
		headV = a.HeadK
	}
	if err := checkLeast(
		bound{"block tokens", blockTokens, 1}, bound{"heads", a.Heads, 1},
		bound{"head k", a.HeadK, 1}, bound{"head v", headV, 1}, bound{"item bytes", a.ItemBytes, 1},
	); err != nil {
		return 0, err
	}
	token, err := product("bytes of a head", int64(a.HeadK), 1, int64(a.ItemBytes))
	if err != nil {
		return 0, err
	}
	value, err := product("bytes of a head", int64(headV), 1, int64(a.ItemBytes))
	if err != nil {
		return 0, err
	}
	scales := int64(0)
	if a.TokenHeadScales {
		scales = 2 * 4
	}
	if token, err = sum("bytes of a head", token, value, scales); err != nil {
		return 0, err
	}
	return product("page bytes", int64(blockTokens), int64(a.Heads), token)
}

// HeadsPerRank is the number of KV heads on each of ranks tensor-parallel ranks:
// the heads are split evenly, and repeated if there are more ranks than heads.
// Numbers that do not divide are an [auxerrors.ConfigError].
func HeadsPerRank(heads, ranks int) (int, error) {
	if err := checkLeast(bound{"heads", heads, 1}, bound{"ranks", ranks, 1}); err != nil {
		return 0, err
	}
	if heads%ranks != 0 && ranks%heads != 0 {
		return 0, &auxerrors.ConfigError{Field: "ranks", Value: ranks, Want: fmt.Sprintf("a divisor or a multiple of the %d heads", heads), Reason: auxerrors.ErrMismatch}
	}
	return max(1, heads/ranks), nil
}

// MLA is a layer of multi-head latent attention. It has one head, which every
// tensor-parallel rank keeps in full: more ranks do not make it smaller.
type MLA struct {
	Rank      int // kv_lora_rank: values of the latent
	Rope      int // values of the rotary part
	ItemBytes int // bytes per value: 2 for bfloat16, 1 for fp8
}

// PageBytes is block x (kv_lora_rank + rope) x item.
func (a MLA) PageBytes(blockTokens int) (int64, error) {
	if err := checkLeast(
		bound{"block tokens", blockTokens, 1}, bound{"latent rank", a.Rank, 1},
		bound{"rope", a.Rope, 0}, bound{"item bytes", a.ItemBytes, 1},
	); err != nil {
		return 0, err
	}
	values, err := sum("values of a token", int64(a.Rank), int64(a.Rope))
	if err != nil {
		return 0, err
	}
	return product("page bytes", int64(blockTokens), values, int64(a.ItemBytes))
}

// TokenBytes is a layer whose format fixes the bytes of a token.
type TokenBytes int

// Formats of latent attention that mix types, --kv-cache-dtype fp8_ds_mla.
const (
	DeepSeekV32 TokenBytes = 656 // also DeepSeek-V3 when it is run in this format
	DeepSeekV4  TokenBytes = 584
)

// PageBytes is block x bytes per token.
func (b TokenBytes) PageBytes(blockTokens int) (int64, error) {
	if err := checkLeast(bound{"block tokens", blockTokens, 1}, bound{"token bytes", int(b), 1}); err != nil {
		return 0, err
	}
	return product("page bytes", int64(blockTokens), 1, int64(b))
}

// State is a layer that keeps so many bytes of state, whatever the number of
// tokens: Mamba, gated delta nets.
type State int64

// PageBytes is the size of the state.
func (s State) PageBytes(int) (int64, error) {
	if s < 1 {
		return 0, &auxerrors.ConfigError{Field: "state bytes", Value: int64(s), Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	}
	return int64(s), nil
}

// BlockTokens is the block size that an engine gives the attention layers of a
// model with state layers: the least multiple of unit (16 in vLLM) whose page
// holds the state. Numbers that make no sense are an [auxerrors.ConfigError].
func (s State) BlockTokens(attention Page, unit int) (int, error) {
	if err := checkLeast(bound{"unit", unit, 1}); err != nil {
		return 0, err
	}
	state, err := s.PageBytes(unit)
	if err != nil {
		return 0, err
	}
	page, err := pageBytes(attention, unit)
	if err != nil {
		return 0, err
	}
	units := (state-1)/page + 1
	if units > int64(MaxTokens/unit) {
		return 0, &auxerrors.ConfigError{Field: "block tokens", Value: fmt.Sprintf("%d x %d", units, unit), Want: fmt.Sprintf("at most %d", MaxTokens), Reason: auxerrors.ErrTooLarge}
	}
	return int(units) * unit, nil
}

// pageBytes asks a layer for its page, and takes no nonsense from one that is
// not of this package.
func pageBytes(layer Page, blockTokens int) (int64, error) {
	if layer == nil {
		return 0, &auxerrors.ConfigError{Field: "page", Value: nil, Want: "a kind of layer", Reason: auxerrors.ErrTooSmall}
	}
	page, err := layer.PageBytes(blockTokens)
	if err == nil && page < 1 {
		err = &auxerrors.ConfigError{Field: "page bytes", Value: page, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	}
	return page, err
}

// bound is a number that must not be below its least value.
type bound struct {
	field        string
	value, least int
}

func checkLeast(bounds ...bound) error {
	for _, b := range bounds {
		if b.value < b.least {
			return &auxerrors.ConfigError{Field: b.field, Value: b.value, Want: fmt.Sprintf("at least %d", b.least), Reason: auxerrors.ErrTooSmall}
		}
	}
	return nil
}

// product multiplies positive numbers.
func product(field string, a, b, c int64) (int64, error) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high == 0 {
		high, low = bits.Mul64(low, uint64(c))
	}
	if high != 0 || low > math.MaxInt64 {
		return 0, &auxerrors.ConfigError{Field: field, Value: fmt.Sprintf("%d x %d x %d", a, b, c), Want: fmt.Sprintf("at most %d", int64(math.MaxInt64)), Reason: auxerrors.ErrTooLarge}
	}
	return int64(low), nil
}

// sum adds numbers that are not negative.
func sum(field string, numbers ...int64) (int64, error) {
	total := int64(0)
	for _, n := range numbers {
		if n > math.MaxInt64-total {
			return 0, &auxerrors.ConfigError{Field: field, Value: fmt.Sprint(numbers), Want: fmt.Sprintf("a sum of at most %d", int64(math.MaxInt64)), Reason: auxerrors.ErrTooLarge}
		}
		total += n
	}
	return total, nil
}
