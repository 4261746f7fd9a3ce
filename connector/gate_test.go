package connector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

func gated(o *connector.Options) { o.Mode = connector.RowGated }

// admit lets a request in with a hit, and reserves room for its hashes.
func (b *bench) admit(id string, hit int, hashes []blockhash.Hash) int {
	b.Helper()
	n, err := b.worker.Gate().Admit(id, hashes[:hit])
	require.NoError(b, err)
	ok, err := b.worker.Gate().Reserve(id, hashes)
	require.NoError(b, err)
	require.True(b, ok)
	return n
}

func TestAHitIsCutToTheRowsAtHandAndPinned(t *testing.T) {
	b := newBench(t, 2, gated)
	h := hashesOf("0", "1", "2")
	require.Zero(t, b.admit("a", 0, h[:2]))
	b.run(starts(0, map[string][]blockhash.Hash{"a": h[:2]}, "a"), one("a", 0, "abcdefgh"))
	b.begin(ends("a"))
	require.Equal(t, 2, b.worker.Gate().Room())

	// One block of another request pushes out the tail.
	x := hashesOf("x")
	b.admit("x", 0, x)
	b.run(starts(0, map[string][]blockhash.Hash{"x": x}, "x"), one("x", 0, "wxyz"))
	b.begin(ends("x"))

	n, err := b.worker.Gate().Admit("b", h)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 1, b.store.Stats().Retained)
	require.Equal(t, 1, b.worker.Gate().Room())
	require.NoError(t, b.worker.Gate().Drop("b"))
	require.Zero(t, b.store.Stats().Retained)
	require.Equal(t, 2, b.worker.Gate().Room())
	require.NoError(t, b.worker.Gate().Drop("b"))
}

func TestRowsThatAreStillBeingComputedCountAsAtHand(t *testing.T) {
	b := newBench(t, 4, gated)
	h := map[string][]blockhash.Hash{"a": hashesOf("0", "1"), "b": hashesOf("0", "1")}
	b.admit("a", 0, h["a"])
	require.Equal(t, 2, b.admit("b", 2, h["b"]), "in the same step")
	step := b.begin(starts(0, h, "a", "b"))

	n, err := b.worker.Gate().Admit("c", h["a"])
	require.NoError(t, err)
	require.Equal(t, 2, n, "a step later")
	require.NoError(t, b.worker.Gate().Drop("c"))

	batch := connector.Batch{IDs: []string{"a", "b"}, Starts: []int{0, 8}, Bounds: []int{0, 8, 9}, Sampled: []int{1, 1}, Rejected: []int{0, 0}, RowCount: len("abcdefghx"), Rows: []byte("abcdefghx")}
	require.Equal(t, []string{"a@0:abcdefgh", "b@0:abcdefghx"}, b.process(step, batch))
	b.begin(ends("a", "b"))
	b.empty()
	require.Equal(t, 4, b.worker.Gate().Room())
}

func TestRowsThatNobodyComputesAnyMoreAreNotPromised(t *testing.T) {
	b := newBench(t, 4, gated)
	h := hashesOf("0")
	b.admit("a", 0, h)
	step := b.begin(starts(0, map[string][]blockhash.Hash{"a": h}, "a"))
	require.NoError(t, b.worker.Abandon(step, &b.out))
	b.begin(ends("a"))
	n, err := b.worker.Gate().Admit("b", h)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestThereIsRoomForNoMoreHashesThanSlots(t *testing.T) {
	b := newBench(t, 2, gated)
	g := b.worker.Gate()
	h := hashesOf("0", "1", "2")
	b.admit("a", 0, h[:1])
	_, err := g.Admit("b", nil)
	require.NoError(t, err)
	ok, err := g.Reserve("b", hashesOf("8", "9"))
	require.NoError(t, err)
	require.False(t, ok, "two more do not fit")
	require.Equal(t, 1, g.Room(), "a refusal takes nothing")
	ok, err = g.Reserve("b", hashesOf("0", "9"))
	require.NoError(t, err)
	require.True(t, ok, "one of these is there already")
	ok, err = g.Reserve("b", hashesOf("0"))
	require.NoError(t, err)
	require.True(t, ok, "what it has it keeps")

	_, err = g.Reserve("a", h)
	require.ErrorIs(t, err, auxerrors.ErrCannotFit)
	var failed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, 2, failed.Limit)
	_, err = g.Reserve("nobody", h)
	require.ErrorIs(t, err, connector.ErrUnknownRequest)
	_, err = g.Admit("a", nil)
	require.ErrorIs(t, err, connector.ErrDuplicateRequest)
}

func TestAStepMayNotUseMoreThanTheGateGave(t *testing.T) {
	b := newBench(t, 4, gated)
	h := hashesOf("0", "1")
	_, err := b.worker.Begin(starts(0, nil, "a"))
	require.ErrorIs(t, err, connector.ErrUnknownRequest, "it was not admitted")
	b.admit("a", 0, h[:1])
	_, err = b.worker.Begin(starts(0, map[string][]blockhash.Hash{"a": h}, "a"))
	require.ErrorIs(t, err, connector.ErrMetadata)
	require.Equal(t, []string{"a@0:abcd"}, b.run(starts(0, map[string][]blockhash.Hash{"a": h[:1]}, "a"), one("a", 0, "abcd")), "the admission still stands")
	b.begin(ends("a"))
	b.empty()
}

func TestAnIdThatComesBackIsAdmittedWhileItsOldLifeEnds(t *testing.T) {
	b := newBench(t, 4, gated)
	h := map[string][]blockhash.Hash{"a": hashesOf("0")}
	b.admit("a", 0, h["a"])
	step := b.begin(starts(0, h, "a"))
	require.Equal(t, 1, b.admit("a", 1, h["a"]))
	meta := starts(0, h, "a")
	meta.Finished = ends("a").Finished
	next := b.begin(meta)
	b.process(step, one("a", 0, "abcde"))
	require.Equal(t, []string{"a@0:abcdx"}, b.process(next, one("a", 4, "x")))
	b.begin(ends("a"))
	b.empty()
	require.Equal(t, 4, b.worker.Gate().Room())
}

func TestAResetOfTheGateForgetsEverything(t *testing.T) {
	b := newBench(t, 4, gated)
	h := map[string][]blockhash.Hash{"a": hashesOf("0")}
	b.admit("a", 0, h["a"])
	late := b.begin(starts(0, h, "a"))
	_, err := b.worker.Begin(starts(1, h, "a"))
	require.ErrorIs(t, err, connector.ErrMetadata, "the gate was not reset")
	require.NoError(t, b.worker.Gate().Reset())
	require.Equal(t, 4, b.worker.Gate().Room())
	require.ErrorIs(t, b.worker.Process(late, one("a", 0, "abcd"), &b.out), auxerrors.ErrGeneration)
	require.Zero(t, b.admit("a", 1, h["a"]), "rows of older weights are no rows")
	require.Equal(t, []string{"a@0:wxyz"}, b.run(starts(1, h, "a"), one("a", 0, "wxyz")))
}

func TestClosingTheWorkerGivesBackWhatTheGateHolds(t *testing.T) {
	b := newBench(t, 4, gated)
	h := hashesOf("0", "1")
	b.admit("a", 0, h)
	b.run(starts(0, map[string][]blockhash.Hash{"a": h}, "a"), one("a", 0, "abcdefgh"))
	require.Equal(t, 2, b.admit("b", 2, h))
	b.begin(&connector.Metadata{})
	require.Equal(t, 2, b.admit("c", 2, h))
	require.NoError(t, b.worker.Close())
	b.empty()
}

func TestWhatTheStoreEvictsIsNamedInLinkedMode(t *testing.T) {
	b := newBench(t, 1, func(o *connector.Options) { o.Mode = connector.Linked })
	h := map[string][]blockhash.Hash{"a": hashesOf("0"), "b": hashesOf("1")}
	b.admit("a", 0, h["a"])
	b.run(starts(0, h, "a"), one("a", 0, "abcd"))
	b.begin(ends("a"))
	b.admit("b", 0, h["b"])
	b.run(starts(0, h, "b"), one("b", 0, "wxyz"))
	require.Equal(t, h["a"], b.worker.DrainEvicted(nil))
	require.Empty(t, b.worker.DrainEvicted(nil))
}

func TestABackgroundWriterPublishesBeforeAnybodyReads(t *testing.T) {
	s, err := store.New(store.Options{MaxBytes: 32, BlockBytes: four})
	require.NoError(t, err)
	writer, err := store.NewWriter(s, 8)
	require.NoError(t, err)
	o := options()
	o.Writer = writer
	w, err := connector.NewWorker(s, o)
	require.NoError(t, err)
	b := &bench{TB: t, store: s, worker: w}
	h := map[string][]blockhash.Hash{"a": hashesOf("0", "1"), "b": hashesOf("0", "1")}
	batch := one("a", 0, "abcdefgh")
	b.run(starts(0, h, "a"), batch)
	copy(batch.Rows, "????????")
	require.Equal(t, []string{"b@0:abcdefghx"}, b.run(starts(0, h, "b"), one("b", 8, "x")))

	require.NoError(t, s.Close())
	b.begin(ends("a"))
	require.Error(t, writer.Flush(t.Context()))
	_, err = b.worker.Begin(ends("b"))
	require.ErrorIs(t, err, auxerrors.ErrPublication, "a failure of the writer is sticky")
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	require.Error(t, writer.Close())
	require.NoError(t, w.Close(), "what it held went with the store")
}
