package prefixcache

// register files the full blocks of a request under their hashes, as far as
// tokens are scheduled and hashed. Only known tokens are.
func (c *Cache) register(r *Request, scheduled int) {
	if c.cfg.DisableCaching {
		return
	}
	for i := range c.groups {
		g, t := &c.groups[i], &r.tables[i]
		limit := c.registrable(r, g, scheduled)
		c.registerFull(r, g, t, limit/g.BlockTokens)
		c.registerPartial(r, g, t, limit)
	}
}

// registrable is the number of leading tokens whose full blocks a group registers
// once so many are scheduled.
func (c *Cache) registrable(r *Request, g *group, scheduled int) int {
	end := min(scheduled, len(r.Hashes)*c.cfg.HashTokens)
	if len(c.groups) == 1 {
		return end
	}
	// Hits end on scheduler boundaries, and EAGLE gives up one block after that.
	// Before the first boundary there is no hit that it could look beyond.
	aligned := end - end%c.cfg.SchedulerTokens
	if aligned == 0 {
		return 0
	}
	return min(end, aligned+g.eagleBlocks()*g.BlockTokens)
}

// RegisteredBy is the number of leading hashes of a request that a group will have
// registered once the positions before end are scheduled, with the hashes that are
// known now: the length of [Request.Registered] after the [Cache.Admit] or
// [Cache.Allocate] that comes so far, unless that was longer before. It serves to
// make room ahead of the call, for a waiting request as well as for an admitted
// one. It is 0 in a group that the cache does not have.
func (c *Cache) RegisteredBy(r *Request, end, group int) int {
	if r == nil || end < 1 || group < 0 || group >= len(c.groups) || c.cfg.DisableCaching {
		return 0
	}
	g := &c.groups[group]
	return c.registrable(r, g, end) / g.BlockTokens * g.hashes
}

// registerFull files the blocks before block end that were not looked at yet. The
// prompt may have ended inside one of them: its entry there goes first, and
// registerPartial files it again, behind the key of the full block.
func (c *Cache) registerFull(r *Request, g *group, t *table, end int) {
	if end <= t.done {
		return
	}
	if g.hashes > 1 {
		for _, b := range t.blocks[t.done:end] {
			c.forget(b)
		}
	}
	event := Event{Kind: Stored, Group: int(g.id), Tokens: (end - t.done) * g.BlockTokens, BlockTokens: g.BlockTokens}
	if t.done > 0 {
		event.Parent = g.key(r.Hashes, t.done-1).hash
	}
	if c.log.on {
		event.Hashes = c.log.begin(end - t.done)
	}
	for i := t.done; i < end; i++ {
		b := t.blocks[i]
		if b == nullBlock || !g.reachable(i) {
			continue
		}
		k := g.key(r.Hashes, i)
		c.index.add(k, b)
		if c.log.on {
			event.Hashes = append(event.Hashes, k.hash)
		}
	}
	if c.log.on {
		c.log.commit(event)
	}
	t.done = end
}

// registerPartial files the block around the last hash boundary of the prompt
// under the hash that ends there, if the boundary lies inside the block, limit
// has come as far and the entry is not there. It is there if a resumed request hit
// its own block, and it is not if the block became full or lost its hashes.
func (c *Cache) registerPartial(r *Request, g *group, t *table, limit int) {
	boundary := r.Prompt - r.Prompt%c.cfg.HashTokens
	if g.Kind != FullAttention || limit < boundary || boundary%g.BlockTokens == 0 {
		return
	}
	last := boundary/c.cfg.HashTokens - 1
	b, k := t.blocks[boundary/g.BlockTokens], key{hash: r.Hashes[last], group: g.id}
	if c.index.has(b, k) {
		return
	}
	c.index.add(k, b)
	if !c.log.on {
		return
	}
	event := Event{Kind: Stored, Group: int(g.id), Tokens: c.cfg.HashTokens, BlockTokens: c.cfg.HashTokens}
	if last > 0 {
		event.Parent = r.Hashes[last-1]
	}
	event.Hashes = append(c.log.begin(1), k.hash)
	c.log.commit(event)
}
