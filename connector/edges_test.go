package connector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	"github.com/auxoutput/auxoutput/connector/guard"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/store"
)

func TestNeitherHalfStartsWithoutACheckedSetUp(t *testing.T) {
	off, err := guard.Check(guard.Setup{})
	require.NoError(t, err)
	o := options()
	s, err := store.New(store.Options{MaxBytes: 64, BlockBytes: four})
	require.NoError(t, err)
	defer s.Close()
	for setup, reason := range map[guard.Checked]error{{}: guard.ErrNotChecked, off: guard.ErrCaptureOff} {
		o.Checked = setup
		_, err := connector.NewWorker(s, o)
		require.ErrorIs(t, err, reason)
		_, err = connector.NewScheduler(connector.SchedulerOptions{Checked: setup, KVBlocks: 8})
		require.ErrorIs(t, err, reason)
	}
}

func TestASchedulerForNoPoolIsRefused(t *testing.T) {
	for name, o := range map[string]connector.SchedulerOptions{
		"no mode":         {Mode: 4, KVBlocks: 8},
		"negative slots":  {KVBlocks: 8, Slots: -1},
		"one block":       {KVBlocks: 1},
		"a negative pool": {KVBlocks: -1},
		"negative ratio":  {KVBlocks: 8, HashesPerBlock: -1},
		"too many hashes": {KVBlocks: store.MaxSlots, HashesPerBlock: 2},
	} {
		o.Checked = checked
		_, err := connector.NewScheduler(o)
		var config *auxerrors.ConfigError
		require.ErrorAs(t, err, &config, name)
	}
}

func TestWhatExtendRefusesChangesNothing(t *testing.T) {
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1")
	s.admits("a", h)
	require.ErrorIs(t, s.Extend(holds("a", h, 2, 7, 64)), connector.ErrKVBlock)
	require.ErrorIs(t, s.Extend(holds("a", h, 2, 7)), connector.ErrKVBlock)
	require.ErrorIs(t, s.Extend(holds("a", h, 3, 7, 8)), connector.ErrRequestCounts)
	require.Empty(t, s.AppendBlocks(nil, s.keys("a", h)...))
	require.NoError(t, s.Extend(holds("a", h, 2, 7, 8)))
	require.Equal(t, []int32{7, 8}, s.AppendBlocks(nil, s.keys("a", h)...))
}

// Copies of a block that were loaded from a tier have the same keys. Whichever of them is
// reused, the others are still found.
func TestCopiesOfALoadedBlockAreForgottenOneByOne(t *testing.T) {
	h := hashesOf("0", "1")
	for _, order := range [][]int32{{20, 21, 22}, {22, 21, 20}, {21, 20, 22}} {
		s := newScheduler(t, connector.FailClosed, func(o *connector.SchedulerOptions) { o.Offload, o.HashesPerBlock = true, 2 })
		loaded := hashesOf("key 0", "key 1")
		for i, block := range []int32{20, 21, 22} {
			id := string(rune('a' + i))
			require.NoError(t, s.Admit(connector.Admission{ID: id, Hashes: h, Loaded: loaded}))
			require.NoError(t, s.Extend(holds(id, h, 2, block)))
		}
		left := map[int32]bool{20: true, 21: true, 22: true}
		for _, block := range order {
			for _, key := range loaded {
				require.Len(t, s.AppendBlocks(nil, key), len(left))
			}
			s.Evicted(block)
			delete(left, block)
			require.NotContains(t, s.AppendBlocks(nil, loaded...), block)
		}
		require.Empty(t, s.AppendBlocks(nil, loaded...))
	}
}

func TestABuildThatIsRefusedInReferenceModeForgetsWhatItBegan(t *testing.T) {
	s := newScheduler(t, connector.Reference)
	r := connector.Request{ID: "a", Tokens: 5, Hashes: hashesOf("0")}
	require.ErrorIs(t, s.Build(&s.meta, []connector.Request{r, r}, nil), connector.ErrDuplicateRequest)
	require.NoError(t, s.Finish(r))
	require.Empty(t, s.builds().Finished)
}

func TestAHitOfMoreKeysThanThereAreIsRefused(t *testing.T) {
	b := newBench(t, 8)
	for _, hit := range []int{-1, 2} {
		meta := starts(0, map[string][]blockhash.Hash{"a": hashesOf("0")}, "a")
		meta.Scheduled[0].Hit = hit
		_, err := b.worker.Begin(meta)
		require.ErrorIs(t, err, connector.ErrMetadata)
	}
}

// A request that was admitted and preempted before its first step has made the blocks of
// its hit newest in the KV cache, and so it does in the store.
func TestARequestThatNeverRanMakesTheRowsOfItsHitNewest(t *testing.T) {
	b := newBench(t, 3)
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1", "2")
	s.admits("a", h)
	k := s.keys("a", h)
	b.run(s.builds(holds("a", h, 3, 7, 8, 9)), one("a", 0, "abcdefghijkl"))
	require.NoError(t, s.Finish(holds("a", h, 3, 7, 8, 9)))
	b.begin(s.builds())
	require.Equal(t, []blockhash.Hash{k[2], k[1], k[0]}, b.store.Snapshot().Evictable)

	s.admits("b", h, 7, 8, 9)
	require.NoError(t, s.Finish(connector.Request{ID: "b"}), "the KV cache had no room: nothing has happened")
	require.Empty(t, s.builds().Finished)

	s.admits("b", append(h, hashesOf("3")...), 7, 8, 9)
	require.NoError(t, s.Extend(holds("b", append(h, hashesOf("3")...), 3, 7, 8, 9, 10)))
	require.NoError(t, s.Finish(connector.Request{ID: "b"}))
	x := hashesOf("x")
	s.admits("x", x)
	meta := s.builds(holds("x", x, 1, 11))
	require.Equal(t, []connector.Update{{ID: "b", Keys: k, NeverRan: true}}, meta.Finished)
	_, err := b.store.Get(nil, k[2:]) // something else made the last block newest
	require.NoError(t, err)
	b.run(meta, one("x", 0, "wxyz"))
	require.Equal(t, []blockhash.Hash{k[1], k[0]}, b.store.Snapshot().Evictable, "the last block went first")
}

func TestShorteningAnAdmissionOfAClosedStoreIsRefused(t *testing.T) {
	b := newBench(t, 4, gated)
	h := hashesOf("0", "1")
	b.admit("a", 0, h)
	b.run(starts(0, map[string][]blockhash.Hash{"a": h}, "a"), one("a", 0, "abcdefgh"))
	require.Equal(t, 2, b.admit("b", 2, h))
	require.NoError(t, b.store.Close())
	require.ErrorIs(t, b.worker.Gate().Shorten("b", 1), auxerrors.ErrClosed)
}

func TestALayerOfZerosIsSuspectedWithTopOneToo(t *testing.T) {
	o := options()
	o.Profile, o.MaxStepTokens, o.Check = routing.Profile{Layers: 2, TopK: 1, Experts: 16}, 128, connector.CheckAll
	b := benchFor(t, 64, o)
	rows := make([]byte, 2*70)
	for position := range 70 {
		rows[2*position] = byte(position % 16)
	}
	batch := one("a", 0, string(rows))
	batch.Bounds, batch.RowCount = []int{0, 70}, 70
	out := b.answer(b.begin(starts(0, nil, "a")), batch)
	require.ErrorIs(t, out.Err, routing.ErrZeroLayer)
	require.EqualValues(t, 1, b.worker.Stats().Failures.Unwritten)
}

func TestABlockWithAWrongChecksumFailsItsRequestAndIsCounted(t *testing.T) {
	o := options()
	s, err := store.New(store.Options{MaxBytes: 32, BlockBytes: four, Verify: true})
	require.NoError(t, err)
	w, err := connector.NewWorker(s, o)
	require.NoError(t, err)
	b := &bench{TB: t, store: s, worker: w}
	defer func() {
		require.NoError(t, w.Close())
		require.NoError(t, s.Close())
	}()
	h := map[string][]blockhash.Hash{"a": hashesOf("0"), "b": hashesOf("0")}
	b.run(starts(0, h, "a"), one("a", 0, "abcd"))
	view, err := s.View(h["a"])
	require.NoError(t, err)
	defer view.Close()
	block, err := view.Block(0)
	require.NoError(t, err)
	if raceEnabled {
		t.Skip("LOUD: with the race detector views give out copies, so nothing can be damaged through them")
	}
	block[0] ^= 1 // somebody writes where nobody may
	defer func() { block[0] ^= 1 }()
	out := b.answer(b.begin(starts(0, h, "b")), one("b", 4, "x"))
	require.ErrorIs(t, out.Err, auxerrors.ErrCorrupt)
	require.EqualValues(t, 1, b.worker.Stats().Failures.Corrupt)
	require.Zero(t, b.worker.Stats().Failures.MissingBlocks)
}

// Somebody else's mistake at a shared store keeps nothing of this worker's retained.
func TestWhatOthersReleasedKeepsNothingElseRetained(t *testing.T) {
	for name, end := range map[string]func(*bench) error{
		"the worker is closed":    func(b *bench) error { return b.worker.Close() },
		"an admission is dropped": func(b *bench) error { return b.worker.Gate().Drop("b") },
		"a request ends, and a step begins": func(b *bench) error {
			meta := starts(0, map[string][]blockhash.Hash{"b": hashesOf("0", "1", "2")}, "b")
			meta.Finished = ends("a").Finished
			b.run(meta, chunk("b", 12, "m"))
			b.begin(ends("b"))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 8, gated)
			h := hashesOf("0", "1", "2")
			b.admit("a", 0, h)
			b.run(starts(0, map[string][]blockhash.Hash{"a": h}, "a"), one("a", 0, "abcdefghijkl"))
			require.Equal(t, 3, b.admit("b", 3, h))
			_, err := b.store.Put(store.Batch{Release: []blockhash.Hash{h[1], h[1]}})
			require.NoError(t, err)
			require.NoError(t, end(b))
			require.NoError(t, b.worker.Close())
			require.Zero(t, b.store.Stats().Retained)
		})
	}
}
