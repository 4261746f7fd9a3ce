package connector

import (
	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/routing"
)

// life is the state of a request from its first step to its end. A preempted
// request that comes back has another one.
//
// Three cursors move along its positions:
//
//	captured   end of the accepted rows; -1 before the first ones
//	scheduled  end of what was last executed, later rejected rows included
//	emit       end of the rows handed out
type life struct {
	id     string
	keys   []blockhash.Hash // of leading blocks, each retained once
	stored int              // leading blocks that were hit or published

	captured  int
	scheduled int
	emit      int

	tail    Tail
	waiting []TailBlock // full blocks whose key is not known yet, in order

	lost error // why rows are missing from here on, nil if none are
	told bool  // an output has said so
	run  routing.RunState

	running  uint64   // the last step that it was scheduled in
	holding  *holding // what the gate keeps for it
	alive    bool
	finishes uint64 // stamps of checks that saw it
	runs     uint64
	batches  uint64
}

// lives finds the state of each request.
type lives struct {
	byID  map[string]*life
	spare []*life
}

// find looks for a request. Lists of requests hardly change from step to step, so
// the place in the list is looked at first; hints remembers them.
func (s *lives) find(hints *[]*life, at int, id string) *life {
	if at < len(*hints) {
		if l := (*hints)[at]; l != nil && l.alive && l.id == id {
			return l
		}
	}
	l := s.byID[id]
	if l == nil {
		return nil
	}
	for len(*hints) <= at {
		*hints = append(*hints, nil)
	}
	(*hints)[at] = l
	return l
}

// begin makes the state of a request.
func (s *lives) begin(id string, emit, hit int) *life {
	var l *life
	if last := len(s.spare) - 1; last >= 0 {
		l, s.spare = s.spare[last], s.spare[:last]
	} else {
		l = new(life)
	}
	l.run.Reset()
	*l = life{id: id, keys: l.keys[:0], stored: hit, waiting: l.waiting[:0], captured: -1, emit: emit, run: l.run, alive: true}
	s.byID[id] = l
	return l
}

// end forgets the state of a request.
func (s *lives) end(l *life) {
	delete(s.byID, l.id)
	l.alive = false
	l.holding = nil
	s.spare = append(s.spare, l)
}

// endAll forgets everything.
func (s *lives) endAll() {
	for _, l := range s.byID {
		s.end(l)
	}
}

// drop lets go of the rows that are not in the store.
func (l *life) drop(pool *TailPool) {
	pool.Discard(&l.tail)
	for _, b := range l.waiting {
		pool.Release(b)
	}
	l.waiting = clearAll(l.waiting)
}
