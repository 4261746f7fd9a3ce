package connector_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// What happens when the store or its writer is gone, or a step was wrong that will
// not be tried again: errors that name the cause, and nothing held for ever.

func TestAResetOfAStoreThatIsClosedIsRefused(t *testing.T) {
	for name, change := range map[string]func(*connector.Options){"without a gate": func(*connector.Options) {}, "through a gate": gated} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 4, change)
			require.NoError(t, b.store.Close())
			_, err := b.worker.Begin(&connector.Metadata{Generation: 1})
			require.ErrorIs(t, err, auxerrors.ErrClosed)
			require.Zero(t, b.worker.Stats().Generation)
			if gate := b.worker.Gate(); gate != nil {
				require.ErrorIs(t, gate.Reset(), auxerrors.ErrClosed)
			}
		})
	}
}

func TestARemovalFromAStoreThatIsClosedIsRefused(t *testing.T) {
	b := newBench(t, 4)
	require.NoError(t, b.store.Close())
	_, err := b.worker.Begin(&connector.Metadata{Removed: hashesOf("0")})
	require.ErrorIs(t, err, auxerrors.ErrClosed)
}

func TestAnAdmissionThatAClosedStoreCannotTakeBackSaysSo(t *testing.T) {
	b := newBench(t, 4, gated)
	h := hashesOf("0")
	b.admit("a", 0, h)
	b.run(starts(0, map[string][]blockhash.Hash{"a": h}, "a"), one("a", 0, "abcd"))
	b.begin(ends("a"))
	require.Equal(t, 1, b.admit("b", 1, h))
	require.NoError(t, b.store.Close())
	require.ErrorIs(t, b.worker.Gate().Drop("b"), auxerrors.ErrClosed)
	_, err := b.worker.Gate().Admit("c", h)
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	require.NoError(t, b.worker.Close(), "what was held went with the store")
}

// A life of before a reset may still end, if the worker was told of no hash of it. The
// room that it had reserved went with the reset.
func TestALifeOfBeforeAResetGivesNothingBackToTheGate(t *testing.T) {
	b := newBench(t, 4, gated)
	b.admit("a", 0, hashesOf("0"))
	b.run(starts(0, nil, "a"), chunk("a", 0, "ab"))
	require.NoError(t, b.worker.Gate().Reset())
	b.admit("b", 0, hashesOf("0"))
	b.begin(ends("a"))
	require.Equal(t, 3, b.worker.Gate().Room(), "what b reserved is still there")
}

// refusedLate is a step behind another one, whose metadata is found to be wrong only when
// it takes effect: it ends a request that there never was.
func (b *bench) refusedLate(hashes []blockhash.Hash) (first, second connector.Step) {
	b.admit("a", 0, nil)
	first = b.begin(starts(0, nil, "a"))
	require.Equal(b, len(hashes), b.admit("b", len(hashes), hashes))
	meta := starts(0, map[string][]blockhash.Hash{"b": hashes}, "b")
	meta.Finished = ends("nobody").Finished
	return first, b.begin(meta)
}

func TestARequestThatStartsInAStepThatIsGivenUpHoldsNothingInTheStore(t *testing.T) {
	b := newBench(t, 4, gated)
	h := hashesOf("0")
	b.admit("o", 0, h)
	b.run(starts(0, map[string][]blockhash.Hash{"o": h}, "o"), one("o", 0, "abcd"))
	b.begin(ends("o"))

	first, second := b.refusedLate(h)
	require.Equal(t, []string{"a@0:x"}, b.process(first, one("a", 0, "x")))
	b.refuses(second, one("b", 4, "e"), connector.ErrUnknownRequest)
	require.Equal(t, 1, b.store.Stats().Retained, "the hit is pinned while the step can be tried again")
	require.NoError(t, b.worker.Abandon(second, &b.out))
	require.Zero(t, b.store.Stats().Retained)
	b.begin(ends("a", "b"))
	b.empty()
	require.Equal(t, 4, b.worker.Gate().Room())
}

func TestHashesBeyondWhatTheGateGaveAreRefusedWhereverTheyCome(t *testing.T) {
	h := hashesOf("0", "1")
	for name, meta := range map[string]*connector.Metadata{
		"of a request that sits out": {Updates: []connector.Update{{ID: "a", Keys: h[1:]}}},
		"of a request that ends":     {Finished: []connector.Update{{ID: "a", Keys: h[1:]}}},
		"of a request that runs on":  {Scheduled: []connector.Scheduled{{ID: "a", Keys: h[1:]}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 4, gated)
			b.admit("a", 0, h[:1])
			b.run(starts(0, map[string][]blockhash.Hash{"a": h[:1]}, "a"), one("a", 0, "abcd"))
			_, err := b.worker.Begin(meta)
			require.ErrorIs(t, err, connector.ErrMetadata)
			b.begin(ends("a"))
			b.empty()
		})
	}
}

// written is a bench whose worker publishes in the background, and a function that
// makes the writer fail for good.
func written(t *testing.T, mode connector.Mode) (b *bench, fail func()) {
	s, err := store.New(store.Options{MaxBytes: 16 * four, BlockBytes: four})
	require.NoError(t, err)
	writer, err := store.NewWriter(s, 8)
	require.NoError(t, err)
	o := options()
	o.Writer, o.Mode = writer, mode
	w, err := connector.NewWorker(s, o)
	require.NoError(t, err)
	b = &bench{TB: t, store: s, worker: w}
	t.Cleanup(func() {
		require.ErrorIs(t, writer.Close(), auxerrors.ErrPublication)
		require.NoError(t, s.Close())
	})
	return b, func() {
		_, err := writer.Put(context.Background(), store.Batch{Release: hashesOf("never retained")})
		require.NoError(t, err, "a put is refused as it is carried out, and not before")
		require.ErrorIs(t, writer.Flush(context.Background()), auxerrors.ErrPublication)
	}
}

func TestAReadAfterThePublicationFailedFailsItsRequest(t *testing.T) {
	b, fail := written(t, connector.FailClosed)
	h := map[string][]blockhash.Hash{"a": hashesOf("0"), "b": hashesOf("0")}
	b.run(starts(0, h, "a"), one("a", 0, "abcd"))
	step := b.begin(starts(0, h, "b"))
	fail()
	require.NoError(t, b.worker.Process(step, one("b", 4, "e"), &b.out))
	require.ErrorIs(t, b.out.Find("b").Err, auxerrors.ErrPublication, "nobody knows what is in the store now")
	require.ErrorIs(t, b.worker.Close(), auxerrors.ErrPublication)
}

func TestARemovalAfterThePublicationFailedIsRefused(t *testing.T) {
	b, fail := written(t, connector.FailClosed)
	fail()
	_, err := b.worker.Begin(&connector.Metadata{Removed: hashesOf("0")})
	require.ErrorIs(t, err, auxerrors.ErrPublication)
	require.NoError(t, b.worker.Close())
}

func TestAnAdmissionAfterThePublicationFailedIsRefused(t *testing.T) {
	b, fail := written(t, connector.RowGated)
	fail()
	_, err := b.worker.Gate().Admit("a", hashesOf("0"))
	require.ErrorIs(t, err, auxerrors.ErrPublication)
	require.NoError(t, b.worker.Close())
}

func TestACaptureThatDoesNotContinueTheTailIsRefused(t *testing.T) {
	p, err := connector.NewTailPool(4, four, 1)
	require.NoError(t, err)
	var tail connector.Tail
	_, err = p.Capture(&tail, 8, 2, []byte("ab"), nil)
	require.NoError(t, err)
	was := tail
	for _, tc := range []struct {
		start  int
		reason error
	}{
		{-1, connector.ErrNegativeStart}, {4, connector.ErrSkippedBlock}, {12, connector.ErrSkippedBlock},
		{9, connector.ErrNotContiguous}, {11, connector.ErrNotContiguous},
	} {
		_, err := p.Capture(&tail, tc.start, 1, []byte("x"), nil)
		require.ErrorIs(t, err, tc.reason, "position %d", tc.start)
		require.Equal(t, was, tail)
	}
	for _, span := range [][2]int{{7, 9}, {8, 11}, {9, 9}, {10, 9}} {
		got, err := p.Read(&tail, []byte("before"), span[0], span[1])
		require.ErrorIs(t, err, connector.ErrRange, "positions %d to %d", span[0], span[1])
		require.Equal(t, "before", string(got))
	}
}

func TestATailPoolThatMemoryCannotHoldIsRefused(t *testing.T) {
	o := options()
	o.Profile.TopK = 64
	o.MaxSequences = math.MaxInt32 / 8 // two blocks of 256 bytes each: 128 GiB
	s, err := store.New(store.Options{MaxBytes: 256, BlockBytes: 256})
	require.NoError(t, err)
	defer s.Close()
	_, err = connector.NewWorker(s, o)
	require.ErrorIs(t, err, auxerrors.ErrTooLarge)
	require.ErrorContains(t, err, "tail pool")
}

func TestClosingTheWorkerReleasesTheHitsOfAStepThatHasNotTakenEffect(t *testing.T) {
	b := newBench(t, 4, gated)
	h := hashesOf("0")
	b.admit("o", 0, h)
	b.run(starts(0, map[string][]blockhash.Hash{"o": h}, "o"), one("o", 0, "abcd"))
	b.begin(ends("o"))
	b.refusedLate(h)
	require.Equal(t, 1, b.store.Stats().Retained)
	require.NoError(t, b.worker.Close())
	b.empty()
}
