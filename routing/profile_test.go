package routing_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

func TestRowsAndBlocksAreAsLargeAsTheModelMakesThem(t *testing.T) {
	for _, tc := range []struct {
		name                  string
		layers, topK, experts int
		item, row, block16    int
	}{
		{"Qwen3-30B-A3B", 48, 8, 128, 1, 384, 6144},
		{"DeepSeek-V3, MoE layers", 58, 8, 256, 1, 464, 7424},
		{"DeepSeek-V3, all layers", 61, 8, 256, 1, 488, 7808},
		{"Kimi-K2: ids no longer fit into a byte", 60, 8, 384, 2, 960, 15360},
		{"one expert more than a byte holds", 1, 1, 257, 2, 2, 32},
		{"Mixtral 8x7B", 32, 2, 8, 1, 64, 1024},
		{"the smallest there is", 1, 1, 1, 1, 1, 16},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := routing.NewProfile(tc.layers, tc.topK, tc.experts)
			require.NoError(t, err)
			require.Equal(t, tc.item, p.ItemBytes())
			require.Equal(t, tc.row, p.RowBytes())
			block, err := p.BlockBytes(16)
			require.NoError(t, err)
			require.Equal(t, tc.block16, block)

			again, err := routing.ParseProfile(p.String())
			require.NoError(t, err)
			require.Equal(t, p, again)
		})
	}
}

func TestAProfileThatCannotBeIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name                  string
		layers, topK, experts int
		reason                error
	}{
		{"no layers", 0, 8, 128, auxerrors.ErrTooSmall},
		{"negative layers", -1, 8, 128, auxerrors.ErrTooSmall},
		{"no top-k", 48, 0, 128, auxerrors.ErrTooSmall},
		{"no experts", 48, 8, 0, auxerrors.ErrTooSmall},
		{"more chosen than there are", 48, 9, 8, auxerrors.ErrMismatch},
		{"ids beyond two bytes", 48, 8, 65537, auxerrors.ErrTooLarge},
		{"a row beyond 2 GiB", math.MaxInt32, 8, 128, auxerrors.ErrTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := routing.NewProfile(tc.layers, tc.topK, tc.experts)
			require.ErrorIs(t, err, tc.reason)
			_, err = routing.Profile{Layers: tc.layers, TopK: tc.topK, Experts: tc.experts}.BlockBytes(16)
			require.ErrorIs(t, err, tc.reason)
		})
	}
}

func TestABlockThatCannotBeIsRefused(t *testing.T) {
	p, err := routing.NewProfile(48, 8, 128)
	require.NoError(t, err)
	for _, tc := range []struct {
		tokens int
		reason error
	}{
		{0, auxerrors.ErrTooSmall}, {-16, auxerrors.ErrTooSmall},
		{math.MaxInt32, auxerrors.ErrTooLarge}, {math.MaxInt, auxerrors.ErrTooLarge},
	} {
		_, err := p.BlockBytes(tc.tokens)
		require.ErrorIs(t, err, tc.reason, "%d tokens", tc.tokens)
	}
}

func TestAProfileThatIsNotThreeNumbersIsRefused(t *testing.T) {
	for _, text := range []string{"", "48", "48,8", "48,8,128,1", "48,eight,128", "48,8,", "48;8;128", "9999999999999999999999,8,128"} {
		_, err := routing.ParseProfile(text)
		var config *auxerrors.ConfigError
		require.ErrorAs(t, err, &config, "%q", text)
		require.Equal(t, "profile", config.Field)
	}
	p, err := routing.ParseProfile(" 48, 8 ,128")
	require.NoError(t, err)
	require.Equal(t, routing.Profile{Layers: 48, TopK: 8, Experts: 128}, p)
}

func ExampleProfile() {
	p, err := routing.NewProfile(48, 8, 128) // Qwen3-30B-A3B
	if err != nil {
		fmt.Println(err)
		return
	}
	block, err := p.BlockBytes(16)
	fmt.Println(p.ItemBytes(), p.RowBytes(), block, err)
	// Output: 1 384 6144 <nil>
}
