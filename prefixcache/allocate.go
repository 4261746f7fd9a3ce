package prefixcache

import (
	"fmt"
	"slices"
)

// Admit looks up a waiting request, takes hold of the blocks it hits and adds
// what it needs to compute the next tokens tokens after them. Full blocks are
// registered at once. limit bounds the hit as in [Cache.Lookup].
//
// hit is the number of tokens found cached. ok is false if too few blocks are
// free: then nothing has happened. tokens must be at least 1 and at most what is
// left after the hit; that, and everything that Lookup minds, is a [RequestError].
func (c *Cache) Admit(r *Request, limit, tokens int) (hit int, ok bool, err error) {
	if err := c.waiting("admit", r, limit); err != nil {
		return 0, false, err
	}
	hit = c.search(r, limit)
	if tokens < 1 || tokens > r.Tokens-hit {
		return 0, false, &RequestError{Op: "admit", Reason: ErrSchedule,
			Detail: fmt.Sprintf("%d tokens scheduled, %d known, %d of them cached", tokens, r.Tokens, hit)}
	}
	if !c.canAdmit(hit, hit+tokens) {
		return hit, false, nil
	}
	r.cache, r.hit, r.computed = c, hit, hit
	if len(r.tables) != len(c.groups) {
		r.tables = make([]table, len(c.groups))
	}
	for i := range c.groups {
		c.hold(&c.groups[i], &r.tables[i], hit)
	}
	c.countLookup(r)
	c.extend(r, hit+tokens)
	return hit, true, nil
}

// canAdmit reports whether enough blocks are free for a new request that hits
// the blocks in hits and goes on to end. Hit blocks that nobody uses count, for
// they leave the free list.
func (c *Cache) canAdmit(hit, end int) bool {
	free := c.pool.free
	for i := range c.groups {
		g := &c.groups[i]
		free -= ceilDiv(end, g.BlockTokens) - len(c.hits[i])
		for _, b := range c.hits[i][g.skipped(hit):] {
			if c.pool.users[b] == 0 {
				free--
			}
		}
		if free < 0 {
			return false
		}
	}
	return true
}

// hold starts a table with the blocks that the search has left in hits.
func (c *Cache) hold(g *group, t *table, hit int) {
	t.blocks = c.appendHeld(int(g.id), hit, t.blocks[:0])
	for _, b := range t.blocks[g.skipped(hit):] {
		c.pool.touch(b)
	}
	t.done = len(t.blocks)
}

// Allocate adds what an admitted request needs to compute the next tokens known
// tokens and, after them, drafts tokens that are not known yet: speculated ones,
// or the placeholder of a token still in flight. Blocks that became full are
// registered as far as tokens are known.
//
// ok is false if too few blocks are free. The request is as it was then, except
// that blocks which a sliding window has passed have been returned, which can be
// enough for another try. Numbers that are negative or both 0, more tokens than
// are known and not computed, and a request that is not admitted here, are a
// [RequestError].
func (c *Cache) Allocate(r *Request, tokens, drafts int) (ok bool, err error) {
	if err := c.running("allocate", r); err != nil {
		return false, err
	}
	if tokens < 0 || drafts < 0 || tokens == 0 && drafts == 0 ||
		tokens > max(0, r.Tokens-r.computed) || drafts > MaxTokens-r.computed-tokens {
		return false, &RequestError{Op: "allocate", Reason: ErrSchedule,
			Detail: fmt.Sprintf("%d tokens and %d drafts scheduled, %d known, %d of them computed", tokens, drafts, r.Tokens, r.computed)}
	}
	for i := range c.groups {
		c.leaveBehind(&c.groups[i], &r.tables[i], r.computed)
	}
	end := r.computed + tokens + drafts
	free := c.pool.free
	for i := range c.groups {
		free -= max(0, ceilDiv(end, c.groups[i].BlockTokens)-len(r.tables[i].blocks))
		if free < 0 {
			return false, nil
		}
	}
	c.extend(r, end)
	return true, nil
}

// Settle registers the blocks of an admitted request that are full of computed
// tokens, now that their hashes are known. Without it they are registered by the
// next Allocate, which a request that ends never sees. The last inFlight tokens
// that were scheduled count as not computed yet. It is what vLLM does as the
// output of a step arrives under asynchronous scheduling.
//
// A negative inFlight, more than are computed, and a request that is not admitted
// here are a [RequestError].
func (c *Cache) Settle(r *Request, inFlight int) error {
	if err := c.running("settle", r); err != nil {
		return err
	}
	if inFlight < 0 || inFlight > r.computed {
		return &RequestError{Op: "settle", Reason: ErrSchedule,
			Detail: fmt.Sprintf("%d tokens in flight, %d computed", inFlight, r.computed)}
	}
	r.accept()
	c.register(r, r.computed-inFlight)
	return nil
}

// running checks what can be wrong with a step of an admitted request.
func (c *Cache) running(op string, r *Request) error {
	if err := c.holds(op, r); err != nil {
		return err
	}
	return r.validate(op, c.cfg.HashTokens)
}

// leaveBehind returns the blocks of a window group that the tokens to come do
// not attend to.
func (c *Cache) leaveBehind(g *group, t *table, computed int) {
	end := min(g.skipped(computed), len(t.blocks))
	start := end
	for start > 0 && t.blocks[start-1] != nullBlock {
		start-- // left of a null block everything is null
	}
	passed := t.blocks[start:end]
	c.pool.release(passed, c.discard)
	clear(passed)
}

// extend gives a request the blocks it lacks up to a token, and registers what
// became full. There must be enough of them.
func (c *Cache) extend(r *Request, end int) {
	for i := range c.groups {
		t := &r.tables[i]
		missing := ceilDiv(end, c.groups[i].BlockTokens) - len(t.blocks)
		t.blocks = slices.Grow(t.blocks, max(0, missing))
		for range missing {
			b := c.pool.take()
			if c.forget(b) {
				c.stats.Evicted++
			}
			t.blocks = append(t.blocks, b)
		}
	}
	r.computed = end
	r.accept()
	c.register(r, end)
}

// Reject takes back the last drafts of the tokens that were scheduled beyond the
// known ones, after the model refused them. Their blocks stay with the request.
// More than are there, or none, is a [RequestError].
func (c *Cache) Reject(r *Request, drafts int) error {
	if err := c.running("reject", r); err != nil {
		return err
	}
	// Of the known tokens only the last one may still be to compute.
	if drafts < 1 || drafts > r.computed-(r.Tokens-1) {
		return &RequestError{Op: "reject", Reason: ErrSchedule,
			Detail: fmt.Sprintf("%d drafts rejected, %d tokens known, %d computed", drafts, r.Tokens, r.computed)}
	}
	r.computed -= drafts
	return nil
}
