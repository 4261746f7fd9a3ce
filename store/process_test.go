package store_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/store"
)

// collected runs collections until something is so that they bring about, or for ten
// seconds.
func collected(so func(store.ProcessStats) bool) bool {
	for range 1000 {
		runtime.GC()
		if so(store.Process()) {
			return true
		}
		time.Sleep(10 * time.Millisecond) // cleanups run beside us
	}
	return false
}

// filled is a store with a block and nobody who will close it.
func filled(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.New(store.Options{MaxBytes: 1 << 20, BlockBytes: testBlock})
	require.NoError(t, err)
	put(t, s, 0)
	return s
}

func TestStoresAreCountedUntilTheyAreClosed(t *testing.T) {
	before := store.Process()
	s := filled(t)
	now := store.Process()
	require.Equal(t, before.Open+1, now.Open)
	require.Equal(t, before.MappedBytes+s.Stats().MappedBytes, now.MappedBytes)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.Equal(t, before, store.Process())
	runtime.KeepAlive(s)
	s = nil
	for range 5 {
		runtime.GC()
	}
	require.Equal(t, before.Dropped, store.Process().Dropped, "a closed store is not dropped")
}

func TestAViewKeepsTheStoreThatItShows(t *testing.T) {
	before := store.Process()
	view, err := filled(t).View(hashesOf(0))
	require.NoError(t, err)
	for range 5 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	require.Equal(t, before.Dropped, store.Process().Dropped)
	rows, err := view.Block(0)
	require.NoError(t, err)
	require.Equal(t, rowsFor(0, 0, testBlock), rows)
	require.NoError(t, view.Close())
	require.True(t, collected(func(now store.ProcessStats) bool {
		return now.Dropped == before.Dropped+1 && now.MappedBytes == before.MappedBytes
	}), "nothing keeps it any more")
	require.Equal(t, before.Open, store.Process().Open)
	require.Equal(t, before.DroppedInUse, store.Process().DroppedInUse)
}

// TestSlicesOfAViewThatNobodyCanCloseStayReadable loses a store and a view, and keeps
// what the view gave out. The memory is lost, which is counted, and nobody crashes.
func TestSlicesOfAViewThatNobodyCanCloseStayReadable(t *testing.T) {
	before := store.Process()
	rows := func() []byte {
		view, err := filled(t).View(hashesOf(0))
		require.NoError(t, err)
		rows, err := view.Block(0)
		require.NoError(t, err)
		return rows
	}()
	require.True(t, collected(func(now store.ProcessStats) bool { return now.DroppedInUse == before.DroppedInUse+1 }))
	require.Equal(t, before.Dropped+1, store.Process().Dropped)
	require.Equal(t, rowsFor(0, 0, testBlock), rows)
	if !raceEnabled {
		require.Greater(t, store.Process().MappedBytes, before.MappedBytes)
	}
}
