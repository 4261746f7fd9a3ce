package store

import (
	"fmt"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// selectVictims picks the blocks that are evicted for a batch. It changes nothing
// but the plan. It reports wait if there will be room once running copies end.
func (s *Store) selectVictims(p *staged, partial bool) (fault *auxerrors.BlockObjectStoreError, wait bool) {
	p.victims = p.victims[:0]
	short := p.absent - s.slots.free()
	for _, c := range p.terminals {
		// A block removed while retained goes now, unless the batch brings it back.
		if n := s.nodeOf(c); n != nil && n.is(removed) && !n.is(mentioned) {
			p.victims = append(p.victims, c.at)
			switch {
			case n.views > 0: // gone, but its slot is not free
			case n.busy > 0:
				wait = wait || short > 0
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
		wait = wait || n.busy > 0
		p.victims = append(p.victims, slot)
		short--
		// Eviction will write to this cell and this bucket; walking to the next victim
		// hides the latency.
		s.prefetch.cell(&s.index, n.tag)
		s.prefetch.mark(&s.history, n.tag)
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
		if n == nil || n.views > 0 || n.is(removed) && !n.is(mentioned) {
			continue
		}
		wait = wait || n.busy > 0
		p.victims = append(p.victims, c.at)
		short--
	}
	if short > 0 && short <= s.slots.unviewed {
		return nil, true
	}
	if partial {
		p.leaveOut(short)
		return nil, wait
	}
	if short > 0 {
		return &auxerrors.BlockObjectStoreError{
			Op: "put", Reason: auxerrors.ErrCannotFit, Index: -1, Limit: s.slots.total,
			Detail: fmt.Sprintf("%d new blocks, %d slots too many: %d blocks are retained, %d slots viewed or still in use by reads",
				p.absent, short, s.retains, s.memory.views.Load()),
			Advice: "increase max_bytes, or release or close what is no longer needed",
		}, false
	}
	return nil, wait
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
