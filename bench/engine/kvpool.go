package engine

import (
	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
)

// kvPool is what the KV blocks of the full-attention group hold: for each one the
// number of the admission whose forward pass writes it. It is the engine's own account
// of what the connector has to know, so that the rows of an answer can be checked
// against the KV that the answer was made with.
type kvPool struct {
	writers []uint64 // by block
	before  []uint64 // by block: its writer before that
	last    uint64   // number of the last admission
}

func newKVPool(blocks int) kvPool {
	return kvPool{writers: make([]uint64, blocks), before: make([]uint64, blocks)}
}

// fill notes who writes a block that was just handed out.
func (p *kvPool) fill(block int32, writer uint64) {
	p.before[block], p.writers[block] = p.writers[block], writer
}

// took accounts for the KV blocks that a sequence was given or had registered, and
// tells the connector before anybody else can hit them.
func (e *Engine) took(s *sequence) error {
	for table := s.kv.Table(0); s.held < len(table); s.held++ {
		if s.held == len(s.writers) {
			s.writers = append(s.writers, s.number)
		}
		e.pool.fill(table[s.held], s.writers[s.held])
	}
	if err := e.scheduler.Extend(e.describe(s)); err != nil {
		return err
	}
	e.reused = e.scheduler.AppendLost(e.reused[:0])
	e.reuse()
	return nil
}

// reuse handles the KV blocks that the pool has just handed out again: the offload tier
// keeps those of which it has no other copy, and then gives up others.
func (e *Engine) reuse() {
	var gone []blockhash.Hash
	for _, block := range e.reused {
		gone = append(gone, block.Keys...)
		if !e.cache.Contains(block.End, 0) {
			gone = append(gone, e.offload.put(block, e.pool.before[block.ID])...)
		}
	}
	e.dead(gone)
}

// dead has rows removed whose KV is nowhere any more.
func (e *Engine) dead(keys []blockhash.Hash) {
	for _, key := range keys {
		if !e.offload.holds(key) && len(e.scheduler.AppendBlocks(nil, key)) == 0 {
			e.scheduler.Remove(key)
		}
	}
}

// evict takes the hashes from KV blocks.
func (e *Engine) evict(blocks ...int32) error {
	if err := e.cache.EvictBlocks(blocks...); err != nil {
		return err
	}
	if !e.cfg.hideEvicted {
		e.scheduler.Evicted(blocks...)
	}
	return nil
}

// DropHash makes the KV cache forget one registered hash, as a tier or an
// operator may. Which one follows from the draw.
func (e *Engine) DropHash(draw uint64) error {
	if len(e.running) == 0 {
		return nil
	}
	s := e.running[draw%uint64(len(e.running))]
	registered := s.kv.Registered(0)
	if len(registered) == 0 {
		return nil
	}
	at := int(draw >> 32 % uint64(len(registered)/e.ratio()))
	end := registered[(at+1)*e.ratio()-1]
	e.blocks = e.cache.AppendHolders(end, 0, e.blocks[:0])
	if e.cache.EvictHash(end) == 0 {
		return nil
	}
	e.report.Drops++
	gone := e.offload.drop(end)
	if err := e.evict(e.blocks...); err != nil {
		return err
	}
	e.dead(gone)
	return nil
}

// dropEvicted drops the KV blocks whose rows are gone, as the connector names them.
func (e *Engine) dropEvicted() error {
	e.keys = e.worker.DrainEvicted(e.keys[:0])
	if e.cfg.Mode == connector.Reference {
		for _, hash := range e.keys { // it has no keys of its own
			e.report.Dropped += e.cache.EvictHash(hash)
		}
		return nil
	}
	for _, key := range e.keys {
		gone := e.offload.dropKey(key)
		e.blocks = e.scheduler.AppendBlocks(e.blocks[:0], key)
		e.report.Dropped += len(e.blocks)
		if err := e.evict(e.blocks...); err != nil {
			return err
		}
		e.dead(gone)
	}
	return nil
}

// ratio is the number of hash blocks of a KV block.
func (e *Engine) ratio() int { return e.cfg.KVTokens / e.cfg.HashTokens }

// writerOf is the admission whose forward pass wrote the KV of a position.
func (e *Engine) writerOf(s *sequence, position int) uint64 {
	if block := position / e.cfg.KVTokens; block < s.hit {
		return s.writers[block]
	}
	return s.number
}
