package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runHash runs the command below a silent root and returns what it printed.
func runHash(stdin string, args ...string) (string, error) {
	root := &cobra.Command{Use: "bench", SilenceUsage: true, SilenceErrors: true}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newHashCommand())
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetIn(strings.NewReader(stdin))
	root.SetArgs(append([]string{"hash"}, args...))
	err := root.Execute()
	return out.String(), err
}

func TestHashPrintsWhatTheEnginesPrint(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{
			"one token under the default root",
			[]string{"--block", "1", "0"},
			"0\t1876a790824e1c62cc68ce0472a1542ccc7bf2d1d5c9e53827fc516bb9f88601\t2881267384733697537\t1762780543265414242\n" +
				"0 of 1 tokens are left in the partial block\n",
		},
		{
			"a block that a live vLLM 0.26.0 printed (kthena issue 1535)",
			[]string{"--seed", "1047", "151644,872,198,9064,374,279,6722,315,5616,30,151645,198,151644,77091,198,151667"},
			"0\te1aa1d1fa798626abd9da2461f94da67e82cfc3a0d2a4641dab89baa7b5857c0\t15760518052499183552\t-2185902647341981078\n" +
				"0 of 16 tokens are left in the partial block\n",
		},
		{
			"fewer tokens than a block",
			[]string{"1,2,3"},
			"3 of 3 tokens are left in the partial block\n",
		},
		{
			"no token",
			[]string{""},
			"0 of 0 tokens are left in the partial block\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := runHash("", tc.args...)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestHashReadsEveryFormOfAList(t *testing.T) {
	want, err := runHash("", "--block", "2", "1,2,3,4,5")
	require.NoError(t, err)
	require.Contains(t, want, "1 of 5 tokens are left")
	file := filepath.Join(t.TempDir(), "2024-prompt.txt")
	require.NoError(t, os.WriteFile(file, []byte("1 2\n3 4\n5\n"), 0o600))
	for _, tc := range []struct{ name, stdin, arg string }{
		{"spaces", "", "1 2 3 4 5"},
		{"commas and spaces", "", "1, 2, 3, 4, 5"},
		{"a JSON array", "", "[1, 2, 3, 4, 5]"},
		{"a file whose name begins with a digit", "", file},
		{"standard input", "1 2 3 4 5", "-"},
		{"a JSON array over several lines", "[\n  1,\n  2,\n  3,\n  4,\n  5\n]\n\n", "-"},
		{"Windows line ends and a byte order mark", "\xef\xbb\xbf1,2\r\n3,4,\r\n\r\n5", "-"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := runHash(tc.stdin, "--block", "2", tc.arg)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
	t.Run("no argument is standard input", func(t *testing.T) {
		got, err := runHash("1 2 3 4 5", "--block", "2")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	})
}

func TestHashPrintsJSON(t *testing.T) {
	text, err := runHash("", "--json", "--algorithm", "xxhash_cbor", "--seed", "42", "--block", "1", "--lora", "a", "--salt", "b", "7,8")
	require.NoError(t, err)
	var report hashReport
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	assert.Equal(t, "xxhash_cbor", report.Algorithm)
	assert.Equal(t, "a9d2e63407fce1a26c9dc9d7fa2d7caf", report.Root)
	assert.Equal(t, 2, report.Tokens)
	require.Len(t, report.Blocks, 2)
	assert.Len(t, report.Blocks[1].Hash, 32)
	assert.Contains(t, text, `"low64":"`, "a number of 64 bits is a string")

	empty, err := runHash("", "--json", "1")
	require.NoError(t, err)
	assert.Contains(t, empty, `"blocks":[]`)
}

func TestHashTakesALoRAASaltAndARoot(t *testing.T) {
	const root = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	plain, err := runHash("", "--root", root, "--block", "1", "1 2")
	require.NoError(t, err)
	for _, flags := range [][]string{
		{"--root", strings.Repeat("0", 64)},
		{"--root", root, "--lora", "x"},
		{"--root", root, "--salt", "x"},
		{"--root", root, "--algorithm", "xxhash"},
	} {
		got, err := runHash("", append(flags, "--block", "1", "1 2")...)
		require.NoError(t, err)
		assert.NotEqual(t, plain, got, "%q", flags)
	}
}

func TestHashTellsMisuseFromBadData(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, tc := range []struct {
		name  string
		stdin string
		args  []string
		usage bool
		want  string
	}{
		{"an unknown algorithm", "", []string{"--algorithm", "md5", "1"}, true, `"md5"`},
		{"no root is known", "", []string{"--algorithm", "xxhash", "1"}, true, "give --seed or --root"},
		{"seed and root", "", []string{"--seed", "", "--root", "00", "1"}, true, "exclude each other"},
		{"a root that is not hexadecimal", "", []string{"--root", "xy", "1"}, true, "--root"},
		{"a root of another algorithm", "", []string{"--root", strings.Repeat("0", 32), "1"}, true, "--root: blockhash: wrong digest size"},
		{"a seed that is not UTF-8", "", []string{"--seed", "\xff", "1"}, true, "--seed"},
		{"a LoRA that is not UTF-8", "", []string{"--lora", "\xff", "1"}, true, "LoRA"},
		{"a block without tokens", "", []string{"--block", "0", "1"}, true, "--block"},
		{"two arguments", "", []string{"1", "2"}, true, "quotes"},
		{"an unknown flag", "", []string{"--blocks", "1"}, true, "unknown flag"},
		{"a word", "1 2\n3 four 5\n", nil, false, `standard input: line 2, column 3: blockhash: not a token: "four"`},
		{"a word in the argument", "", []string{"1,2,x"}, false, `tokens: line 1, column 5`},
		{"a negative token", "1,-2", nil, false, "column 3"},
		{"a token of 33 bits", "", []string{"4294967296"}, false, "not within 0..4294967295"},
		{"bytes that are no text", "1 \xff\xfe 2", nil, false, `"\xff\xfe"`},
		{"two commas", "1,,2", nil, false, "column 3"},
		{"a bracket inside", "1 [2] 3", nil, false, "column 3"},
		{"two brackets", "[[1]]", nil, false, "column 2"},
		{"a list that is cut off", "[1,\n2,\n", nil, false, "not closed"},
		{"text after the list", "[1]\n 2", nil, false, "line 2, column 2: text after"},
		{"a file that is not there", "", []string{missing}, false, "missing"},
		{"a directory", "", []string{t.TempDir()}, false, "directory"},
		{"a line without end", strings.Repeat(" ", maxTokenLine+1), nil, false, "line 1 is longer than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := runHash(tc.stdin, tc.args...)
			require.ErrorContains(t, err, tc.want)
			var usage usageError
			assert.Equal(t, tc.usage, errors.As(err, &usage), "%v", err)
		})
	}
}
