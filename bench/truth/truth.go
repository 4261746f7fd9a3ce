// Package truth makes up the rows that a model's router would choose.
//
// A row is a pure function of the generation, the tokens up to its position, the shape
// and, where asked for, the number of the computation. So a row of another request, of
// another position, of other weights or of another forward pass never passes for it,
// and a replay can check every answer without remembering any.
package truth

import (
	"math/bits"

	"github.com/auxoutput/auxoutput/routing"
)

// Rows walks along one sequence of tokens and gives their rows. It is a small
// value: a copy walks on from the same place, along drafted tokens say.
type Rows struct {
	profile routing.Profile
	state   uint64 // of the tokens so far
	at      int
}

// New starts at position 0 of a sequence.
func New(profile routing.Profile, generation uint64) Rows {
	return Rows{profile: profile, state: Mix(generation)}
}

// At is the position of the next row, from 0.
func (r *Rows) At() int { return r.at }

// Skip goes past tokens without giving their rows.
func (r *Rows) Skip(tokens []uint32) {
	for _, token := range tokens {
		r.state = Mix(r.state ^ uint64(token))
	}
	r.at += len(tokens)
}

// Append appends the row of each token: RowBytes bytes of the profile. They are the
// same whoever computes them.
func (r *Rows) Append(rows []byte, tokens ...uint32) []byte {
	return r.AppendOf(rows, 0, tokens...)
}

// AppendOf appends the rows that one computation gives the tokens. Another number
// gives other rows; 0 gives those of Append.
func (r *Rows) AppendOf(rows []byte, computation uint64, tokens ...uint32) []byte {
	for _, token := range tokens {
		r.state = Mix(r.state ^ uint64(token))
		draw := r.state
		if computation != 0 {
			draw = Mix(draw ^ Mix(computation))
		}
		for range r.profile.Layers {
			draw = Mix(draw)
			rows = r.appendChoice(rows, draw)
		}
	}
	r.at += len(tokens)
	return rows
}

// appendChoice appends the ids of one layer: TopK different ones, evenly spaced
// round the experts from a drawn place on.
func (r *Rows) appendChoice(rows []byte, draw uint64) []byte {
	experts := uint64(r.profile.Experts)
	first, _ := bits.Mul64(draw, experts)
	step := max(experts/uint64(r.profile.TopK), 1)
	for k := range uint64(r.profile.TopK) {
		id := (first + k*step) % experts
		rows = append(rows, byte(id))
		if r.profile.ItemBytes() == 2 {
			rows = append(rows, byte(id>>8))
		}
	}
	return rows
}

// Mix is the finaliser of SplitMix64: every bit of the input reaches every bit
// of the output.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
