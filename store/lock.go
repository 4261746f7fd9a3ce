package store

import "runtime"

// lock takes the store's lock. Its holders are through in microseconds, in less
// time than it takes to put a goroutine to sleep and wake it again. So lock keeps
// trying first, for about as long as a read of some hundred blocks holds it.
func (s *Store) lock() {
	for range s.tries {
		if s.mu.TryLock() {
			return
		}
		idle(spinSteps)
	}
	s.mu.Lock()
}

const (
	spinTries = 500
	spinSteps = 64 // some 20 ns
)

// lockTries is how often lock tries. Where goroutines run one at a time, trying
// again is of no use: whoever holds the lock does not go on meanwhile.
func lockTries() int {
	if runtime.GOMAXPROCS(0) == 1 {
		return 0
	}
	return spinTries
}

// idle spends time without touching memory that others wait for.
//
//go:noinline
func idle(steps int) {
	for range steps {
	}
}
