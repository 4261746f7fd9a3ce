package store

import (
	"fmt"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// makeRoom chooses the blocks that give way. It changes nothing but the plan;
// soon means that the room is there as soon as a copy has ended.
func (s *Store) makeRoom(p *staged, partial bool) (fault *auxerrors.BlockObjectStoreError, soon bool) {
	p.victims = p.victims[:0]
	short := p.absent - s.slots.free()
	for _, c := range p.terminals {
		// A block removed while retained goes now, unless the batch brings it back.
		if n := s.nodeOf(c); n != nil && n.is(doomed) && !n.is(mentioned) {
			p.victims = append(p.victims, c.at)
			switch {
			case n.views > 0: // gone, but its slot is not free
			case n.busy > 0:
				soon = soon || short > 0
				short--
			default:
				short--
			}
		}
	}
	for slot := s.recency.oldest(); short > 0 && slot != 0; slot = s.recency.newer(slot) {
		n := &s.recency.nodes[slot]
		if n.refs > 0 || n.is(mentioned) || n.is(terminal) {
			continue
		}
		soon = soon || n.busy > 0
		p.victims = append(p.victims, slot)
		short--
		// Its departure will write there. The way to the next victim takes as long.
		s.warm.cell(&s.index, n.tag)
		s.warm.mark(&s.departed, fingerprint(s.generation, n.tag))
	}
	for _, c := range p.terminals {
		if short <= 0 {
			break
		}
		if c.kind == ofItem {
			p.items[c.at].dropped = true
			short--
			continue
		}
		n := s.nodeOf(c)
		if n == nil || n.views > 0 || n.is(doomed) && !n.is(mentioned) {
			continue
		}
		soon = soon || n.busy > 0
		p.victims = append(p.victims, c.at)
		short--
	}
	if short > 0 && short <= s.slots.unviewed {
		return nil, true
	}
	if partial {
		p.leaveOut(short)
		return nil, soon
	}
	if short > 0 {
		return &auxerrors.BlockObjectStoreError{
			Op: "put", Reason: auxerrors.ErrCannotFit, Index: -1, Limit: s.slots.total,
			Detail: fmt.Sprintf("%d new blocks, %d slots too many: %d blocks are retained, %d slots viewed or still in use by reads",
				p.absent, short, s.retains, s.counts.openViews),
			Advice: "increase max_bytes, or release or close what is no longer needed",
		}, false
	}
	return nil, soon
}

// nodeOf is the node of a count, nil if its block is not stored.
func (s *Store) nodeOf(c counter) *node {
	if c.kind != ofNode {
		return nil
	}
	return &s.recency.nodes[c.at]
}

// leaveOut drops the last n blocks that would be stored.
func (p *staged) leaveOut(n int) {
	for i := len(p.items) - 1; n > 0; i-- {
		if it := &p.items[i]; !it.stored && !it.dropped {
			it.dropped, it.leftOut = true, true
			n--
		}
	}
}
