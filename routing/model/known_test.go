package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/prefixcache"
	"github.com/auxoutput/auxoutput/routing/model"
)

// TestKnownModelsHaveThePublishedSizes compares with tables that were computed from
// the models' configurations on their own, without this code.
func TestKnownModelsHaveThePublishedSizes(t *testing.T) {
	for _, c := range []struct {
		name            string
		row, allLayers  int // bytes a token in the narrow item
		wide            int64
		kv              int64  // bytes a token in bfloat16
		rowKV, wideKV   string // percent of the KV cache, as printed there
		objectAtSixteen int
	}{
		{"Mixtral-8x7B", 64, 64, 256, 131_072, "0.05", "0.2", 1024},
		{"gpt-oss-20b", 96, 96, 384, 49_152, "0.20", "0.8", 1536},
		{"Mixtral-8x22B", 112, 112, 448, 229_376, "0.05", "0.2", 1792},
		{"gpt-oss-120b", 144, 144, 576, 73_728, "0.20", "0.8", 2304},
		{"Moonlight-16B", 156, 162, 648, 31_104, "0.50", "2.1", 2496},
		{"DeepSeek-V2-Lite", 156, 162, 648, 31_104, "0.50", "2.1", 2496},
		{"GLM-4.7-Flash", 184, 188, 752, 54_144, "0.34", "1.4", 2944},
		{"Qwen3.5-35B-A3B", 320, 320, 1280, 20_480, "1.56", "6.2", 5120},
		{"GLM-4.5-Air", 360, 368, 1472, 188_416, "0.19", "0.8", 5760},
		{"Qwen3-30B-A3B", 384, 384, 1536, 98_304, "0.39", "1.6", 6144},
		{"DeepSeek-V3", 464, 488, 1952, 70_272, "0.66", "2.8", 7424},
		{"DeepSeek-R1", 464, 488, 1952, 70_272, "0.66", "2.8", 7424},
		{"MiniMax-M2", 496, 496, 1984, 253_952, "0.20", "0.8", 7936},
		{"GLM-5", 600, 624, 2496, 89_856, "0.67", "2.8", 9600},
		{"GLM-4.5", 712, 736, 2944, 376_832, "0.19", "0.8", 11392},
		{"Qwen3-235B-A22B", 752, 752, 3008, 192_512, "0.39", "1.6", 12032},
		{"Qwen3-Next-80B-A3B", 960, 960, 1920, 24_576, "3.91", "7.8", 15360},
		{"Kimi-K2", 960, 976, 1952, 70_272, "1.37", "2.8", 15360},
		{"Nemotron-3-Super", 1760, 3872, 7744, 8192, "21.48", "94.5", 28160},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{c.name, strings.ToUpper(c.name), strings.ToLower(c.name)} {
				m, err := model.Find(name)
				require.NoError(t, err)
				assert.Equal(t, c.name, m.Name)
			}
			m, err := model.Find(c.name)
			require.NoError(t, err)
			profile, err := m.Profile(false)
			require.NoError(t, err)
			assert.Equal(t, c.row, profile.RowBytes())
			object, err := profile.BlockBytes(16)
			require.NoError(t, err)
			assert.Equal(t, c.objectAtSixteen, object)
			all, err := m.Profile(true)
			require.NoError(t, err)
			assert.Equal(t, c.allLayers, all.RowBytes())
			assert.Equal(t, c.wide, m.WideRowBytes())

			kv, err := m.KVBytesPerToken(m.ItemBytes, 1)
			require.NoError(t, err)
			assert.Equal(t, c.kv, kv)
			assert.Equal(t, c.rowKV, fmt.Sprintf("%.2f", 100*float64(c.row)/float64(kv)))
			assert.Equal(t, c.wideKV, fmt.Sprintf("%.1f", 100*float64(c.wide)/float64(kv)))
			fp8, err := m.KVBytesPerToken(1, 1)
			require.NoError(t, err)
			assert.Equal(t, c.kv, 2*fp8, "fp8 halves it")
		})
	}
	assert.Len(t, model.All(), 19)
}

func TestKnownModelsAreInOrderOfTheirRowsSize(t *testing.T) {
	last := 0
	for _, m := range model.All() {
		profile, err := m.Profile(false)
		require.NoError(t, err)
		require.GreaterOrEqual(t, profile.RowBytes(), last, m.Name)
		last = profile.RowBytes()
	}
}

// TestKnownModelsFillMemoryWithThePublishedBlocks has the block sizes and counts that
// vLLM's own functions give for 40 GiB.
func TestKnownModelsFillMemoryWithThePublishedBlocks(t *testing.T) {
	state := prefixcache.State(2 * (3*8192 + 32*128*128))
	for _, c := range []struct {
		name             string
		itemBytes, ranks int
		block            int
		blockBytes       int64
		blocks           int
	}{
		{"Qwen3-30B-A3B", 2, 1, 16, 1_572_864, 27_306},
		{"DeepSeek-V3", 2, 1, 64, 4_497_408, 9_549},
		{"DeepSeek-V3", 2, 8, 64, 4_497_408, 9_549}, // each rank keeps all of the latent
		{"Kimi-K2", 1, 1, 64, 2_248_704, 19_099},
		{"GLM-4.5", 2, 1, 16, 6_029_312, 7_123},
		{"GLM-4.5", 2, 8, 16, 753_664, 56_987},
		{"GLM-4.5", 2, 16, 16, 753_664, 56_987}, // heads are repeated
		{"Mixtral-8x7B", 2, 1, 16, 2_097_152, 20_480},
		{"gpt-oss-120b", 2, 1, 16, 589_824, 72_817},
		{"Qwen3-Next-80B-A3B", 2, 1, 544, 13_369_344, 3_212},
	} {
		t.Run(fmt.Sprintf("%s on %d ranks", c.name, c.ranks), func(t *testing.T) {
			m, err := model.Find(c.name)
			require.NoError(t, err)
			types, err := m.LayerTypes(c.itemBytes, c.ranks)
			require.NoError(t, err)
			if m.Attention.StateLayers > 0 {
				types = append(types, prefixcache.LayerType{Layers: m.Attention.StateLayers, Page: state})
			}
			plan, err := prefixcache.NewPlan(c.block, types...)
			require.NoError(t, err)
			require.Equal(t, c.blockBytes, plan.BlockBytes)
			blocks, err := plan.Blocks(40 << 30)
			require.NoError(t, err)
			require.Equal(t, c.blocks, blocks)
		})
	}
	glm, err := model.Find("GLM-4.5")
	require.NoError(t, err)
	kv, err := glm.KVBytesPerToken(2, 8)
	require.NoError(t, err)
	require.Equal(t, int64(47_104), kv, "on each of 8 ranks")
}

func TestAnUnknownModelIsAnErrorThatNamesTheKnownOnes(t *testing.T) {
	_, err := model.Find("gpt-2")
	require.ErrorIs(t, err, auxerrors.ErrMismatch)
	require.ErrorContains(t, err, "Kimi-K2")
}

func TestTheListOfModelsIsACopy(t *testing.T) {
	model.All()[0].TopK = 99
	assert.NotEqual(t, 99, model.All()[0].TopK)
	for _, m := range model.All() {
		for i := range m.Dense {
			m.Dense[i] = 99
		}
		again, err := model.Find(m.Name)
		require.NoError(t, err)
		assert.NotContains(t, again.Dense, 99)
		for i := range again.Dense {
			again.Dense[i] = 99
		}
	}
	for _, m := range model.All() {
		assert.NotContains(t, m.Dense, 99)
	}
}
