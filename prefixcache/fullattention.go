package prefixcache

import "github.com/auxoutput/auxoutput/blockhash"

// findFull searches for the hit of full attention groups: leading blocks, up to
// the first that is missing in any of them. drop gives up the last block of it.
// It leaves the blocks in hits and returns their number.
func (c *Cache) findFull(b *batch, hashes []blockhash.Hash, limit int, drop bool) int {
	for _, g := range b.groups {
		c.hits[g] = c.hits[g][:0]
	}
	most := min(limit/b.BlockTokens, len(hashes)/b.hashes)
	n := 0
	for n < most && c.appendHit(b, hashes, n) {
		n++
	}
	if drop && n > 0 {
		n--
	}
	n = c.alignBlocks(b, n)
	c.cutHits(b, n)
	return n
}

// appendHit appends block i to the hits of all groups of a batch. On a miss it
// may have done so for some of them.
func (c *Cache) appendHit(b *batch, hashes []blockhash.Hash, i int) bool {
	for _, g := range b.groups {
		block := c.index.find(c.groups[g].key(hashes, i))
		if block == nullBlock {
			return false
		}
		c.hits[g] = append(c.hits[g], block)
	}
	return true
}

// alignBlocks rounds a number of blocks down to the unit of hits.
func (c *Cache) alignBlocks(b *batch, n int) int {
	return n - n%(c.cfg.SchedulerTokens/b.BlockTokens)
}

func (c *Cache) cutHits(b *batch, n int) {
	for _, g := range b.groups {
		c.hits[g] = c.hits[g][:n]
	}
}
