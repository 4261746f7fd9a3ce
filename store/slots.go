package store

// slots keeps account of which slots are free. A slot is in one of these states:
//
//	free      never used since the last reset, or in the list of vacancies
//	used      its block is live: the index finds it
//	orphaned  its block is gone for everybody, but a copy or a view that began
//	          before still reads or writes the memory
//
// total = free + used + orphaned, always.
type slots struct {
	nodes     []node
	total     int
	used      int
	orphaned  int
	unviewed  int   // orphans that no view keeps, so that they are free soon
	fresh     int32 // slots above this one were not used since the last reset
	vacant    int32 // the last slot that became free, and through next the others
	vacancies int
}

func newSlots(nodes []node) slots { return slots{nodes: nodes, total: len(nodes) - 1} }

// free is the number of slots that can be taken.
func (s *slots) free() int { return s.total - s.used - s.orphaned }

// take makes a free slot used. Slots are handed out in the order in which they
// became free, the last one first, and after that in ascending order.
func (s *slots) take() int32 {
	s.used++
	if s.vacancies == 0 {
		s.fresh++
		return s.fresh
	}
	slot := s.vacant
	s.vacancies--
	s.vacant, s.nodes[slot].next = s.nodes[slot].next, 0
	return slot
}

// leave ends the use of a slot that neither the index nor the recency list
// knows any more. What is still being copied or viewed becomes an orphan.
func (s *slots) leave(slot int32) {
	s.used--
	n := &s.nodes[slot]
	if n.busy == 0 && n.views == 0 {
		s.vacate(slot)
		return
	}
	n.flags = orphaned
	n.refs = 0
	s.orphaned++
	if n.views == 0 {
		s.unviewed++
	}
}

// vacate puts a slot into the list of vacancies.
func (s *slots) vacate(slot int32) {
	s.nodes[slot] = node{next: s.vacant}
	s.vacant = slot
	s.vacancies++
}

// unpinCopy ends a copy into or out of a slot.
func (s *slots) unpinCopy(slot int32) {
	n := &s.nodes[slot]
	n.busy--
	if n.is(orphaned) && n.busy == 0 && n.views == 0 {
		s.orphaned--
		s.unviewed--
		s.vacate(slot)
	}
}

// unpinView ends a view of a slot.
func (s *slots) unpinView(slot int32) {
	n := &s.nodes[slot]
	n.views--
	if !n.is(orphaned) || n.views > 0 {
		return
	}
	if n.busy > 0 {
		s.unviewed++
		return
	}
	s.orphaned--
	s.vacate(slot)
}

// freeAll makes every slot free. Nothing may be pinned.
func (s *slots) freeAll() {
	clear(s.nodes[:s.fresh+1])
	s.used, s.fresh, s.vacant, s.vacancies = 0, 0, 0, 0
}

// freeAllButPinned makes every slot free that is not being copied or viewed. It
// goes downwards, so that slots are handed out in ascending order afterwards.
func (s *slots) freeAllButPinned() {
	for slot := s.fresh; slot > 0; slot-- {
		if s.nodes[slot].is(live) {
			s.leave(slot)
		}
	}
}
