package golden_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/internal/golden"
)

func blockHashVectors(tb testing.TB) []byte {
	tb.Helper()
	data, err := os.ReadFile("../../testdata/blockhash-vectors.json")
	require.NoError(tb, err)
	return data
}

func TestBlockHashReportsEveryChangedResult(t *testing.T) {
	for _, tc := range []struct{ name, recorded, changed, trace, field string }{
		{"preimage of a root", `"6130"`, `"6131"`, "none/sha256_cbor/'0'", "preimage"},
		{"digest of a block", "1876a790824e1c62", "1876a790824e1c63", "width/sha256/0", "digest"},
		{"integer of a block", "2881267384733697537", "2881267384733697538", "width/sha256/0", "low64"},
		{"digest within a chain", "828159f1de3260ee", "828159f1de3260ef", "chain/sha256/vllm-none-hash/1", "digest[1]"},
		{"page of SGLang", "1170426cf2449ceb", "1170426cf2449cec", "sglang/seq48/16", "digests"},
		{"key of llm-d", "14103679976573024411", "14103679976573024412", "llmd/fnv64a/''", "keys"},
		{"group key", `00000102"`, `00000103"`, "key/group", "keys 258"},
		{"reduction", "1286902564762338985", "1286902564762338986", "truncate", "aibrix_first8_int64"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := blockHashVectors(t)
			require.True(t, bytes.Contains(data, []byte(tc.recorded)), "the vectors have changed")
			report, err := golden.BlockHash(bytes.Replace(data, []byte(tc.recorded), []byte(tc.changed), 1))
			require.NoError(t, err)
			assert.Equal(t, 1, report.Failed)
			assert.Equal(t, 209, report.Passed)
			require.NotEmpty(t, report.Failures)
			assert.Equal(t, tc.trace, report.Failures[0].Trace)
			assert.Equal(t, tc.field, report.Failures[0].Field)
			assert.Equal(t, -1, report.Failures[0].Op)
		})
	}
}

func TestBlockHashSaysWhereAFileIsDamaged(t *testing.T) {
	for _, tc := range []struct{ name, file, want string }{
		{"no JSON", `{"vectors": [}`, "byte 14"},
		{"another file", `{"traces": []}`, "none in this file"},
		{"a kind nobody knows", `{"vectors": [{"id": "a", "kind": "blok"}]}`, `vectors[0]: unknown kind "blok"`},
		{"an algorithm nobody knows", `{"vectors": [{"id": "a", "kind": "block", "algo": "md5"}]}`, `vectors[0]: "a": blockhash: unknown algorithm: "md5"`},
		{"a digest that is not hexadecimal", `{"vectors": [{"id": "a", "kind": "block", "algo": "sha256", "digest": "zz"}]}`, `"zz" is not a digest`},
		{"a digest of no algorithm", `{"vectors": [{"id": "a", "kind": "group_key", "digest": "00"}]}`, "wrong digest size: 1 bytes"},
		{"a preimage of half a byte", `{"vectors": [{"id": "a", "kind": "block", "algo": "sha256", "preimage": "123"}]}`, "odd length"},
		{"a negative token", `{"vectors": [{"id": "a", "kind": "block", "algo": "sha256", "tokens": [1, -1]}]}`, "token 1"},
		{"half a token", `{"sglang": [{"id": "a", "page_size": 1, "tokens": [0.5]}]}`, `sglang[0]: "a": token 0`},
		{"an extra key of another form", `{"vectors": [{"id": "a", "kind": "block", "algo": "sha256", "tokens": [1], "extra": [{"x": 1}]}]}`, "extra key 0"},
		{"a chain without a seed", `{"vectors": [{"id": "a", "kind": "chain", "algo": "sha256", "block_size": 16}]}`, "needs a seed"},
		{"a chain of blocks without tokens", `{"vectors": [{"id": "a", "kind": "chain", "algo": "sha256", "seed": "", "block_size": 0}]}`, "needs a seed, a block_size"},
		{"a view of blocks without tokens", `{"vectors": [{"id": "a", "kind": "view", "algo": "sha256", "hash_block_size": 0}]}`, "hash_block_size"},
		{"a view finer than its blocks", `{"vectors": [{"id": "a", "kind": "view", "algo": "sha256", "hash_block_size": 16, "tokens": [1], "view": {"8": []}}]}`, "0 fine blocks"},
		{"a group that is no number", `{"vectors": [{"id": "a", "kind": "group_key", "keys": {"x": ""}}]}`, "keys"},
		{"a number for a vector", `{"llmd": [7]}`, "llmd[0]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			report, err := golden.BlockHash([]byte(tc.file))
			require.ErrorContains(t, err, tc.want)
			assert.Nil(t, report)
		})
	}
}

func TestBlockHashIsNotMovedByHugeNumbers(t *testing.T) {
	file := fmt.Sprintf(`{"vectors": [{"id": "a", "kind": "chain", "algo": "sha256", "seed": "", "block_size": %[1]d, "tokens": [1]}],
		"sglang": [{"id": "b", "page_size": %[1]d, "tokens": [1], "digests": []}],
		"llmd": [{"id": "c", "block_size": %[1]d, "tokens": [1], "model_root": "0"}]}`, math.MaxInt)
	_, err := golden.BlockHash([]byte(file))
	require.NoError(t, err)
}

func TestBlockHashCountsAMissingResultAsFailed(t *testing.T) {
	report, err := golden.BlockHash([]byte(`{"vectors": [{"id": "a", "kind": "block", "algo": "sha256", "seed": "", "tokens": []}]}`))
	require.NoError(t, err)
	assert.Equal(t, 1, report.Failed)
	assert.True(t, strings.Contains(report.Failures[0].String(), "a: parent: expected"), report.Failures[0])
}

func FuzzBlockHash(f *testing.F) {
	data := blockHashVectors(f)
	var file map[string]json.RawMessage
	require.NoError(f, json.Unmarshal(data, &file))
	for _, section := range []string{"vectors", "sglang", "llmd"} {
		var vectors []json.RawMessage
		require.NoError(f, json.Unmarshal(file[section], &vectors))
		for i, vector := range vectors {
			if i%16 == 0 || section != "vectors" {
				f.Add([]byte(`{"` + section + `": [` + string(vector) + `]}`))
			}
		}
	}
	f.Add([]byte(`{"vectors": [{"id": "a", "kind": "view", "algo": "xxh64", "hash_block_size": 1, "tokens": [1, 2], "view": {"2": []}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := golden.BlockHash(data)
		if (report == nil) == (err == nil) {
			t.Fatalf("report %v with error %v", report, err)
		}
	})
}
