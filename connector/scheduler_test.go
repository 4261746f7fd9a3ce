package connector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

func newScheduler(t testing.TB, mode connector.Mode) *connector.Scheduler {
	s, err := connector.NewScheduler(mode)
	require.NoError(t, err)
	return s
}

func TestOnlyRegisteredHashesAreSentAndEachOnce(t *testing.T) {
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1", "2")
	var meta connector.Metadata
	r := connector.Request{ID: "a", Tokens: 13, Hashes: h, Registered: 1}
	require.NoError(t, s.Build(&meta, []connector.Request{r}, nil))
	require.Equal(t, []connector.Scheduled{{ID: "a", New: true, Hashes: h[:1]}}, meta.Scheduled)

	require.NoError(t, s.Build(&meta, []connector.Request{r}, nil))
	require.Equal(t, []connector.Scheduled{{ID: "a", Hashes: hashesOf()}}, meta.Scheduled)

	r.Registered = 2
	require.NoError(t, s.Build(&meta, nil, []connector.Request{r}))
	require.Equal(t, []connector.Update{{ID: "a", Hashes: h[1:2]}}, meta.Updates, "not scheduled, but one more is registered")

	require.NoError(t, s.Finish("a", h, 3))
	require.NoError(t, s.Build(&meta, nil, nil))
	require.Equal(t, []connector.Update{{ID: "a", Hashes: h[2:]}}, meta.Finished)
	require.NoError(t, s.Build(&meta, nil, nil))
	require.Empty(t, meta.Finished)
}

func TestTheReferenceModeSendsAllKnownHashes(t *testing.T) {
	s := newScheduler(t, connector.Reference)
	h := hashesOf("0", "1", "2")
	var meta connector.Metadata
	require.NoError(t, s.Build(&meta, []connector.Request{{ID: "a", Tokens: 13, Hashes: h}}, nil))
	require.Equal(t, h, meta.Scheduled[0].Hashes)
}

func TestALifeEndsAndTheNextBeginsInOneMetadata(t *testing.T) {
	for mode, wantNew := range map[connector.Mode]bool{connector.FailClosed: true, connector.Reference: false} {
		s := newScheduler(t, mode)
		h := hashesOf("0", "1")
		var meta connector.Metadata
		r := []connector.Request{{ID: "a", Tokens: 9, Hashes: h, Registered: 1}}
		require.NoError(t, s.Build(&meta, r, nil))
		require.NoError(t, s.Finish("a", h, 2))
		require.NoError(t, s.Finish("a", h, 2), "a second end is none")
		require.NoError(t, s.Build(&meta, r, nil))
		require.Equal(t, "a", meta.Finished[0].ID)
		require.Len(t, meta.Finished, 1)
		require.Equal(t, wantNew, meta.Scheduled[0].New, mode)
		require.Equal(t, h[0], meta.Scheduled[0].Hashes[0], "hashes are sent again")
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
			require.NoError(t, s.Build(&meta, []connector.Request{tc.request}, nil))
			require.Equal(t, tc.want, meta.Scheduled[0].EmitStart)
		})
	}
}

func TestABuildThatIsRefusedChangesNothing(t *testing.T) {
	h := hashesOf("0", "1", "2")
	running := connector.Request{ID: "a", Tokens: 9, Hashes: h, Registered: 2}
	for name, tc := range map[string]struct {
		scheduled, others []connector.Request
		reason            error
	}{
		"scheduled twice":            {[]connector.Request{running, running}, nil, connector.ErrDuplicateRequest},
		"starts twice":               {[]connector.Request{{ID: "b", Tokens: 1}, {ID: "b", Tokens: 1}}, nil, connector.ErrDuplicateRequest},
		"scheduled and not":          {[]connector.Request{running}, []connector.Request{running}, connector.ErrDuplicateRequest},
		"fewer hashes registered":    {[]connector.Request{{ID: "a", Tokens: 9, Hashes: h, Registered: 1}}, nil, connector.ErrHashesShrank},
		"fewer, and not scheduled":   {nil, []connector.Request{{ID: "a", Tokens: 9, Hashes: h[:1], Registered: 1}}, connector.ErrHashesShrank},
		"more registered than known": {[]connector.Request{{ID: "a", Tokens: 9, Hashes: h, Registered: 4}}, nil, connector.ErrRequestCounts},
		"a negative registration":    {[]connector.Request{{ID: "a", Tokens: 9, Hashes: h, Registered: -1}}, nil, connector.ErrRequestCounts},
		"more sampled than known":    {[]connector.Request{{ID: "b", Tokens: 9, Outputs: 10}}, nil, connector.ErrRequestCounts},
		"negative samples":           {[]connector.Request{{ID: "b", Tokens: 9, Outputs: -1}}, nil, connector.ErrRequestCounts},
		"a start behind the prompt":  {[]connector.Request{{ID: "b", Tokens: 9, Outputs: 2, PromptStart: 8}}, nil, connector.ErrRequestCounts},
		"a negative start":           {[]connector.Request{{ID: "b", Tokens: 9, PromptStart: -1}}, nil, connector.ErrRequestCounts},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, connector.FailClosed)
			var meta connector.Metadata
			require.NoError(t, s.Build(&meta, []connector.Request{running}, nil))
			s.Remove(h[0])
			err := s.Build(&meta, append([]connector.Request{{ID: "new", Tokens: 1}}, tc.scheduled...), tc.others)
			require.ErrorIs(t, err, tc.reason)
			require.Empty(t, meta.Scheduled)

			grown := running
			grown.Registered = 3
			require.NoError(t, s.Build(&meta, []connector.Request{grown, {ID: "new", Tokens: 1}}, nil))
			require.Equal(t, h[2:], meta.Scheduled[0].Hashes)
			require.True(t, meta.Scheduled[1].New)
			require.Equal(t, h[:1], meta.Removed)
		})
	}
}

func TestARequestThatEndsWithFewerHashesHasEndedAllTheSame(t *testing.T) {
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1")
	var meta connector.Metadata
	require.NoError(t, s.Build(&meta, []connector.Request{{ID: "a", Tokens: 9, Hashes: h, Registered: 2}, {ID: "b", Tokens: 9}}, nil))
	require.ErrorIs(t, s.Finish("a", h, 1), connector.ErrHashesShrank)
	require.ErrorIs(t, s.Finish("b", h, 3), connector.ErrRequestCounts)
	require.NoError(t, s.Finish("never scheduled", h, 2))
	require.NoError(t, s.Build(&meta, nil, nil))
	require.Equal(t, []connector.Update{{ID: "a", Hashes: hashesOf()}, {ID: "b", Hashes: hashesOf()}}, meta.Finished)
}

func TestAResetDropsEventsAndSendsAllHashesAgain(t *testing.T) {
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1")
	var meta connector.Metadata
	r := []connector.Request{{ID: "a", Tokens: 9, Hashes: h, Registered: 2}, {ID: "b", Tokens: 9}}
	require.NoError(t, s.Build(&meta, r, nil))
	require.NoError(t, s.Finish("b", nil, 0))
	s.Remove(h...)
	s.Reset()
	require.NoError(t, s.Build(&meta, r[:1], nil))
	require.EqualValues(t, 1, meta.Generation)
	require.EqualValues(t, 1, s.Generation())
	require.Equal(t, []connector.Scheduled{{ID: "a", New: true, Hashes: h}}, meta.Scheduled)
	require.Empty(t, meta.Finished)
	require.Empty(t, meta.Removed)
}

func TestHashOnlyUpdatesAreInTheOrderOfTheFirstSteps(t *testing.T) {
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1")
	of := func(id string, registered int) connector.Request {
		return connector.Request{ID: id, Tokens: 9, Hashes: h, Registered: registered}
	}
	var meta connector.Metadata
	require.NoError(t, s.Build(&meta, []connector.Request{of("c", 0), of("a", 0)}, nil))
	require.NoError(t, s.Build(&meta, []connector.Request{of("b", 0)}, nil))
	require.NoError(t, s.Build(&meta, nil, []connector.Request{of("a", 1), of("never scheduled", 2), of("b", 1), of("c", 1)}))
	var order []string
	for _, u := range meta.Updates {
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
	var out connector.Output
	_, _, err := out.Take("a", 7, false)
	require.ErrorIs(t, err, connector.ErrOutputMissing)
	require.EqualError(t, err, `auxoutput: take: output of the request is missing: request "a": 0 requests have output`)
	out.Requests = append(out.Requests, connector.RequestOutput{ID: "a", Start: 0, Rows: []byte("x")})
	_, _, err = out.Take("b", 2, false)
	require.ErrorIs(t, err, connector.ErrOutputMissing)
}

func TestBuildingMetadataAllocatesNothingOnceItHasGrown(t *testing.T) {
	s := newScheduler(t, connector.FailClosed)
	h := hashesOf("0", "1", "2", "3")
	requests := []connector.Request{{ID: "a", Tokens: 17, Hashes: h, Registered: 4}, {ID: "b", Tokens: 17, Hashes: h, Registered: 4}}
	var meta connector.Metadata
	require.Zero(t, testing.AllocsPerRun(100, func() {
		requests[0].Registered, requests[1].Registered = 2, 2
		if err := s.Build(&meta, requests, nil); err != nil {
			t.Fatal(err)
		}
		requests[1].Registered = 4
		if err := s.Build(&meta, requests[:1], requests[1:]); err != nil {
			t.Fatal(err)
		}
		for _, r := range requests {
			if err := s.Finish(r.ID, r.Hashes, r.Registered); err != nil {
				t.Fatal(err)
			}
		}
	}))
}
