package routing

import (
	"math"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Pad appends n rows for tokens that do not count: padding of a batch to a common
// length. Their ids spread evenly. In one top-k they are distinct, and over the
// padding the experts' counts differ by at most 1, in each layer and in all layers
// together; constant ids would send every padding token to the same experts. Which
// ids a row gets depends on its position, so that the padding of many short
// sequences spreads too. The result is a copy.
//
// Nothing in the rows tells padding apart: keep the number of real ones.
func (r Rows) Pad(n int) (Rows, error) {
	if err := r.Validate(); err != nil {
		return Rows{}, err
	}
	size, err := sizeOf(r.Profile, n)
	if err != nil {
		return Rows{}, err
	}
	if size > math.MaxInt-len(r.Data) || n > math.MaxInt-r.End() {
		return Rows{}, &auxerrors.ConfigError{Field: "rows", Value: n, Want: "as many as memory and positions allow", Reason: auxerrors.ErrTooLarge}
	}
	p := r.Profile
	out := Rows{Profile: p, Start: r.Start, Data: make([]byte, len(r.Data)+size)}
	copy(out.Data, r.Data)
	padding := Rows{Profile: p, Data: out.Data[len(r.Data):]}

	// Read layer after layer, the ids simply count on, modulo experts.
	experts := uint64(p.Experts)
	id := uint64(r.End()) % experts * uint64(p.TopK) % experts
	for layer := range p.Layers {
		for row := range n {
			for k := range p.TopK {
				padding.set((row*p.Layers+layer)*p.TopK+k, int(id))
				if id++; id == experts {
					id = 0
				}
			}
		}
	}
	return out, nil
}
