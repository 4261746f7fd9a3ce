package prefixcache

import "github.com/auxoutput/auxoutput/blockhash"

// group is a Group with everything that follows from the configuration.
type group struct {
	Group
	id     uint8
	hashes int // hash blocks per block
	tail   int // window: blocks that a hit needs before its end
	period int // window: of every so many blocks ...
	keep   int // ... so many can end up inside a hit's window
}

func newGroup(g Group, id uint8, cfg Config) group {
	it := group{Group: g, id: id, hashes: g.BlockTokens / cfg.HashTokens}
	if g.Kind == SlidingWindow {
		it.tail = ceilDiv(g.Window-1, g.BlockTokens)
		it.period = cfg.SchedulerTokens / g.BlockTokens
		// The search wants at least one block, even for a window that looks back
		// on nothing.
		it.keep = max(it.tail+it.eagleBlocks(), 1)
	}
	return it
}

func (g *group) eagleBlocks() int {
	if g.Eagle {
		return 1
	}
	return 0
}

// key is what block i of a sequence is filed under: the hash at its end.
func (g *group) key(hashes []blockhash.Hash, i int) key {
	return key{hash: hashes[(i+1)*g.hashes-1], group: g.id}
}

// skipped is the number of leading blocks that no token from position tokens on
// attends to.
func (g *group) skipped(tokens int) int {
	if g.Kind == FullAttention {
		return 0
	}
	return max(0, tokens-g.Window+1) / g.BlockTokens
}

// reachable reports whether block i can ever be part of a hit. Hits end on
// scheduler boundaries only, so of a window group with smaller blocks most are
// not; under EAGLE everything lies one block later, for the one that is dropped.
func (g *group) reachable(i int) bool {
	if g.Kind == FullAttention || g.keep >= g.period {
		return true
	}
	i -= g.eagleBlocks()
	return i >= 0 && i%g.period >= g.period-g.keep
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
