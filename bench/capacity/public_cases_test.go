package capacity

import (
	"fmt"
	"strings"
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

func TestPublicCase_PC_130_LinesWithoutTimesOrOutputsHaveAHitCurve(t *testing.T) {
	// Two turns, the second without timestamp: 2 of its 3 blocks hit, of 5 in all.
	turns := `{"session_id":"a","timestamp":0,"input_length":32,"output_length":5,"hash_ids":[1,2]}
{"session_id":"a","delay":250,"input_length":48,"output_length":7,"hash_ids":[1,2,3]}
`
	full := strings.Replace(turns, `"delay"`, `"timestamp"`, 1)
	for name, c := range map[string]struct {
		text              string
		arrivals, outputs int
	}{
		"all told":              {full, 0, 0},
		"a delay":               {turns, 1, 0},
		"neither time nor size": {strings.NewReplacer(`"delay":250,`, "", `"output_length":5,`, "", `"output_length":7,`, "").Replace(turns), 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := measure(t, c.text, trace.Options{BlockTokens: 16}, Settings{Capacities: []int{1, 2, 3}, KVBlocks: 3, Slots: []int{3}, Regimes: []Regime{FailClosed}})
			require.NoError(t, err)
			require.Equal(t, []float64{0.2, 0.4, 0.4}, []float64{report.Curve[0].HitRatio, report.Curve[1].HitRatio, report.Curve[2].HitRatio})
			require.Equal(t, 3, report.UniqueBlocks)
			require.Zero(t, report.Beside.Stores[0].Lost["fail"].Requests)
			require.Equal(t, []int{c.arrivals, c.outputs}, []int{report.ArrivalsAssumed, report.OutputsUnknown})
			var text strings.Builder
			require.NoError(t, report.WriteText(&text, "turns.jsonl"))
			require.Equal(t, c.arrivals > 0, strings.Contains(text.String(), "not told by 1 requests: taken in the order of the file"), text.String())
			require.Equal(t, c.outputs > 0, strings.Contains(text.String(), "(not told by 2 requests)"))
		})
	}
}

// wekaSession is a session of our own in kv-cache-tester's form: blocks of 64 tokens,
// ids of its own, full blocks only. A system prompt of 3 blocks is shared by all:
//
//	requests                   blocks        of them hit       new
//	5 turns, 2 blocks more     5 7 9 11 13   0 5 7 9 11        13
//	a sub-agent's 2 turns      7 8           3 7                5
//	a turn after a summary     5             3                  2
//	8                          65            45                20
func wekaSession(id string) string {
	request := func(at float64, ids ...int) string {
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(ids), "[]"), " ", ", ")
		return fmt.Sprintf(`{"t": %g, "type": "n", "in": %d, "out": 10, "hash_ids": [%s]}`, at, 64*len(ids)+17, list)
	}
	upTo := func(n int, more ...int) []int {
		ids := make([]int, n)
		for i := range ids {
			ids[i] = i
		}
		return append(ids, more...)
	}
	agent := `{"t": 1.5, "type": "subagent", "requests": [` + request(1.5, upTo(3, 100, 101, 102, 103)...) + ", " + request(3.5, upTo(3, 100, 101, 102, 103, 104)...) + `]}`
	entries := []string{
		request(0, upTo(5)...), request(1, upTo(7)...), agent, request(2, upTo(9)...), request(3, upTo(11)...), request(4, upTo(13)...),
		request(5, upTo(3, 200, 201)...),
	}
	return `{"id": "` + id + `", "block_size": 64, "hash_id_scope": "local", "requests": [` + strings.Join(entries, ", ") + "]}\n"
}

func TestPublicCase_PC_131_SessionsWithTheirOwnIdsComeToWhatIsCountedApart(t *testing.T) {
	laidOut := strings.ReplaceAll(strings.Replace(wekaSession("b"), "{", "{\n", 1), `, {"t"`, ",\n"+`{"t"`)
	report, err := measure(t, wekaSession("a")+laidOut, trace.Options{}, Settings{})
	require.NoError(t, err)
	require.Equal(t, "WEKA sessions", report.Format)
	require.Equal(t, 2, report.Sessions)
	require.Equal(t, 2*8, report.Requests)
	require.EqualValues(t, 2*(65*64+8*17), report.InputTokens)
	require.EqualValues(t, 2*8*10, report.OutputTokens)
	require.EqualValues(t, 2*65, report.BlockReferences)
	require.Equal(t, 2*20, report.UniqueBlocks)
	require.Equal(t, 64, report.BlockTokens)
	require.InDelta(t, 90.0/130, report.Ceiling, 1e-12, "45 of 65 in each")

	report, err = measure(t, wekaSession("a")+laidOut, trace.Options{Scope: trace.Global}, Settings{})
	require.NoError(t, err)
	require.Equal(t, 20, report.UniqueBlocks)
	require.InDelta(t, 110.0/130, report.Ceiling, 1e-12, "45 of the first, 65 of the second")
}
