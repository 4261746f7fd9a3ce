package truth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/bench/truth"
	"github.com/auxoutput/auxoutput/routing"
)

func profileOf(t *testing.T, layers, topK, experts int) routing.Profile {
	t.Helper()
	p, err := routing.NewProfile(layers, topK, experts)
	require.NoError(t, err)
	return p
}

func TestRowsAreLegalChoicesOfExperts(t *testing.T) {
	for _, p := range []routing.Profile{
		profileOf(t, 48, 8, 128), profileOf(t, 3, 22, 512), profileOf(t, 2, 6, 160), profileOf(t, 1, 1, 1), profileOf(t, 2, 7, 7),
	} {
		rows := truth.New(p, 0)
		for token := range uint32(200) {
			row := rows.Append(nil, token)
			require.Len(t, row, p.RowBytes())
			for len(row) > 0 {
				chosen := map[int]bool{}
				for range p.TopK {
					id := int(row[0])
					if p.ItemBytes() == 2 {
						id |= int(row[1]) << 8
					}
					require.Less(t, id, p.Experts)
					chosen[id] = true
					row = row[p.ItemBytes():]
				}
				require.Len(t, chosen, p.TopK, "one expert twice")
			}
		}
	}
}

func TestARowTellsGenerationPositionAndHistoryApart(t *testing.T) {
	p := profileOf(t, 8, 8, 128)
	row := func(generation uint64, tokens ...uint32) string {
		rows := truth.New(p, generation)
		rows.Skip(tokens[:len(tokens)-1])
		require.Equal(t, len(tokens)-1, rows.At())
		return string(rows.Append(nil, tokens[len(tokens)-1]))
	}
	seen := map[string]bool{}
	for _, r := range []string{
		row(0, 1, 2, 3), row(1, 1, 2, 3), row(0, 3), row(0, 2, 3), row(0, 2, 1, 3), row(0, 1, 2, 4), row(0, 1, 2, 3, 3),
	} {
		require.False(t, seen[r])
		seen[r] = true
	}
	require.Equal(t, row(0, 1, 2, 3), row(0, 1, 2, 3))
}

func TestACopyWalksOnFromTheSamePlace(t *testing.T) {
	rows := truth.New(profileOf(t, 2, 2, 8), 0)
	rows.Skip([]uint32{1, 2})
	drafted := rows
	require.Equal(t, rows.Append(nil, 3), drafted.Append(nil, 3))
	require.NotEqual(t, rows.Append(nil, 4), drafted.Append(nil, 5))
}
