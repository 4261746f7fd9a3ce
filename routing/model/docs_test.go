package model_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/routing/model"
)

// TestTheTableOfSizesInTheDocumentationFollowsFromTheModels reads docs/rl.md, in which
// a line can stand for several models of the same sizes.
func TestTheTableOfSizesInTheDocumentationFollowsFromTheModels(t *testing.T) {
	page, err := os.ReadFile("../../docs/rl.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "\n## Sizes\n")
	require.True(t, found)
	told := map[string]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 7 || strings.Contains(line, "---") || strings.Contains(line, "row B/token") {
			continue
		}
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), ",", "")
		}
		for _, m := range model.All() {
			if !strings.Contains(" "+cells[0]+" ", " "+m.Name+" ") && (m.Name != "DeepSeek-R1" || cells[0] != "DeepSeek-V3 -R1") {
				continue
			}
			require.False(t, told[m.Name], "%s is told twice", m.Name)
			told[m.Name] = true
			profile, err := m.Profile(false)
			require.NoError(t, err)
			all, err := m.Profile(true)
			require.NoError(t, err)
			megabytes := float64(profile.RowBytes()) * 32_768 / 1e6
			require.Equal(t, []string{
				fmt.Sprintf("%d x %d of %d", profile.Layers, profile.TopK, profile.Experts),
				fmt.Sprintf("uint%d", 8*profile.ItemBytes()), strconv.Itoa(profile.RowBytes()), strconv.Itoa(all.RowBytes()),
				fmt.Sprintf("%.1f", megabytes), fmt.Sprintf("%.1f", megabytes*4/3),
			}, cells[1:], m.Name)
		}
	}
	require.Len(t, told, len(model.All()), "%v", told)
}
