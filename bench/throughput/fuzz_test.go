package throughput

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzParseBytes(f *testing.F) {
	for _, text := range []string{"1GiB", " 256 MiB ", "6KiB", "6144", "8589934591GiB", "8589934592GiB", "9223372036854775807", "-1", "+1", "1.5GiB", "GiB", "1KiBMiB", "0x10", "1_000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseBytes(text)
		if err != nil {
			require.Zero(t, n)
			return
		}
		require.Positive(t, n)
		again, err := ParseBytes(FormatBytes(n))
		require.NoError(t, err)
		require.Equal(t, n, again)
		require.NotContains(t, strings.TrimSpace(text), "-")
	})
}

func FuzzParseSetups(f *testing.F) {
	f.Add("1MiB,2MiB", "64,128", "1MiB")
	f.Add("512MiB", "64MiB", "512MiB")
	f.Add("8589934591GiB", "64", "1MiB")
	f.Add(",", ",", "")
	f.Fuzz(func(t *testing.T, budgets, blocks, source string) {
		if len(budgets)+len(blocks) > 1000 {
			return // a setup for each pair
		}
		setups, err := ParseSetups(budgets, blocks, source)
		if err != nil {
			require.Nil(t, setups)
			return
		}
		require.Len(t, setups, (1+strings.Count(budgets, ","))*(1+strings.Count(blocks, ",")))
		for _, s := range setups {
			checkSetup(t, s)
		}
	})
}

// checkSetup checks that a setup that was accepted measures something.
func checkSetup(t *testing.T, s Setup) {
	t.Helper()
	require.NoError(t, s.Check())
	require.GreaterOrEqual(t, s.BlockBytes, 64)
	require.GreaterOrEqual(t, s.BudgetBytes/int64(s.BlockBytes), int64(minSlots))
	require.GreaterOrEqual(t, s.SourceBytes/int64(s.BlockBytes), int64(2*batchBlocks))
}

func TestABudgetOfTooFewLargeBlocksIsRefused(t *testing.T) {
	for _, block := range []string{"16MiB", "32MiB", "64MiB"} { // 256 of them are a multiple of 4 GiB
		_, err := ParseSetups("511MiB", block, "511MiB")
		require.ErrorContains(t, err, "want at least", block)
	}
}
