package connector_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// wide is a profile in which every check applies.
var wide = routing.Profile{Layers: 20, TopK: 2, Experts: 64}

// wideRow is a row of a position that no check refuses.
func wideRow(position int) []byte {
	row := make([]byte, 0, wide.RowBytes())
	for layer := range wide.Layers {
		id := (position*5 + layer*3) % wide.Experts
		row = append(row, byte(id), byte((id+1+position%7)%wide.Experts))
	}
	return row
}

func wideRows(start, end int) []byte {
	var rows []byte
	for position := start; position < end; position++ {
		rows = append(rows, wideRow(position)...)
	}
	return rows
}

// wideBatch is a step of two requests, of which the second one samples.
func wideBatch(first, second []byte, at int) connector.Batch {
	n := len(first) / wide.RowBytes()
	m := n + len(second)/wide.RowBytes()
	return connector.Batch{
		IDs: []string{"bad", "good"}, Starts: []int{at, at}, Bounds: []int{0, n, m}, Sampled: []int{0, 1}, Rejected: []int{0, 0},
		RowCount: m, Rows: append(append([]byte{}, first...), second...),
	}
}

func newWide(t testing.TB, change ...func(*connector.Options)) *bench {
	o := connector.Options{Checked: checked, Profile: wide, BlockTokens: four, MaxSequences: 4, MaxStepTokens: 256, MaxInFlight: 2, Check: connector.CheckAll}
	return benchFor(t, 64, o, change...)
}

// Every kind of row that cannot be right fails the request whose row it is, with its
// place, and no other; nothing of that step is published, and its KV blocks are named.
func TestARequestWhoseRowsCannotBeRightFailsAlone(t *testing.T) {
	damage := func(position, layer, slot int, ids ...byte) func([]byte) {
		return func(rows []byte) { copy(rows[position*wide.RowBytes()+layer*wide.TopK+slot:], ids) }
	}
	for name, tc := range map[string]struct {
		damage   func(rows []byte)
		reason   error
		position int
		layer    int
		slot     int
		counted  func(connector.Failures) uint64
	}{
		"an id that is no expert": {damage(5, 3, 1, 71), auxerrors.ErrOutOfRange, 5, 3, 1, func(f connector.Failures) uint64 { return f.Ids }},
		"an expert twice":         {damage(6, 19, 0, 9, 9), routing.ErrDuplicate, 6, 19, 1, func(f connector.Failures) uint64 { return f.Ids }},
		"a layer of zeros": {func(rows []byte) {
			for p := range len(rows) / wide.RowBytes() {
				damage(p, 4, 0, 0, 0)(rows)
			}
		}, routing.ErrZeroLayer, -1, 4, -1, func(f connector.Failures) uint64 { return f.Unwritten }},
		"a buffer that was not cleared": {func(rows []byte) {
			for p := 20; p < 60; p++ {
				copy(rows[p*wide.RowBytes():], wideRow(20))
			}
		}, routing.ErrEqualRows, 24, -1, -1, func(f connector.Failures) uint64 { return f.Unwritten }},
	} {
		for _, mode := range modes {
			t.Run(fmt.Sprint(name, ", ", mode), func(t *testing.T) {
				b := newWide(t, func(o *connector.Options) { o.Mode = mode })
				h := map[string][]blockhash.Hash{"bad": blockHashes("bad", 16), "good": blockHashes("good", 16)}
				if b.worker.Gate() != nil {
					b.admit("bad", 0, h["bad"])
					b.admit("good", 0, h["good"])
				}
				bad, good := wideRows(0, 64), wideRows(0, 64)
				tc.damage(bad)
				require.NoError(t, b.worker.Process(b.begin(starts(0, h, "bad", "good")), wideBatch(bad, good, 0), &b.out))

				out := b.out.Find("bad")
				require.NotNil(t, out, "it is told at once, although it did not sample")
				require.ErrorIs(t, out.Err, connector.ErrRows)
				require.ErrorIs(t, out.Err, tc.reason)
				require.ErrorContains(t, out.Err, `request "bad"`)
				var wrong *routing.IDError
				require.ErrorAs(t, out.Err, &wrong)
				require.Equal(t, []int{tc.position, tc.layer, tc.slot}, []int{wrong.Position, wrong.Layer, wrong.Slot})
				require.NoError(t, b.out.Find("good").Err)
				require.Equal(t, good, b.out.Find("good").Rows)

				require.Equal(t, h["bad"], b.worker.DrainEvicted(nil))
				require.Zero(t, b.store.Prefix(h["bad"][:1]))
				require.Equal(t, 16, b.store.Prefix(h["good"]))
				failures := b.worker.Stats().Failures
				require.EqualValues(t, 1, failures.Requests)
				require.EqualValues(t, 1, tc.counted(failures))

				// Whatever else is on its way for it changes nothing, and is counted once.
				require.NoError(t, b.worker.Process(b.begin(goesOn("bad", "good")), wideBatch(wideRows(64, 66), wideRows(64, 66), 64), &b.out))
				require.Nil(t, b.out.Find("bad"))
				require.Equal(t, wideRows(64, 66), b.out.Find("good").Rows)
				require.EqualValues(t, 1, b.worker.Stats().Failures.Requests)
				b.begin(ends("bad", "good"))
				b.empty()
			})
		}
	}
}

func TestWhatWasPublishedBeforeAWrongRowStays(t *testing.T) {
	b := newWide(t)
	h := map[string][]blockhash.Hash{"bad": blockHashes("bad", 4), "good": blockHashes("good", 4)}
	require.NoError(t, b.worker.Process(b.begin(starts(0, h, "bad", "good")), wideBatch(wideRows(0, 9), wideRows(0, 9), 0), &b.out))
	wrong := wideRows(9, 16)
	wrong[3] = 200
	require.NoError(t, b.worker.Process(b.begin(goesOn("bad", "good")), wideBatch(wrong, wideRows(9, 16), 9), &b.out))
	require.ErrorIs(t, b.out.Find("bad").Err, connector.ErrRows)
	require.Equal(t, h["bad"][2:], b.worker.DrainEvicted(nil), "the first two blocks have their rows")
	require.Equal(t, 2, b.store.Prefix(h["bad"]))
	require.Equal(t, 4, b.store.Prefix(h["good"]))

	// A block that is registered later is named later.
	late := &connector.Metadata{Updates: []connector.Update{{ID: "bad", Keys: hashesOf("late")}}}
	b.begin(late)
	require.Equal(t, hashesOf("late"), b.worker.DrainEvicted(nil))
}

func TestChecksCanBeLessOrNone(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*connector.Options)
		at     int // where a wrong id is
		found  bool
	}{
		"all":                       {func(o *connector.Options) {}, 77, true},
		"a sampled position":        {func(o *connector.Options) { o.Check = connector.CheckSampled }, 128, true},
		"between sampled ones":      {func(o *connector.Options) { o.Check = connector.CheckSampled }, 127, false},
		"off":                       {func(o *connector.Options) { o.Check = connector.CheckOff }, 0, false},
		"sampled is the default":    {func(o *connector.Options) { o.Check = 0 }, 0, true},
		"an exempt layer has range": {func(o *connector.Options) { o.Exempt = []int{0} }, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newWide(t, tc.change)
			rows := wideRows(0, 200)
			rows[tc.at*wide.RowBytes()] = 64
			batch := one("a", 0, string(rows))
			batch.Bounds, batch.RowCount = []int{0, 200}, 200
			out := b.answer(b.begin(starts(0, nil, "a")), batch)
			if tc.found {
				require.ErrorIs(t, out.Err, connector.ErrRows)
			} else {
				require.NoError(t, out.Err)
				require.Equal(t, rows, out.Rows)
			}
		})
	}
	run := append(wideRows(0, 1), wideRows(0, 1)...)
	for range 100 {
		run = append(run, wideRow(0)...)
	}
	batch := one("a", 0, string(run))
	batch.Bounds, batch.RowCount = []int{0, 102}, 102
	for _, change := range []func(*connector.Options){
		func(o *connector.Options) { o.MayRepeat = true },
		func(o *connector.Options) { o.Exempt = []int{0, 1, 2, 3, 4} }, // 15 layers are left
		func(o *connector.Options) { o.Check = connector.CheckOff },
	} {
		b := newWide(t, change)
		require.NoError(t, b.answer(b.begin(starts(0, nil, "a")), batch).Err)
	}
	b := newWide(t, func(o *connector.Options) { o.Check = connector.CheckSampled })
	require.ErrorIs(t, b.answer(b.begin(starts(0, nil, "a")), batch).Err, routing.ErrEqualRows)
}

func TestRowsThatRepeatOverManyDecodeStepsAreFound(t *testing.T) {
	b := newWide(t, func(o *connector.Options) { o.Check = connector.CheckSampled })
	meta := starts(0, nil, "a")
	for position := range 80 {
		row := wideRow(min(position, 30)) // from 30 on the buffer is never written again
		batch := one("a", position, string(row))
		batch.Bounds, batch.RowCount = []int{0, 1}, 1
		out := b.answer(b.begin(meta), batch)
		if position < 64 {
			require.NoError(t, out.Err, position)
			meta = goesOn("a")
			continue
		}
		require.ErrorIs(t, out.Err, routing.ErrEqualRows)
		return
	}
}

func TestAnExemptLayerThatIsNoneIsRefused(t *testing.T) {
	for _, exempt := range [][]int{{20}, {-1}, {3, 3}} {
		_, err := connector.NewWorker(newWide(t).store, connector.Options{Checked: checked, Profile: wide, BlockTokens: four, MaxSequences: 1, MaxStepTokens: 4, MaxInFlight: 1, Exempt: exempt})
		var config *auxerrors.ConfigError
		require.ErrorAs(t, err, &config)
	}
	_, err := connector.NewWorker(newWide(t).store, connector.Options{Checked: checked, Profile: wide, BlockTokens: four, MaxSequences: 1, MaxStepTokens: 4, MaxInFlight: 1, Check: 3})
	require.ErrorIs(t, err, auxerrors.ErrOutOfRange)
	_, err = connector.NewWorker(newWide(t).store, connector.Options{Checked: checked, Profile: wide, BlockTokens: four, MaxSequences: 1, MaxStepTokens: 4, MaxInFlight: 3})
	require.ErrorIs(t, err, auxerrors.ErrTooLarge, "three steps in flight are argued for nowhere")
}

// A prompt whose rows are gone must not keep them gone: the failure names them, the
// engine drops their KV blocks, and the next try computes them.
func TestAFailedReadNamesEveryBlockThatIsAbsent(t *testing.T) {
	b := newBench(t, 8)
	h := map[string][]blockhash.Hash{"a": hashesOf("0", "1", "2", "3"), "b": hashesOf("0", "1", "2", "3")}
	b.run(starts(0, h, "a"), one("a", 0, "abcdefghijklmnop"))
	b.begin(ends("a"))
	_, err := b.store.Remove(0, hashesOf("1", "3"))
	require.NoError(t, err)

	out := b.answer(b.begin(starts(0, h, "b")), one("b", 16, "q"))
	require.ErrorIs(t, out.Err, auxerrors.ErrAbsent)
	require.Equal(t, hashesOf("1", "3"), out.Absent)
	require.Equal(t, hashesOf("1", "3"), b.worker.DrainEvicted(nil))
	require.Empty(t, b.worker.DrainEvicted(nil))
	failures := b.worker.Stats().Failures
	require.EqualValues(t, 1, failures.Requests)
	require.EqualValues(t, 1, failures.Absent)
	require.EqualValues(t, 2, failures.MissingBlocks)
}

func TestFailuresAreCountedByReason(t *testing.T) {
	b := newBench(t, 8)
	require.NoError(t, b.worker.Abandon(b.begin(starts(0, nil, "a", "b")), &b.out))
	require.Len(t, b.out.Requests, 2)
	for _, out := range b.out.Requests {
		require.ErrorIs(t, out.Err, connector.ErrStepLost)
	}
	require.Equal(t, connector.Failures{Requests: 2, Abandoned: 2}, b.worker.Stats().Failures)
	b.run(goesOn("a", "b"), connector.Batch{
		IDs: []string{"a", "b"}, Starts: []int{4, 4}, Bounds: []int{0, 1, 2}, Sampled: []int{1, 1}, Rejected: []int{0, 0}, RowCount: 2, Rows: []byte("xy"),
	})
	require.EqualValues(t, 2, b.worker.Stats().Failures.Requests, "each request once")
}

// What nobody will publish is not promised to others.
func TestAnAbandonedStepPromisesNothingAndNamesItsBlocks(t *testing.T) {
	b := newBench(t, 8, gated)
	h := map[string][]blockhash.Hash{"a": hashesOf("0", "1")}
	b.admit("a", 0, h["a"][:1])
	b.run(starts(0, map[string][]blockhash.Hash{"a": h["a"][:1]}, "a"), chunk("a", 0, "abcd"))
	ok, err := b.worker.Gate().Reserve("a", h["a"])
	require.NoError(t, err)
	require.True(t, ok)
	more := goesOn("a")
	more.Scheduled[0].Keys = h["a"][1:]
	require.NoError(t, b.worker.Abandon(b.begin(more), &b.out))
	require.ErrorIs(t, b.out.Find("a").Err, connector.ErrStepLost)
	require.Equal(t, h["a"][1:], b.worker.DrainEvicted(nil), "the first block has its rows")

	n, err := b.worker.Gate().Admit("b", h["a"])
	require.NoError(t, err)
	require.Equal(t, 1, n)
	ok, err = b.worker.Gate().Reserve("a", hashesOf("0", "1", "2"))
	require.NoError(t, err)
	require.True(t, ok)
	n, err = b.worker.Gate().Admit("c", hashesOf("0", "1", "2"))
	require.NoError(t, err)
	require.Equal(t, 1, n, "nor is what it gets room for later")
	require.NoError(t, b.worker.Gate().Drop("b"))
	require.NoError(t, b.worker.Gate().Drop("c"))
	b.begin(ends("a"))
	b.empty()
	require.Equal(t, 8, b.worker.Gate().Room())
}

func TestAnAdmissionThatIsShortenedHoldsTheRestNoMore(t *testing.T) {
	b := newBench(t, 8, gated)
	h := hashesOf("0", "1", "2")
	b.admit("a", 0, h)
	b.run(starts(0, map[string][]blockhash.Hash{"a": h}, "a"), one("a", 0, "abcdefghijkl"))
	b.begin(ends("a"))
	gate := b.worker.Gate()
	n, err := gate.Admit("b", h)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.NoError(t, gate.Shorten("b", 5))
	require.Equal(t, 5, gate.Room())
	require.NoError(t, gate.Shorten("b", 1))
	require.Equal(t, 7, gate.Room())
	require.Equal(t, 1, b.store.Stats().Retained)
	own := []blockhash.Hash{h[0], hashesOf("own")[0]}
	ok, err := gate.Reserve("b", own)
	require.NoError(t, err)
	require.True(t, ok)
	n, err = gate.Admit("c", own)
	require.NoError(t, err)
	require.Equal(t, 2, n, "its own block is promised")
	require.NoError(t, gate.Drop("c"))
	require.ErrorIs(t, gate.Shorten("nobody", 0), connector.ErrUnknownRequest)
	b.run(starts(0, map[string][]blockhash.Hash{"b": own}, "b"), one("b", 4, "wxyz"))
	require.ErrorIs(t, gate.Shorten("b", 0), connector.ErrUnknownRequest, "it has begun")
	b.begin(ends("b"))
	b.empty()
	require.Equal(t, 8, gate.Room())
}

// vLLM and SGLang return dense layers as zeros: named as exempt they are fine.
func TestDenseLayersThatAreExemptMayBeZero(t *testing.T) {
	rows := wideRows(0, 64)
	for position := range 64 {
		clear(rows[position*wide.RowBytes():][:2*wide.TopK]) // layers 0 and 1
	}
	batch := one("a", 0, string(rows))
	batch.Bounds, batch.RowCount = []int{0, 64}, 64
	for _, exempt := range [][]int{{0, 1}, {0}} {
		b := newWide(t, func(o *connector.Options) { o.Exempt = exempt })
		out := b.answer(b.begin(starts(0, nil, "a")), batch)
		if len(exempt) == 2 {
			require.NoError(t, out.Err)
			require.Equal(t, rows, out.Rows)
			continue
		}
		var wrong *routing.IDError
		require.ErrorAs(t, out.Err, &wrong)
		require.ErrorIs(t, wrong, routing.ErrZeroLayer)
		require.Equal(t, 1, wrong.Layer)
	}
}
