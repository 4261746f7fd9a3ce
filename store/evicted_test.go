package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

func TestAPutNamesTheBlocksThatGaveWay(t *testing.T) {
	s := newStore(t, 2)
	blocks := blocksOf(0, 1, 2, 3, 4)
	var evicted []blockhash.Hash
	put := func(batch store.Batch) error {
		batch.Evicted = &evicted
		_, err := s.Put(batch)
		return err
	}
	require.NoError(t, put(store.Batch{Blocks: blocks[:2]}))
	require.Empty(t, evicted, "there was room")

	require.NoError(t, put(store.Batch{Blocks: blocks[2:4]}))
	require.Equal(t, []blockhash.Hash{blocks[1].Hash, blocks[0].Hash}, evicted, "oldest first, behind what the list held")

	retained := []blockhash.Hash{blocks[2].Hash, blocks[3].Hash}
	require.NoError(t, put(store.Batch{Retain: retained}))
	require.ErrorIs(t, put(store.Batch{Blocks: blocks[4:]}), auxerrors.ErrCannotFit)
	require.Len(t, evicted, 2, "a batch that is refused names nothing")

	last := []blockhash.Hash{blocks[4].Hash}
	require.NoError(t, put(store.Batch{Blocks: blocks[4:], Retain: last, Release: last}))
	require.Equal(t, last, evicted[2:], "a block that gives way to the rest of its own batch is named")

	require.NoError(t, put(store.Batch{Release: retained}))
	removed, err := s.Remove(s.Generation(), retained[:1])
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	require.Len(t, evicted, 3, "what is removed does not give way")
}

func TestNamingTheEvictedAllocatesNothingOnceTheListHasGrown(t *testing.T) {
	if raceEnabled {
		t.Skip("LOUD: pools drop what they hold at random under the race detector")
	}
	s := newStore(t, 2)
	blocks := [2][]store.Block{blocksOf(0, 1), blocksOf(2, 3)}
	evicted := make([]blockhash.Hash, 0, 2)
	turn := 0
	require.Zero(t, testing.AllocsPerRun(100, func() {
		evicted = evicted[:0]
		turn++
		if _, err := s.Put(store.Batch{Blocks: blocks[turn%2], Evicted: &evicted}); err != nil {
			t.Fatal(err)
		}
	}))
}
