package routing

import auxerrors "github.com/auxoutput/auxoutput/errors"

// Checker is [Checks] made ready for the rows of one profile, to be used on single
// rows and on rows that come bit by bit. [Checks.Prepare] makes one. It never
// changes, so any number of goroutines may use it. It allocates for errors only.
type Checker struct {
	checks  Checks
	profile Profile
	exempt  []bool // by layer; nil if none is
	lanes   lanes  // top-8 in one go
	runs    bool   // equal runs are checked
}

// zeroEvidence is the number of rows from which zeros look wrong with top-k 1.
const zeroEvidence = 64

// Prepare makes the checks ready for the rows of a profile. A profile that cannot
// be, and an exempt layer that the profile does not have or that is named twice,
// are an [auxerrors.ConfigError].
func (c Checks) Prepare(p Profile) (Checker, error) {
	if err := p.Validate(); err != nil {
		return Checker{}, err
	}
	k := Checker{checks: c, profile: p, lanes: newLanes(p, c.Range)}
	k.checks.Exempt = nil // the caller may change it
	if len(c.Exempt) > 0 {
		k.exempt = make([]bool, p.Layers)
	}
	for _, layer := range c.Exempt {
		if layer < 0 || layer >= p.Layers {
			return Checker{}, exemptError(layer, "one of the layers of the rows", auxerrors.ErrOutOfRange)
		}
		if k.exempt[layer] {
			return Checker{}, exemptError(layer, "each layer once", auxerrors.ErrMismatch)
		}
		k.exempt[layer] = true
	}
	k.runs = c.EqualRuns && p.TopK > 1 && p.TopK < p.Experts && p.Layers-len(c.Exempt) >= runEvidence
	return k, nil
}

func exemptError(layer int, want string, reason error) error {
	return &auxerrors.ConfigError{Field: "exempt layer", Value: layer, Want: want, Reason: reason}
}

// counts reports whether the checks of layers apply to a layer.
func (k *Checker) counts(layer int) bool { return k.exempt == nil || !k.exempt[layer] }

// CheckRow applies Range and Distinct to the row of one position, and reports the
// first id that is refused as an [IDError]. Anything but the bytes of one row is a
// [CountError]. It takes a few nanoseconds a layer with top-k 8.
func (k *Checker) CheckRow(position int, row []byte) error {
	if want := k.profile.RowBytes(); len(row) != want || want == 0 {
		return &CountError{What: "bytes of a row", Want: int64(want), Got: int64(len(row))}
	}
	if k.profile.TopK == laneSlots && k.lanesAreClean(row) {
		return nil
	}
	return k.firstWrong(position, row)
}

// CheckZeroLayers applies ZeroLayers to consecutive rows of one request: the more
// there are, the more a zero layer says. It reports an [IDError] with the layer.
// Anything but whole rows is the error of [NewRows].
func (k *Checker) CheckZeroLayers(rows []byte) error {
	r, err := NewRows(k.profile, 0, rows)
	if err != nil {
		return err
	}
	return k.checkZeroLayers(r)
}

func (k *Checker) checkZeroLayers(r Rows) error {
	p := r.Profile
	if !k.checks.ZeroLayers || r.Len() == 0 || p.Experts == 1 || p.TopK == 1 && r.Len() < zeroEvidence {
		return nil
	}
	layerBytes := p.TopK * p.ItemBytes()
	for layer := range p.Layers {
		if k.counts(layer) && r.isZero(layer*layerBytes, (layer+1)*layerBytes) {
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
