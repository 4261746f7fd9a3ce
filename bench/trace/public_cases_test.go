package trace

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The case is told in full by TestIdsThatAreLocalToASessionAreNotShared.
func TestPublicCase_PC_107_SessionsWithTheirOwnIdsShareNothing(t *testing.T) {
	line := `{"timestamp":%d,"session_id":%d,"input_length":160,"output_length":1,"hash_ids":[0,1,2,3,4,5,6,7,8,9]}` + "\n"
	requests, r := mustRead(t, fmt.Sprintf(line, 0, 1)+fmt.Sprintf(line, 1, 2), Options{Scope: Local})
	require.Equal(t, 20, r.UniqueBlocks())
	for i, block := range requests[1].Blocks {
		require.EqualValues(t, 10+i, block)
	}
}

// goodTurns is the form of AIPerf and Dynamo: a time for the first turn of a session, a
// delay for the next, and no length of the answer that the engine ends itself.
const goodTurns = `{"session_id":"a","timestamp":1000,"input_length":32,"output_length":5,"hash_ids":[1,2]}
{"session_id":"a","delay":250.5,"input_length":48,"hash_ids":[1,2,3]}
`

func TestPublicCase_PC_130_ATurnMayHaveADelayInPlaceOfATime(t *testing.T) {
	got, r := mustRead(t, goodTurns+`{"session_id":"b","timestamp":9000,"input_length":32,"output_length":5,"hash_ids":[1,2]}
{"session_id":"a","delay":100,"timestamp":null,"input_length":64,"output_length":null,"hash_ids":[1,2,3,4]}
{"session_id":"c","delay":7,"input_length":16,"output_length":0,"hash_ids":[9]}
{"input_length":16,"output_length":0,"hash_ids":[9]}
{"delay":3,"timestamp":5,"input_length":16,"hash_ids":[9]}
{"session_id":"b","input_length":16,"hash_ids":[9]}
`, Options{})
	type line struct {
		at              time.Duration
		assumed, noSize bool
	}
	ms := time.Millisecond
	want := []line{
		{1000 * ms, false, false},
		{1000*ms + 250*ms + 500*time.Microsecond, true, true},
		{9000 * ms, false, false},
		{1350*ms + 500*time.Microsecond, true, true},  // of its own session, not of the line before
		{1357*ms + 500*time.Microsecond, true, false}, // a new session: after the line before
		{1357*ms + 500*time.Microsecond, true, false}, // no delay, no session
		{5 * ms, false, true},                         // a timestamp counts before a delay
		{9000 * ms, true, true},
	}
	for i, q := range got {
		require.Equal(t, want[i], line{q.Arrival, q.ArrivalAssumed, q.OutputUnknown}, "line %d", i+1)
		require.Equal(t, i+1, q.Line, "in the order of the file")
	}
	require.Len(t, got, len(want))
	require.Equal(t, []int{5, 0, 5, 0, 0, 0, 0, 0}, outputs(got))
	require.Equal(t, Gaps{Arrivals: 5, Outputs: 4}, r.Gaps())
	require.Equal(t, Mooncake, r.Format())
	require.Equal(t, []uint32{0, 1, 2, 3}, got[3].Blocks)

	_, r = mustRead(t, goodPlain, Options{})
	require.Zero(t, r.Gaps())
}

func outputs(requests []Request) (tokens []int) {
	for _, q := range requests {
		tokens = append(tokens, q.OutputTokens)
	}
	return tokens
}
