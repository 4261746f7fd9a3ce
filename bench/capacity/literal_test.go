package capacity

import (
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"
	"pgregory.net/rapid"
)

// literalLRU is the rule of the package's text, word by word: newest first.
type literalLRU struct {
	capacity int
	order    []uint32
}

func (l *literalLRU) has(block uint32) bool { return slices.Contains(l.order, block) }

func (l *literalLRU) touch(block uint32) {
	if at := slices.Index(l.order, block); at >= 0 {
		l.order = slices.Delete(l.order, at, at+1)
	}
	l.order = slices.Insert(l.order, 0, block)
	l.order = l.order[:min(len(l.order), l.capacity)]
}

func (l *literalLRU) replay(blocks []uint32) (hit int) {
	for hit < len(blocks) && l.has(blocks[hit]) {
		hit++
	}
	for _, block := range slices.Backward(blocks) {
		l.touch(block)
	}
	return hit
}

// hashicorpReplay is the same rule on an LRU that others wrote.
func hashicorpReplay(cache *lru.Cache[uint32, struct{}], blocks []uint32) (hit int) {
	for hit < len(blocks) && cache.Contains(blocks[hit]) {
		hit++
	}
	for _, block := range slices.Backward(blocks) {
		cache.Add(block, struct{}{})
	}
	return hit
}

// densely renumbers blocks in order of first appearance.
func densely(trace [][]uint32) [][]uint32 {
	numbers := make(map[uint32]uint32)
	dense := make([][]uint32, len(trace))
	for i, blocks := range trace {
		for _, block := range blocks {
			number, ok := numbers[block]
			if !ok {
				number = uint32(len(numbers))
				numbers[block] = number
			}
			dense[i] = append(dense[i], number)
		}
	}
	return dense
}

// anyTrace draws requests over few blocks, so that they meet again. Some are
// chains of neighbours, some are arbitrary and name blocks twice.
func anyTrace(t *rapid.T) [][]uint32 {
	chain := rapid.Custom(func(t *rapid.T) []uint32 {
		first := rapid.Uint32Range(0, 3).Draw(t, "chain") * 10
		blocks := make([]uint32, rapid.IntRange(0, 12).Draw(t, "length"))
		for i := range blocks {
			blocks[i] = first + uint32(i)
		}
		return blocks
	})
	arbitrary := rapid.SliceOfN(rapid.Uint32Range(0, 20), 0, 8)
	return densely(rapid.SliceOfN(rapid.OneOf(chain, arbitrary), 0, 40).Draw(t, "trace"))
}

// uniqueTrace is anyTrace without repeated blocks in a request.
func uniqueTrace(t *rapid.T) [][]uint32 {
	trace := anyTrace(t)
	for i, blocks := range trace {
		var once []uint32
		for _, block := range blocks {
			if !slices.Contains(once, block) {
				once = append(once, block)
			}
		}
		trace[i] = once
	}
	return trace
}
