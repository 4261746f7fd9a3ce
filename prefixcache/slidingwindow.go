package prefixcache

import "github.com/auxoutput/auxoutput/blockhash"

// findWindow searches for the hit of sliding window groups: from the right, the
// first run of blocks that covers the window before an aligned end. What lies
// left of the run stays null. A shorter run will do if it reaches the start of
// the sequence. drop asks for one block more and gives it up again. It leaves
// the blocks in hits and returns their number.
func (c *Cache) findWindow(b *batch, hashes []blockhash.Hash, limit int, drop bool) int {
	most := min(limit/b.BlockTokens, len(hashes)/b.hashes)
	for _, g := range b.groups {
		c.hits[g] = grow(c.hits[g][:0], most)
	}
	dropped := 0
	if drop {
		dropped = 1
	}
	need := b.tail + dropped
	n, run, found := 0, 0, false
	for i := most - 1; i >= 0 && !found; i-- {
		if run == 0 && i+1-dropped != c.alignBlocks(b, i+1-dropped) {
			continue
		}
		if !c.setHit(b, hashes, i) {
			run = 0
			continue
		}
		if run++; run >= need {
			n, found = i+run, true
		}
	}
	if !found {
		n = c.alignBlocks(b, run)
	}
	if drop && n > 0 {
		n = c.alignBlocks(b, n-1)
	}
	c.cutHits(b, n)
	return n
}

// setHit puts block i into the hits of all groups of a batch. On a miss it may
// have done so for some of them; the search cuts those off.
func (c *Cache) setHit(b *batch, hashes []blockhash.Hash, i int) bool {
	for _, g := range b.groups {
		block := c.index.find(c.groups[g].key(hashes, i))
		if block == nullBlock {
			return false
		}
		c.hits[g][i] = block
	}
	return true
}

// grow appends n null blocks.
func grow(blocks []int32, n int) []int32 {
	for range n {
		blocks = append(blocks, nullBlock)
	}
	return blocks
}
