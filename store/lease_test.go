package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

func TestALeaseGivesBackWhatItStillHolds(t *testing.T) {
	s := newStore(t, 4)
	put(t, s, 0, 1)
	lease := s.Lease()
	n, err := lease.RetainPrefix(hashesOf(0, 1, 2))
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = lease.Publish(blocksOf(2))
	require.NoError(t, err)
	require.NoError(t, lease.Retain(hashesOf(0, 9)))
	require.Equal(t, 5, lease.Held())
	require.NoError(t, lease.Release(hashesOf(1)))
	require.Equal(t, 4, lease.Held())
	require.Equal(t, 2, s.Stats().Retained)
	require.Equal(t, 1, s.Stats().Pending)

	put(t, s, 5)
	require.NoError(t, lease.Close())
	require.NoError(t, lease.Close())
	require.Zero(t, s.Stats().Retained)
	require.Zero(t, s.Stats().Pending)
	require.Equal(t, hashesOf(1, 5, 2, 0), s.Snapshot().Evictable, "the head ends newest")
}

func TestALeaseReleasesOnlyWhatIsItsOwn(t *testing.T) {
	s := newStore(t, 4)
	mine, theirs := s.Lease(), s.Lease()
	_, err := theirs.Publish(blocksOf(0, 1))
	require.NoError(t, err)
	require.NoError(t, mine.Retain(hashesOf(0)))

	err = mine.Release(hashesOf(0, 1))
	require.ErrorIs(t, err, auxerrors.ErrNotRetained)
	var typed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, err, &typed)
	require.Equal(t, 1, typed.Index)
	require.ErrorIs(t, mine.Release(hashesOf(0, 0)), auxerrors.ErrNotRetained)
	require.Equal(t, 1, mine.Held(), "nothing was released")

	require.NoError(t, mine.Close())
	require.Equal(t, 2, s.Stats().Retained, "the other lease still holds both")
	require.NoError(t, theirs.Close())
	require.Zero(t, s.Stats().Retained)
}

func TestALeaseEndsWithItsGeneration(t *testing.T) {
	s := newStore(t, 4)
	old := s.Lease()
	_, err := old.Publish(blocksOf(0))
	require.NoError(t, err)
	_, err = s.Reset()
	require.NoError(t, err)
	// The new generation has other rows under the same hash.
	fresh := s.Lease()
	require.EqualValues(t, 0, old.Generation())
	require.EqualValues(t, 1, fresh.Generation())
	_, err = fresh.Publish([]store.Block{{Hash: hashOf(0), Rows: rowsFor(0, 1, testBlock)}})
	require.NoError(t, err)

	_, err = old.Get(nil, hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrGeneration, "newer rows must not get into an older request")
	_, err = old.View(hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrGeneration)
	_, err = old.RetainPrefix(hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrGeneration)
	_, err = old.Publish(blocksOf(1))
	require.ErrorIs(t, err, auxerrors.ErrGeneration)
	require.ErrorIs(t, old.Retain(hashesOf(0)), auxerrors.ErrGeneration)
	require.ErrorIs(t, old.Release(hashesOf(0)), auxerrors.ErrGeneration)
	require.NoError(t, old.Close())
	require.Equal(t, 1, s.Stats().Retained, "the older lease gave nothing of the newer back")

	rows, err := fresh.Get(nil, hashesOf(0))
	require.NoError(t, err)
	require.Equal(t, rowsFor(0, 1, testBlock), rows)
	view, err := fresh.View(hashesOf(0))
	require.NoError(t, err)
	require.NoError(t, fresh.Close())
	got, err := view.Block(0)
	require.NoError(t, err, "a view outlives its lease")
	require.Equal(t, rows, got)
	require.NoError(t, view.Close())
}

func TestAClosedLeaseIsErrClosed(t *testing.T) {
	s := newStore(t, 4)
	lease := s.Lease()
	require.NoError(t, lease.Close())
	_, err := lease.RetainPrefix(hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = lease.Get(nil, hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = lease.View(hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	require.ErrorIs(t, lease.Retain(hashesOf(0)), auxerrors.ErrClosed)
	require.Zero(t, lease.Held())
}

func TestALeaseOfALongRequestDoesNotGrowWithWhatItReleased(t *testing.T) {
	s := newStore(t, 4)
	lease := s.Lease()
	for i := range 10_000 {
		require.NoError(t, lease.Retain(hashesOf(i)))
		require.NoError(t, lease.Release(hashesOf(i)))
	}
	require.Zero(t, lease.Held())
	require.Zero(t, s.Stats().Pending)
	require.NoError(t, lease.Close())
}
