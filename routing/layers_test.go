package routing_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

func layerMap(tb testing.TB, all int, moe ...int) routing.LayerMap {
	tb.Helper()
	m, err := routing.NewLayerMap(all, moe)
	require.NoError(tb, err)
	return m
}

func TestRowsGoThroughAllLayersAndBack(t *testing.T) {
	for _, m := range []routing.LayerMap{
		layerMap(t, 7, 3, 4, 5, 6), layerMap(t, 8, 1, 3, 5, 7), layerMap(t, 4, 0, 1, 2, 3), layerMap(t, 9, 0, 2, 3, 8),
	} {
		for _, experts := range []int{64, 300} {
			rows := sample(t, profile(t, 4, 3, experts), 5, 6, 0)
			a, err := m.Int32(rows)
			require.NoError(t, err)
			require.Equal(t, [3]int{6, m.All, 3}, a.Shape)
			require.Equal(t, routing.Int32, a.DType)
			j := 0
			for layer := range m.All {
				moe := j < len(m.MoE) && m.MoE[j] == layer
				for i := range 6 {
					for k := range 3 {
						id, at := 0, ((i*m.All+layer)*3+k)*4
						if moe {
							id = rows.At(i, j, k)
						}
						require.EqualValues(t, id, binary.LittleEndian.Uint32(a.Data[at:]))
					}
				}
				if moe {
					j++
				}
			}

			text, err := a.Append(nil, routing.FormatRawBase64, 5)
			require.NoError(t, err)
			received, err := routing.DecodeRawBase64(text, routing.RawForm{DType: routing.Int32, Layers: m.All, TopK: 3, Rows: 6})
			require.NoError(t, err)
			again, err := m.Rows(received, rows.Profile, 5)
			require.NoError(t, err)
			require.Equal(t, rows, again)
		}
	}
}

func TestStreamingInt32GivesTheSameBytes(t *testing.T) {
	m := layerMap(t, 7, 1, 2, 5)
	for _, experts := range []int{64, 300} {
		rows := sample(t, profile(t, 3, 2, experts), 0, 20, 0)
		want, err := m.Int32(rows)
		require.NoError(t, err)
		for piece := 1; piece < 40; piece++ {
			var got bytes.Buffer
			w, err := m.NewInt32Writer(&got, rows.Profile, 20)
			require.NoError(t, err)
			for from := 0; from < len(rows.Data); from += piece {
				_, err = w.Write(rows.Data[from:min(from+piece, len(rows.Data))])
				require.NoError(t, err)
			}
			require.NoError(t, w.Close())
			require.Equal(t, want.Data, got.Bytes())
			require.ErrorIs(t, w.Close(), auxerrors.ErrClosed)
		}
	}
}

func TestStreamingInt32CountsRows(t *testing.T) {
	m := layerMap(t, 3, 1, 2)
	p := profile(t, 2, 2, 64) // 4 bytes a row
	for _, tc := range []struct {
		bytes int
		says  string
	}{
		{12, "auxoutput: rows: 3, expected 4"},
		{18, "auxoutput: rows: 5, expected 4"},
		{24, "auxoutput: rows: 6, expected 4"},
		{15, "in row 3: auxoutput: bytes: 3, expected 4"},
	} {
		w, err := m.NewInt32Writer(io.Discard, p, 4)
		require.NoError(t, err)
		_, _ = w.Write(make([]byte, tc.bytes))
		require.EqualError(t, w.Close(), tc.says)
		_, err = w.Write(make([]byte, 4))
		require.EqualError(t, err, tc.says)
	}
	w, err := m.NewInt32Writer(&failing{room: 50}, p, 4)
	require.NoError(t, err)
	_, err = w.Write(make([]byte, 16))
	require.ErrorIs(t, err, errDiskFull)
	require.ErrorIs(t, w.Close(), errDiskFull)
	_, err = m.NewInt32Writer(io.Discard, p, -1)
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
	_, err = m.NewInt32Writer(io.Discard, profile(t, 3, 2, 64), 1)
	require.ErrorIs(t, err, auxerrors.ErrMismatch)
}

func TestAWrongMapIsNoticed(t *testing.T) {
	p := profile(t, 2, 2, 64)
	a, err := layerMap(t, 4, 1, 3).Int32(sample(t, p, 5, 3, 0))
	require.NoError(t, err)
	var wrong *routing.IDError
	_, err = layerMap(t, 4, 0, 1).Rows(a, p, 5)
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, routing.IDError{Reason: auxerrors.ErrOutOfRange, Position: 5, Layer: 3, Slot: 0, ID: int64(5*31+7) % 64, Experts: 1}, *wrong)

	_, err = layerMap(t, 5, 1, 3).Rows(a, p, 5)
	require.ErrorContains(t, err, "4 layers x 2, expected 5 layers x 2")
	_, err = layerMap(t, 4, 1, 2, 3).Rows(a, p, 5)
	require.ErrorIs(t, err, auxerrors.ErrMismatch)
	_, err = layerMap(t, 4, 1, 3).Rows(routing.Array{}, p, 5)
	require.Error(t, err)
	_, err = layerMap(t, 4, 1, 3).Rows(a, routing.Profile{Layers: 2}, 5)
	require.Error(t, err)
	_, err = layerMap(t, 4, 1, 3).Int32(routing.Rows{})
	require.Error(t, err)
	_, err = layerMap(t, 4, 1, 2, 3).Int32(sample(t, p, 5, 3, 0))
	require.ErrorIs(t, err, auxerrors.ErrMismatch)
}

// 8192 rows of a byte each become 2 GiB, which no int of 32 bits counts.
func TestInt32OfAllLayersThatMemoryCannotHoldIsRefused(t *testing.T) {
	if strconv.IntSize > 32 {
		t.Skip("LOUD: memory of 64 bits holds it")
	}
	m := routing.LayerMap{All: 1 << 16, MoE: []int{0}}
	_, err := m.Int32(raw(t, profile(t, 1, 1, 256), 0, make([]byte, 8<<10)...))
	require.ErrorIs(t, err, auxerrors.ErrTooLarge)
}

func TestModelsWithOneExpertHaveDenseLayersToo(t *testing.T) {
	p := profile(t, 2, 1, 1)
	m := layerMap(t, 4, 1, 3)
	a, err := m.Int32(raw(t, p, 0, 0, 0, 0, 0))
	require.NoError(t, err)
	rows, err := m.Rows(a, p, 0)
	require.NoError(t, err)
	require.Equal(t, 2, rows.Len())
}

func TestMapsThatCannotBeAreRefused(t *testing.T) {
	for name, moe := range map[string][]int{
		"no layers": {}, "one below 0": {-1, 2}, "one too high": {1, 4}, "one twice": {1, 1}, "in another order": {2, 1},
	} {
		_, err := routing.NewLayerMap(4, moe)
		var config *auxerrors.ConfigError
		require.ErrorAs(t, err, &config, name)
	}
	for _, tc := range [][2]int{{-1, 4}, {4, 4}, {0, 0}, {0, math.MaxInt}} {
		_, err := routing.LayersFrom(tc[0], tc[1])
		var config *auxerrors.ConfigError
		require.ErrorAs(t, err, &config, "%v", tc)
	}
	huge := routing.LayerMap{All: math.MaxInt, MoE: []int{0}}
	_, err := huge.NewInt32Writer(io.Discard, profile(t, 1, 1, 1), 1)
	require.ErrorIs(t, err, auxerrors.ErrTooLarge)
}

func ExampleLayerMap() {
	p, _ := routing.NewProfile(2, 2, 64)
	dense, err := routing.LayersFrom(1, 3) // layer 0 is dense
	if err != nil {
		fmt.Println(err)
		return
	}
	// The answer of an engine that sends all layers in int32.
	const answer = "AAAAAAAAAAAKAAAACwAAABQAAAAVAAAA"
	a, err := routing.DecodeRawBase64([]byte(answer), routing.RawForm{DType: routing.Int32, Layers: dense.All, TopK: p.TopK, Rows: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := dense.Rows(a, p, 0)
	fmt.Println(rows.Data, err)
	// Output: [10 11 20 21] <nil>
}
