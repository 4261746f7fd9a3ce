package rollout

import (
	"math/bits"

	"github.com/auxoutput/auxoutput/routing"
)

// truth gives the row of every position: a pure function of the tokens up to it
// and of the generation. So the row of another request, of another position or
// of other weights never passes for it, and no answer has to be remembered.
type truth struct {
	profile routing.Profile
	state   uint64 // of the tokens so far
}

func newTruth(profile routing.Profile, generation uint64) truth {
	return truth{profile: profile, state: mix(generation)}
}

// next appends the row of the next token.
func (t *truth) next(rows []byte, token uint32) []byte {
	t.state = mix(t.state ^ uint64(token))
	draw := t.state
	for range t.profile.Layers {
		draw = mix(draw)
		rows = t.appendChoice(rows, draw)
	}
	return rows
}

// appendChoice appends the ids of one layer: TopK different ones, evenly spaced
// round the experts from a drawn place on.
func (t *truth) appendChoice(rows []byte, draw uint64) []byte {
	experts := uint64(t.profile.Experts)
	first, _ := bits.Mul64(draw, experts)
	step := max(experts/uint64(t.profile.TopK), 1)
	for k := range uint64(t.profile.TopK) {
		id := (first + k*step) % experts
		rows = append(rows, byte(id))
		if t.profile.ItemBytes() == 2 {
			rows = append(rows, byte(id>>8))
		}
	}
	return rows
}

// mix is the finaliser of SplitMix64: every bit of the input reaches every bit
// of the output.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
