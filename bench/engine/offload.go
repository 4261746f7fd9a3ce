package engine

import (
	"container/list"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
)

// offload is a tier in host memory that keeps KV blocks after the pool has lost
// them: an LRU of the hashes that end them. A hit that goes on there is loaded
// back. A tier of no blocks is off.
type offload struct {
	blocks int
	order  *list.List // of *kept, newest in front
	places map[blockhash.Hash]*list.Element
	byKey  map[blockhash.Hash]*list.Element
}

// kept is a KV block in the tier, with what it left the pool with.
type kept struct {
	end    blockhash.Hash
	keys   []blockhash.Hash
	writer uint64
}

func newOffload(blocks int) *offload {
	return &offload{blocks: blocks, order: list.New(), places: make(map[blockhash.Hash]*list.Element), byKey: make(map[blockhash.Hash]*list.Element)}
}

func (o *offload) on() bool { return o.blocks > 0 }

// holds reports whether the tier has the KV whose rows have a key.
func (o *offload) holds(key blockhash.Hash) bool { return o.byKey[key] != nil }

// put keeps a block as the newest, and returns the keys of the one that had to go for
// it. A tier that has a block under the same hash keeps that one.
func (o *offload) put(block connector.KVBlock, writer uint64) (gone []blockhash.Hash) {
	if place := o.places[block.End]; place != nil {
		o.order.MoveToFront(place)
		return nil
	}
	place := o.order.PushFront(&kept{block.End, block.Keys, writer})
	o.places[block.End] = place
	for _, key := range block.Keys {
		o.byKey[key] = place
	}
	if o.order.Len() > o.blocks {
		gone = o.remove(o.order.Back())
	}
	return gone
}

// drop forgets the block of a hash and returns its keys.
func (o *offload) drop(end blockhash.Hash) []blockhash.Hash { return o.remove(o.places[end]) }

// dropKey forgets the block one of whose rows has a key, and returns all its keys.
func (o *offload) dropKey(key blockhash.Hash) []blockhash.Hash { return o.remove(o.byKey[key]) }

func (o *offload) remove(place *list.Element) []blockhash.Hash {
	if place == nil {
		return nil
	}
	block := o.order.Remove(place).(*kept)
	delete(o.places, block.end)
	for _, key := range block.keys {
		delete(o.byKey, key)
	}
	return block.keys
}

func (o *offload) clear() {
	o.order.Init()
	clear(o.places)
	clear(o.byKey)
}

// extension are the blocks behind a hit that the tier has; the last known token
// always has to be computed.
func (o *offload) extension(e *Engine, s *sequence, hit int) []*kept {
	if !o.on() || s.kv.SkipLookup {
		return nil
	}
	var more []*kept
	for end := hit + e.cfg.KVTokens; end <= len(s.known)-1; end += e.cfg.KVTokens {
		place := o.places[s.kv.Hashes[end/e.cfg.HashTokens-1]]
		if place == nil {
			break
		}
		more = append(more, place.Value.(*kept))
	}
	return more
}
