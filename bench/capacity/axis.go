package capacity

import "math/bits"

// axis counts the marked moments of a time line. A moment is marked while it is
// the last touch of some block, so the marks after a block's moment are the
// blocks above it in the recency stack.
//
// It is a bit for each moment, and a Fenwick tree over the number of marks in
// each word of 64: a count costs one walk of the tree, and so does a change of
// any number of marks within a word.
type axis struct {
	words []uint64
	tree  []uint32 // tree[i] sums the words (i - lowest bit of i, i], from 1
	marks int
}

func newAxis(moments int) axis {
	words := moments/64 + 1
	return axis{words: make([]uint64, words), tree: make([]uint32, words+1)}
}

// moments is the length of the time line.
func (a *axis) moments() int { return len(a.words) * 64 }

// before counts the marks at moments below t.
func (a *axis) before(t uint32) int {
	word := int(t / 64)
	count := uint32(bits.OnesCount64(a.words[word] & (1<<(t%64) - 1)))
	for i := word; i > 0; i &= i - 1 {
		count += a.tree[i]
	}
	return int(count)
}

// set marks the moments from first up to and without end, none of them marked.
func (a *axis) set(first, end uint32) {
	for first < end {
		word, mask, next := part(first, end)
		a.words[word] |= mask
		n := bits.OnesCount64(mask)
		a.marks += n
		for i := word + 1; i < len(a.tree); i += i & -i {
			a.tree[i] += uint32(n)
		}
		first = next
	}
}

// clear removes the marks from first up to and without end, all of them set.
func (a *axis) clear(first, end uint32) {
	for first < end {
		word, mask, next := part(first, end)
		a.words[word] &^= mask
		n := bits.OnesCount64(mask)
		a.marks -= n
		for i := word + 1; i < len(a.tree); i += i & -i {
			a.tree[i] -= uint32(n)
		}
		first = next
	}
}

// part is the share of [first, end) that lies in first's word.
func part(first, end uint32) (word int, mask uint64, next uint32) {
	word = int(first / 64)
	mask = ^uint64(0) << (first % 64)
	next = first - first%64 + 64
	if next > end {
		next = end
		mask &= 1<<(end%64) - 1
	}
	return word, mask, next
}

// ranks counts, for each word, the marks in all words before it.
func (a *axis) ranks() []uint32 {
	ranks, sum := make([]uint32, len(a.words)), uint32(0)
	for i, word := range a.words {
		ranks[i] = sum
		sum += uint32(bits.OnesCount64(word))
	}
	return ranks
}
