package routing

import (
	"encoding/binary"
	"slices"

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

	// Exempt are layers to which Distinct and ZeroLayers do not apply: dense ones
	// in rows of all layers, layers routed by a hash.
	Exempt []int
}

// AllChecks has every check switched on and no layer exempt.
var AllChecks = Checks{Range: true, Distinct: true, ZeroLayers: true}

// zeroEvidence is the number of rows from which zeros look wrong with top-k 1.
const zeroEvidence = 64

// fewSlots is the top-k up to which comparing pairs beats marking ids.
const fewSlots = 16

// Check reports the first id that a switched on check refuses, as an [IDError].
// Rows that are not valid are the error of [Rows.Validate]. It reads every row
// once per check. A top-k above 16, and Exempt, cost a small allocation.
func (c Checks) Check(r Rows) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if c.Range {
		if err := r.checkRange(); err != nil {
			return err
		}
	}
	if c.ZeroLayers {
		if err := c.checkZeroLayers(r); err != nil {
			return err
		}
	}
	if c.Distinct {
		return c.checkDistinct(r)
	}
	return nil
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

// checkZeroLayers finds the first layer that is zero in every row.
func (c Checks) checkZeroLayers(r Rows) error {
	p := r.Profile
	if r.Len() == 0 || p.Experts == 1 || p.TopK == 1 && r.Len() < zeroEvidence {
		return nil
	}
	layerBytes := p.TopK * p.ItemBytes()
	for layer := range p.Layers {
		if !c.exempt(layer) && r.isZero(layer*layerBytes, (layer+1)*layerBytes) {
			return &IDError{Reason: ErrZeroLayer, Position: -1, Layer: layer, Slot: -1, Experts: p.Experts}
		}
	}
	return nil
}

// isZero says whether some bytes are zero in every row.
func (r Rows) isZero(from, to int) bool {
	for i := range r.Len() {
		for _, b := range r.Row(i)[from:to] {
			if b != 0 {
				return false
			}
		}
	}
	return true
}

func (c Checks) exempt(layer int) bool { return slices.Contains(c.Exempt, layer) }

// checkDistinct finds the first id that is a repetition.
func (c Checks) checkDistinct(r Rows) error {
	p := r.Profile
	var exempt []bool
	if len(c.Exempt) > 0 {
		exempt = make([]bool, p.Layers)
		for layer := range exempt {
			exempt[layer] = c.exempt(layer)
		}
	}
	repetition := repetitionOf(p)
	groupBytes := p.TopK * p.ItemBytes()
	for group := 0; group*groupBytes < len(r.Data); group++ {
		if len(exempt) > 0 && exempt[group%p.Layers] {
			continue
		}
		if k := repetition(r.Data[group*groupBytes : (group+1)*groupBytes]); k >= 0 {
			return r.wrongID(ErrDuplicate, group*p.TopK+k)
		}
	}
	return nil
}

// repetitionOf is a function that finds the slot of the first repeated id in one
// top-k, or -1, in the way that suits the profile.
func repetitionOf(p Profile) func(group []byte) int {
	switch {
	case p.TopK > fewSlots:
		return markedRepetition(p)
	case p.ItemBytes() == 1:
		return func(group []byte) int {
			for k := 1; k < len(group); k++ {
				for _, id := range group[:k] {
					if id == group[k] {
						return k
					}
				}
			}
			return -1
		}
	}
	return func(group []byte) int {
		for k := 2; k < len(group); k += 2 {
			for j := 0; j < k; j += 2 {
				if group[j] == group[k] && group[j+1] == group[k+1] {
					return k / 2
				}
			}
		}
		return -1
	}
}

// markedRepetition marks ids in a set, so that a large top-k is not quadratic.
func markedRepetition(p Profile) func(group []byte) int {
	lastGroup := make([]int, MaxExperts) // 1 + number of the group that had the id last
	number, itemBytes := 0, p.ItemBytes()
	return func(group []byte) int {
		number++
		for k := 0; k < p.TopK; k++ {
			id := int(group[k*itemBytes])
			if itemBytes == 2 {
				id = int(binary.LittleEndian.Uint16(group[2*k:]))
			}
			if lastGroup[id] == number {
				return k
			}
			lastGroup[id] = number
		}
		return -1
	}
}
