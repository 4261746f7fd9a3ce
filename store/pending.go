package store

import "github.com/auxoutput/auxoutput/blockhash"

// pending counts the retains of hashes whose blocks are not in the store: not
// published yet, or evicted before they were retained. The counts wait for the
// blocks.
type pending struct {
	places  map[blockhash.Hash]int32
	entries []pendingCount
	free    []int32
}

type pendingCount struct {
	hash blockhash.Hash
	refs int32
}

func (p *pending) find(hash *blockhash.Hash) (int32, bool) {
	if len(p.places) == 0 {
		return 0, false
	}
	at, ok := p.places[*hash]
	return at, ok
}

// add makes an entry with a count of zero for a hash that has none.
func (p *pending) add(hash *blockhash.Hash) int32 {
	if p.places == nil {
		p.places = make(map[blockhash.Hash]int32)
	}
	var at int32
	if last := len(p.free) - 1; last >= 0 {
		at, p.free = p.free[last], p.free[:last]
	} else {
		at = int32(len(p.entries))
		p.entries = append(p.entries, pendingCount{})
	}
	p.entries[at] = pendingCount{hash: *hash}
	p.places[*hash] = at
	return at
}

// remove drops an entry and returns its count. Dropping it twice is harmless.
func (p *pending) remove(at int32) int32 {
	e := p.entries[at]
	if e.hash.IsZero() {
		return 0
	}
	delete(p.places, e.hash)
	p.entries[at] = pendingCount{}
	p.free = append(p.free, at)
	return e.refs
}

// set makes refs the count of a hash whose block is absent, and takes a count
// away that moves to a block which is stored now.
func (p *pending) set(hash *blockhash.Hash, absent bool, refs int32) {
	at, ok := p.find(hash)
	switch {
	case absent && refs > 0 && !ok:
		at = p.add(hash)
		fallthrough
	case absent && refs > 0:
		p.entries[at].refs = refs
	case ok:
		p.remove(at)
	}
}
