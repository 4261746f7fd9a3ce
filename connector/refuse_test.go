package connector_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

func TestABadStepIsRefusedWholeAndCanBeProcessedAgain(t *testing.T) {
	good := func() connector.Batch {
		return connector.Batch{IDs: []string{"a", "b"}, Starts: []int{4, 6}, Bounds: []int{0, 5, 7}, Sampled: []int{1, 1}, Rejected: []int{0, 0}, RowCount: len("efghi" + "GH"), Rows: []byte("efghi" + "GH")}
	}
	for name, tc := range map[string]struct {
		change func(*connector.Batch)
		reason error
	}{
		"no token executed":           {func(b *connector.Batch) { b.Bounds[2] = 5 }, connector.ErrTokenCount},
		"bounds that go back":         {func(b *connector.Batch) { b.Bounds[2] = 4 }, connector.ErrTokenCount},
		"bounds below zero":           {func(b *connector.Batch) { b.Bounds[0] = -1 }, connector.ErrTokenCount},
		"bounds missing":              {func(b *connector.Batch) { b.Bounds = b.Bounds[:2] }, connector.ErrTokenCount},
		"starts missing":              {func(b *connector.Batch) { b.Starts = b.Starts[:1] }, connector.ErrTokenCount},
		"a start past all integers":   {func(b *connector.Batch) { b.Starts[1] = math.MaxInt }, connector.ErrTokenCount},
		"more rejected than executed": {func(b *connector.Batch) { b.Rejected[1] = 3 }, connector.ErrRejectedCount},
		"fewer rejected than none":    {func(b *connector.Batch) { b.Rejected[1] = -1 }, connector.ErrRejectedCount},
		"an unknown request":          {func(b *connector.Batch) { b.IDs[1] = "z" }, connector.ErrUnknownRequest},
		"a request twice":             {func(b *connector.Batch) { b.IDs[1] = "a" }, connector.ErrDuplicateRequest},
		"a gap":                       {func(b *connector.Batch) { b.Starts[1] = 7 }, connector.ErrCaptureGap},
		"rows that go back":           {func(b *connector.Batch) { b.Starts[1] = 5 }, connector.ErrCaptureBackwards},
		"a negative position":         {func(b *connector.Batch) { b.Starts[1] = -1 }, connector.ErrNegativeStart},
		"too few rows":                {func(b *connector.Batch) { b.Rows = b.Rows[:6] }, connector.ErrProfile},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 8)
			h := map[string][]blockhash.Hash{"a": hashesOf("0", "1"), "b": hashesOf("2")}
			batch := connector.Batch{IDs: []string{"a", "b"}, Starts: []int{0, 0}, Bounds: []int{0, 4, 10}, Sampled: []int{1, 1}, Rejected: []int{0, 0}, RowCount: len("abcd" + "ABCDEF"), Rows: []byte("abcd" + "ABCDEF")}
			b.run(starts(0, h, "a", "b"), batch)
			step := b.begin(goesOn("a", "b"))
			bad := good()
			tc.change(&bad)
			b.refuses(step, bad, tc.reason)
			require.Equal(t, []string{"a@4:efghi", "b@6:GH"}, b.process(step, good()))
		})
	}
}

func TestRowsThatWereTakenInForOthersAreTakenBack(t *testing.T) {
	b := newBench(t, 8)
	b.run(starts(0, nil, "a", "b"), connector.Batch{IDs: []string{"a", "b"}, Starts: []int{0, 0}, Bounds: []int{0, 3, 5}, Sampled: []int{0, 1}, Rejected: []int{0, 0}, RowCount: len("abc" + "AB"), Rows: []byte("abc" + "AB")})
	meta := goesOn("a", "b")
	meta.Scheduled = append(meta.Scheduled, connector.Scheduled{ID: "c", New: true})
	step := b.begin(meta)

	// a completes its tail and starts another one, b goes on with its own; the first
	// rows of c lie inside a block.
	batch := connector.Batch{IDs: []string{"a", "b", "c"}, Starts: []int{3, 2, 5}, Bounds: []int{0, 3, 4, 6}, Sampled: []int{1, 1, 1}, Rejected: []int{0, 0, 0}, RowCount: len("XYZ" + "W" + "UV"), Rows: []byte("XYZ" + "W" + "UV")}
	b.refuses(step, batch, connector.ErrNotContiguous)
	var refused *connector.StepError
	require.ErrorAs(t, b.worker.Process(step, batch, &b.out), &refused)
	require.Equal(t, "process", refused.Op)
	require.Equal(t, "c", refused.Request)

	batch.Starts[2], batch.Rows = 0, []byte("def"+"C"+"xy")
	require.Equal(t, []string{"a@0:abcdef", "b@2:C", "c@0:xy"}, b.process(step, batch))
}

func TestAStepIsRefusedWholeWhenTheTailPoolIsExhausted(t *testing.T) {
	b := newBench(t, 8, func(o *connector.Options) { o.MaxSequences, o.MaxStepTokens, o.MaxInFlight = 1, 4, 1 })
	require.Equal(t, 3, b.worker.Stats().PoolBlocks)
	b.run(starts(0, nil, "a"), chunk("a", 0, "abcdefgh"))
	step := b.begin(goesOn("a"))
	b.refuses(step, chunk("a", 8, "ijklmnop"), connector.ErrExhausted)
	require.Equal(t, []string{"a@0:abcdefghijkl"}, b.process(step, one("a", 8, "ijkl")))
}

func TestAStepIsRefusedWholeWhenTheStoreHasNoRoom(t *testing.T) {
	b := newBench(t, 1, func(o *connector.Options) { o.Mode = connector.Reference })
	h := map[string][]blockhash.Hash{"a": hashesOf("0"), "b": hashesOf("1")}
	b.run(starts(0, h, "a"), one("a", 0, "abcd"))
	step := b.begin(starts(0, h, "b"))
	b.refuses(step, one("b", 0, "wxyzu"), auxerrors.ErrCannotFit)
	require.NoError(t, b.worker.Abandon(step, &b.out))
	b.begin(ends("a", "b"))
	b.empty()
}

func TestMetadataThatIsWrongIsRefusedAndChangesNothing(t *testing.T) {
	zero := make([]blockhash.Hash, 1)
	for name, tc := range map[string]struct {
		meta   connector.Metadata
		reason error
	}{
		"an unknown request runs on":        {connector.Metadata{Scheduled: []connector.Scheduled{{ID: "z"}}}, connector.ErrUnknownRequest},
		"an unknown request ends":           {connector.Metadata{Finished: []connector.Update{{ID: "z"}}}, connector.ErrUnknownRequest},
		"an unknown request has hashes":     {connector.Metadata{Updates: []connector.Update{{ID: "z", Keys: hashesOf("9")}}}, connector.ErrUnknownRequest},
		"a running request starts":          {connector.Metadata{Scheduled: []connector.Scheduled{{ID: "a", New: true}}}, connector.ErrDuplicateRequest},
		"a request starts twice":            {connector.Metadata{Scheduled: []connector.Scheduled{{ID: "z", New: true}, {ID: "z", New: true}}}, connector.ErrDuplicateRequest},
		"a request runs twice":              {connector.Metadata{Scheduled: []connector.Scheduled{{ID: "a"}, {ID: "a"}}}, connector.ErrDuplicateRequest},
		"a request ends twice":              {connector.Metadata{Finished: []connector.Update{{ID: "a"}, {ID: "a"}}}, connector.ErrDuplicateRequest},
		"new hashes in two places":          {connector.Metadata{Scheduled: []connector.Scheduled{{ID: "a"}}, Updates: []connector.Update{{ID: "a"}}}, connector.ErrDuplicateRequest},
		"a request runs and ends":           {connector.Metadata{Scheduled: []connector.Scheduled{{ID: "a"}}, Finished: []connector.Update{{ID: "a"}}}, connector.ErrRunAndFinish},
		"the scheduler is ahead":            {connector.Metadata{Scheduled: []connector.Scheduled{{ID: "a", EmitStart: 8}}}, connector.ErrEmitAhead},
		"a negative emit start":             {connector.Metadata{Scheduled: []connector.Scheduled{{ID: "a", EmitStart: -1}}}, connector.ErrMetadata},
		"a zero hash":                       {connector.Metadata{Scheduled: []connector.Scheduled{{ID: "a", Keys: zero}}}, connector.ErrMetadata},
		"a zero hash at the end":            {connector.Metadata{Finished: []connector.Update{{ID: "a", Keys: zero}}}, connector.ErrMetadata},
		"an unknown request, new weights":   {connector.Metadata{Generation: 1, Finished: []connector.Update{{ID: "a"}}}, connector.ErrUnknownRequest},
		"a request that runs across resets": {connector.Metadata{Generation: 1, Scheduled: []connector.Scheduled{{ID: "a"}}}, connector.ErrUnknownRequest},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 8)
			b.run(starts(0, map[string][]blockhash.Hash{"a": hashesOf("0")}, "a"), one("a", 0, "abcde"))
			worker, stored := b.worker.Stats(), b.store.Stats()
			_, err := b.worker.Begin(&tc.meta)
			require.ErrorIs(t, err, tc.reason)
			var refused *connector.StepError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, worker, b.worker.Stats())
			require.Equal(t, stored, b.store.Stats())
			require.Equal(t, []string{"a@5:f"}, b.run(goesOn("a"), one("a", 5, "f")))

			// The same behind a step in flight is found out when its turn comes.
			flying := b.begin(goesOn("a"))
			step, err := b.worker.Begin(&tc.meta)
			if err != nil {
				require.ErrorIs(t, err, tc.reason)
			}
			require.Equal(t, []string{"a@6:g"}, b.process(flying, one("a", 6, "g")))
			if err == nil && len(tc.meta.Scheduled) > 0 {
				require.ErrorIs(t, b.worker.Process(step, one("a", 7, "h"), &b.out), tc.reason)
				require.NoError(t, b.worker.Abandon(step, &b.out))
			} else if err == nil {
				_, err = b.worker.Begin(goesOn())
				require.ErrorIs(t, err, tc.reason)
			}
			if b.worker.Stats().Requests > 0 {
				b.worker.Begin(ends("a"))
				b.worker.Begin(ends("z"))
			}
			b.empty()
		})
	}
}

func TestOptionsThatMakeNoSenseAreAnError(t *testing.T) {
	s, err := store.New(store.Options{MaxBytes: 16, BlockBytes: four})
	require.NoError(t, err)
	defer s.Close()
	writer, err := store.NewWriter(s, 1)
	require.NoError(t, err)
	defer writer.Close()
	for name, change := range map[string]func(*connector.Options){
		"a mode that is none":           func(o *connector.Options) { o.Mode = 9 },
		"no profile":                    func(o *connector.Options) { o.Profile.Layers = 0 },
		"blocks of another size":        func(o *connector.Options) { o.BlockTokens = 8 },
		"no block tokens":               func(o *connector.Options) { o.BlockTokens = 0 },
		"no sequences":                  func(o *connector.Options) { o.MaxSequences = 0 },
		"no step tokens":                func(o *connector.Options) { o.MaxStepTokens = -1 },
		"no steps in flight":            func(o *connector.Options) { o.MaxInFlight = 0 },
		"too many sequences":            func(o *connector.Options) { o.MaxSequences = math.MaxInt },
		"too many steps in flight":      func(o *connector.Options) { o.MaxInFlight = math.MaxInt },
		"fewer hashes than none":        func(o *connector.Options) { o.HashesPerKVBlock = -1 },
		"far too many hashes":           func(o *connector.Options) { o.HashesPerKVBlock = math.MaxInt },
		"linked, but in the background": func(o *connector.Options) { o.Mode, o.Writer = connector.Linked, writer },
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			change(&o)
			_, err := connector.NewWorker(s, o)
			var config *auxerrors.ConfigError
			require.ErrorAs(t, err, &config)
		})
	}
	_, err = connector.NewWorker(nil, options())
	require.ErrorIs(t, err, auxerrors.ErrMismatch)
}
