package store

// slots keeps account of which slots are free. A slot is in one of these states:
//
//	free      never used since the last reset, or in the list of vacancies
//	used      its block is live: the index finds it
//	orphaned  its block is gone for everybody, but a copy or a view that began
//	          before still reads or writes the memory
//
// total = free + used + orphaned, always. A slot that is copied or viewed is
// pinned. Pins of a generation that a reset ended are stale: all their slots are
// orphaned, whatever the flags of their nodes say, as a reset looks at no node.
type slots struct {
	nodes     []node
	total     int
	used      int
	orphaned  int
	unviewed  int   // orphans that no view keeps, so that they will be free soon
	copied    int   // slots being copied that no view shows, orphans or not
	viewed    int   // slots that views show, orphans or not
	fresh     int32 // slots above this one were not used since the last reset
	vacant    int32 // the last slot that became free, and through next the others
	vacancies int
}

func newSlots(nodes []node) slots { return slots{nodes: nodes, total: len(nodes) - 1} }

// free is the number of slots that can be taken.
func (s *slots) free() int { return s.total - s.used - s.orphaned }

// take makes a free slot used. Slots are handed out in the order in which they
// became free, the last one first, and after that in ascending order. What the
// node of a slot says is of no meaning until it is written.
//
// Slots that have been pinned since before the last reset are passed by, each once
// in a generation.
func (s *slots) take() int32 {
	s.used++
	if s.vacancies > 0 {
		slot := s.vacant
		s.vacancies--
		s.vacant = s.nodes[slot].next
		return slot
	}
	for {
		s.fresh++
		n := &s.nodes[s.fresh]
		if n.busy == 0 && n.views == 0 {
			return s.fresh
		}
		n.flags = orphaned
	}
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
	n := &s.nodes[slot]
	n.flags, n.next = 0, s.vacant
	s.vacant = slot
	s.vacancies++
}

// adopt makes an orphan free whose last pin is gone. One that was not passed by
// since the last reset is free as it is.
func (s *slots) adopt(slot int32) {
	s.orphaned--
	if slot <= s.fresh {
		s.vacate(slot)
	}
}

// pinCopy begins a copy into or out of a slot.
func (s *slots) pinCopy(slot int32) {
	n := &s.nodes[slot]
	if n.busy == 0 && n.views == 0 {
		s.copied++
	}
	n.busy++
}

// unpinCopy ends it. stale tells that the store was reset since it began.
func (s *slots) unpinCopy(slot int32, stale bool) {
	n := &s.nodes[slot]
	n.busy--
	if n.busy > 0 || n.views > 0 {
		return
	}
	s.copied--
	if stale || n.is(orphaned) {
		s.unviewed--
		s.adopt(slot)
	}
}

// viewEnded is called when the last view of a slot has ended. stale tells that the
// store was reset since it began.
func (s *slots) viewEnded(slot int32, stale bool) {
	n := &s.nodes[slot]
	s.viewed--
	orphan := stale || n.is(orphaned)
	switch {
	case n.busy > 0:
		s.copied++
		if orphan {
			s.unviewed++
		}
	case orphan:
		s.adopt(slot)
	}
}

// reset makes every slot free that is not pinned, in constant time.
func (s *slots) reset() {
	s.used, s.fresh, s.vacant, s.vacancies = 0, 0, 0, 0
	s.orphaned, s.unviewed = s.copied+s.viewed, s.copied
}
