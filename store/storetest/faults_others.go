package storetest

import (
	"bytes"
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// What others do to the views and leases of a request: they close a view that is being
// written, and release what a lease holds.

// one is a batch of one block of zeros.
func one(n int) store.Batch {
	return store.Batch{Generation: 1, Blocks: []store.Block{{Hash: numbered(n), Rows: make([]byte, faultBlock)}}}
}

// checkViewInUse closes a view in the middle of writing it. Its blocks stay until the
// consumer is through with them, even if it panics, and not longer.
func checkViewInUse(t require.TestingT, factory Factory) {
	for _, panics := range []bool{false, true} {
		s := prepared(t, factory)
		viewer, ok := s.(Viewer)
		if !ok {
			require.NoError(t, s.Close())
			return
		}
		view, err := viewer.OpenView(numbers(1, 3))
		require.NoError(t, err)
		var got bytes.Buffer
		first := true
		write := func(rows []byte) (int, error) {
			if first {
				first = false
				require.NoError(t, view.Close())
				require.ErrorIs(t, view.Close(), auxerrors.ErrClosed)
				_, err := view.WriteTo(&bytes.Buffer{})
				require.ErrorIs(t, err, auxerrors.ErrClosed, "no use begins any more")
				takeSlots(t, s)
			}
			n, err := got.Write(rows)
			if panics {
				panic("the consumer failed")
			}
			return n, err
		}
		n, err := func() (n int64, err error) {
			defer func() {
				if thrown := recover(); thrown != nil && !panics {
					panic(thrown)
				}
			}()
			return view.WriteTo(consumer(write))
		}()
		if !panics {
			require.EqualValues(t, got.Len(), n)
			sameStart(t, viewedRows(), got.Bytes(), err)
		}
		everySlot(t, s)
		require.NoError(t, s.Close())
	}
}

// viewedRows are those of blocks 1 and 3.
func viewedRows() []byte {
	return append(payload(numbered(1), 1, faultBlock), payload(numbered(3), 3, faultBlock)...)
}

// takeSlots takes the slot that is left beside a retained block and a view of two, and
// finds no other one.
func takeSlots(t require.TestingT, s Store) {
	for n := 20; n < 23; n++ {
		_, err := s.Put(one(n))
		require.NoError(t, err)
	}
	two := one(23)
	two.Blocks = append(two.Blocks, one(24).Blocks...)
	_, err := s.Put(two)
	require.ErrorIs(t, err, auxerrors.ErrCannotFit, "blocks that are being written have been given away")
}

// everySlot takes every slot but that of the retained block.
func everySlot(t require.TestingT, s Store) {
	for n := 30; n < 33; n++ {
		_, err := s.Put(one(n))
		require.NoError(t, err)
	}
	require.Equal(t, 3, s.Prefix(numbers(30, 31, 32)), "every slot but that of the retained block is there again")
}

// closeTime is how long a Close may take that has to wait for nobody.
const closeTime = 10 * time.Second

// checkStuckConsumer closes a view whose consumer does not return. That holds up
// nobody else.
func checkStuckConsumer(t require.TestingT, factory Factory) {
	s := prepared(t, factory)
	viewer, ok := s.(Viewer)
	if !ok {
		require.NoError(t, s.Close())
		return
	}
	view, err := viewer.OpenView(numbers(1, 3))
	require.NoError(t, err)
	write, err := beginWrite(view)
	require.NoError(t, err)
	closed := make(chan error, 1)
	go func() { closed <- view.Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(closeTime):
		_, _ = write.end()
		require.NoError(t, errors.New("Close waits for a consumer that may never return"))
	}
	takeSlots(t, s)
	rows, err := write.end()
	sameStart(t, viewedRows(), rows, err)
	everySlot(t, s)
	require.NoError(t, s.Close())
}

// checkForeignRelease releases what a lease holds. The lease gives back the rest, and
// says what was gone.
func checkForeignRelease(t require.TestingT, factory Factory) {
	s := prepared(t, factory)
	defer func() { require.NoError(t, s.Close()) }()
	leaser, ok := s.(Leaser)
	if !ok {
		return
	}
	lease := leaser.TakeLease()
	n, err := lease.RetainPrefix(numbers(1, 2, 3))
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.NoError(t, lease.Retain(numbers(0, 2, 9)))
	require.Equal(t, 6, lease.Held())
	_, err = s.Put(store.Batch{Generation: 1, Release: numbers(2, 2, 3)})
	require.NoError(t, err)
	require.ErrorIs(t, lease.Release(numbers(1, 2)), auxerrors.ErrNotRetained, "as a whole or not at all")
	require.Equal(t, 6, lease.Held())

	err = lease.Close()
	require.ErrorIs(t, err, auxerrors.ErrNotRetained, "what is gone is told")
	var typed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, err, &typed)
	require.Equal(t, numbered(2).Bytes(), typed.Hash, "the first hash that was gone")
	require.Zero(t, lease.Held())
	for range 2 {
		require.NoError(t, lease.Close(), "a second Close does nothing")
	}
	twin := prepared(t, factory)
	require.Equal(t, askCounts(t, twin), askCounts(t, s), "what others hold is all that is held")
	require.NoError(t, twin.Close())
}
