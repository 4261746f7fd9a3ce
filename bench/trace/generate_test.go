package trace

import (
	"bytes"
	"cmp"
	"flag"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

var update = flag.Bool("update", false, "write the generated trace anew")

// committedTrace is a small generated trace that other tests use, too.
const committedTrace = "../../testdata/traces/multiturn_blk16.jsonl"

var committedOptions = GenerateOptions{Seed: 1, Sessions: 40, Turns: Range{1, 6}}

func TestEveryTurnContinuesTheOneBefore(t *testing.T) {
	options := GenerateOptions{Seed: 3, Sessions: 50, SystemTokens: Range{10, 20}, UserTokens: Range{1, 5}, OutputTokens: Range{2, 4}, Vocabulary: 100}
	turns, err := Generate(options)
	require.NoError(t, err)
	assert.True(t, slices.IsSortedFunc(turns, func(a, b Turn) int { return cmp.Compare(a.Arrival, b.Arrival) }))
	before := make(map[int]Turn)
	systems := make(map[string]int)
	interleaved := false
	for i, turn := range turns {
		interleaved = interleaved || i > 0 && turns[i-1].Session != turn.Session && turn.Turn > 0
		for _, token := range turn.Prompt {
			require.Less(t, token, uint32(100))
		}
		require.True(t, len(turn.Output) >= 2 && len(turn.Output) <= 4)
		if turn.Turn == 0 {
			systems[string(tokensAsBytes(turn.Prompt[:10]))]++
		} else {
			last, seen := before[turn.Session]
			require.True(t, seen)
			require.Equal(t, last.Turn+1, turn.Turn)
			history := append(slices.Clone(last.Prompt), last.Output...)
			require.Equal(t, history, turn.Prompt[:len(history)])
			added := len(turn.Prompt) - len(history)
			require.True(t, added >= 1 && added <= 5)
		}
		before[turn.Session] = turn
	}
	assert.Len(t, before, 50)
	assert.True(t, interleaved)
	assert.LessOrEqual(t, len(systems), 4)
	assert.Greater(t, len(systems), 1)
}

func tokensAsBytes(tokens []uint32) []byte {
	var b []byte
	for _, token := range tokens {
		b = append(b, byte(token))
	}
	return b
}

func TestTheSameSeedGivesTheSameTurns(t *testing.T) {
	a, err := Generate(GenerateOptions{Seed: 9})
	require.NoError(t, err)
	b, err := Generate(GenerateOptions{Seed: 9})
	require.NoError(t, err)
	c, err := Generate(GenerateOptions{Seed: 10})
	require.NoError(t, err)
	assert.Equal(t, a, b)
	assert.NotEqual(t, a, c)
}

func TestOptionsOutOfRangeAreRefused(t *testing.T) {
	for name, o := range map[string]GenerateOptions{
		"negative sessions":   {Sessions: -1},
		"too many sessions":   {Sessions: math.MaxInt},
		"no turn":             {Turns: Range{0, 3}},
		"turns upside down":   {Turns: Range{3, 2}},
		"negative lengths":    {UserTokens: Range{-2, -1}},
		"huge lengths":        {OutputTokens: Range{1, math.MaxInt}},
		"negative vocabulary": {Vocabulary: -1},
		"negative prompts":    {SystemPrompts: -1},
		"negative time":       {ThinkTime: -time.Second},
		"too long a gap":      {SessionGap: math.MaxInt64},
		"flat Zipf":           {Zipf: 1},
		"Zipf that is none":   {Zipf: math.NaN()},
		"too many tokens":     {Sessions: 1 << 20, OutputTokens: Range{1 << 20, 1 << 20}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Generate(o)
			var config *auxerrors.ConfigError
			require.ErrorAs(t, err, &config)
		})
	}
}

func TestWhatIsWrittenReadsBack(t *testing.T) {
	turns, err := Generate(GenerateOptions{Seed: 5, Sessions: 20})
	require.NoError(t, err)
	for _, partial := range []bool{false, true} {
		var text bytes.Buffer
		require.NoError(t, WriteMooncake(&text, turns, 16, partial))
		got, r := mustRead(t, text.String(), Options{})
		want := Layout{BlockTokens: 16, LastBlock: FullOnly}
		if partial {
			want.LastBlock = PartialListed
		}
		assert.Equal(t, want, r.Layout())
		assert.Equal(t, 20, r.Sessions())
		require.Len(t, got, len(turns))
		for i, turn := range turns {
			assert.Equal(t, turn.Arrival, got[i].Arrival)
			assert.Equal(t, len(turn.Prompt), got[i].InputTokens)
			assert.Equal(t, len(turn.Output), got[i].OutputTokens)
			for j := range i {
				require.Equal(t, commonBlocks(turn.Prompt, turns[j].Prompt, 16, partial), commonIDs(got[i].Blocks, got[j].Blocks))
			}
		}
	}
}

// commonBlocks counts the leading blocks that two prompts share.
func commonBlocks(a, b []uint32, block int, partial bool) int {
	common := commonIDs(a, b)
	if partial && common == len(a) && common == len(b) {
		return (common + block - 1) / block
	}
	return common / block
}

func commonIDs(a, b []uint32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func TestShortPromptsAndHugeBlocksAreWrittenAsEmptyLists(t *testing.T) {
	var text strings.Builder
	require.NoError(t, WriteMooncake(&text, []Turn{{Prompt: []uint32{1}}}, math.MaxInt, false))
	assert.Equal(t, `{"timestamp":0,"session_id":0,"input_length":1,"output_length":0,"hash_ids":[]}`+"\n", text.String())
	require.ErrorIs(t, WriteMooncake(&text, nil, 0, false), auxerrors.ErrTooSmall)
}

func TestTheCommittedTraceIsTheGeneratedOne(t *testing.T) {
	turns, err := Generate(committedOptions)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, WriteMooncake(&text, turns, 16, false))
	require.Less(t, text.Len(), 100_000)
	if *update {
		require.NoError(t, os.WriteFile(committedTrace, text.Bytes(), 0o644))
	}
	kept, err := os.ReadFile(committedTrace)
	require.NoError(t, err)
	assert.Equal(t, string(kept), text.String())
}
