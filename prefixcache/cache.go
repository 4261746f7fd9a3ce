package prefixcache

import (
	"fmt"

	"github.com/auxoutput/auxoutput/blockhash"
)

// Cache is a pool of KV blocks and the index of what they hold. Make one with
// [New]. It is not safe for concurrent use.
type Cache struct {
	cfg     Config
	groups  []group
	batches []batch
	pool    pool
	index   index
	log     eventLog
	stats   Stats
	discard func(b int32) bool // blocks that are reused before all others

	// Memory of the search.
	hits    [][]int32 // by group
	dropped []bool    // by batch: the candidate went through its EAGLE drop
}

// New makes a cache in which all blocks are free and nothing is registered. A
// configuration that makes no sense is an [auxerrors.ConfigError].
func New(cfg Config) (*Cache, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	c := &Cache{
		cfg:    cfg,
		groups: make([]group, len(cfg.Groups)),
		pool:   newPool(cfg.Blocks),
		index:  newIndex(cfg.Blocks),
		log:    eventLog{on: cfg.Events},
		hits:   make([][]int32, len(cfg.Groups)),
	}
	for i, g := range cfg.Groups {
		c.groups[i] = newGroup(g, uint8(i), cfg)
	}
	c.batches = newBatches(c.groups)
	c.dropped = make([]bool, len(c.batches))
	c.discard = func(b int32) bool { return !c.index.hashed(b) }
	if cfg.LegacyFreeOrder || cfg.DisableCaching {
		c.discard = func(int32) bool { return false }
	}
	return c, nil
}

// Config is the configuration with its defaults filled in.
func (c *Cache) Config() Config {
	cfg := c.cfg
	cfg.Groups = append([]Group(nil), cfg.Groups...)
	return cfg
}

// Free returns all blocks of a finished request and forgets about it. The
// Request may be used for another sequence. A request that is not admitted here
// is a [RequestError].
func (c *Cache) Free(r *Request) error {
	if err := c.holds("free", r); err != nil {
		return err
	}
	c.release(r)
	r.hit, r.preemptions, r.seen = 0, 0, seen{}
	return nil
}

// Preempt returns all blocks of a request that will be admitted again. Its
// tokens and hashes stay, and so does what is registered, until the blocks are
// reused. A request that is not admitted here is a [RequestError].
func (c *Cache) Preempt(r *Request) error {
	if err := c.holds("preempt", r); err != nil {
		return err
	}
	c.release(r)
	r.preemptions++
	return nil
}

// holds checks that a request has blocks of this cache. Returning them needs
// nothing more: it must be possible whatever became of the request's counts.
func (c *Cache) holds(op string, r *Request) error {
	switch {
	case r == nil:
		return &RequestError{Op: op, Reason: ErrNotAdmitted, Detail: "request is nil"}
	case r.cache == nil:
		return &RequestError{Op: op, Reason: ErrNotAdmitted}
	case r.cache != c:
		return &RequestError{Op: op, Reason: ErrNotAdmitted, Detail: "another cache holds it"}
	}
	return nil
}

func (c *Cache) release(r *Request) {
	for i := range r.tables {
		c.pool.release(r.tables[i].blocks, c.discard)
		r.tables[i].blocks = r.tables[i].blocks[:0]
	}
	r.cache, r.computed = nil, 0
}

// EvictBlocks takes all hashes from blocks, whether in use or not. The blocks
// stay where they are, so a request that uses them goes on undisturbed. An id
// outside the pool is a [RequestError].
func (c *Cache) EvictBlocks(ids ...int32) error {
	for _, b := range ids {
		if b < 0 || int(b) >= c.cfg.Blocks {
			return &RequestError{Op: "evict", Reason: ErrBlock, Detail: fmt.Sprintf("block %d of %d", b, c.cfg.Blocks)}
		}
	}
	for _, b := range ids {
		if c.forget(b) {
			c.stats.Dropped++
		}
	}
	return nil
}

// EvictHash does the same to every block that any group has filed under a hash,
// and returns how many there were. A hash that ends inside a block, other than
// the last one of a prompt, is no key: give the hash that ends the block.
func (c *Cache) EvictHash(h blockhash.Hash) int {
	n := 0
	for i := range c.groups {
		k := key{hash: h, group: c.groups[i].id}
		for b := c.index.find(k); b != nullBlock; b = c.index.find(k) {
			c.forget(b)
			n++
		}
	}
	c.stats.Dropped += int64(n)
	return n
}

// forget takes all hashes from a block and says whether there were any.
func (c *Cache) forget(b int32) bool {
	k, ok := c.index.drop(b)
	if !ok {
		return false
	}
	for ; ok; k, ok = c.index.drop(b) {
		c.log.removed(k)
	}
	return true
}

// Reset forgets all hashes if no block is in use, as after an update of the
// weights, and says whether it did. The order of the free list stays.
func (c *Cache) Reset() bool {
	if c.pool.free != c.cfg.Blocks-1 {
		return false
	}
	c.index.clear()
	c.log.cleared()
	return true
}

// Contains reports whether a group has a block filed under a hash.
func (c *Cache) Contains(h blockhash.Hash, group int) bool {
	if group < 0 || group >= len(c.groups) {
		return false
	}
	return c.index.find(key{hash: h, group: uint8(group)}) != nullBlock
}

// AppendHolders appends the ids of all blocks that a group has filed under a hash,
// the one filed first, which a lookup finds, foremost. There are none in a group
// that the cache does not have. It allocates only to make ids longer.
func (c *Cache) AppendHolders(h blockhash.Hash, group int, ids []int32) []int32 {
	if group < 0 || group >= len(c.groups) {
		return ids
	}
	return c.index.appendBlocks(key{hash: h, group: uint8(group)}, ids)
}

// Keys is the number of distinct hashes that are registered, summed over groups.
func (c *Cache) Keys() int { return c.index.keys }

// FreeBlocks is the number of blocks that nobody uses. Used blocks are
// Blocks - 1 - FreeBlocks, for the null block is neither.
func (c *Cache) FreeBlocks() int { return c.pool.free }

// AppendFreeList appends the ids of the free blocks, the next to be reused first.
func (c *Cache) AppendFreeList(ids []int32) []int32 {
	if len(c.pool.next) == 0 {
		return ids // the zero Cache has no blocks
	}
	end := c.pool.end()
	for b := c.pool.next[end]; b != end; b = c.pool.next[b] {
		ids = append(ids, b)
	}
	return ids
}

// DrainEvents appends the events since the last call, oldest first. Their hashes
// stay valid and must not be changed.
func (c *Cache) DrainEvents(events []Event) []Event {
	events = append(events, c.log.events...)
	clear(c.log.events) // they hold on to hashes
	c.log.events = c.log.events[:0]
	return events
}

// Stats counts what happened since the cache was made.
type Stats struct {
	New     Lookups // admissions of requests that came for the first time
	Resumed Lookups // admissions after a preemption, which mostly hit their own blocks
	Evicted int64   // blocks that lost their hashes because they were reused
	Dropped int64   // blocks that lost them through EvictBlocks or EvictHash
}

// Lookups sums up admissions that succeeded and did not skip the lookup.
type Lookups struct {
	Requests  int64
	Tokens    int64 // known tokens
	HitTokens int64 // of those, found cached
}

// Stats is cheap.
func (c *Cache) Stats() Stats { return c.stats }

func (c *Cache) countLookup(r *Request) {
	if c.cfg.DisableCaching || r.SkipLookup {
		return
	}
	s := &c.stats.New
	if r.preemptions > 0 {
		s = &c.stats.Resumed
	}
	s.Requests++
	s.Tokens += int64(r.Tokens)
	s.HitTokens += int64(r.hit)
}
