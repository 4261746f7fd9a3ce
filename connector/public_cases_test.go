package connector_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/store"
)

// Bugs that people met in public projects, as far as the way of rows from the runner
// to the requests is concerned. Each name has the number of the case.

// shape is that of the rows of these cases: four bytes each.
var shape = routing.Profile{Layers: 2, TopK: 2, Experts: 256}

// routes are rows of the positions from start to end, that excluded. Ids follow from
// position, layer and slot, so that a shift by one of any of them is seen; another run
// computes others.
func routes(run, start, end int) []byte {
	var rows []byte
	for position := start; position < end; position++ {
		for layer := range shape.Layers {
			for slot := range shape.TopK {
				rows = append(rows, byte(position*31+position>>8*5+layer*7+slot*3+run*101))
			}
		}
	}
	return rows
}

// forward is a batch of one request that runs the positions from start to end and
// samples; prefill one that does not sample.
func forward(id string, start, end int) connector.Batch {
	return connector.Batch{
		IDs: []string{id}, Starts: []int{start}, Bounds: []int{0, end - start},
		Sampled: []int{1}, Rejected: []int{0}, RowCount: end - start, Rows: routes(0, start, end),
	}
}

func prefill(id string, start, end int) connector.Batch {
	batch := forward(id, start, end)
	batch.Sampled[0] = 0
	return batch
}

// newCase is a bench for such rows.
func newCase(t testing.TB, slots, blockTokens int, change ...func(*connector.Options)) *bench {
	t.Helper()
	o := connector.Options{Checked: checked, Profile: shape, BlockTokens: blockTokens, MaxSequences: 4, MaxStepTokens: 2048, MaxInFlight: 2}
	return benchFor(t, slots, o, change...)
}

// answer runs a step of one request, and returns its output.
func (b *bench) answer(step connector.Step, batch connector.Batch) *connector.RequestOutput {
	b.Helper()
	require.NoError(b, b.worker.Process(step, batch, &b.out))
	out := b.out.Find(batch.IDs[0])
	require.NotNil(b, out, "no output")
	return out
}

// serves checks that a step's answer is the rows of run 0 from one position to another.
func (b *bench) serves(step connector.Step, batch connector.Batch, start, end int) {
	b.Helper()
	out := b.answer(step, batch)
	require.NoError(b, out.Err)
	require.Equal(b, start, out.Start)
	require.True(b, bytes.Equal(routes(0, start, end), out.Rows), "%d bytes, want %d, or their content", len(out.Rows), len(routes(0, start, end)))
}

// fails checks that a step's answer is an error about one block.
func (b *bench) fails(step connector.Step, batch connector.Batch, reason error, index int, hash blockhash.Hash) {
	b.Helper()
	out := b.answer(step, batch)
	require.ErrorIs(b, out.Err, reason)
	require.Empty(b, out.Rows)
	var failed *auxerrors.BlockObjectStoreError
	require.ErrorAs(b, out.Err, &failed)
	require.Equal(b, index, failed.Index)
	require.Equal(b, hash.Bytes(), failed.Hash)
}

// blockHashes are hashes of the first n blocks of a prompt.
func blockHashes(prompt string, n int) []blockhash.Hash {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(prompt, " ", i)
	}
	return hashesOf(names...)
}

// starting is metadata in which one request starts.
func starting(id string, hashes []blockhash.Hash) *connector.Metadata {
	return starts(0, map[string][]blockhash.Hash{id: hashes}, id)
}

func TestPublicCase_PC_001_KVFromOutsideBringsNobodyElsesRows(t *testing.T) {
	b := newCase(t, 1, 16)
	a, z := blockHashes("a", 1), blockHashes("z", 1)
	b.run(starting("a", a), forward("a", 0, 17))
	b.begin(ends("a"))
	// KV of z was loaded from elsewhere; the only slot still has the rows of a.
	b.fails(b.begin(starting("z", z)), forward("z", 16, 20), auxerrors.ErrNeverStored, 0, z[0])
	require.Equal(t, a, b.store.Snapshot().Evictable)
}

func TestPublicCase_PC_004_AStepWhoseRowsNeverCameIsNoStepOfZeros(t *testing.T) {
	b := newCase(t, 4, 16)
	h := blockHashes("a", 1)
	require.NoError(t, b.worker.Abandon(b.begin(starting("a", h)), &b.out))
	out := b.answer(b.begin(goesOn("a")), forward("a", 16, 17))
	require.ErrorIs(t, out.Err, connector.ErrStepLost)
	require.Empty(t, out.Rows)
	b.begin(ends("a"))
	// Nor has anybody else rows of the block that was retained and never written.
	b.fails(b.begin(starting("b", h)), forward("b", 16, 17), auxerrors.ErrNeverStored, 0, h[0])
}

func TestPublicCase_PC_011_OneShardOfTheTokensIsNotAllOfThem(t *testing.T) {
	for _, captured := range []int{1, 4, 7} {
		b := newCase(t, 4, 16)
		step := b.begin(starting("a", nil))
		batch := forward("a", 0, 8)
		batch.Rows = batch.Rows[:captured*shape.RowBytes()]
		b.refuses(step, batch, connector.ErrProfile)
		require.ErrorContains(t, b.worker.Process(step, batch, &b.out), fmt.Sprintf("%d bytes for 8 rows of 4", 4*captured))
		b.serves(step, forward("a", 0, 1), 0, 1)
	}
}

func TestPublicCase_PC_013_RowsBeyondTheCapturedOnesAreNoneAndNoPanic(t *testing.T) {
	b := newCase(t, 4, 16)
	b.run(starting("a", blockHashes("a", 1)), forward("a", 0, 16))
	step := b.begin(goesOn("a"))
	// As if the rows of this rank lay behind those of three others.
	for _, offset := range []int{1, 3 * 2048, 1 << 30} {
		batch := forward("a", 16, 24)
		batch.Bounds = []int{offset, offset + 8}
		b.refuses(step, batch, connector.ErrProfile)
	}
	// If they do lie there, the bounds find them.
	shared := forward("a", 16, 24)
	shared.Rows = append(routes(1, 0, 3*8), shared.Rows...)
	shared.Bounds, shared.RowCount = []int{3 * 8, 4 * 8}, 4*8
	b.serves(step, shared, 16, 24)
}

func TestPublicCase_PC_014_AStepLargerThanPlannedIsTakenWholeOrRefusedWhole(t *testing.T) {
	one := func(o *connector.Options) { o.MaxSequences, o.MaxInFlight = 1, 1 }
	t.Run("blocks whose hashes are known need no buffer", func(t *testing.T) {
		b := newCase(t, 512, 16, one)
		b.serves(b.begin(starting("a", blockHashes("a", 512))), forward("a", 0, 8192), 0, 8192)
		b.serves(b.begin(goesOn("a")), forward("a", 8192, 9216), 8192, 9216)
	})
	t.Run("blocks that have to wait are refused with both numbers", func(t *testing.T) {
		b := newCase(t, 512, 16, one)
		pool := b.worker.Stats().PoolBlocks
		require.Equal(t, 2048/16+2, pool)
		step := b.begin(starting("a", nil))
		b.refuses(step, forward("a", 0, 8192), connector.ErrExhausted)
		require.ErrorContains(t, b.worker.Process(step, forward("a", 0, 8192), &b.out),
			fmt.Sprintf("%d blocks too many wait for their key, of %d in the tail pool", 512-pool, pool))
		b.serves(step, forward("a", 0, 1024), 0, 1024)
	})
}

func TestPublicCase_PC_016_AKVBlockOfFourHashBlocksHasFourKeys(t *testing.T) {
	b := newCase(t, 8, 16, func(o *connector.Options) { o.HashesPerKVBlock = 4 })
	h := blockHashes("a", 6) // 100 tokens: 96 and a tail of 4
	b.serves(b.begin(starting("a", h)), forward("a", 0, 100), 0, 100)
	require.Equal(t, 6, b.store.Stats().Used)
	require.Equal(t, 1, b.worker.Stats().Tails)

	// The KV cache hits one KV block, or all full hash blocks.
	b.serves(b.begin(starting("b", h[:4])), forward("b", 64, 100), 0, 100)
	b.serves(b.begin(starting("c", h)), forward("c", 96, 100), 0, 100)
	b.begin(ends("a", "b", "c"))
	b.empty()
}

func TestPublicCase_PC_019_AConnectorThatIsOffCostsNothing(t *testing.T) {
	config, err := connector.ParseConfig([]byte(`{}`))
	require.NoError(t, err)
	require.False(t, config.EnableReturnRoutedExperts, "it is off unless it is turned on")

	goroutines := runtime.NumGoroutine()
	w := connector.Idle()
	meta, batch := starting("a", blockHashes("a", 1)), forward("a", 0, 17)
	var out connector.Output
	require.Zero(t, testing.AllocsPerRun(100, func() {
		step, err := w.Begin(meta)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Process(step, batch, &out); err != nil {
			t.Fatal(err)
		}
	}))
	require.Empty(t, out.Requests)
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	require.NoError(t, w.Close())
}

func TestPublicCase_PC_020_GeneratedTokensHaveRowsToo(t *testing.T) {
	b := newCase(t, 4, 4)
	h := blockHashes("a", 3)
	var all []byte
	take := func(tokens int, finished bool) {
		rows, ok, err := b.out.Take("a", tokens, finished)
		require.NoError(t, err)
		require.True(t, ok)
		all = append(all, rows...)
	}
	b.run(starting("a", h), forward("a", 0, 10))
	take(11, false)
	for tokens := 12; tokens <= 15; tokens++ {
		b.run(goesOn("a"), forward("a", tokens-2, tokens-1))
		take(tokens, tokens == 15)
	}
	require.Equal(t, routes(0, 0, 14), all, "prompt of 10, output of 5")
}

func TestPublicCase_PC_026_AStartBehindThePromptFailsNobodyElse(t *testing.T) {
	const prompt = 14
	for _, start := range []int{0, 13, 14, 15, -1} {
		t.Run(fmt.Sprint("start ", start), func(t *testing.T) {
			b := newCase(t, 4, 4)
			s := newScheduler(t, connector.FailClosed)
			var meta connector.Metadata
			r := connector.Request{ID: "a", Tokens: prompt, PromptStart: start}
			s.admits("a", nil)
			s.admits("b", nil)
			if start < 0 || start > prompt {
				require.ErrorIs(t, s.Build(&meta, []connector.Request{r}, nil), connector.ErrRequestCounts)
				r.ID, r.PromptStart = "b", 0
				require.NoError(t, s.Build(&meta, []connector.Request{r}, nil))
				b.serves(b.begin(&meta), forward("b", 0, prompt), 0, prompt)
				return
			}
			require.NoError(t, s.Build(&meta, []connector.Request{r}, nil))
			b.serves(b.begin(&meta), forward("a", 0, prompt), start, prompt)
			rows, ok, err := b.out.Take("a", prompt+1, false)
			require.NoError(t, err)
			require.True(t, ok, "the part of the prompt may be empty, it is there")
			require.Len(t, rows, (prompt-start)*shape.RowBytes())
			b.serves(b.begin(goesOn("a")), forward("a", prompt, prompt+1), prompt, prompt+1)
		})
	}
}

func TestPublicCase_PC_028_ATurnThatStartsInsideAStoredBlockJoinsTheOneBefore(t *testing.T) {
	b := newCase(t, 4, 4)
	h := blockHashes("p", 2)
	b.run(starting("earlier", h), forward("earlier", 0, 10))
	// Turn 1 has 6 tokens, of which the KV cache hits 4; turn 2 has 11, and it hits 8.
	b.serves(b.begin(starting("one", h[:1])), forward("one", 4, 5), 0, 5)
	joined := bytes.Clone(b.out.Find("one").Rows)
	meta := starting("two", h)
	meta.Scheduled[0].EmitStart = 5
	b.serves(b.begin(meta), forward("two", 8, 10), 5, 10)
	joined = append(joined, b.out.Find("two").Rows...)
	require.Equal(t, routes(0, 0, 10), joined)
}

func TestPublicCase_PC_034_EachChunkOfAStreamHasItsOwnRows(t *testing.T) {
	b := newCase(t, 4, 4)
	meta, tokens := starting("a", nil), 4
	var spans []routing.Span
	for _, step := range []struct{ start, end, rejected, emitted int }{
		{0, 6, 0, 3}, // the prompt, and two drafts that were right
		{6, 9, 2, 1}, // two that were wrong
		{7, 10, 1, 2},
	} {
		batch := forward("a", step.start, step.end)
		batch.Rejected[0] = step.rejected
		out := b.answer(b.begin(meta), batch)
		tokens += step.emitted
		rows, ok, err := b.out.Take("a", tokens, false)
		require.NoError(t, err)
		require.True(t, ok)
		span := routing.Span{Start: out.Start, End: out.Start + len(rows)/shape.RowBytes()}
		require.Equal(t, routes(0, span.Start, span.End), rows)
		spans = append(spans, span)
		meta = goesOn("a")
	}
	require.Equal(t, []routing.Span{{Start: 0, End: 6}, {Start: 6, End: 7}, {Start: 7, End: 9}}, spans)
}

func TestPublicCase_PC_041_AHitWithoutItsRowsIsAnErrorAndNotAShorterAnswer(t *testing.T) {
	b := newCase(t, 4, 16)
	h := blockHashes("p", 2)
	b.run(starting("a", h), forward("a", 0, 40))
	b.begin(ends("a"))
	_, err := b.store.Remove(0, h[1:])
	require.NoError(t, err)

	for id, start := range map[string]int{"b": 0, "c": 20} { // the position from which rows are wanted
		meta := starting(id, h) // the KV cache hits 32 of 40 tokens, the rest runs in chunks of 3
		meta.Scheduled[0].EmitStart = start
		for from := 32; from < 38; from += 3 {
			require.Empty(t, b.run(meta, prefill(id, from, from+3)))
			meta = goesOn(id)
		}
		b.fails(b.begin(meta), forward(id, 38, 40), auxerrors.ErrAbsent, 1, h[1])
	}
}

func TestPublicCase_PC_061_RowsOfAnotherInstanceHaveToBeImported(t *testing.T) {
	computes, decodes := newCase(t, 4, 16), newCase(t, 4, 16)
	h := blockHashes("p", 1)
	computes.serves(computes.begin(starting("p", h)), forward("p", 0, 20), 0, 20)
	// The KV of the first 16 tokens is sent over, their rows are not.
	decodes.fails(decodes.begin(starting("p", h)), forward("p", 16, 21), auxerrors.ErrNeverStored, 0, h[0])
	decodes.begin(ends("p"))

	rows, err := computes.store.Get(nil, h)
	require.NoError(t, err)
	_, err = decodes.store.Put(store.Batch{Blocks: []store.Block{{Hash: h[0], Rows: rows}}})
	require.NoError(t, err)
	decodes.serves(decodes.begin(starting("p", h)), forward("p", 16, 21), 0, 21)
}

func TestPublicCase_PC_070_AClientThatNamesWhatItHasGetsEachRowOnce(t *testing.T) {
	const turns, growth, blockTokens = 100, 640, 16
	h := blockHashes("conversation", turns*growth/blockTokens)
	b := newCase(t, len(h), blockTokens)
	var joined []byte
	for turn := 1; turn <= turns; turn++ {
		tokens, had := turn*growth, max((turn-1)*growth-1, 0)
		meta := starting("a", h[:(tokens-1)/blockTokens])
		meta.Scheduled[0].EmitStart = had
		out := b.answer(b.begin(meta), forward("a", had/blockTokens*blockTokens, tokens-1))
		require.NoError(t, out.Err)
		require.Equal(t, had, out.Start)
		joined = append(joined, out.Rows...)
		b.begin(ends("a"))
	}
	require.True(t, bytes.Equal(routes(0, 0, turns*growth-1), joined))
}

func TestPublicCase_PC_073_ALateOutputOfAPreemptedRequestStaysInItsOldLife(t *testing.T) {
	h := blockHashes("a", 2)
	// Captured up to 35, and a step for one more is in flight, when it is preempted.
	preempted := func(t *testing.T, next *connector.Metadata) (b *bench, late, resumed connector.Step) {
		b = newCase(t, 4, 16)
		b.run(starting("a", h), prefill("a", 0, 32))
		b.serves(b.begin(goesOn("a")), forward("a", 32, 35), 0, 35)
		late = b.begin(goesOn("a"))
		return b, late, b.begin(next)
	}
	again := func() *connector.Metadata {
		meta := starting("a", h)
		meta.Finished = ends("a").Finished
		return meta
	}
	t.Run("it comes in its turn", func(t *testing.T) {
		b, late, resumed := preempted(t, again())
		b.refuses(resumed, forward("a", 32, 40), connector.ErrStepOrder)
		b.serves(late, forward("a", 35, 36), 35, 36)
		b.refuses(late, forward("a", 35, 36), connector.ErrStepOrder)
		b.serves(resumed, forward("a", 32, 40), 0, 40)
	})
	t.Run("it is taken for the resumed one's", func(t *testing.T) {
		b, late, resumed := preempted(t, again())
		require.NoError(t, b.worker.Abandon(late, &b.out))
		b.refuses(resumed, forward("a", 35, 36), connector.ErrNotContiguous)
		b.serves(resumed, forward("a", 32, 40), 0, 40)
	})
	t.Run("a reset came between", func(t *testing.T) {
		b, late, resumed := preempted(t, starts(1, map[string][]blockhash.Hash{"a": h}, "a"))
		b.refuses(late, forward("a", 35, 36), auxerrors.ErrGeneration)
		b.serves(resumed, forward("a", 0, 40), 0, 40)
	})
}

func TestPublicCase_PC_074_TheStartOfTheRowsSurvivesPreemption(t *testing.T) {
	b := newCase(t, 4, 16)
	s := newScheduler(t, connector.FailClosed)
	h := blockHashes("a", 3)
	s.admits("earlier", h[:2])
	b.run(s.builds(holds("earlier", h[:2], 2, 7, 8)), prefill("earlier", 0, 32))
	require.NoError(t, s.Finish(holds("earlier", h[:2], 2, 7, 8)))

	// 32 tokens are cached at first, and the client has their rows.
	s.admits("a", h, 7, 8)
	r := connector.Request{ID: "a", Tokens: 50, PromptStart: 32, Hashes: h, Registered: 3, Blocks: []int32{7, 8, 9, 10}}
	require.Empty(t, b.run(s.builds(r), prefill("a", 32, 49)))
	require.NoError(t, s.Finish(r))
	// 48 are when it comes back: the start is still the client's.
	s.admits("a", h, 7, 8, 9)
	meta := s.builds(r)
	require.True(t, meta.Scheduled[0].New)
	b.serves(b.begin(meta), forward("a", 48, 50), 32, 50)
}

func TestPublicCase_PC_076_RejectedRowsAreNeverStored(t *testing.T) {
	for name, next := range map[string]int{"the rejection is known": 8, "it is not known yet": 10} {
		t.Run(name, func(t *testing.T) {
			b := newCase(t, 4, 4)
			h := blockHashes("a", 3)
			b.run(starting("a", h), forward("a", 0, 6))
			batch := forward("a", 6, 10)
			batch.Rejected[0] = 2
			b.serves(b.begin(goesOn("a")), batch, 6, 8)

			batch = forward("a", next, next+2) // other tokens at 8 and 9
			batch.Rows = routes(1, 8, 10)
			require.Equal(t, routes(1, 8, 10), b.answer(b.begin(goesOn("a")), batch).Rows)
			batch = forward("a", 10, 12)
			batch.Rows = routes(1, 10, 12)
			b.answer(b.begin(goesOn("a")), batch)

			stored, err := b.store.Get(nil, h[1:])
			require.NoError(t, err)
			require.Equal(t, append(routes(0, 4, 8), routes(1, 8, 12)...), stored)
		})
	}
}

// TestARunOfAThousandAbortedRequestsLeavesNothingBehind aborts in other ways too.
func TestPublicCase_PC_077_AThousandRequestsAbortedInABlockLeaveNothing(t *testing.T) {
	b := newCase(t, 8, 16)
	free := b.worker.Stats().PoolFree
	for i := range 1000 {
		id := fmt.Sprint(i)
		b.run(starting(id, blockHashes(id, 2)), prefill(id, 0, 21))
		require.Equal(t, 1, b.worker.Stats().Tails)
		b.begin(ends(id))
		_, err := b.worker.Begin(ends(id))
		require.ErrorIs(t, err, connector.ErrUnknownRequest, "it ends once")
	}
	b.empty()
	require.Equal(t, free, b.worker.Stats().PoolFree)
	require.Len(t, b.store.Snapshot().Evictable, 8, "every slot may be had")
}

func TestPublicCase_PC_082_APromptLongerThanTheStoreIsServedFromItsHead(t *testing.T) {
	b := newCase(t, 4, 16)
	h := blockHashes("p", 6)
	b.run(starting("a", h), prefill("a", 0, 48))
	b.fails(b.begin(goesOn("a")), forward("a", 48, 96), auxerrors.ErrAbsent, 4, h[4])
	require.Equal(t, 4, b.store.Prefix(h))
	b.serves(b.begin(starting("b", h[:4])), forward("b", 64, 65), 0, 65)
	b.begin(ends("a", "b"))
	require.Equal(t, 4, b.store.Prefix(h))
}

func TestPublicCase_PC_083_AHitEndsBeforeTheFirstBlockWithoutRows(t *testing.T) {
	b := newCase(t, 4, 16, gated)
	h := blockHashes("p", 3)
	b.admit("a", 0, h)
	b.run(starting("a", h), forward("a", 0, 49))
	b.begin(ends("a"))
	_, err := b.store.Remove(0, h[:1])
	require.NoError(t, err)
	require.Zero(t, b.admit("b", 3, h), "the two behind the gap do not count")
	b.serves(b.begin(starting("b", h)), forward("b", 0, 49), 0, 49)
}

func TestPublicCase_PC_085_ARequestThatNeverSamplesPinsNothing(t *testing.T) {
	b := newCase(t, 4, 16)
	h := blockHashes("p", 3)
	b.run(starting("a", h), prefill("a", 0, 48))
	require.Equal(t, 3, b.store.Stats().Retained)
	require.NoError(t, b.worker.Abandon(b.begin(starting("b", h)), &b.out))
	b.begin(ends("a", "b"))
	b.empty()
	require.Len(t, b.store.Snapshot().Evictable, 3)
}

func TestPublicCase_PC_103_AMalformedStepCostsNobodyElseTheirRows(t *testing.T) {
	b := newCase(t, 4, 16)
	h := blockHashes("p", 1)
	b.run(starting("a", h), forward("a", 0, 17))
	bad := starting("b", nil)
	bad.Updates = []connector.Update{{ID: "nobody", Keys: blockHashes("nobody", 1)}}
	_, err := b.worker.Begin(bad)
	require.ErrorIs(t, err, connector.ErrUnknownRequest)
	b.serves(b.begin(goesOn("a")), forward("a", 17, 18), 17, 18)
	b.serves(b.begin(starting("b", h)), forward("b", 16, 17), 0, 17)
}

func TestPublicCase_PC_106_AResetWithRequestsInFlightLeavesNothingOld(t *testing.T) {
	b := newCase(t, 8, 16)
	h := map[string][]blockhash.Hash{"a": blockHashes("p", 2), "b": blockHashes("q", 2)}
	both := func(run int) connector.Batch {
		return connector.Batch{
			IDs: []string{"a", "b"}, Starts: []int{0, 0}, Bounds: []int{0, 33, 66}, Sampled: []int{1, 1}, Rejected: []int{0, 0},
			RowCount: 66, Rows: append(routes(run, 0, 33), routes(run+1, 0, 33)...),
		}
	}
	b.run(starts(0, h, "a", "b"), both(0))
	late := b.begin(goesOn("a", "b"))
	require.Equal(t, 4, b.store.Stats().Retained)

	fresh := b.begin(starts(1, h, "a", "b"))
	b.refuses(late, both(0), auxerrors.ErrGeneration)
	require.NoError(t, b.worker.Process(fresh, both(5), &b.out))
	require.Equal(t, routes(5, 0, 33), b.out.Find("a").Rows)
	require.Equal(t, routes(6, 0, 33), b.out.Find("b").Rows)
	require.Equal(t, 4, b.store.Stats().Retained, "the new ones, each once")
	stored, err := b.store.Get(nil, h["a"])
	require.NoError(t, err)
	require.Equal(t, routes(5, 0, 32), stored)

	end := ends("a", "b")
	end.Generation = 1
	b.begin(end)
	b.empty()
}
