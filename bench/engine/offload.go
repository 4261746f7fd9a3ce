package engine

import (
	"container/list"

	"github.com/auxoutput/auxoutput/blockhash"
)

// offload is a tier in host memory that keeps KV blocks after the pool has lost
// them: an LRU of the hashes that end them. A hit that goes on there is loaded
// back. A tier of no blocks is off.
type offload struct {
	blocks int
	order  *list.List // newest in front
	places map[blockhash.Hash]*list.Element
}

func newOffload(blocks int) *offload {
	return &offload{blocks: blocks, order: list.New(), places: make(map[blockhash.Hash]*list.Element)}
}

func (o *offload) on() bool { return o.blocks > 0 }

func (o *offload) has(hash blockhash.Hash) bool { return o.places[hash] != nil }

// put keeps a block as the newest, and returns the hash that had to go for it.
func (o *offload) put(hash blockhash.Hash) (gone blockhash.Hash, ok bool) {
	if place := o.places[hash]; place != nil {
		o.order.MoveToFront(place)
		return gone, false
	}
	o.places[hash] = o.order.PushFront(hash)
	if o.order.Len() <= o.blocks {
		return gone, false
	}
	gone = o.order.Remove(o.order.Back()).(blockhash.Hash)
	delete(o.places, gone)
	return gone, true
}

func (o *offload) drop(hash blockhash.Hash) {
	if place := o.places[hash]; place != nil {
		o.order.Remove(place)
		delete(o.places, hash)
	}
}

func (o *offload) clear() {
	o.order.Init()
	clear(o.places)
}

// extension is how many tokens behind a hit the tier has, in whole KV blocks; the
// last known token always has to be computed.
func (o *offload) extension(e *Engine, s *sequence, hit int) int {
	if !o.on() || hit%e.cfg.KVTokens != 0 {
		return 0
	}
	end := hit
	for end+e.cfg.KVTokens <= len(s.known)-1 && o.has(s.kv.Hashes[(end+e.cfg.KVTokens)/e.cfg.HashTokens-1]) {
		end += e.cfg.KVTokens
	}
	return end - hit
}
