package store_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

func TestALeaseGivesBackWhatIsLeftAfterAForeignRelease(t *testing.T) {
	s := newStore(t, 8)
	put(t, s, 0, 1, 2, 3)
	lease := s.Lease()
	n, err := lease.RetainPrefix(hashesOf(0, 1, 2, 3))
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.NoError(t, lease.Retain(hashesOf(1, 9)))
	_, err = s.Put(store.Batch{Release: hashesOf(1, 1, 3)}) // by somebody who never retained them
	require.NoError(t, err)

	err = lease.Close()
	require.ErrorIs(t, err, auxerrors.ErrNotRetained)
	var typed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, err, &typed)
	require.Equal(t, hashOf(1).Bytes(), typed.Hash, "the first that is gone")
	require.Equal(t, 1, typed.Index)
	require.Contains(t, typed.Detail, "3 of 6")
	require.Zero(t, s.Stats().Retained, "the others are given back")
	require.Zero(t, s.Stats().Pending)
	require.Zero(t, lease.Held())
	require.Equal(t, hashesOf(3, 1, 2, 0), s.Snapshot().Evictable, "the head ends newest")
	require.NoError(t, lease.Close(), "a second Close does nothing")

	result, err := s.Put(store.Batch{Blocks: blocksOf(10, 11, 12, 13, 14, 15, 16, 17)})
	require.NoError(t, err, "every slot can be had again")
	require.Equal(t, 8, result.Stored)
}

func TestALeaseThatGivesBackTooMuchForAnotherTakesNothingTwice(t *testing.T) {
	s := newStore(t, 4)
	put(t, s, 0)
	mine, theirs := s.Lease(), s.Lease()
	require.NoError(t, mine.Retain(hashesOf(0)))
	require.NoError(t, theirs.Retain(hashesOf(0)))
	_, err := s.Put(store.Batch{Release: hashesOf(0)})
	require.NoError(t, err)
	require.NoError(t, mine.Close(), "one retain is there, and nobody knows whose")
	require.ErrorIs(t, theirs.Close(), auxerrors.ErrNotRetained)
	require.Zero(t, s.Stats().Retained)
}

func TestABlockRemovedWhileALeaseHeldItGoesWithTheLease(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		s := newStore(t, 4)
		lease := s.Lease()
		_, err := lease.Publish(blocksOf(0, 1))
		require.NoError(t, err)
		_, err = s.Remove(0, hashesOf(0))
		require.NoError(t, err)
		if foreign {
			_, err = s.Put(store.Batch{Release: hashesOf(1)})
			require.NoError(t, err)
		}
		view, err := s.View(hashesOf(0))
		require.NoError(t, err)
		if err = lease.Close(); foreign {
			require.ErrorIs(t, err, auxerrors.ErrNotRetained)
		} else {
			require.NoError(t, err)
		}
		_, err = s.Get(nil, hashesOf(0))
		require.ErrorIs(t, err, auxerrors.ErrRemoved)
		require.EqualValues(t, 1, s.Stats().Removed)
		require.Equal(t, 1, s.Stats().Orphaned)
		rows, err := view.Block(0)
		require.NoError(t, err)
		require.Equal(t, rowsFor(0, 0, testBlock), rows, "a view keeps its rows")
		require.NoError(t, view.Close())
		require.Equal(t, hashesOf(1), s.Snapshot().Evictable)
	}
}

// TestARefusedReleaseOrPublicationLeavesTheLeaseAsItWas looks for half states: what a
// lease holds and what the store counts go together.
func TestARefusedReleaseOrPublicationLeavesTheLeaseAsItWas(t *testing.T) {
	s := newStore(t, 4)
	lease := s.Lease()
	_, err := lease.Publish(blocksOf(0, 1, 2))
	require.NoError(t, err)
	before := s.Snapshot()
	for name, call := range map[string]func() error{
		"releasing a hash that it does not hold":    func() error { return lease.Release(hashesOf(0, 1, 7)) },
		"releasing once too often":                  func() error { return lease.Release(hashesOf(2, 0, 0)) },
		"retaining no hash":                         func() error { return lease.Retain(append(hashesOf(0), store.Block{}.Hash)) },
		"publishing what does not fit":              func() error { _, err := lease.Publish(blocksOf(0, 5, 6)); return err },
		"publishing rows that are too short":        func() error { _, err := lease.Publish([]store.Block{of(0, 0), {Hash: hashOf(5)}}); return err },
		"publishing blocks without hashes":          func() error { _, err := lease.Publish([]store.Block{{Rows: rowsFor(0, 0, testBlock)}}); return err },
		"releasing what somebody else has released": func() error { return foreignRelease(t, s, lease) },
	} {
		require.Error(t, call(), name)
		require.Equal(t, 3, lease.Held(), name)
		require.ElementsMatch(t, before.Held, s.Snapshot().Held, name)
		require.Empty(t, s.Snapshot().Pending, name)
	}
	require.NoError(t, lease.Close())
	require.Zero(t, s.Stats().Retained)
}

// foreignRelease lets somebody else release hash 1 while the lease gives it back, and
// then retain it again.
func foreignRelease(t *testing.T, s *store.Store, lease *store.Lease) error {
	_, err := s.Put(store.Batch{Release: hashesOf(1)})
	require.NoError(t, err)
	refused := lease.Release(hashesOf(0, 1))
	_, err = s.Put(store.Batch{Retain: hashesOf(1)})
	require.NoError(t, err)
	return refused
}

func TestALeaseGivesBackNothingToALaterGenerationOrAClosedStore(t *testing.T) {
	s := newStore(t, 4)
	old := s.Lease()
	_, err := old.Publish(blocksOf(0))
	require.NoError(t, err)
	_, err = s.Reset()
	require.NoError(t, err)
	_, err = s.Put(store.Batch{Generation: 1, Blocks: blocksOf(0), Retain: hashesOf(0)})
	require.NoError(t, err)
	require.NoError(t, old.Close())
	require.Equal(t, 1, s.Stats().Retained)

	closed, err := store.New(store.Options{MaxBytes: testBlock, BlockBytes: testBlock})
	require.NoError(t, err)
	late := closed.Lease()
	_, err = late.Publish(blocksOf(0))
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	require.NoError(t, late.Close())
}

// TestLeasesAndForeignReleasesBesideEachOther closes leases while somebody releases
// what they hold. In the end nothing is retained.
func TestLeasesAndForeignReleasesBesideEachOther(t *testing.T) {
	s := newStore(t, 16)
	put(t, s, 0, 1, 2, 3)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 300 {
				lease := s.Lease()
				_, err := lease.RetainPrefix(hashesOf(0, 1, 2, 3))
				if err == nil {
					err = lease.Retain(hashesOf(9))
				}
				if err != nil {
					t.Error(err)
				}
				_, _ = s.Put(store.Batch{Release: hashesOf(2, 9)})
				_ = lease.Close()
			}
		})
	}
	wg.Wait()
	require.Zero(t, s.Stats().Retained)
	require.Zero(t, s.Stats().Pending)
}

func TestALeaseAllocatesNothingForTheBlocksThatItPublishesAndReleases(t *testing.T) {
	if raceEnabled {
		t.Skip("LOUD: pools drop what they hold at random under the race detector")
	}
	for _, count := range []int{1, 32, 500} {
		s := newStore(t, 512)
		numbers := make([]int, count)
		for i := range numbers {
			numbers[i] = i
		}
		blocks, hashes := blocksOf(numbers...), hashesOf(numbers...)
		put(t, s, numbers...)
		lease := s.Lease()
		for name, op := range map[string]func(){
			"publish and release": func() {
				if _, err := lease.Publish(blocks); err != nil {
					t.Fatal(err)
				}
				if err := lease.Release(hashes); err != nil {
					t.Fatal(err)
				}
			},
			"retain a prefix and release one by one": func() {
				if _, err := lease.RetainPrefix(hashes); err != nil {
					t.Fatal(err)
				}
				for i := range hashes {
					if err := lease.Release(hashes[i : i+1]); err != nil {
						t.Fatal(err)
					}
				}
			},
		} {
			op()
			require.Zero(t, testing.AllocsPerRun(20, op), "%s, %d blocks", name, count)
		}
		require.NoError(t, lease.Close())
	}
}

func TestTheZeroLeaseIsClosed(t *testing.T) {
	var l store.Lease
	_, err := l.RetainPrefix(hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = l.Publish(blocksOf(0))
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = l.Get(nil, hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = l.View(hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	require.ErrorIs(t, l.Retain(nil), auxerrors.ErrClosed)
	require.ErrorIs(t, l.Release(nil), auxerrors.ErrClosed)
	require.Zero(t, l.Held())
	require.NoError(t, l.Close())
}
