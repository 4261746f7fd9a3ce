package store

import (
	"bytes"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// until waits until something is so that another goroutine brings about.
func until(s *Store, so func() bool) {
	for {
		s.lock()
		done := so()
		s.mu.Unlock()
		if done {
			return
		}
		runtime.Gosched()
	}
}

// beginRead begins a copy out of blocks, which the result ends.
func beginRead(t *testing.T, s *Store, hashes ...blockhash.Hash) (end func()) {
	t.Helper()
	var f found
	if fault := s.acquire("get", hashes, &f, anyGeneration, (*Store).pinCopies); fault != nil {
		require.NoError(t, fault)
	}
	return func() {
		s.lock()
		defer s.mu.Unlock()
		stale := f.generation != s.generation
		for _, slot := range f.slots {
			s.slots.unpinCopy(slot, stale)
		}
		s.endRead(len(hashes), nil)
	}
}

// rowsOf are the rows of a block.
func rowsOf(n uint64, blockBytes int) []byte { return bytes.Repeat([]byte{byte(n*7 + 1)}, blockBytes) }

func blockOf(n uint64, blockBytes int) Block {
	return Block{Hash: numbered(n), Rows: rowsOf(n, blockBytes)}
}

// TestManyPutsThatWaitForOneCopyDoNotWakeEachOther has puts of two blocks each, and
// reads behind them, at a store of three slots of which one block is retained and
// one is being copied for long.
func TestManyPutsThatWaitForOneCopyDoNotWakeEachOther(t *testing.T) {
	const puts, reads, blockBytes = 20, 20, 64
	s, err := New(Options{MaxBytes: 3 * blockBytes, BlockBytes: blockBytes})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	kept := []blockhash.Hash{numbered(3)}
	_, err = s.Put(Batch{Blocks: []Block{blockOf(1, blockBytes), blockOf(2, blockBytes), blockOf(3, blockBytes)}, Retain: kept})
	require.NoError(t, err)
	endLong, endShort := beginRead(t, s, numbered(1)), beginRead(t, s, numbered(2))

	var wg sync.WaitGroup
	var arrived atomic.Int64
	for i := range uint64(puts) {
		wg.Go(func() {
			_, err := s.Put(Batch{Blocks: []Block{blockOf(10+2*i, blockBytes), blockOf(11+2*i, blockBytes)}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	until(s, func() bool { return s.waiting.came == puts })
	for range reads {
		wg.Go(func() {
			arrived.Add(1)
			rows, err := s.Get(nil, kept)
			if err != nil || !bytes.Equal(rows, rowsOf(3, blockBytes)) {
				t.Error("wrong rows", err)
			}
		})
	}
	until(s, func() bool { return arrived.Load() == reads })
	assert.Zero(t, s.waiting.wakeUps, "nothing has ended yet")

	endShort()
	for range 10_000 { // time enough for many turns
		runtime.Gosched()
	}
	s.lock()
	assert.LessOrEqual(t, s.waiting.wakeUps, uint64(1), "one copy has ended, so the first put may have looked again")
	s.mu.Unlock()
	endLong()
	wg.Wait()
	// A put is woken by the copies of the one before it and by reads, a read when the
	// last put has left that came before it.
	require.LessOrEqual(t, s.waiting.wakeUps, uint64(2*puts+2*reads+2))
	require.Nil(t, s.waiting.first)
	require.Nil(t, s.waiting.last)
	require.EqualValues(t, puts*2+3, s.Stats().Stored)
}

// TestAPutThatComesLaterDoesNotOvertakeOneThatWaits has a put that needs all slots,
// one of which is being read, and small puts behind it.
func TestAPutThatComesLaterDoesNotOvertakeOneThatWaits(t *testing.T) {
	const blockBytes = 8
	s, err := New(Options{MaxBytes: 2 * blockBytes, BlockBytes: blockBytes})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	_, err = s.Put(Batch{Blocks: []Block{blockOf(1, blockBytes), blockOf(2, blockBytes)}})
	require.NoError(t, err)
	end := beginRead(t, s, numbered(2)) // the newest: a small put needs block 1 only
	var wg sync.WaitGroup
	var evicted []blockhash.Hash
	wg.Go(func() {
		_, err := s.Put(Batch{Blocks: []Block{blockOf(10, blockBytes), blockOf(11, blockBytes)}, Evicted: &evicted})
		if err != nil {
			t.Error(err)
		}
	})
	until(s, func() bool { return s.waiting.came == 1 })
	wg.Go(func() {
		if _, err := s.Put(Batch{Blocks: []Block{blockOf(20, blockBytes)}}); err != nil {
			t.Error(err)
		}
	})
	until(s, func() bool { return s.waiting.came == 2 })

	// What needs no slot does not wait, and what is wrong is told at once.
	result, err := s.Put(Batch{Blocks: []Block{blockOf(1, blockBytes)}, Retain: []blockhash.Hash{numbered(9)}})
	require.NoError(t, err)
	require.Equal(t, PutResult{Present: 1}, result)
	_, err = s.Put(Batch{Blocks: []Block{blockOf(20, blockBytes)}, Release: []blockhash.Hash{numbered(8)}})
	require.ErrorIs(t, err, auxerrors.ErrNotRetained)
	require.Equal(t, 2, s.Prefix([]blockhash.Hash{numbered(1), numbered(2)}), "nothing has changed")
	end()
	wg.Wait()
	require.Len(t, evicted, 2, "the large put had its turn first")
	require.Equal(t, 1, s.Prefix([]blockhash.Hash{numbered(20)}))
}

// TestResetAndCloseLetGoWhoeverWaits does either while a put waits for a copy, another
// one waits behind it, a read waits behind both, and a read waits for rows to come in.
func TestResetAndCloseLetGoWhoeverWaits(t *testing.T) {
	const blockBytes = 8
	for name, reason := range map[string]error{"reset": auxerrors.ErrGeneration, "close": auxerrors.ErrClosed} {
		s, err := New(Options{MaxBytes: 3 * blockBytes, BlockBytes: blockBytes})
		require.NoError(t, err)
		_, err = s.Put(Batch{Blocks: []Block{blockOf(1, blockBytes), blockOf(2, blockBytes)}})
		require.NoError(t, err)
		endRead := beginRead(t, s, numbered(1))
		endPut := beginPut(t, s, Batch{Blocks: []Block{blockOf(3, blockBytes)}})

		var wg sync.WaitGroup
		for i := range uint64(2) {
			wg.Go(func() {
				_, err := s.Put(Batch{Blocks: []Block{blockOf(10+3*i, blockBytes), blockOf(11+3*i, blockBytes), blockOf(12+3*i, blockBytes)}})
				if !errors.Is(err, reason) {
					t.Errorf("%s: a put that waits: %v", name, err)
				}
			})
		}
		until(s, func() bool { return s.waiting.came == 2 })
		for _, n := range []uint64{2, 3} {
			wg.Go(func() {
				_, err := s.Get(nil, []blockhash.Hash{numbered(n)})
				if want := map[string]error{"reset": auxerrors.ErrNeverStored, "close": auxerrors.ErrClosed}[name]; !errors.Is(err, want) {
					t.Errorf("%s: a read that waits: %v", name, err)
				}
			})
		}
		for range 1000 {
			runtime.Gosched() // let the reads come, or come late
		}
		if name == "reset" {
			_, err = s.Reset()
			require.NoError(t, err)
		} else {
			wg.Go(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			until(s, func() bool { return s.closed })
		}
		until(s, func() bool { return s.waiting.first == nil }) // though no copy has ended
		endPut()
		endRead()
		wg.Wait()
		require.NoError(t, s.Close())
	}
}

// TestAPutWaitsForACopyOutOfABlockThatIsGone has the only slot keep a block that was
// removed, while it is still being copied.
func TestAPutWaitsForACopyOutOfABlockThatIsGone(t *testing.T) {
	const blockBytes = 8
	gone := []blockhash.Hash{numbered(1)}
	for name, tc := range map[string]struct {
		retain, view bool
	}{
		"removed":                {},
		"removed, and viewed":    {view: true},
		"removed while retained": {retain: true},
		"... and viewed":         {retain: true, view: true},
	} {
		s, err := New(Options{MaxBytes: blockBytes, BlockBytes: blockBytes})
		require.NoError(t, err)
		first := Batch{Blocks: []Block{blockOf(1, blockBytes)}}
		second := Batch{Blocks: []Block{blockOf(2, blockBytes)}}
		if tc.retain {
			first.Retain, second.Release = gone, gone
		}
		_, err = s.Put(first)
		require.NoError(t, err)
		end := beginRead(t, s, gone...)
		var view View
		if tc.view {
			view, err = s.View(gone)
			require.NoError(t, err)
		}
		n, err := s.Remove(0, gone)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		if tc.view {
			_, err = s.Put(second)
			require.ErrorIs(t, err, auxerrors.ErrCannotFit, "%s: nobody knows when a view ends", name)
			require.NoError(t, view.Close())
		}
		checkSlots(t, s)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := s.Put(second); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		until(s, func() bool { return s.waiting.came == 1 })
		end()
		wg.Wait()
		checkSlots(t, s)
		require.Equal(t, 1, s.Prefix([]blockhash.Hash{numbered(2)}), name)
		require.NoError(t, s.Close())
	}
}
