package routing_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/routing"
)

func profile(tb testing.TB, layers, topK, experts int) routing.Profile {
	tb.Helper()
	p, err := routing.NewProfile(layers, topK, experts)
	require.NoError(tb, err)
	return p
}

// sample is rows whose ids depend on position, layer and slot, so that a shift by
// one in any of them is seen. turn makes another computation's rows of them.
func sample(tb testing.TB, p routing.Profile, start, n, turn int) routing.Rows {
	tb.Helper()
	data := make([]byte, 0, n*p.RowBytes())
	for position := start; position < start+n; position++ {
		for layer := range p.Layers {
			for k := range p.TopK {
				id := (position*31 + layer*7 + turn*13 + k) % p.Experts
				data = append(data, byte(id))
				if p.ItemBytes() == 2 {
					data = append(data, byte(id>>8))
				}
			}
		}
	}
	return raw(tb, p, start, data...)
}

func raw(tb testing.TB, p routing.Profile, start int, data ...byte) routing.Rows {
	tb.Helper()
	r, err := routing.NewRows(p, start, data)
	require.NoError(tb, err)
	return r
}

func encode(tb testing.TB, r routing.Rows, f routing.Format) []byte {
	tb.Helper()
	data, err := r.Append(nil, f)
	require.NoError(tb, err)
	return data
}

// blocks stands in for a view of a store: it writes whole blocks.
type blocks [][]byte

func (b blocks) WriteTo(w io.Writer) (int64, error) {
	var written int64
	for _, block := range b {
		n, err := w.Write(block)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// blocksOf cuts rows into blocks of so many tokens, and a tail.
func blocksOf(r routing.Rows, tokens int) (full blocks, tail []byte) {
	size := tokens * r.Profile.RowBytes()
	data := r.Data
	for len(data) >= size {
		full = append(full, data[:size])
		data = data[size:]
	}
	return full, data
}

var formats = []routing.Format{
	routing.FormatNpy, routing.FormatNpyBase64, routing.FormatNpyJSON,
	routing.FormatObjectJSON, routing.FormatRaw, routing.FormatRawBase64,
}
