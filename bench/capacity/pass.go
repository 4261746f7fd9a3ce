package capacity

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// checkDense refuses block numbers that skip ahead of the known ones: arrays are
// indexed by them.
func checkDense(blocks []uint32, known int) error {
	if len(blocks) == 0 {
		return nil
	}
	if highest := slices.Max(blocks); int64(highest) >= int64(known)+int64(len(blocks)) {
		return fmt.Errorf("capacity: block number %d after %d different blocks: numbers must be given in order of first appearance", highest, known)
	}
	return nil
}

// spareFactor is how much longer than the number of blocks the time line is: it
// is renumbered, which costs a step for each block, once in about spareFactor-1
// times as many touches.
const spareFactor = 4

// mostMoments is as far as moments can be counted, on every platform.
const mostMoments = min(math.MaxUint32, math.MaxInt) - 128

// leastMoments keeps tiny traces from renumbering all the time.
const leastMoments = 1 << 12

// Pass takes the requests of a trace one by one and then gives the [Curve]. Its
// memory grows with the number of different blocks, about 20 bytes for each, and
// not with the length of the trace. The zero value is ready.
type Pass struct {
	requests   int
	references int64
	unique     int

	axis axis
	now  uint32   // next moment
	last []uint32 // by block: moment of the last touch plus one; 0 before the first

	// steps[p] is the number of hit prefixes with greatest place p, less that
	// of p-1: a run of consecutive places changes only its two ends.
	steps []int64
	first []int64 // by place: requests whose first block was found there
}

// Add replays one request. Its blocks are numbers from 0 in order of first
// appearance, as a trace reader gives them; a number that skips ahead is an
// error, and nothing changes.
func (p *Pass) Add(blocks []uint32) error {
	if err := checkDense(blocks, len(p.last)); err != nil {
		return err
	}
	p.requests++
	p.references += int64(len(blocks))
	if len(blocks) == 0 {
		return nil
	}
	p.grow(blocks)
	p.count(blocks)
	p.touch(blocks)
	return nil
}

// grow makes room for the request's blocks and moments.
func (p *Pass) grow(blocks []uint32) {
	if need := int(slices.Max(blocks)) + 1; need > len(p.last) {
		p.last = append(p.last, make([]uint32, need-len(p.last))...)
	}
	// Places go up to the number of blocks, and a step needs one beyond.
	if need := len(p.last) + 2; need > len(p.steps) {
		p.steps = append(p.steps, make([]int64, need-len(p.steps))...)
		p.first = append(p.first, make([]int64, need-len(p.first))...)
	}
	if int64(p.now)+int64(len(blocks)) > int64(p.axis.moments()) {
		p.renumber(len(blocks))
	}
}

// renumber closes the gaps that forgotten touches left in the time line, and
// gives it room for at least more moments.
func (p *Pass) renumber(more int) {
	ranks := p.axis.ranks()
	for block, t := range p.last {
		if t > 0 {
			t--
			below := p.axis.words[t/64] & (1<<(t%64) - 1)
			p.last[block] = ranks[t/64] + uint32(bits.OnesCount64(below)) + 1
		}
	}
	marks := p.axis.marks
	p.axis = newAxis(int(min(int64(max(spareFactor*len(p.last), leastMoments)+more), mostMoments)))
	p.axis.set(0, uint32(marks))
	p.now = uint32(marks)
}

// count finds the places of the leading blocks that are on the stack. Blocks
// whose last touches follow one another backwards in time, as those of a chain
// do, stand one below the other: only the first of them needs a look-up.
func (p *Pass) count(blocks []uint32) {
	greatest := 0
	for i := 0; i < len(blocks); {
		t := p.last[blocks[i]]
		if t == 0 {
			return
		}
		length := 1
		for i+length < len(blocks) && p.last[blocks[i+length]] == t-uint32(length) && t > uint32(length) {
			length++
		}
		place := p.axis.marks - p.axis.before(t-1)
		if i == 0 {
			p.first[place]++
		}
		// Places place, place+1, ... of which those below greatest do not
		// raise the maximum.
		covered := min(max(greatest-place, 0), length)
		p.add(greatest, greatest, covered)
		if covered < length {
			p.add(place+covered, place+length-1, 1)
			greatest = place + length - 1
		}
		i += length
	}
}

// add counts n prefixes at each of the places from low to high.
func (p *Pass) add(low, high, n int) {
	p.steps[low] += int64(n)
	p.steps[high+1] -= int64(n)
}

// touch moves the request's blocks to the top of the stack, the last one first.
// All its moments are marked at once; a block's old mark is removed when the
// block is met, which is right also for a block that the request names twice.
func (p *Pass) touch(blocks []uint32) {
	p.axis.set(p.now, p.now+uint32(len(blocks)))
	first, end := uint32(0), uint32(0) // old marks to remove
	for _, block := range slices.Backward(blocks) {
		p.now++
		if t := p.last[block]; t == 0 {
			p.unique++
		} else {
			if t-1 != end {
				p.axis.clear(first, end)
				first = t - 1
			}
			end = t
		}
		p.last[block] = p.now
	}
	p.axis.clear(first, end)
}
