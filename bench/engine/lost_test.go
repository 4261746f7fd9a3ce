package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// serve runs an engine until its jobs are through.
func (e *Engine) serve(t *testing.T, jobs ...*Job) {
	t.Helper()
	for _, job := range jobs {
		require.NoError(t, e.Submit(job))
	}
	for e.Busy() {
		require.NoError(t, e.Step())
	}
}

// outcome keeps how a job ended.
func outcome(job *Job, err *error) *Job {
	job.Deliver = func(d Delivery) {
		if d.Done {
			*err = d.Err
		}
	}
	return job
}

// A prompt whose rows are gone used to fail on every retry in fail-closed mode: each try
// kept the KV blocks hot. Now the first failure drops them, and the next try succeeds.
func TestAPromptWhoseRowsAreGoneSucceedsOnTheNextTry(t *testing.T) {
	for _, offload := range []int{0, 40} {
		t.Run(fmt.Sprint("offload tier of ", offload), func(t *testing.T) {
			c := config()
			c.KVBlocks, c.OffloadBlocks = 24, offload
			e, err := New(c)
			require.NoError(t, err)
			defer func() { require.NoError(t, e.Close()) }()
			prompt := func(id string) *Job { return &Job{ID: id, Prompt: tokens(0, 40), Output: 3} }
			e.serve(t, prompt("first"))
			if offload > 0 { // its KV leaves the pool, and is in the tier
				e.serve(t, &Job{ID: "other", Prompt: tokens(500, 70), Output: 3})
			}
			require.NoError(t, e.CheckIdle()) // what has ended is released
			snapshot := e.store.Snapshot()
			removed, err := e.store.Remove(e.store.Generation(), append([]blockhash.Hash{}, snapshot.Evictable...))
			require.NoError(t, err)
			require.Positive(t, removed)

			var failed, served error
			e.serve(t, outcome(prompt("again"), &failed))
			require.ErrorIs(t, failed, auxerrors.ErrAbsent)
			require.Positive(t, e.Report().Dropped+offload)
			e.serve(t, outcome(prompt("once more"), &served))
			require.NoError(t, served)
			require.NoError(t, e.CheckIdle())
			require.Zero(t, e.Report().WrongRows)
			require.EqualValues(t, 1, e.worker.Stats().Failures.Absent)
			require.EqualValues(t, 1, e.worker.Stats().Failures.Requests)
		})
	}
}

// A request that alone exceeds the store would never get its rows, in one chunk by luck
// and in two not: it is refused at its admission, and says so.
func TestARequestThatAloneExceedsTheStoreCannotFit(t *testing.T) {
	for _, mode := range defaultModes {
		for _, chunk := range []int{0, 8} {
			c := config()
			c.Mode, c.Slots, c.ChunkTokens = mode, 6, chunk
			e, err := New(c)
			require.NoError(t, err)
			var refused, served error
			e.serve(t, outcome(&Job{ID: "large", Prompt: tokens(0, 40), Output: 1}, &refused), outcome(&Job{ID: "small", Prompt: tokens(0, 23), Output: 1}, &served))
			require.ErrorIs(t, refused, auxerrors.ErrCannotFit, "%v, chunks of %d", mode, chunk)
			require.NoError(t, served)
			require.NoError(t, e.CheckIdle())
			require.NoError(t, e.Close())
		}
	}
}

// Full attention with blocks of 4 tokens beside a window group with blocks of 32: the KV
// cache registers 32 tokens at a time, and until then 7 blocks of each request wait.
func TestHybridGroupsOfUnequalBlocksFillNoTailPool(t *testing.T) {
	for _, mode := range defaultModes {
		c := config()
		c.Mode, c.KVBlocks = mode, 200
		c.Windows, c.WindowBlocks = []int{64}, []int{32}
		s := Scenario{Config: c}
		for i := range 40 {
			s.Jobs = append(s.Jobs, Job{ID: fmt.Sprint(i), Arrival: i / 4, Prompt: tokens(7*(i%5), 20+i), Output: 40, Stop: AtToken})
		}
		report, err := s.Run()
		require.NoError(t, err, mode)
		require.Equal(t, 40, report.Finished)
		require.Positive(t, report.HitTokens)
	}
}

func TestJobsThatMeetALostOutputAreServedWhenTheyComeAgain(t *testing.T) {
	for _, mode := range defaultModes {
		c := config()
		c.Mode, c.Retry, c.Check, c.Profile.Experts = mode, true, connector.CheckAll, 255
		s := Scenario{Config: c, Abandons: []int{2, 9, 17}, Damages: []int{5, 13}}
		for i := range 12 {
			s.Jobs = append(s.Jobs, Job{ID: fmt.Sprint(i), Arrival: 2 * i, Prompt: tokens(0, 40), Output: 6})
		}
		report, err := s.Run()
		require.NoError(t, err)
		require.Equal(t, 12, report.Finished, "everybody gets all rows in the end")
		require.Equal(t, 3, report.Abandoned)
		require.Positive(t, report.Spoiled)
		require.Zero(t, report.Lost)
	}
}

// With fewer slots than the default, fail-closed mode loses requests. It loses no row
// of the others, returns no wrong one, and leaves nothing behind.
func TestBelowTheDefaultFailClosedLosesRequestsAndNothingElse(t *testing.T) {
	var all Report
	var leftOut uint64 // blocks
	for seed := range seeds() {
		s := Draw(connector.FailClosed, seed)
		s.Config.Slots = 1 + int(seed%uint64(s.Config.KVBlocks*s.Config.KVTokens/s.Config.HashTokens))
		s.Config.Retry = false // it may have to wait for ever
		report, err := s.play(func(e *Engine) error {
			leftOut = max(leftOut, e.store.Stats().LeftOut)
			if e.report.WrongRows > 0 {
				return ErrWrong
			}
			return nil
		})
		require.NoError(t, err, "seed %d", seed)
		all.Lost += report.Lost
		all.Finished += report.Finished
		all.Dropped += report.Dropped
	}
	require.Positive(t, all.Lost)
	require.Positive(t, all.Finished)
	require.Positive(t, leftOut)
	require.Positive(t, all.Dropped, "what was lost leaves the KV cache")
}
