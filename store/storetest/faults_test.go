package storetest

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// The stores here are right in whatever a sequence of drawn operations shows.

// lateRemover drops blocks in whatever generation it is asked to: a removal that a
// reset has overtaken then drops rows of newer weights.
type lateRemover struct{ *Model }

func (s lateRemover) Remove(_ uint64, hashes []blockhash.Hash) (int, error) {
	return s.Model.Remove(s.generation, hashes)
}

// greedyPrefix answers another generation with an error, and retains all the same.
type greedyPrefix struct{ *Model }

func (s greedyPrefix) RetainPrefix(generation uint64, hashes []blockhash.Hash) (int, error) {
	n, err := s.Model.RetainPrefix(generation, hashes)
	if err != nil && generation < s.generation { // drawn operations try newer ones only
		s.Model.retainPrefix(hashes)
	}
	return n, err
}

// hoarder keeps all rows that it has ever seen.
type hoarder struct {
	*Model
	hoard map[blockhash.Hash][]byte
}

func (s hoarder) Put(batch store.Batch) (store.PutResult, error) {
	for _, block := range batch.Blocks {
		s.hoard[block.Hash] = slices.Clone(block.Rows)
	}
	return s.Model.Put(batch)
}

// patient keeps the count of every hash that was ever retained, zero or not.
type patient struct {
	*Model
	met map[blockhash.Hash]int
}

func (s patient) Put(batch store.Batch) (store.PutResult, error) {
	for _, hash := range batch.Retain {
		s.met[hash]++
	}
	return s.Model.Put(batch)
}

func (s patient) Stats() store.Stats {
	evictable, held, pending := s.Model.snapshot()
	retained := 0
	for _, holding := range held {
		if holding.Refs > 0 {
			retained++
		}
	}
	used := len(evictable) + len(held)
	return store.Stats{
		Slots: s.slots, MaxBytes: int64(s.slots * s.blockBytes), Used: used, Orphaned: s.occupied() - used,
		Retained: retained, Pending: max(len(pending), len(s.met)-universe), OpenViews: len(s.views),
	}
}

func TestStoresThatOnlyFaultsOrLimitsCatch(t *testing.T) {
	faultsOf := func(t require.TestingT, factory Factory) {
		for _, f := range faults() {
			checkFault(t, factory, f)
		}
	}
	for name, tc := range map[string]struct {
		breakIt func(*Model) Store
		check   func(require.TestingT, Factory)
	}{
		"removes across generations":       {func(m *Model) Store { return lateRemover{m} }, faultsOf},
		"retains in an older generation":   {func(m *Model) Store { return greedyPrefix{m} }, faultsOf},
		"keeps what it evicts":             {func(m *Model) Store { return hoarder{m, map[blockhash.Hash][]byte{}} }, checkManyHashes},
		"keeps counts that are back at 0":  {func(m *Model) Store { return patient{m, map[blockhash.Hash]int{}} }, checkManyHashes},
		"has a slot more for a racing put": {func(m *Model) Store { return &overbooked{Model: m} }, checkBudget},
	} {
		t.Run(name, func(t *testing.T) {
			factory := func(slots, blockBytes int) (Store, error) { return tc.breakIt(NewModel(slots, blockBytes)), nil }
			rapid.Check(t, Property(factory))
			checkIsolation(t, factory)
			checkPressure(t, factory)
			require.NotEmpty(t, verdict(func(t require.TestingT) { tc.check(t, factory) }), "nothing was noticed")
		})
	}
}

// overbooked gives every put that finds another one under way a slot more. Its lock
// makes it a store for several goroutines.
type overbooked struct {
	*Model
	mu     sync.Mutex
	inside int
	extra  int
}

func (s *overbooked) Put(batch store.Batch) (store.PutResult, error) {
	s.mu.Lock()
	s.inside++
	s.mu.Unlock()
	runtime.Gosched()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside--
	if s.inside > 0 && s.extra == 0 {
		s.extra = 1
		s.Model.slots++
	}
	return s.Model.Put(batch)
}

func (s *overbooked) Get(dst []byte, hashes []blockhash.Hash) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Model.Get(dst, hashes)
}

func (s *overbooked) Prefix(hashes []blockhash.Hash) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Model.Prefix(hashes)
}

func (s *overbooked) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Model.Close()
}

// impatient ends in the middle of what others do with it.
type impatient struct {
	adapted
	once sync.Once
}

func (s *impatient) Close() error {
	err := fmt.Errorf("closed already")
	s.once.Do(func() { err = s.adapted.Close() })
	return err
}

func TestAStoreThatIsClosedOnlyOnceIsCaughtByFaults(t *testing.T) {
	factory := func(slots, blockBytes int) (Store, error) {
		s, err := store.New(store.Options{MaxBytes: int64(slots * blockBytes), BlockBytes: blockBytes})
		if err != nil {
			return nil, err
		}
		return &impatient{adapted: adapted{s}}, nil
	}
	require.Contains(t, verdict(func(t require.TestingT) { checkCloseRaces(t, factory) }), "closed already")
}

// verdict runs a check as a test of its own and returns what it said if it failed.
func verdict(check func(t require.TestingT)) string {
	v := new(verdictTest)
	done := make(chan struct{})
	go func() {
		defer close(done)
		check(v)
	}()
	<-done
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.text
}

// verdictTest is a test that keeps to itself that it failed.
type verdictTest struct {
	mu   sync.Mutex
	text string
}

func (v *verdictTest) Errorf(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.text += fmt.Sprintf(format, args...)
}

func (v *verdictTest) FailNow() { runtime.Goexit() }
