package connector_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

func TestAPromptInChunksIsHandedOutWhole(t *testing.T) {
	b := newBench(t, 8)
	h := hashesOf("0", "1")
	require.Empty(t, b.run(starts(0, map[string][]blockhash.Hash{"a": h}, "a"), chunk("a", 0, "abcdef")))
	require.Equal(t, []string{"a@0:abcdefghi"}, b.run(goesOn("a"), one("a", 6, "ghi")))
	require.Equal(t, []string{"a@9:j"}, b.run(goesOn("a"), one("a", 9, "j")))
	b.begin(ends("a"))
	b.empty()
	require.Equal(t, []blockhash.Hash{h[1], h[0]}, b.store.Snapshot().Evictable, "tails are the first to go")
}

func TestAHitIsReadFromTheStore(t *testing.T) {
	b := newBench(t, 8)
	h := map[string][]blockhash.Hash{"a": hashesOf("0", "1"), "b": hashesOf("0", "1")}
	b.run(starts(0, h, "a"), one("a", 0, "abcdefgh"))
	require.Equal(t, []string{"b@0:abcdefghxy"}, b.run(starts(0, h, "b"), one("b", 8, "xy")))
}

func TestAConsumerListedBeforeItsProducerIsServedInTheSameStep(t *testing.T) {
	b := newBench(t, 8)
	h := map[string][]blockhash.Hash{"a": hashesOf("0"), "b": hashesOf("0")}
	batch := connector.Batch{
		IDs: []string{"b", "a"}, Starts: []int{4, 0}, Bounds: []int{0, 1, 6}, Sampled: []int{1, 1}, Rejected: []int{0, 0},
		RowCount: len("x" + "abcde"), Rows: []byte("x" + "abcde"),
	}
	require.Equal(t, []string{"b@0:abcdx", "a@0:abcde"}, b.run(starts(0, h, "a", "b"), batch))
}

func TestRowsHandedOutDoNotChangeLater(t *testing.T) {
	b := newBench(t, 8)
	batch := one("a", 0, "abcde")
	b.run(starts(0, nil, "a"), batch)
	kept := b.out
	copy(batch.Rows, "?????")
	b.out = connector.Output{}
	b.run(goesOn("a"), one("a", 5, "fgh"))
	require.Equal(t, "abcde", string(kept.Requests[0].Rows))
}

func TestABlockWithoutAHashCanBeReadWhileItWaits(t *testing.T) {
	b := newBench(t, 8)
	b.run(starts(0, nil, "a"), chunk("a", 0, "abcd"))
	b.run(goesOn("a"), chunk("a", 4, "efgh"))
	require.Equal(t, 2, b.worker.Stats().Waiting)
	require.Equal(t, []string{"a@0:abcdefghij"}, b.run(goesOn("a"), one("a", 8, "ij")))

	meta := goesOn("a")
	meta.Scheduled[0].Keys = hashesOf("0")
	require.Equal(t, []string{"a@10:k"}, b.run(meta, one("a", 10, "k")))
	require.Equal(t, 1, b.worker.Stats().Waiting, "one hash came, one block went")
	require.Equal(t, 1, b.store.Stats().Used)

	b.begin(ends("a"))
	b.empty()
	require.Equal(t, 1, b.store.Stats().Used, "a block whose hash never came is not published")
}

func TestAMissingBlockFailsOneRequestAndNoOther(t *testing.T) {
	b := newBench(t, 2)
	h := map[string][]blockhash.Hash{"a": hashesOf("0", "1"), "c": hashesOf("2"), "b": hashesOf("0", "1"), "d": nil}
	b.run(starts(0, h, "a"), one("a", 0, "abcdefgh"))
	b.begin(ends("a"))
	b.run(starts(0, h, "c"), one("c", 0, "stuv"))

	meta := starts(0, h, "b", "d")
	batch := connector.Batch{
		IDs: []string{"b", "d"}, Starts: []int{8, 0}, Bounds: []int{0, 1, 2}, Sampled: []int{1, 1}, Rejected: []int{0, 0}, RowCount: len("xy"), Rows: []byte("xy"),
	}
	require.NoError(t, b.worker.Process(b.begin(meta), batch, &b.out))
	require.Equal(t, "y", string(b.out.Find("d").Rows))

	_, _, err := b.out.Take("b", 10, false)
	var failed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, auxerrors.ErrEvicted)
	require.Equal(t, h["b"][1].Bytes(), failed.Hash)
	require.Equal(t, 1, failed.Index, "the number of the block in the request")
	require.Equal(t, 2, failed.Used)
	require.Equal(t, 2, failed.Limit)
	require.NotEmpty(t, failed.Advice)

	b.begin(ends("b", "c", "d"))
	b.empty()
}

func TestTheIndexOfAMissingBlockCountsFromTheStartOfTheRequest(t *testing.T) {
	b := newBench(t, 2)
	meta := starts(0, map[string][]blockhash.Hash{"a": hashesOf("0", "1", "2")}, "a")
	meta.Scheduled[0].EmitStart = 9
	require.NoError(t, b.worker.Process(b.begin(meta), one("a", 12, "x"), &b.out))
	var failed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, b.out.Find("a").Err, &failed)
	require.Equal(t, 2, failed.Index)
}

func TestABlockWithoutRoomBesideRunningRequestsFailsOnlyThoseThatNeedIt(t *testing.T) {
	b := newBench(t, 1)
	h := map[string][]blockhash.Hash{"a": hashesOf("0"), "b": hashesOf("0"), "c": hashesOf("1"), "d": hashesOf("1")}
	require.Equal(t, []string{"a@0:abcd"}, b.run(starts(0, h, "a"), one("a", 0, "abcd")))
	require.Equal(t, []string{"c@0:stuv"}, b.run(starts(0, h, "c"), one("c", 0, "stuv")), "its own rows do not need the store")
	require.EqualValues(t, 1, b.store.Stats().LeftOut)

	meta := starts(0, h, "b", "d")
	batch := connector.Batch{
		IDs: []string{"b", "d"}, Starts: []int{4, 4}, Bounds: []int{0, 1, 2}, Sampled: []int{1, 1}, Rejected: []int{0, 0}, RowCount: len("xy"), Rows: []byte("xy"),
	}
	require.NoError(t, b.worker.Process(b.begin(meta), batch, &b.out))
	require.Equal(t, "abcdx", string(b.out.Find("b").Rows))
	require.ErrorIs(t, b.out.Find("d").Err, auxerrors.ErrAbsent)
	require.Empty(t, b.out.Find("d").Rows)

	b.begin(ends("a", "b", "c", "d"))
	b.empty()
}

func TestRowsThatNobodyKnowsTheHashOfAreARangeError(t *testing.T) {
	b := newBench(t, 2)
	require.NoError(t, b.worker.Process(b.begin(starts(0, nil, "a")), one("a", 1<<30, "x"), &b.out))
	require.ErrorIs(t, b.out.Find("a").Err, connector.ErrRange)
}

func TestRejectedDraftsAreCutAndTheNextRowsAttachThere(t *testing.T) {
	b := newBench(t, 4)
	step := func(meta *connector.Metadata, start, rejected int, rows string) []string {
		batch := one("a", start, rows)
		batch.Rejected[0] = rejected
		return b.run(meta, batch)
	}
	require.Equal(t, []string{"a@0:a"}, step(starts(0, nil, "a"), 0, 4, "a----"))
	require.Equal(t, []string{"a@1:b"}, step(goesOn("a"), 5, 3, "b---"))
	require.Equal(t, []string{"a@2:cde"}, step(goesOn("a"), 6, 0, "cde"))
	require.Empty(t, step(goesOn("a"), 9, 2, "--"), "a step that accepted nothing hands out nothing")
}

func TestTheSecondStepMayBeginBeforeTheFirstOutput(t *testing.T) {
	b := newBench(t, 8)
	h := map[string][]blockhash.Hash{"a": hashesOf("0")}
	first := b.begin(starts(0, h, "a"))
	second := b.begin(goesOn("a"))
	require.Equal(t, 2, b.worker.Stats().InFlight)
	_, err := b.worker.Begin(goesOn("a"))
	require.ErrorIs(t, err, connector.ErrInFlight)
	b.refuses(second, one("a", 4, "e"), connector.ErrStepOrder)

	require.Equal(t, []string{"a@0:abcd"}, b.process(first, one("a", 0, "abcd")))
	b.refuses(first, one("a", 0, "abcd"), connector.ErrStepOrder)
	require.Equal(t, []string{"a@4:e"}, b.process(second, one("a", 4, "e")))
}

func TestARequestThatEndedIsLetGoAfterItsLastOutput(t *testing.T) {
	b := newBench(t, 8)
	h := map[string][]blockhash.Hash{"a": hashesOf("0", "1"), "b": nil}
	b.run(starts(0, h, "a"), one("a", 0, "abcdefg"))
	last := b.begin(goesOn("a"))
	next := starts(0, h, "b")
	next.Finished = ends("a").Finished
	step := b.begin(next)
	require.Equal(t, 1, b.worker.Stats().Requests)
	require.Equal(t, 1, b.store.Stats().Retained)
	require.Equal(t, 1, b.store.Stats().Pending)

	require.Equal(t, []string{"a@7:h"}, b.process(last, one("a", 7, "h")))
	require.Zero(t, b.store.Stats().Retained)
	require.Equal(t, 2, b.store.Stats().Used, "the block that the last output completed is there")
	require.Equal(t, []string{"b@0:x"}, b.process(step, one("b", 0, "x")))
}

func TestAnIdMayEndAndStartInOneStep(t *testing.T) {
	b := newBench(t, 8)
	h := map[string][]blockhash.Hash{"a": hashesOf("0")}
	b.run(starts(0, h, "a"), one("a", 0, "abcde"))
	meta := starts(0, h, "a")
	meta.Finished = ends("a").Finished
	require.Equal(t, []string{"a@0:abcdx"}, b.run(meta, one("a", 4, "x")))

	meta = goesOn("a")
	meta.Finished = ends("a").Finished
	_, err := b.worker.Begin(meta)
	require.ErrorIs(t, err, connector.ErrRunAndFinish)
}

func TestALateOutputOfAnOlderGenerationIsRefused(t *testing.T) {
	b := newBench(t, 8)
	h := map[string][]blockhash.Hash{"a": hashesOf("0")}
	late := b.begin(starts(0, h, "a"))
	step := b.begin(starts(1, h, "a"))
	b.refuses(late, one("a", 0, "abcd"), auxerrors.ErrGeneration)
	require.Equal(t, []string{"a@0:wxyz"}, b.process(step, one("a", 0, "wxyz")), "the new weights' rows")
	_, err := b.worker.Begin(starts(0, h, "b"))
	require.ErrorIs(t, err, connector.ErrGenerationBackwards)
	require.EqualValues(t, 1, b.store.Generation())
}

func TestAStoreResetBehindTheWorkersBackRefusesTheOutput(t *testing.T) {
	b := newBench(t, 8)
	step := b.begin(starts(0, nil, "a"))
	_, err := b.store.Reset()
	require.NoError(t, err)
	require.ErrorIs(t, b.worker.Process(step, one("a", 0, "abcd"), &b.out), auxerrors.ErrGeneration)
}

func TestAnAbandonedStepFailsItsRequestsAndNoOther(t *testing.T) {
	b := newBench(t, 8)
	h := map[string][]blockhash.Hash{"a": hashesOf("0"), "b": hashesOf("1")}
	b.run(starts(0, h, "b"), one("b", 0, "wxyz"))
	step := b.begin(starts(0, h, "a"))
	require.NoError(t, b.worker.Abandon(step, &b.out))
	require.ErrorIs(t, b.worker.Abandon(step, &b.out), connector.ErrStepOrder)

	batch := connector.Batch{IDs: []string{"a", "b"}, Starts: []int{4, 4}, Bounds: []int{0, 1, 2}, Sampled: []int{1, 1}, Rejected: []int{0, 0}, RowCount: len("eA"), Rows: []byte("eA")}
	require.NoError(t, b.worker.Process(b.begin(goesOn("a", "b")), batch, &b.out))
	require.ErrorIs(t, b.out.Find("a").Err, connector.ErrStepLost)
	require.Equal(t, "A", string(b.out.Find("b").Rows))
	b.begin(ends("a", "b"))
	b.empty()
}

func TestARankWithoutOutputDoesNothing(t *testing.T) {
	w := connector.Idle()
	step, err := w.Begin(ends("nobody"))
	require.NoError(t, err)
	var out connector.Output
	require.NoError(t, w.Process(step, one("a", 7, "x"), &out))
	require.Empty(t, out.Requests)
	require.NoError(t, w.Abandon(step, &out))
	require.Zero(t, w.Stats())
	require.Nil(t, w.Gate())
	require.Empty(t, w.DrainEvicted(nil))
	require.NoError(t, w.Close())
}

func TestAWarmUpStepDoesNothing(t *testing.T) {
	b := newBench(t, 8)
	require.Empty(t, b.run(nil, one("a", 7, "x")))
	b.empty()
}

func TestAStepInWhichNothingIsScheduledHasNoOutput(t *testing.T) {
	b := newBench(t, 8)
	step := b.begin(&connector.Metadata{})
	require.Empty(t, b.process(step, connector.Batch{}))
	require.ErrorIs(t, b.worker.Process(step, one("a", 0, "x"), &b.out), connector.ErrUnknownRequest)
}

func TestARunOfAThousandAbortedRequestsLeavesNothingBehind(t *testing.T) {
	b := newBench(t, 8)
	for i := range 1000 {
		id := fmt.Sprint(i)
		h := map[string][]blockhash.Hash{id: hashesOf(id, id+"'")}
		step := b.begin(starts(0, h, id))
		switch i % 4 {
		case 0: // aborted while its output is in flight
			b.begin(ends(id))
			b.process(step, one(id, 0, "abcdefghi"))
		case 1: // aborted after a chunk that leaves a tail
			b.process(step, chunk(id, 0, "abcdef"))
			b.begin(ends(id))
		case 2: // its step never came back
			require.NoError(t, b.worker.Abandon(step, &b.out))
			b.begin(ends(id))
		case 3: // a reset comes between
			b.process(step, chunk(id, 0, "ab"))
			b.begin(ends(id))
		}
		b.empty()
	}
	require.LessOrEqual(t, b.store.Stats().Used, 8)
}

func TestAClosedWorkerHoldsNothingAndDoesNothing(t *testing.T) {
	b := newBench(t, 8)
	b.run(starts(0, map[string][]blockhash.Hash{"a": hashesOf("0")}, "a"), one("a", 0, "abcdef"))
	step := b.begin(goesOn("a"))
	require.NoError(t, b.worker.Close())
	b.empty()
	_, err := b.worker.Begin(goesOn("a"))
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	require.ErrorIs(t, b.worker.Process(step, one("a", 6, "g"), &b.out), auxerrors.ErrClosed)
	require.ErrorIs(t, b.worker.Abandon(step, &b.out), auxerrors.ErrClosed)
	require.NoError(t, b.worker.Close())
}

func TestAHashRemovedFromTheKVCacheLeavesTheStore(t *testing.T) {
	b := newBench(t, 8)
	h := hashesOf("0", "1")
	b.run(starts(0, map[string][]blockhash.Hash{"a": h}, "a"), one("a", 0, "abcdefgh"))
	b.begin(ends("a"))
	b.begin(&connector.Metadata{Removed: h[:1]})
	require.Equal(t, h[1:], b.store.Snapshot().Evictable)
}

// The rows of a request that ended and old rows of the blocks that its KV memory
// was given to must not be retained at the same time.
func TestMetadataOfTheNextStepDoesNotCrowdOutTheOutputBeforeIt(t *testing.T) {
	b := newBench(t, 2)
	a, x, old := hashesOf("a"), hashesOf("x"), hashesOf("old")
	h := map[string][]blockhash.Hash{"a": a, "x": x, "o": old, "c": old}
	b.run(starts(0, h, "o"), one("o", 0, "OLDS"))
	b.begin(ends("o"))
	b.run(starts(0, h, "a"), one("a", 0, "abcd"))
	flying := starts(0, h, "x")
	flying.Scheduled = append(flying.Scheduled, connector.Scheduled{ID: "a"})
	step := b.begin(flying)

	// a has ended, and its KV block is given to c, whose block was stored long ago.
	next := starts(0, h, "c")
	next.Finished = ends("a").Finished
	after := b.begin(next)
	batch := connector.Batch{IDs: []string{"x", "a"}, Starts: []int{0, 4}, Bounds: []int{0, 4, 5}, Sampled: []int{1, 1}, Rejected: []int{0, 0}, RowCount: len("wxyze"), Rows: []byte("wxyze")}
	require.Equal(t, []string{"x@0:wxyz", "a@4:e"}, b.process(step, batch))
	require.Equal(t, []string{"c@0:OLDS"}, b.process(after, one("c", 0, "OLDS")))

	// In the other order there is no room.
	s, err := store.New(store.Options{MaxBytes: 2 * four, BlockBytes: four})
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Put(store.Batch{Blocks: []store.Block{{Hash: old[0], Rows: []byte("OLDS")}, {Hash: a[0], Rows: []byte("abcd")}}, Retain: a})
	require.NoError(t, err)
	_, err = s.Put(store.Batch{Retain: append(old, x...)})
	require.NoError(t, err)
	_, err = s.Put(store.Batch{Blocks: []store.Block{{Hash: x[0], Rows: []byte("wxyz")}}})
	require.ErrorIs(t, err, auxerrors.ErrCannotFit)
}
