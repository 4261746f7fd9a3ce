package routing

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// MaxNarrowExperts is the largest number of experts whose ids are stored in one
// byte. vLLM draws the line at the same place: uint8 up to 256 experts, uint16
// above.
const MaxNarrowExperts = 256

// MaxExperts is the largest number of experts whose ids fit into two bytes.
const MaxExperts = 1 << 16

// Profile fixes the shape of a row: Layers x TopK expert ids in C order, each an
// unsigned integer of ItemBytes bytes, little-endian. All rows of a store share
// one profile.
//
// Layers is what the rows at hand have: the MoE layers only, or every hidden layer
// with zeros for the dense ones. Who sends which is told in one place,
// docs/rl.md#how-many-layers-a-row-has. Rows of the two kinds do not mix.
type Profile struct {
	Layers  int // layers in a row
	TopK    int // experts chosen per token and layer
	Experts int // experts a router chooses from; ids are 0 <= id < Experts
}

// NewProfile checks the three numbers. Layers and TopK are at least 1, TopK at
// most Experts, Experts at most [MaxExperts], and a row at most 2 GiB; anything
// else is a [auxerrors.ConfigError].
func NewProfile(layers, topK, experts int) (Profile, error) {
	p := Profile{Layers: layers, TopK: topK, Experts: experts}
	if err := p.Validate(); err != nil {
		return Profile{}, err
	}
	return p, nil
}

// Validate reports what [NewProfile] would.
func (p Profile) Validate() error {
	switch {
	case p.Layers < 1:
		return &auxerrors.ConfigError{Field: "layers", Value: p.Layers, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	case p.Experts < 1:
		return &auxerrors.ConfigError{Field: "experts", Value: p.Experts, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	case p.Experts > MaxExperts:
		return &auxerrors.ConfigError{Field: "experts", Value: p.Experts, Want: fmt.Sprintf("at most %d", MaxExperts), Reason: auxerrors.ErrTooLarge}
	case p.TopK < 1:
		return &auxerrors.ConfigError{Field: "top-k", Value: p.TopK, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	case p.TopK > p.Experts:
		return &auxerrors.ConfigError{Field: "top-k", Value: p.TopK, Want: fmt.Sprintf("at most the %d experts", p.Experts), Reason: auxerrors.ErrMismatch}
	}
	if _, err := mulBytes("row bytes", p.Layers, p.TopK*p.ItemBytes()); err != nil {
		return err
	}
	return nil
}

// ItemBytes is the width of one expert id in bytes: 1 up to 256 experts, else 2.
func (p Profile) ItemBytes() int {
	if p.Experts <= MaxNarrowExperts {
		return 1
	}
	return 2
}

// RowBytes is the size of one token's row: Layers x TopK x ItemBytes.
func (p Profile) RowBytes() int { return p.Layers * p.TopK * p.ItemBytes() }

// BlockBytes is the size of a block of rows: blockTokens x RowBytes. A block of
// no tokens, or of more than 2 GiB, is a [auxerrors.ConfigError].
func (p Profile) BlockBytes(blockTokens int) (int, error) {
	if err := p.Validate(); err != nil {
		return 0, err
	}
	if blockTokens < 1 {
		return 0, &auxerrors.ConfigError{Field: "block tokens", Value: blockTokens, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	}
	return mulBytes("block bytes", blockTokens, p.RowBytes())
}

// String is the form that [ParseProfile] reads: layers, top-k, experts.
func (p Profile) String() string { return fmt.Sprintf("%d,%d,%d", p.Layers, p.TopK, p.Experts) }

// ParseProfile reads "layers,top-k,experts", for example "48,8,128".
func ParseProfile(text string) (Profile, error) {
	fields := strings.Split(text, ",")
	if len(fields) != 3 {
		return Profile{}, &auxerrors.ConfigError{Field: "profile", Value: strconv.Quote(text), Want: "layers,top-k,experts", Reason: auxerrors.ErrMismatch}
	}
	var numbers [3]int
	for i, field := range fields {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil {
			return Profile{}, &auxerrors.ConfigError{Field: "profile", Value: strconv.Quote(text), Want: "three whole numbers: layers,top-k,experts", Reason: auxerrors.ErrMismatch}
		}
		numbers[i] = n
	}
	return NewProfile(numbers[0], numbers[1], numbers[2])
}

// mulBytes multiplies two positive numbers into a size that an int holds on
// every platform.
func mulBytes(what string, a, b int) (int, error) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high != 0 || low > math.MaxInt32 {
		return 0, &auxerrors.ConfigError{Field: what, Value: fmt.Sprintf("%d x %d", a, b), Want: "at most 2 GiB", Reason: auxerrors.ErrTooLarge}
	}
	return int(low), nil
}
