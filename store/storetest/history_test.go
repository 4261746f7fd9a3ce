package storetest

import (
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// torn publishes the blocks of a batch one by one.
type torn struct{ Store }

func (s torn) Put(batch store.Batch) (store.PutResult, error) {
	if len(batch.Retain)+len(batch.Release) > 0 || batch.Partial {
		return s.Store.Put(batch)
	}
	var all store.PutResult
	for _, block := range batch.Blocks {
		one, err := s.Store.Put(store.Batch{Generation: batch.Generation, Blocks: []store.Block{block}})
		if err != nil {
			return store.PutResult{}, err
		}
		all.Stored += one.Stored
		all.Present += one.Present
		all.Evicted += one.Evicted
		runtime.Gosched()
	}
	return all, nil
}

func TestAStoreThatTearsBatchesIsCaughtByItsHistories(t *testing.T) {
	text := illegalHistory(t, func(slots, blockBytes int) (Store, error) {
		s, err := store.New(store.Options{MaxBytes: int64(slots * blockBytes), BlockBytes: blockBytes})
		if err != nil {
			return nil, err
		}
		return torn{Of(s)}, nil
	}, 2000)
	require.NotEmpty(t, text)
	require.Contains(t, text, "put")
}

// unhurried lets others go first, so that every call overlaps with some other.
type unhurried struct{ adapted }

func (s unhurried) Put(batch store.Batch) (store.PutResult, error) {
	runtime.Gosched()
	return s.adapted.Put(batch)
}

func (s unhurried) Get(dst []byte, hashes []blockhash.Hash) ([]byte, error) {
	runtime.Gosched()
	return s.adapted.Get(dst, hashes)
}

func (s unhurried) Prefix(hashes []blockhash.Hash) int {
	runtime.Gosched()
	return s.adapted.Prefix(hashes)
}

func (s unhurried) RetainPrefix(generation uint64, hashes []blockhash.Hash) (int, error) {
	runtime.Gosched()
	return s.adapted.RetainPrefix(generation, hashes)
}

func (s unhurried) Remove(generation uint64, hashes []blockhash.Hash) (int, error) {
	runtime.Gosched()
	return s.adapted.Remove(generation, hashes)
}

func (s unhurried) OpenView(hashes []blockhash.Hash) (View, error) {
	runtime.Gosched()
	view, err := s.adapted.OpenView(hashes)
	return unhurriedView{view}, err
}

// unhurriedLease and unhurriedView let others go first in the same way.
type (
	unhurriedLease struct{ Lease }
	unhurriedView  struct{ View }
)

func (v unhurriedView) Close() error {
	runtime.Gosched()
	return v.View.Close()
}

func (v unhurriedView) WriteTo(w io.Writer) (int64, error) {
	n, err := v.View.WriteTo(w)
	runtime.Gosched()
	return n, err
}

func (s unhurried) TakeLease() Lease { return unhurriedLease{s.adapted.TakeLease()} }

func (l unhurriedLease) RetainPrefix(hashes []blockhash.Hash) (int, error) {
	runtime.Gosched()
	return l.Lease.RetainPrefix(hashes)
}

func (l unhurriedLease) Close() error {
	runtime.Gosched()
	return l.Lease.Close()
}

func (s unhurried) Reset() (uint64, error) {
	runtime.Gosched()
	return s.adapted.Reset()
}

func (s unhurried) Close() error {
	runtime.Gosched()
	return s.adapted.Close()
}

// TestEverythingCrossesCloseAndResetInHistories looks at what overlaps with what in
// histories: without such pairs they would prove little.
func TestEverythingCrossesCloseAndResetInHistories(t *testing.T) {
	factory := func(slots, blockBytes int) (Store, error) {
		s, err := store.New(store.Options{MaxBytes: int64(slots * blockBytes), BlockBytes: blockBytes})
		if err != nil {
			return nil, err
		}
		return unhurried{adapted{s}}, nil
	}
	missing := map[string]bool{}
	for _, op := range []string{"put", "get", "prefix", "reset", "retain prefix", "remove", "open view", "close view", "begin write", "end write", "retain by lease", "close lease"} {
		missing[op+" crosses close"] = true
		missing[op+" crosses reset"] = true
	}
	missing["close view crosses begin write"] = true
	missing["close view crosses end write"] = true
	missing["close lease crosses put"] = true
	for round := 0; len(missing) > 0 && round < 2000; round++ {
		history := recordHistory(t, factory, 1+round%5, round)
		for i, a := range history {
			for j, b := range history {
				if i != j && a.Call < b.Return && b.Call < a.Return {
					delete(missing, a.Input.(call).op+" crosses "+b.Input.(call).op)
				}
			}
		}
	}
	require.Empty(t, missing)
}
