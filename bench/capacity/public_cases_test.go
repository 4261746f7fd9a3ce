package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/bench/trace"
	"github.com/auxoutput/auxoutput/routing"
)

// Bugs that people met in public projects, as far as sizes and hit ratios are
// concerned. Each name has the number of the case.

const twoSessions = `{"timestamp":0,"session_id":1,"input_length":160,"output_length":1,"hash_ids":[0,1,2,3,4,5,6,7,8,9]}
{"timestamp":1,"session_id":2,"input_length":160,"output_length":1,"hash_ids":[0,1,2,3,4,5,6,7,8,9]}
`

func TestPublicCase_PC_107_IdsOfOneSessionHitNothingInAnother(t *testing.T) {
	report, err := measure(t, twoSessions, trace.Options{Scope: trace.Local}, Settings{})
	require.NoError(t, err)
	require.Equal(t, 20, report.UniqueBlocks)
	require.Zero(t, report.Ceiling)

	report, err = measure(t, twoSessions, trace.Options{Scope: trace.Global}, Settings{})
	require.NoError(t, err)
	require.Equal(t, 10, report.UniqueBlocks)
	require.Equal(t, 0.5, report.Ceiling, "what they seem to share if that is ignored")
}

func TestPublicCase_PC_109_ACapacityIsToldInBlocksTokensAndBytes(t *testing.T) {
	profile, err := routing.NewProfile(48, 8, 128)
	require.NoError(t, err)
	report, err := measure(t, twoSessions, trace.Options{}, Settings{
		Profile: &profile, KVBlocks: 10, Slots: []int{10, 4}, Regimes: []Regime{FailClosed},
	})
	require.NoError(t, err)
	require.Equal(t, Size{Blocks: 10, Tokens: 160, Bytes: 160 * 384}, report.Beside.Safe)
	whole, small := report.Beside.Stores[0], report.Beside.Stores[1]
	require.Zero(t, whole.Lost["fail"].Requests)
	require.Equal(t, Size{Blocks: 4, Tokens: 64, Bytes: 64 * 384}, small.Size)
	require.Equal(t, 1, small.Lost["fail"].Requests, "what happens when it is too small")
}
