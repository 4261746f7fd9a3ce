package store_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// Public cases of the order in which blocks go, of what pins them, of absence and of keys.

func TestPublicCase_PC_079_TheTailOfAChainIsEvictedBeforeItsHead(t *testing.T) {
	for name, touch := range map[string]func(*store.Store){
		"published": func(*store.Store) {},
		"released": func(s *store.Store) {
			keeps(t, s, store.Batch{Retain: hashesOf(1, 2, 3)})
			keeps(t, s, store.Batch{Release: hashesOf(1, 2, 3)})
		},
		"read":            func(s *store.Store) { holds(t, s, 1, 2, 3) },
		"published again": func(s *store.Store) { put(t, s, 1, 2, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, 3)
			put(t, s, 1, 2, 3)
			touch(s)
			put(t, s, 4)
			lacks(t, s, 3, auxerrors.ErrEvicted)
			holds(t, s, 1, 2)
			holds(t, s, 4)
		})
	}
}

func TestPublicCase_PC_080_ABatchTooLargeNeverCostsItsHead(t *testing.T) {
	for name, tc := range map[string]struct {
		batch  store.Batch
		reason error
		want   store.PutResult
	}{
		"refused whole":                    {store.Batch{}, auxerrors.ErrCannotFit, store.PutResult{}},
		"cut at the tail, if that is fine": {store.Batch{Partial: true}, nil, store.PutResult{Stored: 3, LeftOut: 1}},
		"cut at the tail, if all is released": {
			store.Batch{Retain: hashesOf(1, 2, 3, 4), Release: hashesOf(1, 2, 3, 4)}, nil, store.PutResult{Stored: 3, Dropped: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, 3)
			tc.batch.Blocks = blocksOf(1, 2, 3, 4)
			result, err := s.Put(tc.batch)
			require.ErrorIs(t, err, tc.reason)
			require.Equal(t, tc.want, result)
			if tc.reason != nil {
				require.Zero(t, s.Stats().Used)
				return
			}
			holds(t, s, 1, 2, 3)
			lacks(t, s, 4, auxerrors.ErrAbsent)
		})
	}
}

func TestPublicCase_PC_082_APromptLongerThanTheStoreKeepsItsHead(t *testing.T) {
	s := newStore(t, 4)
	put(t, s, 20, 21) // somebody else's, older
	chain := hashesOf(0, 1, 2, 3, 4, 5)
	for first := 0; first < 6; first += 2 { // chunks of two blocks
		keeps(t, s, store.Batch{Blocks: blocksOf(first, first+1), Retain: chain[first : first+2], Partial: true})
	}
	require.Equal(t, 4, s.Prefix(chain))
	holds(t, s, 0, 1, 2, 3)
	require.EqualValues(t, 2, s.Stats().LeftOut)
}

func TestPublicCase_PC_083_APrefixEndsAtTheFirstGap(t *testing.T) {
	s := newStore(t, 3)
	put(t, s, 1, 2, 3)
	keeps(t, s, store.Batch{Retain: hashesOf(2, 3)})
	put(t, s, 9) // block 1 is the only one that may go
	lacks(t, s, 1, auxerrors.ErrEvicted)
	require.Zero(t, s.Prefix(hashesOf(1, 2, 3)))
	n, err := s.RetainPrefix(0, hashesOf(1, 2, 3))
	require.NoError(t, err)
	require.Zero(t, n, "what lies behind the gap is not retained once more")
	keeps(t, s, store.Batch{Release: hashesOf(2, 3)})
	require.Zero(t, s.Stats().Retained)
}

func TestPublicCase_PC_085_ARequestThatNeverReadsPinsNothingForEver(t *testing.T) {
	s := newStore(t, 3)
	put(t, s, 1, 2)
	lease := s.Lease()
	n, err := lease.RetainPrefix(hashesOf(1, 2, 3))
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.NoError(t, lease.Retain(hashesOf(3)))
	require.Equal(t, 2, s.Stats().Retained)
	require.NoError(t, lease.Close())
	require.Zero(t, s.Stats().Retained+s.Stats().Pending)
	put(t, s, 7, 8, 9)
	lacks(t, s, 1, auxerrors.ErrEvicted)
}

func TestPublicCase_PC_086_EvictionNeverTakesMemoryFromUnderAReader(t *testing.T) {
	s := newStore(t, 2)
	put(t, s, 0)
	view, err := s.View(hashesOf(0))
	require.NoError(t, err)
	shown, err := view.Block(0)
	require.NoError(t, err)
	copied, err := s.Get(nil, hashesOf(0))
	require.NoError(t, err)
	for i := range 10 {
		put(t, s, 10+i)
		require.Equal(t, rowsFor(0, 0, testBlock), shown)
	}
	holds(t, s, 0)
	require.NoError(t, view.Close())

	put(t, s, 30, 31)
	lacks(t, s, 0, auxerrors.ErrEvicted)
	require.Equal(t, rowsFor(0, 0, testBlock), copied, "a copy outlives its block")
}

func TestPublicCase_PC_088_APutWithoutRoomFailsAtOnce(t *testing.T) {
	s := newStore(t, 2)
	keeps(t, s, store.Batch{Blocks: blocksOf(1, 2), Retain: hashesOf(1, 2)})
	before := s.Snapshot()
	_, err := s.Put(store.Batch{Blocks: blocksOf(3), Retain: hashesOf(3, 1, 9)})
	require.ErrorIs(t, err, auxerrors.ErrCannotFit)
	require.ElementsMatch(t, before.Held, s.Snapshot().Held, "its retains were taken back")
	require.Empty(t, s.Snapshot().Pending)
	holds(t, s, 1, 2)
	lacks(t, s, 3, auxerrors.ErrNeverStored)

	keeps(t, s, store.Batch{Release: hashesOf(1)})
	put(t, s, 3)
	holds(t, s, 2, 3)
}

func TestPublicCase_PC_089_ARetainedBlockDoesNotStopTheEvictionOfOthers(t *testing.T) {
	s := newStore(t, 3)
	put(t, s, 1)
	put(t, s, 2)
	put(t, s, 3)
	keeps(t, s, store.Batch{Retain: hashesOf(1)})
	require.Equal(t, store.PutResult{Stored: 1, Evicted: 1}, keeps(t, s, store.Batch{Blocks: blocksOf(4)}))
	lacks(t, s, 2, auxerrors.ErrEvicted)
	holds(t, s, 1, 3, 4)
}

func TestPublicCase_PC_091_TheSameBlockFromTwoRequestsIsOneObject(t *testing.T) {
	const writers = 8
	s := newStore(t, 4)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			if _, err := s.Put(store.Batch{Blocks: blocksOf(0)}); err != nil {
				t.Errorf("a duplicate put failed: %v", err)
			}
		})
	}
	wg.Wait()
	stats := s.Stats()
	require.Equal(t, 1, stats.Used)
	require.EqualValues(t, 1, stats.Stored)
	require.EqualValues(t, writers-1, stats.Present)
	holds(t, s, 0)
}

func TestPublicCase_PC_092_NothingIsNeverTakenForRows(t *testing.T) {
	s := newStore(t, 2)
	lacks(t, s, 0, auxerrors.ErrNeverStored)
	for _, rows := range [][]byte{nil, {}} {
		_, err := s.Put(store.Batch{Blocks: []store.Block{{Hash: hashOf(0), Rows: rows}}})
		require.ErrorIs(t, err, auxerrors.ErrPayloadSize)
	}
	lacks(t, s, 0, auxerrors.ErrNeverStored)
}

func TestPublicCase_PC_094_AReadSaysWhetherABlockWasEvictedOrNeverStored(t *testing.T) {
	s := newStore(t, 2)
	put(t, s, 0, 1)
	require.Equal(t, 2, s.Prefix(hashesOf(0, 1)))
	put(t, s, 2, 3) // between the look and the read
	lacks(t, s, 0, auxerrors.ErrEvicted)
	lacks(t, s, 9, auxerrors.ErrNeverStored)

	// Looking and holding in one step leaves no time for it.
	lease := s.Lease()
	n, err := lease.RetainPrefix(hashesOf(2, 3))
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = s.Put(store.Batch{Blocks: blocksOf(4)})
	require.ErrorIs(t, err, auxerrors.ErrCannotFit)
	holds(t, s, 2, 3)
	require.NoError(t, lease.Close())
}

func TestPublicCase_PC_095_RemovingWhatIsAbsentIsFine(t *testing.T) {
	s := newStore(t, 2)
	put(t, s, 0)
	for _, tc := range []struct {
		name    string
		hashes  []blockhash.Hash
		removed int
	}{
		{"one that was never there", hashesOf(7), 0},
		{"one that is, beside one that is not", hashesOf(0, 8), 1},
		{"the same once more", hashesOf(0, 8), 0},
	} {
		removed, err := s.Remove(0, tc.hashes)
		require.NoError(t, err, tc.name)
		require.Equal(t, tc.removed, removed, tc.name)
	}
	lacks(t, s, 0, auxerrors.ErrRemoved)
}

func TestPublicCase_PC_098_SequencesWithTheSameEndAreKeptApart(t *testing.T) {
	root, err := blockhash.DefaultRoot(blockhash.SHA256CBOR)
	require.NoError(t, err)
	s := newStore(t, 8)
	var chains [2][]blockhash.Hash
	for i, tokens := range [][]uint32{{1, 2, 9}, {3, 4, 9}} {
		chain, err := blockhash.NewChain(blockhash.SHA256CBOR, root, 1, blockhash.Request{})
		require.NoError(t, err)
		chains[i] = slices.Clone(chain.Append(tokens...))
		var blocks []store.Block
		for at, hash := range chains[i] {
			blocks = append(blocks, store.Block{Hash: hash, Rows: rowsFor(10*i+at, 0, testBlock)})
		}
		keeps(t, s, store.Batch{Blocks: blocks})
	}
	require.Equal(t, 6, s.Stats().Used, "no block is another's")
	for i, chain := range chains {
		got, err := s.Get(nil, chain)
		require.NoError(t, err)
		want := slices.Concat(rowsFor(10*i, 0, testBlock), rowsFor(10*i+1, 0, testBlock), rowsFor(10*i+2, 0, testBlock))
		require.Equal(t, want, got)
	}
}

func TestPublicCase_PC_101_OtherRowsUnderOneHashAreCountedAndTold(t *testing.T) {
	s, err := store.New(store.Options{MaxBytes: 2 * testBlock, BlockBytes: testBlock, Verify: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	put(t, s, 0)
	collides := store.Block{Hash: hashOf(0), Rows: rowsFor(1, 0, testBlock)}
	require.Equal(t, 1, keeps(t, s, store.Batch{Blocks: []store.Block{collides}}).Conflicts)
	require.Zero(t, keeps(t, s, store.Batch{Blocks: blocksOf(0)}).Conflicts, "equal rows are no conflict")
	require.EqualValues(t, 1, s.Stats().Conflicts)
	holds(t, s, 0)
}

func TestPublicCase_PC_103_ABadBlockFailsItsBatchAndNothingElse(t *testing.T) {
	s := newStore(t, 4)
	put(t, s, 0, 1)
	bad := append(blocksOf(2, 3), store.Block{Hash: hashOf(4), Rows: make([]byte, 3)})
	_, err := s.Put(store.Batch{Blocks: bad, Retain: hashesOf(2)})
	require.ErrorIs(t, err, auxerrors.ErrPayloadSize)
	var typed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, err, &typed)
	require.Equal(t, 2, typed.Index)
	holds(t, s, 0, 1)
	require.Equal(t, 2, s.Stats().Used)
	require.Zero(t, s.Stats().Pending)
	put(t, s, 2, 3)
	holds(t, s, 0, 1, 2, 3)
}

func TestPublicCase_PC_104_AnEvictedBlockIsGoneWhoeverHasItsSlot(t *testing.T) {
	s := newStore(t, 1)
	put(t, s, 0)
	put(t, s, 5)
	lacks(t, s, 0, auxerrors.ErrEvicted)
	require.Zero(t, s.Prefix(hashesOf(0)))
	holds(t, s, 5)
}

func TestPublicCase_PC_106_AResetLetsGoOfEverythingOnce(t *testing.T) {
	s := newStore(t, 4)
	var old [2]*store.Lease
	for i := range old {
		old[i] = s.Lease()
		_, err := old[i].Publish(blocksOf(0, 1+i))
		require.NoError(t, err)
		require.NoError(t, old[i].Retain(hashesOf(8+i)))
	}
	require.Equal(t, 3, s.Stats().Retained)
	_, err := s.Reset()
	require.NoError(t, err)
	require.Zero(t, s.Stats().Used+s.Stats().Retained+s.Stats().Pending)

	// New weights have other rows for the same tokens.
	fresh := s.Lease()
	_, err = fresh.Publish([]store.Block{{Hash: hashOf(0), Rows: rowsFor(0, 1, testBlock)}})
	require.NoError(t, err)
	for _, lease := range old {
		_, err := lease.Get(nil, hashesOf(0))
		require.ErrorIs(t, err, auxerrors.ErrGeneration)
		require.NoError(t, lease.Close())
	}
	_, err = s.Put(store.Batch{Generation: 0, Blocks: blocksOf(1)})
	require.ErrorIs(t, err, auxerrors.ErrGeneration, "a late batch of the old weights")
	require.Equal(t, 1, s.Stats().Retained, "the old requests gave nothing of the new one back")
	got, err := fresh.Get(nil, hashesOf(0))
	require.NoError(t, err)
	require.Equal(t, rowsFor(0, 1, testBlock), got)
	require.NoError(t, fresh.Close())
	require.Zero(t, s.Stats().Retained)
}

func TestPublicCase_PC_109_TheStoreTellsItsCapacityAndWhatBecameOfIt(t *testing.T) {
	const blockTokens = 4
	s, err := store.New(store.Options{MaxBytes: 3*testBlock + 5, BlockBytes: testBlock})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	put(t, s, 0, 1, 2)
	put(t, s, 3)
	lacks(t, s, 2, auxerrors.ErrEvicted)
	lacks(t, s, 9, auxerrors.ErrNeverStored)
	stats := s.Stats()
	require.Equal(t, 3, stats.Slots)
	require.Equal(t, 3, stats.Used)
	require.EqualValues(t, 3*testBlock+5, stats.MaxBytes)
	require.EqualValues(t, 3*testBlock, stats.UsedBytes)
	require.Equal(t, 12, stats.Slots*blockTokens, "tokens that it can hold")
	require.Equal(t, 4, stats.BlockBytes/blockTokens, "bytes of a row")
	require.EqualValues(t, 1, stats.Evicted)
	require.EqualValues(t, 2, stats.Misses)
	require.EqualValues(t, 1, stats.EvictedMiss)
	require.EqualValues(t, 1, stats.NeverStored)
}

// A LoRA is loaded again under its old name: its hashes are the old ones, as its name
// is all that they know of it. The next generation of its namespace has other keys.
func TestPublicCase_PC_133_AnAdapterLoadedAgainUnderItsNameFindsNoneOfItsOldRows(t *testing.T) {
	chainOf := func(lora string) []blockhash.Hash {
		root, err := blockhash.DefaultRoot(blockhash.SHA256)
		require.NoError(t, err)
		chain, err := blockhash.NewChain(blockhash.SHA256, root, 4, blockhash.Request{LoRA: lora})
		require.NoError(t, err)
		return chain.Append(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	}
	require.Equal(t, chainOf("policy"), chainOf("policy"), "nothing in the hashes tells of a reload")
	s := newStore(t, 12)
	publish := func(keys []blockhash.Hash, version int) {
		var blocks []store.Block
		for i, key := range keys {
			blocks = append(blocks, store.Block{Hash: key, Rows: rowsFor(i, version, testBlock)})
		}
		keeps(t, s, store.Batch{Blocks: blocks})
	}
	read := func(keys []blockhash.Hash, version int) {
		var want []byte
		for i := range keys {
			want = append(want, rowsFor(i, version, testBlock)...)
		}
		got, err := s.Get(nil, keys)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	policy := blockhash.NewNamespace("model", "policy")
	old := policy.AppendKeys(nil, chainOf("policy"))
	critic := blockhash.NewNamespace("model", "critic").AppendKeys(nil, chainOf("critic"))
	base := blockhash.NewNamespace("model").AppendKeys(nil, chainOf(""))
	other := blockhash.NewNamespace("another model").AppendKeys(nil, chainOf(""))
	publish(old, 1)
	publish(critic, 2)
	publish(base, 3)
	publish(other, 4)
	for version, keys := range map[int][]blockhash.Hash{1: old, 2: critic, 3: base, 4: other} {
		read(keys, version)
	}

	policy = policy.Next()
	reloaded := policy.AppendKeys(nil, chainOf("policy"))
	require.Zero(t, s.Prefix(reloaded))
	_, err := s.Get(nil, reloaded)
	require.ErrorIs(t, err, auxerrors.ErrNeverStored)
	for version, keys := range map[int][]blockhash.Hash{2: critic, 3: base, 4: other} {
		read(keys, version)
	}
	publish(reloaded, 5)
	read(reloaded, 5)
	require.Zero(t, s.Prefix(old), "the oldest ones made room")
	for version, keys := range map[int][]blockhash.Hash{2: critic, 3: base, 4: other} {
		read(keys, version)
	}
}
