package routing_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// TestPublicCase_PC_110_RawIdsOfAnotherWidthAreRefused reads the rows of 17 tokens of
// Qwen3-30B-A3B in each width as each other one.
func TestPublicCase_PC_110_RawIdsOfAnotherWidthAreRefused(t *testing.T) {
	p := profile(t, 48, 8, 128)
	rows := sample(t, p, 0, 16, 0)
	every, err := routing.LayersFrom(0, p.Layers) // no dense layers
	require.NoError(t, err)
	wide, err := every.Int32(rows)
	require.NoError(t, err)
	wider, err := rows.Widen(512)
	require.NoError(t, err)
	payloads := map[routing.DType][]byte{routing.Uint8: rows.Data, routing.Uint16: wider.Data, routing.Int32: wide.Data}
	for sent, payload := range payloads {
		for read := range payloads {
			form := routing.RawForm{DType: read, Layers: p.Layers, TopK: p.TopK}
			form.Rows, err = routing.RowCount(17, 0)
			require.NoError(t, err)
			a, err := routing.DecodeRaw(payload, form)
			b, textErr := routing.DecodeRawBase64([]byte(base64.StdEncoding.EncodeToString(payload)), form)
			require.Equal(t, err, textErr)
			if read == sent {
				require.NoError(t, err)
				again, err := a.Convert(p, 0)
				require.NoError(t, err)
				require.Equal(t, rows, again)
				require.Equal(t, a, b)
				continue
			}
			var count *routing.CountError
			require.ErrorAs(t, err, &count, "%v read as %v", sent, read)
			require.EqualValues(t, 16, count.Want)
			require.EqualValues(t, 16*sent.ItemBytes()/read.ItemBytes(), count.Got)
		}
	}

	// Where the number is left open, it is wrong afterwards, and so are the ids.
	a, err := routing.DecodeRaw(wide.Data, routing.RawForm{DType: routing.Uint8, Layers: p.Layers, TopK: p.TopK, Rows: routing.AnyRows})
	require.NoError(t, err)
	taken, err := a.Rows(p, 0)
	require.NoError(t, err)
	require.Equal(t, 64, taken.Len())
	require.ErrorIs(t, taken.CheckTokens(17, 0), auxerrors.ErrMismatch)
	require.ErrorIs(t, routing.AllChecks.Check(taken), routing.ErrDuplicate)
}

func TestPublicCase_PC_134_RowsOfABufferThatWasNotClearedAreFlagged(t *testing.T) {
	p := profile(t, 58, 8, 256)
	for _, tc := range []struct {
		name  string
		spoil func(r routing.Rows)
		want  error
	}{
		{"a row of -1, which is 255 in a byte", func(r routing.Rows) {
			for i := range r.Row(30) {
				r.Row(30)[i] = 255
			}
		}, routing.ErrDuplicate},
		{"a row of zeros", func(r routing.Rows) { clear(r.Row(30)) }, routing.ErrDuplicate},
		{"a row that is there 40 times", func(r routing.Rows) {
			for i := 20; i < 60; i++ {
				copy(r.Row(i), r.Row(20))
			}
		}, routing.ErrEqualRows},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := sample(t, p, 0, 64, 0)
			require.NoError(t, routing.AllChecks.Check(r))
			tc.spoil(r)
			require.ErrorIs(t, routing.AllChecks.Check(r), tc.want)
		})
	}
}
