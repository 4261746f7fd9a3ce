package engine

import (
	"slices"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	"github.com/auxoutput/auxoutput/prefixcache"
)

// links knows which hash blocks make up a KV block that was registered: the KV
// cache files a block under the last of its hashes, the store has them all. Two KV
// blocks that begin alike share hash blocks.
type links struct {
	ratio int
	fine  map[blockhash.Hash][]blockhash.Hash // by the hash that ends the KV block
	ends  map[blockhash.Hash][]blockhash.Hash // by hash block: the KV blocks it is part of
}

func newLinks(ratio int) links {
	return links{ratio: ratio, fine: make(map[blockhash.Hash][]blockhash.Hash), ends: make(map[blockhash.Hash][]blockhash.Hash)}
}

// add notes the KV blocks of leading hashes. With one hash a block there is
// nothing to note.
func (l *links) add(hashes []blockhash.Hash) {
	if l.ratio == 1 {
		return
	}
	for at := len(hashes); at >= l.ratio; at -= l.ratio {
		block := hashes[at-l.ratio : at]
		end := block[l.ratio-1]
		if _, known := l.fine[end]; known {
			continue // one before it may be new all the same, if it was dropped and registered again
		}
		l.fine[end] = slices.Clone(block)
		for _, hash := range block {
			l.ends[hash] = append(l.ends[hash], end)
		}
	}
}

// remove forgets a KV block that is gone and returns the hash blocks that are gone
// with it: those that no other KV block contains which is still there.
func (l *links) remove(end blockhash.Hash, there func(end blockhash.Hash) bool) []blockhash.Hash {
	if l.ratio == 1 {
		return []blockhash.Hash{end}
	}
	var gone []blockhash.Hash
	for _, hash := range l.fine[end] {
		others := slices.DeleteFunc(l.ends[hash], func(e blockhash.Hash) bool { return e == end })
		l.ends[hash] = others
		if len(others) == 0 {
			delete(l.ends, hash)
		}
		if !slices.ContainsFunc(others, there) {
			gone = append(gone, hash)
		}
	}
	delete(l.fine, end)
	return gone
}

// containing are the hashes under which the KV cache files the blocks that a hash
// block is part of.
func (l *links) containing(hash blockhash.Hash) []blockhash.Hash {
	if l.ratio == 1 {
		return []blockhash.Hash{hash}
	}
	return slices.Clone(l.ends[hash])
}

func (l *links) clear() {
	clear(l.fine)
	clear(l.ends)
}

// tellRemoved passes on what the pool has lost since the last step: to the
// offload tier, and in linked mode to the store.
func (e *Engine) tellRemoved() {
	for _, s := range e.running {
		e.links.add(s.kv.Registered(0))
	}
	e.events = e.cache.DrainEvents(e.events[:0])
	for _, event := range e.events {
		if event.Kind != prefixcache.Removed || event.Group != 0 {
			continue
		}
		for _, hash := range event.Hashes {
			if !e.cache.Contains(hash, 0) {
				e.lost(hash)
			}
		}
	}
}

// lost handles a KV block that the pool has reused.
func (e *Engine) lost(end blockhash.Hash) {
	if e.offload.on() {
		gone, ok := e.offload.put(end)
		if !ok || e.cache.Contains(gone, 0) {
			return
		}
		end = gone
	}
	gone := e.links.remove(end, e.hittable)
	if e.cfg.Mode == connector.Linked {
		e.scheduler.Remove(gone...)
	}
}

// hittable reports whether a KV block can be hit, in the pool or in the tier.
func (e *Engine) hittable(end blockhash.Hash) bool {
	return e.cache.Contains(end, 0) || e.offload.has(end)
}

// forgetBlock makes the pool forget a KV block out of order, without the events
// of that being taken for a reuse, and returns how many copies there were.
func (e *Engine) forgetBlock(end blockhash.Hash) int {
	e.tellRemoved()
	copies := e.cache.EvictHash(end)
	e.events = e.cache.DrainEvents(e.events[:0])
	return copies
}

// dropEvicted drops the KV blocks whose rows the store has evicted, in linked
// mode.
func (e *Engine) dropEvicted() error {
	if e.cfg.Mode != connector.Linked {
		return nil
	}
	e.hashes = e.worker.DrainEvicted(e.hashes[:0])
	for _, hash := range e.hashes {
		for _, end := range e.links.containing(hash) {
			e.offload.drop(end)
			e.report.Dropped += e.forgetBlock(end)
			e.scheduler.Remove(e.links.remove(end, e.hittable)...)
		}
	}
	return nil
}
