package capacity

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/bench/trace"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

const smallTrace = `{"timestamp":0,"input_length":64,"output_length":1,"hash_ids":[7,8,9,10]}
{"timestamp":1,"input_length":40,"output_length":2,"hash_ids":[7,8]}
{"timestamp":2,"input_length":48,"output_length":3,"hash_ids":[7,11,12]}
`

func measure(t *testing.T, text string, options trace.Options, settings Settings) (*Report, error) {
	t.Helper()
	r, err := trace.NewReader(strings.NewReader(text), "small.jsonl", options)
	require.NoError(t, err)
	return Measure(r, settings)
}

func TestAReportCountsInBlocksTokensAndBytes(t *testing.T) {
	profile, err := routing.NewProfile(2, 2, 8)
	require.NoError(t, err)
	report, err := measure(t, smallTrace, trace.Options{}, Settings{
		Capacities: []int{1, 4}, Profile: &profile,
		KVBlocks: 4, Slots: []int{4, 1}, Regimes: []Regime{FailClosed, Recompute},
	})
	require.NoError(t, err)
	assert.Equal(t, 3, report.Requests)
	assert.EqualValues(t, 9, report.BlockReferences)
	assert.Equal(t, 6, report.UniqueBlocks)
	assert.EqualValues(t, 152, report.InputTokens)
	assert.EqualValues(t, 6, report.OutputTokens)
	assert.Equal(t, 16, report.BlockTokens)
	assert.Equal(t, "full blocks only", report.LastBlock)
	assert.Equal(t, 64, report.BlockBytes)
	assert.Equal(t, []Point{
		{Size: Size{1, 16, 64}, HitRatio: 2.0 / 9, ShareOfCeiling: 2.0 / 3, RequestsWithHit: 2},
		{Size: Size{4, 64, 256}, HitRatio: 3.0 / 9, ShareOfCeiling: 1, RequestsWithHit: 2},
	}, report.Curve)
	assert.Equal(t, []Target{{0.5, Size{1, 16, 64}}, {0.9, Size{2, 32, 128}}, {0.99, Size{2, 32, 128}}, {1, Size{2, 32, 128}}}, report.Targets)
	assert.Equal(t, &BesideReport{
		KV: Size{4, 64, 256}, Order: "tail-first", TouchOnHit: true, Hits: 2, Safe: Size{2, 32, 128},
		Stores: []StoreReport{
			{Size{4, 64, 256}, 1, map[string]Loss{"fail": {}, "recompute": {}}},
			{Size{1, 16, 64}, 0.25, map[string]Loss{"fail": {1, 0.5}, "recompute": {1, 0.5}}},
		},
	}, report.Beside)

	var text strings.Builder
	require.NoError(t, report.WriteText(&text, "small.jsonl"))
	for _, want := range []string{
		"small.jsonl (Mooncake JSONL)", "16 (full blocks only)", "0.3333",
		"2,2,8 layers,top-k,experts: 4 bytes a token, 64 a block",
		"requests with a hit: 2 of 3", "50.00",
		"Smallest safe store (tail first, hits touched): 2 slots, 32 tokens, max_bytes = 128",
	} {
		assert.Contains(t, text.String(), want)
	}
}

func TestUnitsThatAreNotKnownAreLeftOut(t *testing.T) {
	// One block of 5 tokens may be any size.
	report, err := measure(t, `{"timestamp":0,"input_length":5,"output_length":1,"hash_ids":[7]}`, trace.Options{}, Settings{KVBlocks: 1})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, report.WriteText(&text, "small.jsonl"))
	assert.Contains(t, text.String(), "state them with --block")
	assert.Contains(t, text.String(), "No request hits")
	assert.NotContains(t, text.String(), "bytes")
	encoded, err := json.Marshal(report)
	require.NoError(t, err)
	assert.NotContains(t, string(encoded), `"tokens"`)

	profile := routing.Profile{Layers: 1, TopK: 1, Experts: 2}
	_, err = measure(t, `{"timestamp":0,"input_length":5,"output_length":1,"hash_ids":[7]}`, trace.Options{}, Settings{Profile: &profile})
	require.ErrorIs(t, err, auxerrors.ErrMismatch)
}

func TestInventedBlocksAreSaidToBeInvented(t *testing.T) {
	report, err := measure(t, "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319600,4808,10\n", trace.Options{}, Settings{})
	require.NoError(t, err)
	assert.True(t, report.InventedBlocks)
	assert.Equal(t, 600, report.UniqueBlocks)
	assert.Zero(t, report.Ceiling)
	var text strings.Builder
	require.NoError(t, report.WriteText(&text, "azure.csv"))
	assert.Contains(t, text.String(), "blocks were invented")
	assert.Contains(t, text.String(), "16 (assumed)")
}

func TestMeasurePassesOnDamageAndRefusesSizesOutOfRange(t *testing.T) {
	_, err := measure(t, smallTrace+"{", trace.Options{}, Settings{})
	var damage *trace.Error
	require.ErrorAs(t, err, &damage)
	assert.Equal(t, 4, damage.Line)
	for _, settings := range []Settings{{Capacities: []int{0}}, {Capacities: []int{-5}}, {KVBlocks: -1}, {KVBlocks: 4, Slots: []int{0}, Regimes: []Regime{FailClosed}}} {
		_, err := measure(t, smallTrace, trace.Options{}, settings)
		require.ErrorIs(t, err, auxerrors.ErrTooSmall)
	}
	_, err = measure(t, smallTrace, trace.Options{}, Settings{Capacities: []int{math.MaxInt}})
	require.ErrorIs(t, err, auxerrors.ErrTooLarge)
}

func TestAWriterThatFailsIsReported(t *testing.T) {
	broken := errors.New("disk full")
	require.ErrorIs(t, new(Report).WriteText(failing{broken}, ""), broken)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestDefaultCapacitiesArePowersOfTwoUpToTheUniqueBlocks(t *testing.T) {
	assert.Empty(t, defaultCapacities(0))
	assert.Equal(t, []int{1}, defaultCapacities(1))
	assert.Equal(t, []int{1, 2, 4, 5}, defaultCapacities(5))
	assert.Equal(t, []int{1, 2, 4, 8}, defaultCapacities(8))
	assert.Equal(t, []int{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1025}, defaultCapacities(1025))
}

func TestAFractionOfTheCacheIsRoundedDownToSlots(t *testing.T) {
	for _, c := range []struct {
		kv       int
		fraction float64
		slots    int
	}{{16000, 0.9, 14400}, {100, 0.29, 29}, {3, 0.5, 1}, {10, 1.25, 12}, {1, 1, 1}} {
		slots, err := SlotsOf(c.kv, c.fraction)
		require.NoError(t, err)
		assert.Equal(t, c.slots, slots, "%v of %d", c.fraction, c.kv)
	}
	for fraction, reason := range map[float64]error{
		0: auxerrors.ErrTooSmall, -1: auxerrors.ErrTooSmall, 0.001: auxerrors.ErrTooSmall,
		math.Inf(-1): auxerrors.ErrTooSmall, math.Inf(1): auxerrors.ErrTooLarge, 1e300: auxerrors.ErrTooLarge,
	} {
		_, err := SlotsOf(100, fraction)
		require.ErrorIs(t, err, reason, "%v", fraction)
	}
	_, err := SlotsOf(100, math.NaN())
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
}
