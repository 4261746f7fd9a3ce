package prefixcache

import (
	"fmt"
	"math"
)

// NoLimit as the limit of a hit leaves its length to the cache.
const NoLimit = math.MaxInt

// batch is a set of groups of equal shape. They are looked up together: a block
// counts only if all of them have it.
type batch struct {
	group        // the first one
	groups []int // all of them
}

// newBatches puts full attention first, since its searches are cheapest to
// shorten, and otherwise keeps the order of the groups.
func newBatches(groups []group) []batch {
	var full, window []batch
	for i, g := range groups {
		list := &full
		if g.Kind == SlidingWindow {
			list = &window
		}
		at := 0
		for at < len(*list) && !(*list)[at].sameShape(g.Group) {
			at++
		}
		if at == len(*list) {
			*list = append(*list, batch{group: g})
		}
		(*list)[at].groups = append((*list)[at].groups, i)
	}
	return append(full, window...)
}

// Lookup is the number of leading tokens of a waiting request that an admission
// would find cached. It changes nothing.
//
// limit is the most tokens to hit: [NoLimit], or less if for some reason of the
// caller's the rest must be computed. The result is the longest hit that is legal
// below it, which need not be a limit rounded down: a sliding window may have lost
// the blocks before that place.
//
// A negative limit, impossible counts or hashes, and a request that is admitted,
// are a [RequestError].
func (c *Cache) Lookup(r *Request, limit int) (hit int, err error) {
	if err := c.waiting("lookup", r, limit); err != nil {
		return 0, err
	}
	return c.search(r, limit), nil
}

// AppendHit appends the blocks of one group that the same lookup finds: in token
// order and without gaps, 0 where the group needs none. An [Cache.Admit] with the
// same limit takes hold of exactly these, if nothing happens in between. It
// changes nothing, and allocates only to make ids longer.
//
// hit is the result of [Cache.Lookup]. blocks is ids with hit / BlockTokens blocks
// appended; after an error it is ids as it was. What Lookup minds, and a group that
// the cache does not have, are a [RequestError].
func (c *Cache) AppendHit(r *Request, limit, group int, ids []int32) (hit int, blocks []int32, err error) {
	if group < 0 || group >= len(c.groups) {
		return 0, ids, &RequestError{Op: "lookup", Reason: ErrGroup, Detail: fmt.Sprintf("group %d of %d", group, len(c.groups))}
	}
	if err := c.waiting("lookup", r, limit); err != nil {
		return 0, ids, err
	}
	hit = c.search(r, limit)
	return hit, c.appendHeld(group, hit, ids), nil
}

// appendHeld appends the blocks of the last search that a request takes hold of:
// those that the window has passed are left null. The search found all others, so
// none of them is null.
func (c *Cache) appendHeld(group, hit int, ids []int32) []int32 {
	skipped := c.groups[group].skipped(hit)
	ids = grow(ids, skipped)
	return append(ids, c.hits[group][skipped:]...)
}

// waiting checks what can be wrong with a lookup.
func (c *Cache) waiting(op string, r *Request, limit int) error {
	switch {
	case r == nil:
		return &RequestError{Op: op, Reason: ErrTokens, Detail: "request is nil"}
	case r.cache != nil:
		return &RequestError{Op: op, Reason: ErrAdmitted, Detail: fmt.Sprintf("%d tokens computed", r.computed)}
	case limit < 0:
		return &RequestError{Op: op, Reason: ErrSchedule, Detail: fmt.Sprintf("hit limited to %d tokens", limit)}
	}
	return r.validate(op, c.cfg.HashTokens)
}

// search finds the longest hit that all groups agree on, and leaves its blocks in
// hits: for every group as many as make up the hit, null where none is needed.
func (c *Cache) search(r *Request, limit int) int {
	for g := range c.hits {
		c.hits[g] = c.hits[g][:0]
	}
	if c.cfg.DisableCaching || r.SkipLookup {
		return 0
	}
	usable := r.Tokens - 1
	hit := usable
	if limit < usable {
		hit = limit - limit%c.cfg.SchedulerTokens
	}
	// With one group, or one batch of full attention and one other, the last batch
	// of the first round has the last word.
	once := len(c.groups) == 1 || len(c.batches) == 2 && c.batches[0].Kind == FullAttention && c.batches[1].Kind != FullAttention
	clear(c.dropped)
	for round := 0; ; round++ {
		shortest := c.round(r, usable, hit, round)
		done := once || shortest >= hit
		hit = min(hit, shortest)
		if done {
			break
		}
	}
	for i := range c.batches {
		if b := &c.batches[i]; b.Kind == FullAttention {
			c.cutHits(b, hit/b.BlockTokens)
		}
	}
	return hit
}

// round lets every batch shorten the candidate in turn, and returns what is left
// of it.
func (c *Cache) round(r *Request, usable, hit, round int) int {
	for i := range c.batches {
		b := &c.batches[i]
		if b.Kind == FullAttention && round > 0 {
			continue // every shorter prefix of a hit is a hit too
		}
		drop := b.Eagle && !c.dropped[i]
		limit := hit
		if drop {
			// The block to be dropped may lie past the candidate.
			limit = min(hit+b.BlockTokens, usable)
		}
		found := 0
		if b.Kind == FullAttention {
			found = c.findFull(b, r.Hashes, limit, drop)
		} else {
			found = c.findWindow(b, r.Hashes, limit, drop)
		}
		found *= b.BlockTokens
		if drop {
			c.dropped[i] = true
		} else if found < hit {
			clear(c.dropped)
		}
		hit = found
	}
	return hit
}
