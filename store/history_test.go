package store_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// countedHash is one of as many different hashes as an int counts.
func countedHash(n int) blockhash.Hash {
	digest := make([]byte, 32)
	binary.BigEndian.PutUint64(digest[24:], uint64(n)+1)
	hash, err := blockhash.FromBytes(digest)
	if err != nil {
		panic(err) // 32 bytes are a digest
	}
	return hash
}

// putCounted puts the blocks of the hashes from first to behind the last one.
func putCounted(t *testing.T, s *store.Store, first, end int) {
	t.Helper()
	rows := make([]byte, s.BlockBytes())
	batch := store.Batch{Generation: s.Generation()}
	for n := first; n < end; n++ {
		batch.Blocks = append(batch.Blocks, store.Block{Hash: countedHash(n), Rows: rows})
		if len(batch.Blocks) == min(100, s.Slots()) || n == end-1 {
			_, err := s.Put(batch)
			require.NoError(t, err)
			batch.Blocks = batch.Blocks[:0]
		}
	}
}

// absences reads hashes that are absent and counts what the store says of them.
func absences(t *testing.T, s *store.Store, first, end int) (evicted, never, unknown int) {
	t.Helper()
	for n := first; n < end; n++ {
		_, err := s.Get(nil, []blockhash.Hash{countedHash(n)})
		switch {
		case errors.Is(err, auxerrors.ErrEvicted):
			evicted++
		case errors.Is(err, auxerrors.ErrNeverStored):
			never++
		case errors.Is(err, auxerrors.ErrAbsent) && !errors.Is(err, auxerrors.ErrRemoved):
			unknown++
		default:
			require.FailNow(t, "unexpected", "hash %d: %v", n, err)
		}
	}
	return evicted, never, unknown
}

func TestABlockThatWasEvictedIsNeverSaidToBeNeverStored(t *testing.T) {
	const chance = 2 // fingerprints agree one time in 2^27 at most: so often among 200,000 hashes hardly ever
	for _, slots := range []int{1, 1000, 200_000} {
		s, err := store.New(store.Options{MaxBytes: int64(slots) * 8, BlockBytes: 8})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()

		putCounted(t, s, 0, 2*slots)
		evicted, never, unknown := absences(t, s, 0, slots)
		require.Zero(t, never, "%d slots: %d evicted, %d unknown", slots, evicted, unknown)
		require.GreaterOrEqual(t, evicted, slots*90/100, "as many evictions as there are slots are remembered")
		evicted, never, _ = absences(t, s, 10*slots, 11*slots)
		require.LessOrEqual(t, evicted, chance, "and nothing is said to be evicted that never was there")
		require.GreaterOrEqual(t, never, slots*90/100)

		putCounted(t, s, 2*slots, 6*slots) // more than can be remembered
		evicted, never, unknown = absences(t, s, 0, 5*slots)
		require.Zero(t, never, "%d slots: %d evicted, %d unknown", slots, evicted, unknown)
		evicted, _, _ = absences(t, s, 10*slots, 11*slots)
		require.LessOrEqual(t, evicted, chance)
		stats := s.Stats()
		require.EqualValues(t, 8*slots, stats.Misses)
		require.Equal(t, stats.Misses, stats.EvictedMiss+stats.NeverStored+stats.AbsentMiss)

		_, err = s.Reset()
		require.NoError(t, err)
		_, never, _ = absences(t, s, 0, slots)
		require.Equal(t, slots, never, "in a new generation nothing was stored yet")
	}
}

func TestAnAbsentBlockWhoseFateIsForgottenIsAbsentAndSaysWhatToDo(t *testing.T) {
	s := newStore(t, 1)
	for n := range 5000 {
		_, err := s.Put(store.Batch{Blocks: []store.Block{{Hash: countedHash(n), Rows: make([]byte, testBlock)}}})
		require.NoError(t, err)
	}
	_, err := s.Get(nil, []blockhash.Hash{countedHash(0)})
	require.ErrorIs(t, err, auxerrors.ErrAbsent)
	for _, reason := range []error{auxerrors.ErrEvicted, auxerrors.ErrRemoved, auxerrors.ErrNeverStored} {
		require.NotErrorIs(t, err, reason)
	}
	var typed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, err, &typed)
	require.Contains(t, typed.Detail, "forgotten")
	require.Contains(t, typed.Advice, "max_bytes")
	require.EqualValues(t, 1, s.Stats().AbsentMiss)
}
