package routing

import (
	"encoding/binary"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Checks are the switches of the checks of rows. The zero value checks nothing.
type Checks struct {
	// Range refuses ids that are no experts: id >= Experts. Physical ids, captured
	// after experts were moved between devices, are found so.
	Range bool

	// Distinct refuses an expert that occurs twice in one top-k. Rows that were
	// never captured are found so, one by one. Switch it off, or name the layers in
	// Exempt, if layers are routed by a hash of the token: it may repeat ids.
	Distinct bool

	// ZeroLayers refuses a layer whose ids are zero in every row: nobody captured
	// it. With top-k 1 zeros are legal, and a layer is only suspected from 64 rows
	// on; with a single expert, never.
	ZeroLayers bool

	// EqualRuns refuses long runs of equal rows: a capture that went on reading one
	// buffer. Rows at positions that are multiples of 8 are compared with the one 8
	// positions before; [EqualRun] comparisons in a row that find no difference in
	// any layer that is not exempt are refused. So every 40 equal rows are found for
	// certain, wherever they begin, and never less than 33. Rows that repeat with a
	// period of 2, 4 or 8 look the same and are found as well.
	//
	// It is off where rows are likely to repeat: with top-k 1, if every expert is
	// chosen, and if fewer than 16 layers are not exempt. Otherwise, if each layer
	// repeats by chance with a probability of at most 1/2, independently of the
	// others, n good rows are refused with a probability of at most
	// n/8 x 2^-(4 x layers): below 10^-15 for a million rows of 16 layers.
	//
	// A text that is one token, or a short cycle of tokens, for hundreds of positions
	// may route equally in truth. Switch it off where such texts are expected.
	EqualRuns bool

	// Exempt are layers to which Distinct, ZeroLayers and EqualRuns do not apply:
	// dense ones in rows of all layers, layers routed by a hash of the token. Each
	// is named once.
	Exempt []int
}

// AllChecks has every check switched on and no layer exempt.
var AllChecks = Checks{Range: true, Distinct: true, ZeroLayers: true, EqualRuns: true}

// Check reports the first id, layer or run that a switched on check refuses, as an
// [IDError]. Rows that are not valid are the error of [Rows.Validate], an
// impossible Exempt is that of [Checks.Prepare]. It reads every row up to three
// times. Exempt costs a small allocation.
func (c Checks) Check(r Rows) error {
	if err := r.Validate(); err != nil {
		return err
	}
	k, err := c.Prepare(r.Profile)
	if err != nil {
		return err
	}
	if err := k.checkZeroLayers(r); err != nil {
		return err
	}
	if c.Range || c.Distinct {
		for i := range r.Len() {
			if err := k.CheckRow(r.Start+i, r.Row(i)); err != nil {
				return err
			}
		}
	}
	_, _, err = k.scanRuns(r, nil, 0)
	return err
}

// checkRange finds the first id that is no expert.
func (r Rows) checkRange() error {
	limit := r.Profile.Experts
	if r.Profile.ItemBytes() == 1 {
		if limit == MaxNarrowExperts {
			return nil
		}
		for i, id := range r.Data {
			if int(id) >= limit {
				return r.wrongID(auxerrors.ErrOutOfRange, i)
			}
		}
		return nil
	}
	if limit == MaxExperts {
		return nil
	}
	for i := 0; i+1 < len(r.Data); i += 2 {
		if int(binary.LittleEndian.Uint16(r.Data[i:])) >= limit {
			return r.wrongID(auxerrors.ErrOutOfRange, i/2)
		}
	}
	return nil
}

// wrongID is the error of item i in C order.
func (r Rows) wrongID(reason error, i int) error {
	k, layers := r.Profile.TopK, r.Profile.Layers
	row, layer, slot := i/k/layers, i/k%layers, i%k
	return &IDError{
		Reason: reason, Position: r.Start + row, Layer: layer, Slot: slot,
		ID: int64(r.At(row, layer, slot)), Experts: r.Profile.Experts,
	}
}
