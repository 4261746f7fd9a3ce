package trace

import (
	"math"
	"time"
)

// blockIDs is a JSON list of block ids. encoding/json would read a null in it
// as zero, or as what the reused slice held there before: this does not.
type blockIDs struct {
	ids     []uint64
	present bool
}

// UnmarshalJSON reads what encoding/json has found to be well-formed.
func (b *blockIDs) UnmarshalJSON(text []byte) error {
	b.ids = b.ids[:0]
	if b.present = string(text) != "null"; !b.present {
		return nil
	}
	list := &numberList{text: text, name: "hash_ids"}
	if err := list.open(); err != nil {
		return err
	}
	for list.more() {
		if len(b.ids) == MaxBlocks {
			return faultf("hash_ids has more than %d ids", MaxBlocks)
		}
		id, err := list.number()
		if err != nil {
			return err
		}
		b.ids = append(b.ids, id)
	}
	return nil
}

// idRuns is a JSON list of [first, count] pairs.
type idRuns struct {
	runs    []idRun
	present bool
}

type idRun struct{ first, count uint64 }

// UnmarshalJSON reads what encoding/json has found to be well-formed.
func (r *idRuns) UnmarshalJSON(text []byte) error {
	r.runs = r.runs[:0]
	if r.present = string(text) != "null"; !r.present {
		return nil
	}
	list := &numberList{text: text, name: "runs"}
	if err := list.open(); err != nil {
		return err
	}
	for list.more() {
		if len(r.runs) == MaxBlocks {
			return faultf("runs has more than %d runs", MaxBlocks)
		}
		var pair [2]uint64
		length := 0
		if err := list.open(); err != nil {
			return err
		}
		for ; list.more(); length++ {
			number, err := list.number()
			if err != nil {
				return err
			}
			if length < len(pair) {
				pair[length] = number
			}
		}
		if length != len(pair) {
			return faultf("runs: a run of %d numbers, want [first, count]", length)
		}
		r.runs = append(r.runs, idRun{pair[0], pair[1]})
	}
	return nil
}

// numberList walks a well-formed JSON text that ought to be a list of whole
// numbers, or of such lists.
type numberList struct {
	text []byte
	name string // of the field, for messages
	at   int
	seen int // numbers read
}

// open steps into a list.
func (l *numberList) open() error {
	l.space()
	if l.text[l.at] != '[' {
		return l.unexpected("a list")
	}
	l.at++
	return nil
}

// more reports whether an element follows in the list, and steps out of the
// list if none does.
func (l *numberList) more() bool {
	l.space()
	if l.text[l.at] == ',' {
		l.at++
		l.space()
	}
	if l.text[l.at] == ']' {
		l.at++
		return false
	}
	return true
}

// number reads a whole number of 64 bits without a sign.
func (l *numberList) number() (uint64, error) {
	start, n := l.at, uint64(0)
	for ; l.at < len(l.text); l.at++ {
		digit := l.text[l.at] - '0'
		if digit > 9 {
			break
		}
		if n > (math.MaxUint64-uint64(digit))/10 {
			l.at = start
			return 0, l.unexpected("a whole number from 0 to 2^64-1")
		}
		n = n*10 + uint64(digit)
	}
	switch c := l.text[l.at]; {
	case l.at == start, c == '.', c == 'e', c == 'E':
		l.at = start
		return 0, l.unexpected("a whole number from 0 to 2^64-1")
	}
	l.seen++
	return n, nil
}

// unexpected describes the value at the current place.
func (l *numberList) unexpected(want string) error {
	end := l.at + 1
	for end < len(l.text) && l.text[end] != ',' && l.text[end] != ']' {
		end++
	}
	return faultf("%s: after %d numbers found %s, want %s", l.name, l.seen, clip(string(l.text[l.at:end])), want)
}

func (l *numberList) space() {
	for l.text[l.at] <= ' ' {
		l.at++
	}
}

// arrival turns a time of the file into a duration.
func arrival(name string, t *float64, unit time.Duration) (time.Duration, error) {
	if t == nil {
		return 0, missing(name)
	}
	if !(*t >= 0 && *t < maxSeconds*float64(time.Second/unit)) {
		return 0, faultf("%s: %g is not a time from 0 to 292 years in %s", name, *t, unitName(unit))
	}
	return time.Duration(*t * float64(unit)), nil
}

func unitName(unit time.Duration) string {
	if unit == time.Second {
		return "seconds"
	}
	return "milliseconds"
}

// tokens checks a length of the file.
func tokens(name string, n *int64) (int, error) {
	switch {
	case n == nil:
		return 0, missing(name)
	case *n < 0 || *n > MaxTokens:
		return 0, faultf("%s: %d is not a number of tokens from 0 to %d", name, *n, int64(MaxTokens))
	}
	return int(*n), nil
}

func missing(name string) error { return faultf("%s is missing", name) }
