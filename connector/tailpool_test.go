package connector_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

func TestTheTailPoolHasRoomForEveryStepInFlight(t *testing.T) {
	blocks, err := connector.PoolBlocks(16, 256, 8192, 2)
	require.NoError(t, err)
	require.Equal(t, 1792, blocks)
	for _, bad := range [][4]int{{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}, {1, math.MaxInt, 1, 1}, {1, 1 << 30, 1 << 30, 1 << 30}} {
		_, err := connector.PoolBlocks(bad[0], bad[1], bad[2], bad[3])
		var config *auxerrors.ConfigError
		require.ErrorAs(t, err, &config)
	}
	for _, bad := range [][3]int{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {math.MaxInt, 1, 1}, {1 << 30, 1 << 30, 1 << 30}} {
		_, err := connector.NewTailPool(bad[0], bad[1], bad[2])
		var config *auxerrors.ConfigError
		require.ErrorAs(t, err, &config)
	}
}

func TestATailOutlivesItsPoolsResetAsAnEmptyOne(t *testing.T) {
	p, err := connector.NewTailPool(2, 4, 1)
	require.NoError(t, err)
	var tail connector.Tail
	_, err = p.Capture(&tail, 0, 2, []byte("ab"), nil)
	require.NoError(t, err)
	p.Reset()
	require.Equal(t, 2, p.Free())
	_, err = p.Read(&tail, nil, 0, 1)
	require.ErrorIs(t, err, connector.ErrUnknownRequest)
	p.Discard(&tail)
	require.Equal(t, 2, p.Free())
	require.Zero(t, p.Tails())
}

func TestACapturePastAllIntegersIsRefused(t *testing.T) {
	p, err := connector.NewTailPool(2, 4, 1)
	require.NoError(t, err)
	var tail connector.Tail
	_, err = p.Capture(&tail, math.MaxInt-3, 4, []byte("abcd"), nil)
	require.ErrorIs(t, err, connector.ErrNotContiguous)
	_, err = p.Capture(&tail, 0, math.MaxInt, []byte("abcd"), nil)
	require.ErrorIs(t, err, connector.ErrProfile)
	_, err = p.Capture(&tail, 0, -1, nil, nil)
	require.ErrorIs(t, err, connector.ErrProfile)
}

// The rows of each request come back as they went in, and the pool's blocks are
// free, tails or waiting at all times.
func TestTheTailPoolKeepsEveryRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const block = 3
		p, err := connector.NewTailPool(rapid.IntRange(1, 6).Draw(t, "blocks"), block, 2)
		require.NoError(t, err)
		type request struct {
			tail connector.Tail
			rows []byte // all of them
			kept []connector.TailBlock
		}
		var requests [3]request
		waiting := 0
		next := byte(0)
		t.Repeat(map[string]func(*rapid.T){
			"capture": func(t *rapid.T) {
				r := &requests[rapid.IntRange(0, 2).Draw(t, "request")]
				rows := make([]byte, 2*rapid.IntRange(0, 8).Draw(t, "rows"))
				for i := range rows {
					next++
					rows[i] = next
				}
				was := r.tail
				blocks, err := p.Capture(&r.tail, len(r.rows)/2, len(rows)/2, rows, nil)
				if err != nil {
					require.ErrorIs(t, err, connector.ErrExhausted)
					require.Equal(t, was, r.tail)
					return
				}
				r.rows = append(r.rows, rows...)
				for _, b := range blocks {
					require.Equal(t, r.rows[2*b.Start:2*(b.Start+block)], b.Rows)
					if b.Owned() {
						waiting++
					}
					kept, err := p.Keep(b)
					if err != nil {
						require.ErrorIs(t, err, connector.ErrExhausted)
						continue
					}
					if !b.Owned() {
						waiting++
					}
					r.kept = append(r.kept, kept)
				}
				clear(rows)
			},
			"release": func(t *rapid.T) {
				r := &requests[rapid.IntRange(0, 2).Draw(t, "request")]
				for _, b := range r.kept {
					p.Release(b)
					p.Release(b)
					waiting--
				}
				r.kept = nil
			},
			"": func(t *rapid.T) {
				tails := 0
				for i := range requests {
					r := &requests[i]
					start, end := p.Bounds(&r.tail)
					if end > start {
						tails++
						got, err := p.Read(&r.tail, nil, start, end)
						require.NoError(t, err)
						require.Equal(t, r.rows[2*start:2*end], got)
					}
					for _, b := range r.kept {
						require.Equal(t, r.rows[2*b.Start:2*(b.Start+block)], b.Rows)
					}
				}
				require.Equal(t, tails, p.Tails())
				require.Equal(t, p.Blocks(), p.Free()+tails+waiting)
			},
		})
	})
}
