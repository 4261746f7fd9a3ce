package routing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// FuzzParseProfile reads "layers,top-k,experts". What is read can be written again,
// and none of its sizes overflows.
func FuzzParseProfile(f *testing.F) {
	for _, text := range []string{"48,8,128", " 48 , 8 , 128 ", "1,1,1", "0,1,1", "-1,8,128", "48,8", "48,8,128,1", "2147483647,1,65536", "9223372036854775808,1,1", "+1,1,1", "1e3,1,1", ",,"} {
		f.Add(text, 16)
	}
	f.Fuzz(func(t *testing.T, text string, blockTokens int) {
		p, err := routing.ParseProfile(text)
		var config *auxerrors.ConfigError
		if err != nil {
			require.ErrorAs(t, err, &config)
			require.Zero(t, p)
			return
		}
		require.NoError(t, p.Validate())
		again, err := routing.ParseProfile(p.String())
		require.NoError(t, err)
		require.Equal(t, p, again)
		require.Positive(t, p.RowBytes())
		blockBytes, err := p.BlockBytes(blockTokens)
		if err != nil {
			require.ErrorAs(t, err, &config)
			return
		}
		require.EqualValues(t, int64(blockTokens)*int64(p.RowBytes()), blockBytes)
	})
}
