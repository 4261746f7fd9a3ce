package capacity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// TestPresetsGiveThePublishedSizes compares with a table that was computed from
// the models' configurations on its own, without this code.
func TestPresetsGiveThePublishedSizes(t *testing.T) {
	for _, c := range []struct {
		name            string
		row, wide       int
		rowKV, wideKV   string // share of bf16 KV, as printed there; "" if not
		objectAtSixteen int
	}{
		{"Mixtral-8x7B", 64, 256, "0.05", "0.2", 1024},
		{"gpt-oss-20b", 96, 384, "0.20", "0.8", 1536},
		{"Mixtral-8x22B", 112, 448, "0.05", "0.2", 1792},
		{"gpt-oss-120b", 144, 576, "0.20", "0.8", 2304},
		{"Moonlight-16B", 156, 648, "0.50", "2.1", 2496},
		{"DeepSeek-V2-Lite", 156, 648, "0.50", "2.1", 2496},
		{"GLM-4.7-Flash", 184, 752, "0.34", "1.4", 2944},
		{"Qwen3.5-35B-A3B", 320, 1280, "1.56", "6.2", 5120},
		{"GLM-4.5-Air", 360, 1472, "0.19", "0.8", 5760},
		{"Qwen3-30B-A3B", 384, 1536, "0.39", "1.6", 6144},
		{"DeepSeek-V3", 464, 1952, "0.66", "2.8", 7424},
		{"DeepSeek-R1", 464, 1952, "0.66", "2.8", 7424},
		{"MiniMax-M2", 496, 1984, "0.20", "0.8", 7936},
		{"GLM-5", 600, 2496, "0.67", "2.8", 9600},
		{"GLM-4.5", 712, 2944, "0.19", "0.8", 11392},
		{"Qwen3-235B-A22B", 752, 3008, "0.39", "1.6", 12032},
		{"Qwen3-Next-80B-A3B", 960, 1920, "3.91", "7.8", 15360},
		{"Kimi-K2", 960, 1952, "1.37", "2.8", 15360},
		{"Nemotron-3-Super", 1760, 7744, "", "", 28160},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{c.name, strings.ToUpper(c.name), strings.ToLower(c.name)} {
				p, err := FindPreset(name)
				require.NoError(t, err)
				assert.Equal(t, c.name, p.Name)
			}
			p, err := FindPreset(c.name)
			require.NoError(t, err)
			profile, err := p.Profile()
			require.NoError(t, err)
			assert.Equal(t, c.row, profile.RowBytes())
			assert.Equal(t, c.row, p.RowBytes())
			assert.Equal(t, c.wide, p.WideRowBytes())
			object, err := profile.BlockBytes(16)
			require.NoError(t, err)
			assert.Equal(t, c.objectAtSixteen, object)
			if c.rowKV == "" {
				assert.Zero(t, p.ShareOfKV(p.RowBytes()))
				return
			}
			assert.Equal(t, c.rowKV, fmt.Sprintf("%.2f", 100*p.ShareOfKV(p.RowBytes())))
			assert.Equal(t, c.wideKV, fmt.Sprintf("%.1f", 100*p.ShareOfKV(p.WideRowBytes())))
		})
	}
	assert.Len(t, Presets(), 19)
}

func TestAnUnknownModelIsAnErrorThatNamesTheKnownOnes(t *testing.T) {
	_, err := FindPreset("gpt-2")
	require.ErrorIs(t, err, auxerrors.ErrMismatch)
	require.ErrorContains(t, err, "Kimi-K2")
}

func TestTheListOfPresetsIsACopy(t *testing.T) {
	Presets()[0].TopK = 99
	assert.NotEqual(t, 99, Presets()[0].TopK)
}
