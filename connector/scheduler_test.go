package connector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// schedulerBench is a scheduler half with what it takes to talk to it.
type schedulerBench struct {
	testing.TB
	*connector.Scheduler
	meta connector.Metadata
}

// newScheduler is one over a pool of 64 KV blocks, of one hash block each.
func newScheduler(t testing.TB, mode connector.Mode, change ...func(*connector.SchedulerOptions)) *schedulerBench {
	t.Helper()
	o := connector.SchedulerOptions{Checked: checked, Mode: mode, KVBlocks: 64}
	for _, c := range change {
		c(&o)
	}
	s, err := connector.NewScheduler(o)
	require.NoError(t, err)
	return &schedulerBench{TB: t, Scheduler: s}
}

func (s *schedulerBench) admits(id string, hashes []blockhash.Hash, hit ...int32) {
	s.Helper()
	require.NoError(s, s.Admit(connector.Admission{ID: id, Hashes: hashes, Hit: hit}))
}

// builds makes the metadata of a step.
func (s *schedulerBench) builds(scheduled ...connector.Request) *connector.Metadata {
	s.Helper()
	require.NoError(s, s.Build(&s.meta, scheduled, nil))
	return &s.meta
}

// keys are the keys of a live request.
func (s *schedulerBench) keys(id string, hashes []blockhash.Hash) []blockhash.Hash {
	s.Helper()
	keys, err := s.Keys(id, hashes)
	require.NoError(s, err)
	return append([]blockhash.Hash{}, keys...)
}

// holds is a request whose first hashes are registered, in KV blocks of these ids.
func holds(id string, hashes []blockhash.Hash, registered int, blocks ...int32) connector.Request {
	return connector.Request{ID: id, Tokens: 4*len(hashes) + 1, Hashes: hashes, Registered: registered, Blocks: blocks}
}

func TestOnlyRegisteredHashesAreSentAndEachOnce(t *testing.T) {
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1", "2")
	s.admits("a", h)
	k := s.keys("a", h)
	r := holds("a", h, 1, 7, 8, 9)
	require.Equal(t, []connector.Scheduled{{ID: "a", New: true, Keys: k[:1]}}, s.builds(r).Scheduled)
	require.Equal(t, []connector.Scheduled{{ID: "a", Keys: hashesOf()}}, s.builds(r).Scheduled)

	r.Registered = 2
	require.NoError(t, s.Build(&s.meta, nil, []connector.Request{r}))
	require.Equal(t, []connector.Update{{ID: "a", Keys: k[1:2]}}, s.meta.Updates, "not scheduled, but one more is registered")

	r.Registered = 3
	require.NoError(t, s.Finish(r))
	require.Equal(t, []connector.Update{{ID: "a", Keys: k[2:]}}, s.builds().Finished)
	require.Empty(t, s.builds().Finished)
}

func TestTheReferenceModeSendsAllKnownHashesAsTheyAre(t *testing.T) {
	s := newScheduler(t, connector.Reference)
	h := hashesOf("0", "1", "2")
	require.Equal(t, h, s.builds(connector.Request{ID: "a", Tokens: 13, Hashes: h}).Scheduled[0].Keys)
	require.Equal(t, h, s.keys("a", h))
	require.NoError(t, s.Admit(connector.Admission{ID: "a"}), "it needs none")
	require.NoError(t, s.Extend(connector.Request{ID: "a"}))
	keys, err := s.AppendHitKeys(nil, h, []int32{1})
	require.NoError(t, err)
	require.Empty(t, keys)
	s.Evicted(1)
	require.Empty(t, s.AppendBlocks(nil, h...))
}

func TestALifeEndsAndTheNextBeginsInOneMetadata(t *testing.T) {
	h := hashesOf("0", "1")
	for mode, wantNew := range map[connector.Mode]bool{connector.FailClosed: true, connector.Reference: false} {
		s := newScheduler(t, mode)
		s.admits("a", h)
		s.builds(holds("a", h, 1, 7, 8))
		require.NoError(t, s.Finish(holds("a", h, 2, 7, 8)))
		require.NoError(t, s.Finish(holds("a", h, 2, 7, 8)), "a second end is none")
		var hit []int32
		if mode == connector.FailClosed {
			hit = []int32{7}
		}
		s.admits("a", h, hit...)
		meta := s.builds(holds("a", h, 1, 7))
		require.Equal(t, "a", meta.Finished[0].ID)
		require.Len(t, meta.Finished, 1)
		require.Equal(t, wantNew, meta.Scheduled[0].New, mode)
		require.NotEmpty(t, meta.Scheduled[0].Keys, "keys are sent again")
		require.Equal(t, len(hit), meta.Scheduled[0].Hit)
	}
}

// The rows of a hit block are those of whoever filled it; whoever computes the same
// tokens again has rows of its own, and a later hit those of the block that it hits.
func TestKeysAreThoseOfWhoeverFilledTheBlock(t *testing.T) {
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1", "2")
	s.admits("a", h)
	a := s.keys("a", h)
	s.builds(holds("a", h, 2, 7, 8))

	s.admits("b", h, 7) // hits a block of a, computes the next ones again
	b := s.keys("b", h)
	require.Equal(t, a[0], b[0])
	require.NotEqual(t, a[1], b[1])
	meta := s.builds(holds("b", h, 2, 7, 9))
	require.Equal(t, 1, meta.Scheduled[0].Hit)

	for block, want := range map[int32]blockhash.Hash{8: a[1], 9: b[1]} {
		keys, err := s.AppendHitKeys(nil, h, []int32{7, block})
		require.NoError(t, err)
		require.Equal(t, []blockhash.Hash{a[0], want}, keys)
		require.Equal(t, []int32{block}, s.AppendBlocks(nil, want))
	}
	require.NotContains(t, a, h[0], "a key is no hash")

	seen := map[blockhash.Hash]bool{}
	for id := range 50 { // and no number comes twice, whatever the generation
		s.Reset()
		s.admits(string(rune('a'+id)), h)
		for _, key := range s.keys(string(rune('a'+id)), h) {
			require.False(t, seen[key])
			seen[key] = true
		}
	}
}

func TestARequestThatComesBackHitsItsOldBlocksUnderTheirKeys(t *testing.T) {
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1")
	s.admits("a", h)
	old := s.keys("a", h)
	s.builds(holds("a", h, 2, 7, 8))
	require.NoError(t, s.Finish(holds("a", h, 2, 7, 8)))
	s.admits("a", h, 7)
	now := s.keys("a", h)
	require.Equal(t, old[0], now[0])
	require.NotEqual(t, old[1], now[1])
}

func TestAnAdmissionNamesBlocksThatAreFiledUnderItsHashes(t *testing.T) {
	h := hashesOf("0", "1")
	for name, tc := range map[string]struct {
		admission connector.Admission
		reason    error
	}{
		"live already":            {connector.Admission{ID: "a", Hashes: h}, connector.ErrDuplicateRequest},
		"a block nobody filled":   {connector.Admission{ID: "b", Hashes: h, Hit: []int32{9}}, connector.ErrKVBlock},
		"another hash's block":    {connector.Admission{ID: "b", Hashes: h, Hit: []int32{8}}, connector.ErrKVBlock},
		"the null block":          {connector.Admission{ID: "b", Hashes: h, Hit: []int32{0}}, connector.ErrKVBlock},
		"a block of no pool":      {connector.Admission{ID: "b", Hashes: h, Hit: []int32{64}}, connector.ErrKVBlock},
		"a negative block":        {connector.Admission{ID: "b", Hashes: h, Hit: []int32{-1}}, connector.ErrKVBlock},
		"more blocks than hashes": {connector.Admission{ID: "b", Hashes: h[:1], Hit: []int32{7, 8}}, connector.ErrRequestCounts},
		"more keys than hashes":   {connector.Admission{ID: "b", Hashes: h, Hit: []int32{7}, Loaded: hashesOf("x", "y")}, connector.ErrRequestCounts},
		"a zero key":              {connector.Admission{ID: "b", Hashes: h, Loaded: make([]blockhash.Hash, 1)}, connector.ErrRequestCounts},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, connector.FailClosed)
			s.admits("a", h)
			s.builds(holds("a", h, 2, 7, 8))
			require.ErrorIs(t, s.Admit(tc.admission), tc.reason)
			if tc.admission.Hit != nil && tc.admission.Loaded == nil {
				_, err := s.AppendHitKeys(nil, tc.admission.Hashes, tc.admission.Hit)
				require.ErrorIs(t, err, tc.reason)
			}
			s.admits("b", h, 7, 8)
			require.True(t, s.builds(holds("b", h, 2, 7, 8)).Scheduled[0].New)
		})
	}
}

func TestARequestThatAloneExceedsTheStoreIsRefusedAtItsAdmission(t *testing.T) {
	h := hashesOf("0", "1", "2")
	for _, mode := range modes {
		s := newScheduler(t, mode, func(o *connector.SchedulerOptions) { o.Slots = 2 })
		err := s.Admit(connector.Admission{ID: "a", Hashes: h})
		require.ErrorIs(t, err, auxerrors.ErrCannotFit)
		var failed *auxerrors.BlockObjectStoreError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, 2, failed.Limit)
		require.ErrorContains(t, err, `"a" alone needs 3`)
		s.admits("a", h[:2])

		err = s.Admit(connector.Admission{ID: "b", Outputs: 4, Hashes: h})
		if mode == connector.FailClosed {
			require.NoError(t, err, "of a life that comes back no row is read that was handed out")
		} else {
			require.ErrorIs(t, err, auxerrors.ErrCannotFit)
		}
	}
}

func TestAnAdmissionThatIsTakenBackIsHeardOfByNobody(t *testing.T) {
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1")
	s.admits("a", h)
	s.builds(holds("a", h, 2, 7, 8))
	s.admits("b", h, 7)
	require.NoError(t, s.Finish(connector.Request{ID: "b"}))
	require.ErrorIs(t, s.Build(&s.meta, []connector.Request{holds("b", h, 1, 7)}, nil), connector.ErrUnknownRequest)
	meta := s.builds(holds("a", h, 2, 7, 8))
	require.Empty(t, meta.Finished)
	_, err := s.Keys("b", h)
	require.ErrorIs(t, err, connector.ErrUnknownRequest)
	require.ErrorIs(t, s.Extend(holds("b", h, 1, 7)), connector.ErrUnknownRequest)
}

func TestEvictedBlocksLoseTheirKeysAndTheirRows(t *testing.T) {
	s := newScheduler(t, connector.FailClosed, func(o *connector.SchedulerOptions) { o.HashesPerBlock = 2 })
	h := hashesOf("0", "1", "2", "3")
	s.admits("a", h)
	k := s.keys("a", h)
	s.builds(holds("a", h, 4, 7, 8))
	require.Equal(t, []int32{8}, s.AppendBlocks(nil, k[2]), "either key of a block finds it")
	require.Equal(t, []int32{8}, s.AppendBlocks(nil, k[3]))
	s.Evicted(s.AppendBlocks(nil, k[2])...)
	s.Evicted(8, 0, -1, 64, 9)
	require.Empty(t, s.AppendBlocks(nil, k[2:]...))
	require.Equal(t, k[2:], s.builds(holds("a", h, 4, 7, 8)).Removed)
	_, err := s.AppendHitKeys(nil, h, []int32{7, 8})
	require.ErrorIs(t, err, connector.ErrKVBlock)
}

func TestWhatBecomesOfABlockThatIsReused(t *testing.T) {
	h, x := hashesOf("0", "1"), hashesOf("x", "y")
	for name, tc := range map[string]struct {
		mode    connector.Mode
		offload bool
		removed bool // its rows leave the store
		lost    bool // its keys are handed out
	}{
		"it ages out":             {mode: connector.FailClosed},
		"its rows go too":         {mode: connector.Linked, removed: true},
		"a tier may keep it":      {mode: connector.FailClosed, offload: true, lost: true},
		"a tier may keep it, too": {mode: connector.Linked, offload: true, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, tc.mode, func(o *connector.SchedulerOptions) { o.Offload = tc.offload })
			s.admits("a", h)
			k := s.keys("a", h)
			s.builds(holds("a", h, 2, 7, 8))
			require.NoError(t, s.Finish(holds("a", h, 2, 7, 8)))
			s.admits("b", x)
			require.NoError(t, s.Extend(holds("b", x, 0, 8)), "it is reused before it is filed anew")
			require.Empty(t, s.AppendBlocks(nil, k[1]))
			lost := s.AppendLost(nil)
			if tc.lost {
				require.Equal(t, []connector.KVBlock{{ID: 8, End: h[1], Keys: k[1:]}}, lost)
			} else {
				require.Empty(t, lost)
			}
			require.Empty(t, s.AppendLost(nil))
			meta := s.builds(holds("b", x, 1, 8))
			if tc.removed {
				require.Equal(t, k[1:], meta.Removed)
			} else {
				require.Empty(t, meta.Removed)
			}
			if !tc.lost {
				return
			}
			// It is loaded back, twice, into other blocks.
			for i, block := range []int32{20, 21} {
				id := string(rune('c' + i))
				require.NoError(t, s.Admit(connector.Admission{ID: id, Hashes: h, Hit: []int32{7}, Loaded: lost[0].Keys}))
				meta := s.builds(holds(id, h, 2, 7, block))
				require.Equal(t, k, meta.Scheduled[0].Keys)
				require.Equal(t, 2, meta.Scheduled[0].Hit)
			}
			require.ElementsMatch(t, []int32{20, 21}, s.AppendBlocks(nil, k[1]))
			s.Evicted(20)
			require.Equal(t, []int32{21}, s.AppendBlocks(nil, k[1]))
			s.Evicted(21)
			require.Empty(t, s.AppendBlocks(nil, k[1]))
		})
	}
}

func TestTheEmitStartFollowsFromTheTokens(t *testing.T) {
	for name, tc := range map[string]struct {
		request connector.Request
		want    int
	}{
		"nothing sampled":             {connector.Request{Tokens: 9}, 0},
		"a prompt start":              {connector.Request{Tokens: 9, PromptStart: 2}, 2},
		"a prompt start at the end":   {connector.Request{Tokens: 9, PromptStart: 9}, 9},
		"a token sampled":             {connector.Request{Tokens: 10, Outputs: 1, PromptStart: 2}, 9},
		"sampled, start at the end":   {connector.Request{Tokens: 10, Outputs: 1, PromptStart: 9}, 9},
		"several tokens were sampled": {connector.Request{Tokens: 12, Outputs: 3}, 11},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, connector.FailClosed)
			var meta connector.Metadata
			tc.request.ID = "a"
			s.admits("a", nil)
			require.NoError(t, s.Build(&meta, []connector.Request{tc.request}, nil))
			require.Equal(t, tc.want, meta.Scheduled[0].EmitStart)
		})
	}
}

func TestABuildThatIsRefusedChangesNothing(t *testing.T) {
	h := hashesOf("0", "1", "2")
	running := holds("a", h, 2, 7, 8, 9)
	for name, tc := range map[string]struct {
		scheduled, others []connector.Request
		reason            error
	}{
		"scheduled twice":            {[]connector.Request{running, running}, nil, connector.ErrDuplicateRequest},
		"not admitted":               {[]connector.Request{{ID: "b", Tokens: 1}}, nil, connector.ErrUnknownRequest},
		"scheduled and not":          {[]connector.Request{running}, []connector.Request{running}, connector.ErrDuplicateRequest},
		"fewer hashes registered":    {[]connector.Request{holds("a", h, 1, 7, 8, 9)}, nil, connector.ErrHashesShrank},
		"fewer, and not scheduled":   {nil, []connector.Request{holds("a", h[:1], 1, 7, 8, 9)}, connector.ErrHashesShrank},
		"fewer KV blocks":            {[]connector.Request{holds("a", h, 2, 7, 8)}, nil, connector.ErrKVBlock},
		"more registered than KV":    {[]connector.Request{holds("a", hashesOf("0", "1", "2", "3"), 4, 7, 8, 9)}, nil, connector.ErrKVBlock},
		"a null block":               {[]connector.Request{holds("a", h, 2, 7, 8, 9, 0)}, nil, connector.ErrKVBlock},
		"a block beyond the pool":    {nil, []connector.Request{holds("a", h, 2, 7, 8, 9, 64)}, connector.ErrKVBlock},
		"more registered than known": {[]connector.Request{holds("a", h, 4, 7, 8, 9, 10)}, nil, connector.ErrRequestCounts},
		"a negative registration":    {[]connector.Request{holds("a", h, -1, 7, 8, 9)}, nil, connector.ErrRequestCounts},
		"more sampled than known":    {[]connector.Request{{ID: "new", Tokens: 9, Outputs: 10}}, nil, connector.ErrRequestCounts},
		"negative samples":           {[]connector.Request{{ID: "new", Tokens: 9, Outputs: -1}}, nil, connector.ErrRequestCounts},
		"a start behind the prompt":  {[]connector.Request{{ID: "new", Tokens: 9, Outputs: 2, PromptStart: 8}}, nil, connector.ErrRequestCounts},
		"a negative start":           {[]connector.Request{{ID: "new", Tokens: 9, PromptStart: -1}}, nil, connector.ErrRequestCounts},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, connector.FailClosed)
			s.admits("a", h)
			k := s.keys("a", h)
			s.builds(running)
			s.admits("new", nil)
			s.Remove(h[0])
			scheduled := tc.scheduled
			if len(scheduled) == 0 || scheduled[0].ID != "new" {
				scheduled = append([]connector.Request{{ID: "new", Tokens: 1}}, scheduled...)
			}
			require.ErrorIs(t, s.Build(&s.meta, scheduled, tc.others), tc.reason)
			require.Empty(t, s.meta.Scheduled)

			grown := running
			grown.Registered = 3
			meta := s.builds(grown, connector.Request{ID: "new", Tokens: 1})
			require.Equal(t, k[2:], meta.Scheduled[0].Keys)
			require.True(t, meta.Scheduled[1].New)
			require.Equal(t, h[:1], meta.Removed)
		})
	}
}

func TestARequestThatEndsWithFewerHashesHasEndedAllTheSame(t *testing.T) {
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1")
	s.admits("a", h)
	s.admits("b", h)
	s.admits("c", h)
	s.builds(holds("a", h, 2, 7, 8), holds("b", h, 0), holds("c", h, 1, 9))
	require.ErrorIs(t, s.Finish(holds("a", h, 1, 7, 8)), connector.ErrHashesShrank)
	require.ErrorIs(t, s.Finish(holds("b", h, 3)), connector.ErrRequestCounts)
	require.ErrorIs(t, s.Finish(holds("c", h, 1)), connector.ErrKVBlock)
	require.NoError(t, s.Finish(holds("never admitted", h, 2)))
	require.Equal(t, []connector.Update{{ID: "a", Keys: hashesOf()}, {ID: "b", Keys: hashesOf()}, {ID: "c", Keys: hashesOf()}}, s.builds().Finished)
}

func TestAResetDropsEventsAndKeys(t *testing.T) {
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1")
	s.admits("a", h)
	old := s.keys("a", h)
	s.admits("b", nil)
	s.builds(holds("a", h, 2, 7, 8), holds("b", nil, 0))
	require.NoError(t, s.Finish(holds("b", nil, 0)))
	s.Remove(h...)
	s.Reset()
	require.Empty(t, s.AppendBlocks(nil, old...))
	require.ErrorIs(t, s.Build(&s.meta, []connector.Request{holds("a", h, 2, 7, 8)}, nil), connector.ErrUnknownRequest)
	s.admits("a", h)
	meta := s.builds(holds("a", h, 2, 7, 8))
	require.EqualValues(t, 1, meta.Generation)
	require.EqualValues(t, 1, s.Generation())
	require.True(t, meta.Scheduled[0].New)
	require.Len(t, meta.Scheduled[0].Keys, 2)
	require.NotContains(t, meta.Scheduled[0].Keys, old[0])
	require.Empty(t, meta.Finished)
	require.Empty(t, meta.Removed)
}

func TestKeyOnlyUpdatesAreInTheOrderOfTheFirstSteps(t *testing.T) {
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1")
	blocks := map[string]int32{}
	of := func(id string, registered int) connector.Request {
		return holds(id, h, registered, blocks[id], blocks[id]+1)
	}
	for i, id := range []string{"a", "b", "c", "never scheduled"} {
		blocks[id] = int32(10 * (i + 1))
		s.admits(id, h)
	}
	s.builds(of("c", 0), of("a", 0))
	s.builds(of("b", 0))
	require.NoError(t, s.Build(&s.meta, nil, []connector.Request{of("a", 1), of("never scheduled", 2), of("b", 1), of("c", 1)}))
	var order []string
	for _, u := range s.meta.Updates {
		order = append(order, u.ID)
	}
	require.Equal(t, []string{"c", "a", "b"}, order)
}

func TestTakingRowsClipsThemToTheAcceptedTokens(t *testing.T) {
	for name, tc := range map[string]struct {
		output   connector.RequestOutput
		tokens   int
		finished bool
		want     string
		ok       bool
		reason   error
	}{
		"all of them":                 {connector.RequestOutput{Start: 4, Rows: []byte("ab")}, 7, false, "ab", true, nil},
		"a stop cut the rest":         {connector.RequestOutput{Start: 4, Rows: []byte("abcde")}, 6, true, "a", true, nil},
		"none of them is new":         {connector.RequestOutput{Start: 4, Rows: []byte("a")}, 5, false, "", true, nil},
		"the prompt start is its end": {connector.RequestOutput{Start: 6}, 7, true, "", true, nil},
		"no rows yet":                 {connector.RequestOutput{Start: 4, Rows: []byte("a")}, 3, false, "", false, nil},
		"finished before its rows":    {connector.RequestOutput{Start: 4, Rows: []byte("a")}, 3, true, "", false, connector.ErrNoAcceptedRange},
		"fewer rows than tokens":      {connector.RequestOutput{Start: 4, Rows: []byte("ab")}, 9, false, "", false, connector.ErrInvalidRange},
		"the rows are gone":           {connector.RequestOutput{Err: &auxerrors.BlockObjectStoreError{Op: "get", Reason: auxerrors.ErrEvicted}}, 9, false, "", false, auxerrors.ErrEvicted},
	} {
		t.Run(name, func(t *testing.T) {
			tc.output.ID = "a"
			out := connector.Output{RowBytes: 1, Requests: []connector.RequestOutput{{ID: "z"}, tc.output}}
			rows, ok, err := out.Take("a", tc.tokens, tc.finished)
			require.ErrorIs(t, err, tc.reason)
			require.Equal(t, tc.ok, ok)
			require.Equal(t, tc.want, string(rows))
		})
	}
	uneven := connector.Output{RowBytes: 2, Requests: []connector.RequestOutput{{ID: "a", Rows: []byte("abc")}}}
	_, _, err := uneven.Take("a", 2, false)
	require.ErrorIs(t, err, connector.ErrInvalidRange, "no whole number of rows")
	var out connector.Output
	_, _, err = out.Take("a", 7, false)
	require.ErrorIs(t, err, connector.ErrOutputMissing)
	require.EqualError(t, err, `auxoutput: take: output of the request is missing: request "a": 0 requests have output`)
	out.Requests = append(out.Requests, connector.RequestOutput{ID: "a", Start: 0, Rows: []byte("x")})
	_, _, err = out.Take("b", 2, false)
	require.ErrorIs(t, err, connector.ErrOutputMissing)
}

func TestBuildingMetadataAllocatesNothingOnceItHasGrown(t *testing.T) {
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1", "2", "3")
	requests := []connector.Request{holds("a", h, 4, 1, 2, 3, 4), holds("b", h, 4, 5, 6, 7, 8)}
	var meta connector.Metadata
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range requests {
			if err := s.Admit(connector.Admission{ID: requests[i].ID, Hashes: h}); err != nil {
				t.Fatal(err)
			}
		}
		requests[0].Registered, requests[1].Registered = 2, 2
		if err := s.Build(&meta, requests, nil); err != nil {
			t.Fatal(err)
		}
		requests[1].Registered = 4
		if err := s.Build(&meta, requests[:1], requests[1:]); err != nil {
			t.Fatal(err)
		}
		for _, r := range requests {
			if err := s.Finish(r); err != nil {
				t.Fatal(err)
			}
		}
	}))
}
