package trace

import (
	"fmt"
	"math"
	"slices"
)

// LastBlock says what a file's lists of block ids do about the end of a prompt
// that does not fill its last block.
type LastBlock int

// What the lines of a file have in common.
const (
	// EitherLast: no line tells, every prompt fills its last block.
	EitherLast LastBlock = iota
	// FullOnly: floor(input/block) ids, full blocks only, as vLLM hashes them.
	FullOnly
	// PartialListed: ceil(input/block) ids, the last possibly of a partial
	// block, as Mooncake lists them.
	PartialListed
	// MixedLast: some lines list the partial block, some do not.
	MixedLast
)

// String describes the convention.
func (l LastBlock) String() string {
	switch l {
	case FullOnly:
		return "full blocks only"
	case PartialListed:
		return "last block possibly partial"
	case MixedLast:
		return "last block listed by some lines only"
	}
	return "every last block full"
}

// Layout is how a file cuts prompts into blocks.
type Layout struct {
	BlockTokens int // tokens of a block; 0 if the lines leave it open
	LastBlock   LastBlock
}

// span is a range of block sizes, both ends allowed.
type span struct{ low, high int64 }

func (s span) empty() bool            { return s.low > s.high }
func (s span) holds(block int64) bool { return s.low <= block && block <= s.high }
func (s span) meet(other span) span {
	return span{max(s.low, other.low), min(s.high, other.high)}
}

func (s span) String() string {
	switch {
	case s.low == s.high:
		return fmt.Sprintf("blocks of %d tokens", s.low)
	case s.high == math.MaxInt64:
		return fmt.Sprintf("blocks of at least %d tokens", s.low)
	}
	return fmt.Sprintf("blocks of %d to %d tokens", s.low, s.high)
}

// powers returns the powers of two in s.
func (s span) powers() []int64 {
	var found []int64
	for b := int64(1); b > 0 && b <= MaxTokens && b <= s.high; b <<= 1 {
		if s.holds(b) {
			found = append(found, b)
		}
	}
	return found
}

// layouts keeps the block sizes under which every line so far has as many ids
// as its tokens make full blocks, or all blocks, or one of the two.
type layouts struct {
	full, all, either span
	stated            int64 // block size from the caller or the file; 0 if none
}

func newLayouts(stated int) layouts {
	anything := span{1, math.MaxInt64}
	if stated > 0 {
		anything = span{int64(stated), int64(stated)}
	}
	return layouts{full: anything, all: anything, either: anything, stated: int64(stated)}
}

// observe takes one line's tokens and number of ids. It is an error if no block
// size explains all lines.
func (l *layouts) observe(tokens int64, ids int) error {
	full, all := spansOf(tokens, int64(ids))
	either := span{full.low, max(full.high, all.high)}
	if full.empty() {
		either = all
	}
	met := l.either.meet(either)
	if met.empty() {
		if l.stated > 0 {
			return faultf("%d block ids for %d tokens: blocks of %d make %d full ones, %d with a partial one",
				ids, tokens, l.stated, tokens/l.stated, ceilDiv(tokens, l.stated))
		}
		return faultf("%d block ids for %d tokens fit no block size: the lines before allow %s",
			ids, tokens, l.either)
	}
	l.full, l.all, l.either = l.full.meet(full), l.all.meet(all), met
	return nil
}

// spansOf gives the block sizes b with floor(tokens/b) = n, and those with
// ceil(tokens/b) = n. The two touch or overlap, so their union has no gap.
func spansOf(tokens, n int64) (full, all span) {
	nothing := span{1, 0}
	switch {
	case tokens == 0 && n == 0:
		return span{1, math.MaxInt64}, span{1, math.MaxInt64}
	case tokens == 0:
		return nothing, nothing
	case n == 0:
		return span{tokens + 1, math.MaxInt64}, nothing
	}
	full = span{tokens/(n+1) + 1, tokens / n}
	all = span{ceilDiv(tokens, n), math.MaxInt64}
	if n > 1 {
		all.high = ceilDiv(tokens, n-1) - 1
	}
	return full, all
}

// layout is the conclusion. Among several sizes under which all lines agree the
// power of two is taken, if there is just one: no engine uses anything else by
// default. Another size is taken only if it is the only one, and no power of two
// would do with lines of both conventions.
func (l *layouts) layout() Layout {
	var sizes []int64
	for _, s := range l.conventions() {
		sizes = appendNew(sizes, s.powers()...)
	}
	if len(sizes) == 0 {
		sizes = l.either.powers()
		for _, s := range l.conventions() {
			if s.low == s.high {
				sizes = appendNew(sizes, s.low)
			}
		}
	}
	if l.stated > 0 {
		sizes = []int64{l.stated}
	}
	if len(sizes) != 1 || sizes[0] > math.MaxInt32 {
		return Layout{}
	}
	return Layout{BlockTokens: int(sizes[0]), LastBlock: l.lastBlock(sizes[0])}
}

func appendNew(sizes []int64, more ...int64) []int64 {
	for _, size := range more {
		if !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
	}
	return sizes
}

// conventions are the readings that explain every line: full blocks only, all
// blocks, and only if neither does, a mixture.
func (l *layouts) conventions() []span {
	var kept []span
	for _, s := range []span{l.full, l.all} {
		if !s.empty() {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		kept = append(kept, l.either)
	}
	return kept
}

func (l *layouts) lastBlock(block int64) LastBlock {
	switch full, all := l.full.holds(block), l.all.holds(block); {
	case full && all:
		return EitherLast
	case full:
		return FullOnly
	case all:
		return PartialListed
	}
	return MixedLast
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
