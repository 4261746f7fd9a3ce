package store

import (
	"math"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// maxRefs is how often one hash can be retained.
const maxRefs = math.MaxInt32

// resolve finds out which blocks of the batch are stored, and marks them.
func (s *Store) resolve(p *staged, b *Batch) {
	p.absent = 0
	for i := range p.items {
		s.prefetch.cell(&s.index, p.items[i].tag)
	}
	for i := range p.items {
		p.items[i].slot = s.index.candidate(p.items[i].tag)
	}
	for i := range p.items {
		it := &p.items[i]
		hash := &b.Blocks[it.first].Hash
		if it.slot != 0 && s.recency.nodes[it.slot].hash != *hash {
			it.slot = s.index.find(it.tag, hash)
		}
		it.stored, it.dropped, it.leftOut, it.refs = it.slot != 0, false, false, 0
		if it.stored {
			s.recency.nodes[it.slot].flags |= mentioned
			continue
		}
		p.absent++
		if at, ok := s.pending.find(hash); ok {
			it.refs = s.pending.entries[at].refs
		}
	}
}

// counter says where the count of a hash is kept.
type counter struct {
	kind counterKind
	at   int32 // slot, item or entry
}

type counterKind uint8

const (
	ofNode    counterKind = iota // the block is stored
	ofItem                       // the block is in the batch, and not stored yet
	ofPending                    // neither
)

// counterOf finds the count of a hash; ok is false if it has none.
func (s *Store) counterOf(p *staged, b *Batch, t tag, hash *blockhash.Hash) (c counter, ok bool) {
	if slot := s.index.find(t, hash); slot != 0 {
		return counter{ofNode, slot}, true
	}
	if at := p.itemOf(t, hash, b.Blocks); at >= 0 {
		return counter{ofItem, at}, true
	}
	at, ok := s.pending.find(hash)
	return counter{ofPending, at}, ok
}

// refs is the count itself.
func (s *Store) refs(p *staged, c counter) *int32 {
	switch c.kind {
	case ofNode:
		return &s.recency.nodes[c.at].refs
	case ofItem:
		return &p.items[c.at].refs
	default:
		return &s.pending.entries[c.at].refs
	}
}

// count applies the retains and releases to the counts, and to nothing else. A
// fault leaves what was counted so far to uncount.
func (s *Store) count(p *staged, b *Batch) *auxerrors.BlockObjectStoreError {
	p.retains, p.releases, p.terminals = p.retains[:0], p.releases[:0], p.terminals[:0]
	s.prefetchAll(p.retainTags)
	s.prefetchAll(p.releaseTags)
	for i := range b.Retain {
		hash := &b.Retain[i]
		c, ok := s.counterOf(p, b, p.retainTags[i], hash)
		if !ok {
			c = counter{ofPending, s.pending.add(hash)}
		}
		refs := s.refs(p, c)
		if *refs == maxRefs {
			return s.hashError("retain", auxerrors.ErrTooLarge, *hash, i)
		}
		*refs++
		p.retains = append(p.retains, c)
	}
	for i := len(b.Release) - 1; i >= 0; i-- {
		hash := &b.Release[i]
		c, ok := s.counterOf(p, b, p.releaseTags[i], hash)
		if !ok || *s.refs(p, c) == 0 {
			return s.hashError("release", auxerrors.ErrNotRetained, *hash, i)
		}
		refs := s.refs(p, c)
		*refs--
		p.releases = append(p.releases, c)
		if *refs == 0 {
			p.terminals = append(p.terminals, c)
			if c.kind == ofNode {
				s.recency.nodes[c.at].flags |= terminal
			}
		}
	}
	return nil
}

// uncount takes back what count did.
func (s *Store) uncount(p *staged) {
	for _, c := range p.releases {
		*s.refs(p, c)++
	}
	for _, c := range p.retains {
		*s.refs(p, c)--
	}
	s.dropSpentPending(p)
}

// unmark takes the marks of the plan off the nodes.
func (s *Store) unmark(p *staged) {
	for i := range p.items {
		if it := &p.items[i]; it.stored {
			s.recency.nodes[it.slot].flags &^= mentioned
		}
	}
	for _, c := range p.terminals {
		if n := s.nodeOf(c); n != nil {
			n.flags &^= terminal
		}
	}
}

// dropSpentPending drops the entries that the batch left with a count of zero.
func (s *Store) dropSpentPending(p *staged) {
	for _, list := range [2][]counter{p.retains, p.releases} {
		for _, c := range list {
			if c.kind == ofPending && s.pending.entries[c.at].refs == 0 {
				s.pending.remove(c.at)
			}
		}
	}
}
