package routing_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

var dtypes = []routing.DType{routing.Uint8, routing.Uint16, routing.Int8, routing.Int16, routing.Int32}

// arrayOf is ids in some item type, wrapped around as a careless cast does it.
func arrayOf(d routing.DType, shape [3]int, ids ...int) (routing.Array, error) {
	var data []byte
	for _, id := range ids {
		for b := range d.ItemBytes() {
			data = append(data, byte(id>>(8*b)))
		}
	}
	return routing.NewArray(shape, d, data)
}

func TestAnArrayIsMadeOfPartsThatFit(t *testing.T) {
	for _, tc := range []struct {
		name   string
		shape  [3]int
		dtype  routing.DType
		bytes  int
		reason error
	}{
		{"as it should be", [3]int{2, 3, 4}, routing.Uint16, 48, nil},
		{"without rows", [3]int{0, 3, 4}, routing.Uint16, 0, nil},
		{"of no type", [3]int{2, 3, 4}, 0, 48, routing.ErrItemType},
		{"of an unknown type", [3]int{2, 3, 4}, 6, 48, routing.ErrItemType},
		{"a byte short", [3]int{2, 3, 4}, routing.Uint16, 47, auxerrors.ErrMismatch},
		{"a byte long", [3]int{2, 3, 4}, routing.Uint16, 49, auxerrors.ErrMismatch},
		{"of less than no rows", [3]int{-2, 3, -4}, routing.Uint8, 24, auxerrors.ErrTooSmall},
		{"without layers", [3]int{2, 0, 4}, routing.Uint8, 0, auxerrors.ErrTooSmall},
		{"larger than memory", [3]int{math.MaxInt, math.MaxInt, math.MaxInt}, routing.Uint8, 0, auxerrors.ErrTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := routing.NewArray(tc.shape, tc.dtype, make([]byte, tc.bytes))
			require.ErrorIs(t, err, tc.reason)
		})
	}
}

func TestTypesHaveTheNamesOfNumPy(t *testing.T) {
	for i, want := range []struct {
		name, descr string
		bytes       int
	}{{"uint8", "|u1", 1}, {"uint16", "<u2", 2}, {"int8", "|i1", 1}, {"int16", "<i2", 2}, {"int32", "<i4", 4}} {
		d := dtypes[i]
		require.Equal(t, want.name, d.String())
		require.Equal(t, want.descr, d.Descr())
		require.Equal(t, want.bytes, d.ItemBytes())
	}
	for _, d := range []routing.DType{0, 6, 255} {
		require.Contains(t, d.String(), "DType(")
		require.Empty(t, d.Descr())
		require.Zero(t, d.ItemBytes())
	}
	require.Equal(t, routing.Uint8, profile(t, 1, 1, 256).DType())
	require.Equal(t, routing.Uint16, profile(t, 1, 1, 257).DType())
}

func TestConversionLosesNoId(t *testing.T) {
	for _, d := range dtypes {
		for _, experts := range []int{128, 256, 512} {
			for _, id := range []int{0, 1, 127, 128, 255, 256, 511, 512, 65535, 65536, math.MaxInt32} {
				a, err := arrayOf(d, [3]int{2, 1, 1}, 1, id)
				if err != nil {
					require.ErrorIs(t, err, auxerrors.ErrOutOfRange, "a cast made a negative id of %d", id)
					continue
				}
				p := profile(t, 1, 1, experts)
				carried := id & (1<<(8*min(d.ItemBytes(), 4)) - 1) & math.MaxInt32
				r, err := a.Convert(p, 3)
				if carried < experts {
					require.NoError(t, err)
					require.Equal(t, carried, r.At(1, 0, 0))
					require.Equal(t, 3, r.Start)
				} else {
					var wrong *routing.IDError
					require.ErrorAs(t, err, &wrong)
					require.Equal(t, routing.IDError{Reason: auxerrors.ErrOutOfRange, Position: 4, ID: int64(carried), Experts: experts}, *wrong)
				}

				_, err = a.Rows(p, 3)
				switch {
				case d != p.DType():
					require.ErrorIs(t, err, routing.ErrItemType, "without asking for a conversion")
				case carried < experts:
					require.NoError(t, err)
				default:
					require.ErrorIs(t, err, auxerrors.ErrOutOfRange)
				}
			}
		}
	}
}

func TestAnArrayThatIsNotOfTheProfileIsRefused(t *testing.T) {
	p := profile(t, 2, 3, 64)
	a := sample(t, p, 0, 4, 0).Array()
	for _, convert := range []func(routing.Array, routing.Profile, int) (routing.Rows, error){routing.Array.Rows, routing.Array.Convert} {
		_, err := convert(a, profile(t, 3, 2, 64), 0)
		require.ErrorContains(t, err, "rows of 2 layers x 3, expected 3 layers x 2")
		_, err = convert(a, routing.Profile{}, 0)
		require.ErrorIs(t, err, auxerrors.ErrTooSmall)
		_, err = convert(a, p, -1)
		require.ErrorIs(t, err, auxerrors.ErrTooSmall)
		_, err = convert(a, p, math.MaxInt-3)
		require.ErrorIs(t, err, auxerrors.ErrTooLarge)
		_, err = convert(routing.Array{}, p, 0)
		require.ErrorIs(t, err, routing.ErrItemType)
		broken := a
		broken.Shape[0]++
		_, err = convert(broken, p, 0)
		require.ErrorIs(t, err, auxerrors.ErrMismatch)
	}
}
