package connector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/store"
)

// otherShape is rows as a runner may hand them in by mistake.
type otherShape struct {
	layers, columns, itemBytes int
}

func (o otherShape) rowBytes() int { return o.layers * o.columns * o.itemBytes }

// A worker must not take rows of another width for its own: whatever divides or is
// enough, the bytes have to be those of the rows that were executed.
func TestRowsOfAnotherWidthAreRefusedUnlessTheBytesAgree(t *testing.T) {
	refused, divisible := 0, 0
	for _, profile := range []routing.Profile{
		{Layers: 48, TopK: 8, Experts: 128}, {Layers: 6, TopK: 2, Experts: 64}, {Layers: 3, TopK: 6, Experts: 384}, {Layers: 1, TopK: 1, Experts: 16},
	} {
		blockBytes, err := profile.BlockBytes(16)
		require.NoError(t, err)
		s, err := store.New(store.Options{MaxBytes: int64(16 * blockBytes), BlockBytes: blockBytes})
		require.NoError(t, err)
		w, err := connector.NewWorker(s, connector.Options{Checked: checked,
			Profile: profile, BlockTokens: 16, MaxSequences: 1, MaxStepTokens: 200, MaxInFlight: 1, Check: connector.CheckOff,
		})
		require.NoError(t, err)
		step, err := w.Begin(starts(0, nil, "a"))
		require.NoError(t, err)
		var out connector.Output
		k, item := profile.TopK, profile.ItemBytes()
		for _, other := range []otherShape{
			{profile.Layers, k, 4}, {profile.Layers, k, 2}, {profile.Layers, k, 1}, {2 * profile.Layers, k, item}, {profile.Layers + 1, k, item},
			{profile.Layers - 1, k, item}, {profile.Layers, k + 1, item}, {profile.Layers, k - 1, item}, {profile.Layers, 2 * k, item}, {2 * profile.Layers, 2 * k, item},
		} {
			if other.rowBytes() == profile.RowBytes() {
				continue // the bytes do agree
			}
			for tokens := 1; tokens <= 200; tokens++ {
				rows := make([]byte, tokens*other.rowBytes())
				for _, stated := range []int{tokens, len(rows) / profile.RowBytes(), tokens + 1, 0, -1} {
					for _, bounds := range [][]int{{0, tokens}, {0, tokens, tokens, tokens}, {0, tokens, 2 * tokens}} {
						if stated == 2*tokens && len(bounds) == 3 && len(rows) == stated*profile.RowBytes() {
							continue // padded bounds, and rows that are counted to be as many: then they are
						}
						err := w.Process(step, connector.Batch{
							IDs: []string{"a"}, Starts: []int{0}, Bounds: bounds, Sampled: []int{1}, Rejected: []int{0}, RowCount: stated, Rows: rows,
						}, &out)
						require.ErrorIs(t, err, connector.ErrProfile, "%v, %d tokens of %v, stated %d, bounds %v", profile, tokens, other, stated, bounds)
						require.Empty(t, out.Requests)
						refused++
						if len(rows)%profile.RowBytes() == 0 && len(rows) >= tokens*profile.RowBytes() {
							divisible++
						}
					}
				}
			}
		}
		require.Zero(t, s.Stats().Stored)
		require.Zero(t, w.Stats().Tails)
		good := make([]byte, 200*profile.RowBytes())
		require.NoError(t, w.Process(step, connector.Batch{
			IDs: []string{"a"}, Starts: []int{0}, Bounds: []int{0, 200}, Sampled: []int{1}, Rejected: []int{0}, RowCount: 200, Rows: good,
		}, &out))
		require.Equal(t, good, out.Requests[0].Rows)
		require.NoError(t, w.Close())
		require.NoError(t, s.Close())
	}
	t.Logf("%d steps refused, %d of them with bytes that are enough and divisible", refused, divisible)
	require.Greater(t, divisible, 5_000)
}

// The worker's half of a case: the payload does not say its item type, and engines offer
// several.
func TestPublicCase_PC_110_AStepInWiderItemsIsRefused(t *testing.T) {
	profile := routing.Profile{Layers: 48, TopK: 8, Experts: 128}
	b := benchFor(t, 4, connector.Options{Checked: checked, Profile: profile, BlockTokens: 16, MaxSequences: 1, MaxStepTokens: 64, MaxInFlight: 1})
	step := b.begin(starts(0, nil, "a"))
	for _, itemBytes := range []int{4, 2} {
		batch := connector.Batch{
			IDs: []string{"a"}, Starts: []int{0}, Bounds: []int{0, 16}, Sampled: []int{1}, Rejected: []int{0},
			RowCount: 16, Rows: make([]byte, 16*48*8*itemBytes),
		}
		b.refuses(step, batch, connector.ErrProfile)
		require.Zero(t, b.store.Stats().Stored)
	}
}

// The worker's half of a case: a shared expert is one more column, with an id of its own.
func TestPublicCase_PC_112_ASharedExpertAsOneMoreColumnIsRefused(t *testing.T) {
	profile := routing.Profile{Layers: 43, TopK: 6, Experts: 384}
	b := benchFor(t, 4, connector.Options{Checked: checked, Profile: profile, BlockTokens: 16, MaxSequences: 1, MaxStepTokens: 64, MaxInFlight: 1, Check: connector.CheckAll})
	step := b.begin(starts(0, nil, "a"))
	captured := func(columns int) connector.Batch {
		batch := connector.Batch{IDs: []string{"a"}, Starts: []int{0}, Bounds: []int{0, 48}, Sampled: []int{1}, Rejected: []int{0}, RowCount: 48}
		for row := range 48 {
			for layer := range 43 {
				for column := range columns {
					id := (row*7 + layer*11 + column*13) % 384
					if column == columns-1 {
						id = 384
					}
					batch.Rows = append(batch.Rows, byte(id), byte(id>>8))
				}
			}
		}
		return batch
	}
	b.refuses(step, captured(7), connector.ErrProfile)
	// The same id where the width is right: the request fails, with the place.
	out := b.answer(step, captured(6))
	require.ErrorIs(t, out.Err, connector.ErrRows)
	var wrong *routing.IDError
	require.ErrorAs(t, out.Err, &wrong)
	require.EqualValues(t, 384, wrong.ID)
	require.Equal(t, []int{0, 0, 5}, []int{wrong.Position, wrong.Layer, wrong.Slot})
}
