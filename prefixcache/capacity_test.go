package prefixcache_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/prefixcache"
)

const gib = 1 << 30

func gqa(heads, head int) prefixcache.GQA {
	return prefixcache.GQA{Heads: heads, HeadK: head, ItemBytes: 2}
}

// TestPlansOfKnownModels has the block sizes and counts that vLLM's own functions
// give for 40 GiB.
func TestPlansOfKnownModels(t *testing.T) {
	layers := func(n int, page prefixcache.Page) []prefixcache.LayerType {
		return []prefixcache.LayerType{{Layers: n, Page: page}}
	}
	mla := prefixcache.MLA{Rank: 512, Rope: 64, ItemBytes: 2}
	mlaFP8 := prefixcache.MLA{Rank: 512, Rope: 64, ItemBytes: 1}
	state := prefixcache.State(2 * (3*8192 + 32*128*128))
	for _, test := range []struct {
		name       string
		block      int
		types      []prefixcache.LayerType
		groups     int
		blockBytes int64
		blocks     int
		tokens     int
	}{
		{"Qwen3-30B-A3B", 16, layers(48, gqa(4, 128)), 1, 1_572_864, 27_306, 436_896},
		{"DeepSeek-V3 in bfloat16", 64, layers(61, mla), 1, 4_497_408, 9_549, 611_136},
		{"DeepSeek-V3 in fp8", 64, layers(61, mlaFP8), 1, 2_248_704, 19_099, 1_222_336},
		{"DeepSeek-V3 in fp8_ds_mla", 64, layers(61, prefixcache.DeepSeekV32), 1, 2_561_024, 16_770, 1_073_280},
		{"GLM-4.5", 16, layers(92, gqa(8, 128)), 1, 6_029_312, 7_123, 113_968},
		{"GLM-4.5-Air", 16, layers(46, gqa(8, 128)), 1, 3_014_656, 14_246, 227_936},
		{"GLM-4.5 on 8 ranks", 16, layers(92, gqa(1, 128)), 1, 753_664, 56_987, 911_792},
		{"Mixtral 8x7B", 16, layers(32, gqa(8, 128)), 1, 2_097_152, 20_480, 327_680},
		{"Mixtral 8x22B", 16, layers(56, gqa(8, 128)), 1, 3_670_016, 11_702, 187_232},
		{"gpt-oss-120b", 16, append(layers(18, gqa(8, 64)), layers(18, gqa(8, 64))...), 2, 589_824, 72_817, 1_165_072},
		{"Qwen3-Next-80B", 544, append(layers(12, gqa(2, 256)), layers(36, state)...), 4, 13_369_344, 3_212, 1_747_328},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan, err := prefixcache.NewPlan(test.block, test.types...)
			require.NoError(t, err)
			require.Equal(t, test.groups, plan.Groups)
			require.Equal(t, test.blockBytes, plan.BlockBytes)
			blocks, err := plan.Blocks(40 * gib)
			require.NoError(t, err)
			require.Equal(t, test.blocks, blocks)
			require.Equal(t, test.tokens, blocks*plan.BlockTokens)
		})
	}
}

func TestStateDecidesTheBlockSize(t *testing.T) {
	state := prefixcache.State(1_097_728)
	tokens, err := state.BlockTokens(gqa(2, 256), 16)
	require.NoError(t, err)
	require.Equal(t, 544, tokens, "536 tokens hold it, which 16 does not divide")
	page, err := gqa(2, 256).PageBytes(tokens)
	require.NoError(t, err)
	require.Equal(t, int64(1_114_112), page)
	_, err = prefixcache.NewPlan(tokens-16, prefixcache.LayerType{Layers: 12, Page: gqa(2, 256)}, prefixcache.LayerType{Layers: 36, Page: state})
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
}

func TestGroupSizeFollowsTheRarestType(t *testing.T) {
	for _, test := range []struct {
		name              string
		layers            []int
		groups, groupSize int
	}{
		{"one type is one group", []int{48}, 1, 48},
		{"equal types are a group each", []int{18, 18}, 2, 18},
		{"many of one type are cut to the number of the other", []int{10, 50}, 6, 10},
		{"a remainder makes another group", []int{10, 51}, 7, 10},
		{"types that differ little share the larger size", []int{20, 29}, 2, 29},
		{"at 1.5 times they do not", []int{20, 30}, 3, 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			var types []prefixcache.LayerType
			for _, n := range test.layers {
				types = append(types, prefixcache.LayerType{Layers: n, Page: gqa(8, 64)})
			}
			plan, err := prefixcache.NewPlan(16, types...)
			require.NoError(t, err)
			require.Equal(t, test.groups, plan.Groups)
			require.Equal(t, test.groupSize, plan.GroupLayers)
			require.Equal(t, plan.PageBytes*int64(test.groupSize), plan.BlockBytes)
		})
	}
}

func TestPageBytes(t *testing.T) {
	for _, test := range []struct {
		name string
		page prefixcache.Page
		want int64
	}{
		{"keys and values of equal size", prefixcache.GQA{Heads: 4, HeadK: 128, ItemBytes: 2}, 16 * 4 * 256 * 2},
		{"keys and values of different size", prefixcache.GQA{Heads: 4, HeadK: 192, HeadV: 128, ItemBytes: 2}, 16 * 4 * 320 * 2},
		{"scales per token and head", prefixcache.GQA{Heads: 4, HeadK: 128, ItemBytes: 1, TokenHeadScales: true}, 16*4*256 + 2*16*4*4},
		{"a latent without a rotary part", prefixcache.MLA{Rank: 512, ItemBytes: 2}, 16 * 512 * 2},
		{"DeepSeek-V4", prefixcache.DeepSeekV4, 16 * 584},
		{"a state does not grow with the block", prefixcache.State(1000), 1000},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.page.PageBytes(16)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
	for ranks, want := range map[int]int{1: 8, 2: 4, 8: 1, 16: 1} {
		heads, err := prefixcache.HeadsPerRank(8, ranks)
		require.NoError(t, err)
		require.Equal(t, want, heads, "%d ranks", ranks)
	}
}

// foreign is a page size from outside the package.
type foreign int64

func (f foreign) PageBytes(int) (int64, error) { return int64(f), nil }

func TestImpossibleLayersAreRefused(t *testing.T) {
	plan := func(block int, types ...prefixcache.LayerType) error {
		_, err := prefixcache.NewPlan(block, types...)
		return err
	}
	page := func(p prefixcache.Page) error {
		return plan(16, prefixcache.LayerType{Layers: 2, Page: p})
	}
	second := func(_ int, err error) error { return err }
	huge := math.MaxInt
	small, err := prefixcache.NewPlan(1, prefixcache.LayerType{Layers: 1, Page: prefixcache.TokenBytes(1)})
	require.NoError(t, err)
	for _, test := range []struct {
		name string
		err  error
		want error
	}{
		{"no types", plan(16), auxerrors.ErrTooSmall},
		{"no tokens in a block", plan(0, prefixcache.LayerType{Layers: 1, Page: gqa(1, 1)}), auxerrors.ErrTooSmall},
		{"no layers of a type", plan(16, prefixcache.LayerType{Page: gqa(1, 1)}), auxerrors.ErrTooSmall},
		{"endless layers", plan(16, prefixcache.LayerType{Layers: huge, Page: gqa(1, 1)}), auxerrors.ErrTooLarge},
		{"no page", page(nil), auxerrors.ErrTooSmall},
		{"no heads", page(gqa(0, 64)), auxerrors.ErrTooSmall},
		{"no values in a head", page(gqa(1, 0)), auxerrors.ErrTooSmall},
		{"negative value heads", page(prefixcache.GQA{Heads: 1, HeadK: 1, HeadV: -1, ItemBytes: 1}), auxerrors.ErrTooSmall},
		{"no bytes per value", page(prefixcache.GQA{Heads: 1, HeadK: 1}), auxerrors.ErrTooSmall},
		{"endless key heads", page(gqa(huge, huge)), auxerrors.ErrTooLarge},
		{"endless value heads", page(prefixcache.GQA{Heads: huge, HeadK: 1, HeadV: huge, ItemBytes: 2}), auxerrors.ErrTooLarge},
		{"key and value heads endless together", page(prefixcache.GQA{Heads: huge, HeadK: huge, HeadV: huge, ItemBytes: 1}), auxerrors.ErrTooLarge},
		{"no latent", page(prefixcache.MLA{Rope: 64, ItemBytes: 2}), auxerrors.ErrTooSmall},
		{"a negative rotary part", page(prefixcache.MLA{Rank: 1, Rope: -1, ItemBytes: 2}), auxerrors.ErrTooSmall},
		{"an endless latent", page(prefixcache.MLA{Rank: huge, Rope: huge, ItemBytes: huge}), auxerrors.ErrTooLarge},
		{"no bytes per token", page(prefixcache.TokenBytes(0)), auxerrors.ErrTooSmall},
		{"no state", page(prefixcache.State(0)), auxerrors.ErrTooSmall},
		{"pages that are endless together", page(prefixcache.State(math.MaxInt64)), auxerrors.ErrTooLarge},
		{"a foreign page without bytes", page(foreign(0)), auxerrors.ErrTooSmall},
		{"more ranks than divide the heads", second(prefixcache.HeadsPerRank(8, 3)), auxerrors.ErrMismatch},
		{"no ranks", second(prefixcache.HeadsPerRank(8, 0)), auxerrors.ErrTooSmall},
		{"a block size in units of 0", second(prefixcache.State(8).BlockTokens(gqa(1, 1), 0)), auxerrors.ErrTooSmall},
		{"a block size for no state", second(prefixcache.State(0).BlockTokens(gqa(1, 1), 16)), auxerrors.ErrTooSmall},
		{"a block size without attention", second(prefixcache.State(8).BlockTokens(nil, 16)), auxerrors.ErrTooSmall},
		{"an endless block size", second(prefixcache.State(math.MaxInt64).BlockTokens(gqa(1, 1), 16)), auxerrors.ErrTooLarge},
		{"memory for one block", second(small.Blocks(1)), auxerrors.ErrTooSmall},
		{"negative memory", second(small.Blocks(-5)), auxerrors.ErrTooSmall},
		{"memory for more blocks than a pool can have", second(small.Blocks(math.MaxInt64)), auxerrors.ErrTooLarge},
		{"an empty plan", second(prefixcache.Plan{}.Blocks(gib)), auxerrors.ErrTooSmall},
	} {
		t.Run(test.name, func(t *testing.T) {
			var config *auxerrors.ConfigError
			require.ErrorAs(t, test.err, &config)
			require.ErrorIs(t, test.err, test.want)
		})
	}
}
