package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Bugs that people met in public projects, of which it takes a whole engine to tell
// whether they could happen here. Each name has the number of the case. Every row that a
// job gets is checked against the tokens and the weights that it belongs to.

// inTurn are jobs with so many prompts in turn.
func inTurn(jobs, prompts int) func(yield func(*Job, error) bool) {
	return func(yield func(*Job, error) bool) {
		for i := range jobs {
			if !yield(&Job{ID: fmt.Sprint(i), Prompt: tokens(100*(i%prompts), 40), Output: 3}, nil) {
				return
			}
		}
	}
}

func TestPublicCase_PC_002_KVThatIsLoadedBackElsewhereHasItsOwnRows(t *testing.T) {
	c := config()
	c.KVBlocks, c.OffloadBlocks = 24, 200 // room for two of the twelve prompts
	for _, mode := range defaultModes {
		t.Run(mode.String(), func(t *testing.T) {
			c := c
			c.Mode = mode
			report, err := Serve(c, inTurn(60, 12), func() {})
			require.NoError(t, err)
			require.Equal(t, 60, report.Finished)
			require.Greater(t, report.HitRatio(), 0.5, "blocks came back into other slots than they left")
			require.Positive(t, report.RowsChecked)
			require.Zero(t, report.WrongRows)
			require.Zero(t, report.Lost)
		})
	}
}

func TestPublicCase_PC_067_MoreKVGroupsTakeNoMoreSlots(t *testing.T) {
	c := config()
	c.Slots = 30
	alone, err := Serve(c, inTurn(20, 2), func() {})
	require.NoError(t, err)
	c.Windows = []int{8}
	c.KVBlocks *= 2 // each group has blocks of its own
	both, err := Serve(c, inTurn(20, 2), func() {})
	require.NoError(t, err)
	for _, report := range []Report{alone, both} {
		require.Equal(t, 30, report.Slots, "room for both prompts, however many groups there are")
		require.Equal(t, 20, report.Finished)
		require.True(t, report.Safe())
		require.Zero(t, report.LeftOut)
		require.Zero(t, report.WrongRows)
	}
	require.Equal(t, alone.HitTokens, both.HitTokens)
}

func TestPublicCase_PC_106_RequestsInFlightAtAResetGetRowsOfOneSetOfWeights(t *testing.T) {
	for _, mode := range defaultModes {
		t.Run(mode.String(), func(t *testing.T) {
			c := config()
			c.Mode, c.ChunkTokens = mode, 7
			s := Scenario{Config: c, Resets: []int{5, 9, 20}}
			for i := range 8 {
				s.Jobs = append(s.Jobs, Job{ID: fmt.Sprint(i), Arrival: 2 * i, Prompt: tokens(0, 40), Output: 12})
			}
			report, err := s.Run()
			require.NoError(t, err)
			require.Equal(t, 3, report.Resets)
			require.Positive(t, report.Preemptions, "requests were in flight")
			require.Equal(t, 8, report.Finished)
			require.Zero(t, report.WrongRows)
			require.Zero(t, report.Lost)
		})
	}
}
