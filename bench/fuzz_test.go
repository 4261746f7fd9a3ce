package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/bench/capacity"
	"github.com/auxoutput/auxoutput/blockhash"
)

// FuzzSizes reads the lists of stores of the capacity command, as slots and as
// fractions of the KV cache.
func FuzzSizes(f *testing.F) {
	for _, text := range []string{"1", "4000, 3945", "1,,2", "0", "-1", "9223372036854775807", "9223372036854775808", "0.5", "1e-9,1e308", "NaN", "+Inf", "0x1p-2", "1_0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var usage usageError
		sizes, err := parseSizes("--flag", text)
		if err != nil {
			require.Nil(t, sizes)
			require.ErrorAs(t, err, &usage)
		}
		for _, size := range sizes {
			require.True(t, isSize(size))
		}
		for _, flags := range []capacityFlags{
			{kvBlocks: 16_000, slots: text, fractions: "1", order: "tail-first", onLoss: "both"},
			{kvBlocks: 16_000, slots: "1", fractions: text, order: "tail-first", onLoss: "both"},
		} {
			var s capacity.Settings
			err := flags.setStores(&s, func(flag string) bool { return flag == "store-slots" && flags.slots == text })
			if err != nil {
				require.ErrorAs(t, err, &usage)
				continue
			}
			require.LessOrEqual(t, len(s.Slots), maxStores)
			for _, slots := range s.Slots {
				require.True(t, isSize(slots))
			}
		}
	})
}

// FuzzReplayRuns reads the list of modes and shares of the replay command, and the
// shape of the rows.
func FuzzReplayRuns(f *testing.F) {
	f.Add("fail-closed:1,row-gated:0.5", "48,8,128")
	f.Add("linked", "")
	f.Add("reference:1000,reference:1e-320", "1,1,1")
	f.Add("linked:NaN,linked:Inf,linked:-0", "2147483647,2147483647,2147483647")
	f.Fuzz(func(t *testing.T, runs, profile string) {
		flags := replayFlags{trace: "trace", runs: runs, concurrency: 1, kvBlocks: 2, batch: 1}
		flags.rows.profile = profile
		got, config, err := flags.check()
		if err != nil {
			require.Nil(t, got)
			var usage usageError
			require.ErrorAs(t, err, &usage)
			return
		}
		require.NotEmpty(t, got)
		require.NoError(t, config.Profile.Validate())
		for _, run := range got {
			require.Positive(t, run.Fraction)
			require.LessOrEqual(t, run.Fraction, 1000.0)
			require.NotContains(t, run.Mode.String(), "Mode(")
		}
	})
}

// FuzzTokenFile reads what the hash command reads: tokens in lines, with or without
// brackets around them.
func FuzzTokenFile(f *testing.F) {
	for _, text := range []string{"1,2,3", "[1, 2,\n3]\n", "\xef\xbb\xbf[1]", "[1", "1]", "[[1]]", "1\n\n2\r\n", "4294967296", "[\n]\n1", strings.Repeat("7 ", 1000)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		root, err := blockhash.SeedRoot(blockhash.XXHashCBOR, "42")
		require.NoError(t, err)
		chain, err := blockhash.NewChain(blockhash.XXHashCBOR, root, 4, blockhash.Request{})
		require.NoError(t, err)
		if err := appendTokens(chain, "tokens", strings.NewReader(string(text))); err != nil {
			require.Contains(t, err.Error(), "tokens: ")
			if bad := (*blockhash.TokenError)(nil); errors.As(err, &bad) {
				require.Contains(t, err.Error(), "column")
			}
			return
		}
		require.LessOrEqual(t, chain.Tokens(), len(text), "a token is a digit at least")
		require.Equal(t, chain.Tokens(), 4*len(chain.Hashes())+len(chain.Pending()))
	})
}
