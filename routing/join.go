package routing

import (
	"fmt"
	"slices"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Turn is the rows of one turn of a conversation, as the engine returned them.
type Turn struct {
	Rows Rows

	// Padded says that the last row is a placeholder for the token that was
	// sampled but never ran. The next turn, in which that token is part of the
	// prompt, has the real one.
	Padded bool
}

// Join puts the turns of one conversation together. Where turns overlap the
// earlier one wins: its rows are those that were in force when the tokens were
// sampled. A placeholder row is no row: the next turn replaces it, and if there is
// none, or none that reaches it, it is missing from the result too.
//
// A turn that begins after the end of those before it leaves a gap, which is a
// [CountError] with the position where it should begin at the latest and the one
// where it does. All turns must have the same layers, top-k and experts, else it
// is an [auxerrors.ConfigError]; but where uint8 meets uint16, uint8 is widened.
// The result is a copy.
func Join(turns ...Turn) (Rows, error) {
	if len(turns) == 0 {
		return Rows{}, &auxerrors.ConfigError{Field: "turns", Value: 0, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	}
	parts := make([]Rows, len(turns))
	for i, turn := range turns {
		rows, err := turn.real()
		if err != nil {
			return Rows{}, fmt.Errorf("turn %d: %w", i, err)
		}
		parts[i] = rows
	}
	profile, err := commonProfile(parts)
	if err != nil {
		return Rows{}, err
	}
	end := parts[0].Start
	for i, part := range parts {
		if part.Start > end {
			return Rows{}, &CountError{What: fmt.Sprintf("first position of turn %d", i), Want: int64(end), Got: int64(part.Start)}
		}
		from := max(end, part.Start)
		if from < part.End() {
			parts[i], end = part.slice(from, part.End()), part.End()
			continue
		}
		parts[i].Data = nil
	}
	return concatenate(profile, parts[0].Start, parts)
}

// real is the rows of a turn without its placeholder.
func (t Turn) real() (Rows, error) {
	if err := t.Rows.Validate(); err != nil || !t.Padded {
		return t.Rows, err
	}
	if t.Rows.Len() == 0 {
		return Rows{}, &CountError{What: "rows with a placeholder", Want: 1, Got: 0}
	}
	return t.Rows.slice(t.Rows.Start, t.Rows.End()-1), nil
}

// MergePrefillDecode puts the answers of a disaggregated prefill together: the rows
// of the prompt from the side that computed it, those of generated tokens from the
// side that decoded. What the decoding side has for positions of the prompt is not
// used: it did not compute them. The prefill rows must end with the prompt and the
// decode rows must reach back to it, else it is a [CountError]. Profiles are
// treated as by [Join]. The result is a copy.
func MergePrefillDecode(prefill, decode Rows, promptTokens int) (Rows, error) {
	for _, side := range [...]Rows{prefill, decode} {
		if err := side.Validate(); err != nil {
			return Rows{}, err
		}
	}
	if prefill.End() != promptTokens {
		return Rows{}, &CountError{What: "end of the prefill rows", Want: int64(promptTokens), Got: int64(prefill.End())}
	}
	if decode.Start > promptTokens {
		return Rows{}, &CountError{What: "first position of the decode rows", Want: int64(promptTokens), Got: int64(decode.Start)}
	}
	if decode.End() < promptTokens {
		return Rows{}, &CountError{What: "end of the decode rows", Want: int64(promptTokens), Got: int64(decode.End())}
	}
	profile, err := commonProfile([]Rows{prefill, decode})
	if err != nil {
		return Rows{}, err
	}
	return concatenate(profile, prefill.Start, []Rows{prefill, decode.slice(promptTokens, decode.End())})
}

// Widen is the rows as those of a model with so many experts, which must not be
// fewer: ids stay, and items become uint16 above 256 experts. Data is copied only
// if items become wider.
func (r Rows) Widen(experts int) (Rows, error) {
	if err := r.Validate(); err != nil {
		return Rows{}, err
	}
	if experts < r.Profile.Experts {
		return Rows{}, &auxerrors.ConfigError{Field: "experts", Value: experts, Want: fmt.Sprintf("at least the %d of the rows", r.Profile.Experts), Reason: auxerrors.ErrTooSmall}
	}
	p, err := NewProfile(r.Profile.Layers, r.Profile.TopK, experts)
	if err != nil {
		return Rows{}, err
	}
	return Rows{Profile: p, Start: r.Start, Data: r.widened(p)}, nil
}

// widened is the data of rows with the items of a profile that has no fewer experts,
// the same memory if they are of one width.
func (r Rows) widened(p Profile) []byte {
	if p.ItemBytes() == r.Profile.ItemBytes() {
		return r.Data
	}
	data := make([]byte, 2*len(r.Data))
	for i, id := range r.Data {
		data[2*i] = id
	}
	return data
}

// commonProfile is the profile of rows that are put together: the same, or the
// wide one if some rows are narrow.
func commonProfile(parts []Rows) (Profile, error) {
	common := parts[0].Profile
	for i, part := range parts[1:] {
		p := part.Profile
		sameShape := p.Layers == common.Layers && p.TopK == common.TopK
		if !sameShape || p.Experts != common.Experts && p.ItemBytes() == common.ItemBytes() {
			return Profile{}, &auxerrors.ConfigError{
				Field: fmt.Sprintf("profile of part %d", i+1), Value: p, Want: fmt.Sprintf("%v (layers, top-k, experts), as before", common), Reason: auxerrors.ErrMismatch,
			}
		}
		if p.Experts > common.Experts {
			common = p
		}
	}
	return common, nil
}

// concatenate copies parts, which follow each other, into new rows.
func concatenate(p Profile, start int, parts []Rows) (Rows, error) {
	n := 0
	for _, part := range parts {
		n += part.Len()
	}
	size, err := sizeOf(p, n)
	if err != nil {
		return Rows{}, err
	}
	out := Rows{Profile: p, Start: start, Data: slices.Grow([]byte(nil), size)}
	for _, part := range parts {
		out.Data = append(out.Data, part.widened(p)...)
	}
	return out, nil
}
