//go:build race

package store

import (
	"slices"
	"sync"
)

// poisoned fills the rows that a closed view had given out: no expert id of a
// sane profile, in every layer.
const poisoned = 0xdb

// lentCopies are the rows that a view has given out. In race builds they are
// copies, which the end of the view overwrites: the race detector sees a use
// from another goroutine, and a check of the rows sees one from the same.
type lentCopies struct {
	mu   sync.Mutex
	rows [][]byte
}

func (l *lentCopies) lend(rows []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = append(l.rows, slices.Clone(rows))
	return l.rows[len(l.rows)-1]
}

func (l *lentCopies) poison() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, rows := range l.rows {
		for i := range rows {
			rows[i] = poisoned
		}
	}
	l.rows = nil
}
