package routing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// fused is what an engine sends that captures after it has appended a shared expert to
// the top-k: 43 layers, top 6 of 384 experts, and a seventh column that holds last.
func fused(tokens, last int) []byte {
	const layers, topK, experts = 43, 6, 384
	var data []byte
	for token := range tokens {
		for layer := range layers {
			for k := range topK {
				id := (token*31 + layer*7 + k*61) % experts
				data = append(data, byte(id), byte(id>>8))
			}
			data = append(data, byte(last), byte(last>>8))
		}
	}
	return data
}

func TestPublicCase_PC_112_ASharedExpertInTheTopKIsRefused(t *testing.T) {
	const tokens = 48
	p := profile(t, 43, 6, 384)

	// With a shape, the seventh column is seen at once.
	array, err := routing.NewArray([3]int{tokens, 43, 7}, routing.Uint16, fused(tokens, 384))
	require.NoError(t, err)
	for _, f := range []routing.Format{routing.FormatNpy, routing.FormatNpyJSON, routing.FormatObjectJSON} {
		encoded, err := array.Append(nil, f, 0)
		require.NoError(t, err)
		decoded := routing.Array{}
		if f == routing.FormatNpy {
			decoded, err = routing.DecodeNpy(encoded)
		} else {
			var field routing.Field
			field, err = routing.DecodeField(encoded)
			decoded = field.Array
		}
		require.NoError(t, err)
		_, err = decoded.Rows(p, 0)
		require.ErrorIs(t, err, auxerrors.ErrMismatch, "%v", f)
		require.ErrorContains(t, err, "rows of 43 layers x 7, expected 43 layers x 6")
	}

	// Without one, 48 rows of 7 are 56 whole rows of 6: the id tells, or else the count.
	decoded, err := routing.DecodeRaw(fused(tokens, 384), routing.RawForm{DType: routing.Uint16, Layers: 43, TopK: 6, Rows: routing.AnyRows})
	require.NoError(t, err)
	_, err = decoded.Rows(p, 0)
	var id *routing.IDError
	require.ErrorAs(t, err, &id)
	require.ErrorIs(t, err, auxerrors.ErrOutOfRange)
	require.Equal(t, []int64{384, 384}, []int64{id.ID, int64(id.Experts)})
	_, err = decoded.Convert(p, 0)
	require.ErrorIs(t, err, auxerrors.ErrOutOfRange)

	decoded, err = routing.DecodeRaw(fused(tokens, 383), routing.RawForm{DType: routing.Uint16, Layers: 43, TopK: 6, Rows: routing.AnyRows})
	require.NoError(t, err)
	rows, err := decoded.Rows(p, 0)
	require.NoError(t, err)
	for _, err := range []error{rows.CheckForwarded(tokens), rows.CheckTokens(tokens+1, 0), rows.CheckTokens(tokens+1, 1)} {
		var count *routing.CountError
		require.ErrorAs(t, err, &count)
		require.Equal(t, []int64{48, 56}, []int64{count.Want, count.Got})
	}

	// A profile with room for the column does not make its id an expert.
	decoded, err = routing.DecodeRaw(fused(tokens, 384), routing.RawForm{DType: routing.Uint16, Layers: 43, TopK: 7, Rows: routing.AnyRows})
	require.NoError(t, err)
	_, err = decoded.Rows(profile(t, 43, 7, 384), 0)
	require.ErrorAs(t, err, &id)
	require.Equal(t, 6, id.Slot)

	// What the layers chose is accepted as before.
	require.NoError(t, routing.AllChecks.Check(sample(t, p, 0, tokens, 0)))
}
