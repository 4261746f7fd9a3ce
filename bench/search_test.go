package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSearchFindsNothingInTheDefaultModes(t *testing.T) {
	code, stdout, stderr := bench("search", "--seeds", "50")
	require.Zero(t, code, stderr)
	for _, mode := range []string{"fail-closed", "row-gated", "linked"} {
		require.Contains(t, stdout, mode+": 50 scenarios")
	}
	require.Equal(t, 3, strings.Count(stdout, ", 0 counterexamples"))
}

func TestSearchNamesTheHolesOfTheReference(t *testing.T) {
	code, stdout, stderr := bench("search", "--modes", "reference", "--seeds", "200")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "reference: H2 at seed")
}

func TestSearchMisuse(t *testing.T) {
	for name, args := range map[string][]string{
		"an argument":     {"search", "now"},
		"no seeds":        {"search", "--seeds", "0"},
		"an unknown mode": {"search", "--modes", "hopeful"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, _ := bench(args...)
			require.Equal(t, 2, code)
		})
	}
	code, _, stderr := bench("search", "--replay", filepath.Join(t.TempDir(), "absent"))
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "absent")
	code, _, stderr = bench("search", "--replay", committedTrace)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "not a scenario")
}
