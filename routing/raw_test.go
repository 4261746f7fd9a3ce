package routing_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

func TestRawIdsAreWholeRows(t *testing.T) {
	for _, d := range dtypes {
		form := routing.RawForm{DType: d, Layers: 3, TopK: 2}
		for n := range 3 {
			for _, form.Rows = range []int{n, routing.AnyRows} {
				a, err := routing.DecodeRaw(make([]byte, n*6*d.ItemBytes()), form)
				require.NoError(t, err)
				require.Equal(t, [3]int{n, 3, 2}, a.Shape)
				require.Equal(t, n, a.Len())
			}
		}
		form.Rows = routing.AnyRows
		_, err := routing.DecodeRaw(make([]byte, 6*d.ItemBytes()+1), form)
		require.ErrorIs(t, err, auxerrors.ErrMismatch)
	}
}

func TestRawFormsThatCannotBeAreRefused(t *testing.T) {
	for _, tc := range []struct {
		form routing.RawForm
		want error
	}{
		{routing.RawForm{DType: routing.Uint8, Layers: 0, TopK: 2}, auxerrors.ErrTooSmall},
		{routing.RawForm{DType: routing.Uint8, Layers: 2, TopK: 0}, auxerrors.ErrTooSmall},
		{routing.RawForm{DType: routing.Uint8, Layers: -1, TopK: -1}, auxerrors.ErrTooSmall},
		{routing.RawForm{DType: routing.Uint8, Layers: 1, TopK: 1, Rows: -2}, auxerrors.ErrTooSmall},
		{routing.RawForm{DType: routing.Uint8, Layers: math.MaxInt, TopK: math.MaxInt}, auxerrors.ErrTooLarge},
		{routing.RawForm{DType: routing.Uint16, Layers: 1, TopK: 1, Rows: math.MaxInt}, auxerrors.ErrTooLarge},
		{routing.RawForm{Layers: 1, TopK: 1}, routing.ErrItemType},
	} {
		for _, data := range [][]byte{nil, make([]byte, 64)} {
			_, err := routing.DecodeRaw(data, tc.form)
			var refused *routing.DecodeError
			require.ErrorAs(t, err, &refused, "%+v", tc.form)
			require.ErrorIs(t, err, tc.want, "%+v", tc.form)
		}
	}
	_, err := routing.DecodeRawBase64([]byte("?"), routing.RawForm{DType: routing.Uint8, Layers: 1, TopK: 1})
	require.ErrorIs(t, err, routing.ErrFormat)
}

func TestAWrongNumberOfRawRowsIsToldWithBothNumbers(t *testing.T) {
	form := routing.RawForm{DType: routing.Uint16, Layers: 3, TopK: 2, Rows: 5}
	for _, tc := range []struct {
		bytes int
		want  routing.CountError
	}{
		{0, routing.CountError{What: "raw rows", Want: 5, Got: 0}},
		{4 * 12, routing.CountError{What: "raw rows", Want: 5, Got: 4}},
		{6 * 12, routing.CountError{What: "raw rows", Want: 5, Got: 6}},
		{5*12 - 1, routing.CountError{What: "bytes of raw rows", Want: 60, Got: 59}},
		{5*12 + 1, routing.CountError{What: "bytes of raw rows", Want: 60, Got: 61}},
	} {
		data := make([]byte, tc.bytes)
		_, err := routing.DecodeRaw(data, form)
		var count *routing.CountError
		require.ErrorAs(t, err, &count)
		require.Equal(t, tc.want, *count)
		require.ErrorIs(t, err, auxerrors.ErrMismatch)
		_, again := routing.DecodeRawBase64([]byte(base64.StdEncoding.EncodeToString(data)), form)
		require.Equal(t, err, again)
	}
	form.Rows = 0
	_, err := routing.DecodeRaw(make([]byte, 12), form)
	require.ErrorIs(t, err, auxerrors.ErrMismatch, "a count that was left out is none")
}

// others are forms that a payload may have instead of the one that is expected.
func others(p routing.Profile) []routing.RawForm {
	var forms []routing.RawForm
	for _, d := range dtypes {
		for _, layers := range []int{p.Layers - 1, p.Layers, p.Layers + 1, p.Layers + 3, p.Layers * 2, p.Layers * 4, p.Layers / 2} {
			for _, topK := range []int{p.TopK - 1, p.TopK, p.TopK + 1, p.TopK * 2, p.TopK * 4, p.TopK / 2} {
				if layers > 0 && topK > 0 {
					forms = append(forms, routing.RawForm{DType: d, Layers: layers, TopK: topK})
				}
			}
		}
	}
	return forms
}

// TestWithACountNoPayloadOfAnotherFormIsTaken reads payloads of other layers, slots and
// item widths, of every length of a short request: they are refused unless their
// bytes are the very number.
func TestWithACountNoPayloadOfAnotherFormIsTaken(t *testing.T) {
	zeros := make([]byte, 200*96*2*8*4*4*4)
	taken, refused, divided := 0, 0, 0
	for _, p := range []routing.Profile{
		profile(t, 1, 1, 2), profile(t, 32, 2, 8), profile(t, 24, 4, 32), profile(t, 26, 6, 64), profile(t, 43, 6, 384),
		profile(t, 48, 8, 128), profile(t, 58, 8, 256), profile(t, 60, 8, 384), profile(t, 40, 22, 512),
	} {
		for _, other := range others(p) {
			rowBytes := other.Layers * other.TopK * other.DType.ItemBytes()
			for tokens := 1; tokens <= 200; tokens++ {
				if tokens*rowBytes > len(zeros) {
					break
				}
				payload, rows := zeros[:tokens*rowBytes], tokens
				form := routing.RawForm{DType: p.DType(), Layers: p.Layers, TopK: p.TopK, Rows: rows}
				a, err := routing.DecodeRaw(payload, form)
				if len(payload) == rows*p.RowBytes() {
					require.NoError(t, err)
					require.Equal(t, rows, a.Len())
					taken++
					continue
				}
				var count *routing.CountError
				if !errors.As(err, &count) || count.Want == count.Got {
					t.Fatalf("%v: %d tokens of %+v: %v", p, tokens, other, err)
				}
				refused++
				form.Rows = routing.AnyRows
				if _, err := routing.DecodeRaw(payload, form); err == nil {
					divided++
				}
			}
		}
	}
	require.Positive(t, taken)
	require.Greater(t, refused, 100_000)
	require.Greater(t, divided, 10_000, "nothing would have been taken without the count: the test proves little")
}

func ExampleDecodeRaw() {
	answer := make([]byte, 4*2*3) // ids in int32 of 2 rows, of 1 layer and the top 3
	form := routing.RawForm{DType: routing.Uint8, Layers: 1, TopK: 3}
	form.Rows, _ = routing.RowCount(3, 0) // of 3 tokens
	_, err := routing.DecodeRaw(answer, form)
	fmt.Println(err)
	form.DType = routing.Int32
	a, err := routing.DecodeRaw(answer, form)
	fmt.Println(a.Shape, err)
	// Output:
	// auxoutput: raw rows: 8, expected 2
	// [2 1 3] <nil>
}
