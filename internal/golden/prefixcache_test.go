package golden_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/internal/golden"
)

func prefixCacheTraces(tb testing.TB) []byte {
	tb.Helper()
	data, err := os.ReadFile("../../testdata/prefix-cache-traces.json")
	require.NoError(tb, err)
	return data
}

func TestPrefixCacheReportsEveryChangedResult(t *testing.T) {
	for _, tc := range []struct {
		name, recorded, changed string
		op                      int
		field                   string
	}{
		{"number of keys", `"keys":2,`, `"keys":3,`, 0, "keys"},
		{"free list", `"free":[4,5,6],`, `"free":[4,6,5],`, 0, "free"},
		{"block table", `"blocks":[[1,2,3]]`, `"blocks":[[1,2,4]]`, 0, "blocks"},
		{"hit", `"hit":8,`, `"hit":4,`, 4, "hit"},
		{"room", `"ok":true,`, `"ok":false,`, 0, "ok"},
		{"hash of an event", `["11382537787932464176"`, `["11382537787932464177"`, 0, "events"},
		{"parent of an event", `["S",0,null,`, `["S",0,"1",`, 0, "events"},
		{"tokens of an event", `"8066713840943265445"],8,4]`, `"8066713840943265445"],12,4]`, 0, "events"},
		{"an event too many", `"keys":2,"events":[]`, `"keys":2,"events":[["C"]]`, 1, "events"},
		{"success of a reset", `"op":"reset","ok":false`, `"op":"reset","ok":true`, 8, "ok"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := compact(t, prefixCacheTraces(t))
			require.True(t, bytes.Contains(data, []byte(tc.recorded)), "the traces have changed")
			report, err := golden.PrefixCache(bytes.Replace(data, []byte(tc.recorded), []byte(tc.changed), 1))
			require.NoError(t, err)
			assert.Equal(t, 1, report.Failed)
			assert.Equal(t, 611, report.Passed)
			require.Len(t, report.Failures, 1)
			assert.Equal(t, "basic", report.Failures[0].Trace)
			assert.Equal(t, tc.op, report.Failures[0].Op)
			assert.Equal(t, tc.field, report.Failures[0].Field)
		})
	}
}

// cacheTraceOf is a file of one trace with two requests and the given operations.
func cacheTraceOf(blocks, operations string) string {
	return fmt.Sprintf(`{"algo": "sha256_cbor", "seed": "42", "traces": [{"id": "x", "num_blocks": %s,
		"groups": [{"kind": "full_attention", "block_size": 4}], "scheduler_block_size": 4, "hash_block_size": 4,
		"requests": {"A": {"tokens": [1, 2, 3, 4, 5]}, "none": {"tokens": []}}, "ops": [%s]}]}`, blocks, operations)
}

const recordedState = `"free": [], "keys": 0, "events": []`

func TestPrefixCacheSaysWhereAFileIsDamaged(t *testing.T) {
	for _, tc := range []struct{ name, file, want string }{
		{"no JSON", `{"traces": [}`, "line 1, byte"},
		{"half a file", `{"traces": [`, "line 1, byte"},
		{"another file", `{"algo": "sha256", "seed": ""}`, "none in this file"},
		{"an algorithm nobody knows", `{"algo": "md5", "seed": "", "traces": [{}]}`, "algo: blockhash: unknown algorithm"},
		{"no seed", `{"algo": "sha256", "traces": [{}]}`, "no seed"},
		{"a trace without blocks", `{"algo": "sha256", "seed": "", "traces": [{"id": "y"}]}`, `trace 0 ("y"): auxoutput: blocks = 0`},
		{"more blocks than are allowed", cacheTraceOf("2147483647", ""), `trace 0 ("x"): num_blocks = 2147483647, want at most 65536`},
		{"a negative number of blocks", cacheTraceOf("-7", ""), "blocks = -7"},
		{"a kind nobody knows", `{"algo": "sha256", "seed": "", "traces": [{"num_blocks": 9, "groups": [{"kind": "mamba"}]}]}`, `groups[0]: unknown kind "mamba"`},
		{"a number of blocks in words", cacheTraceOf(`"nine"`, ""), "line 1, byte"},
		{"an operation nobody knows", cacheTraceOf("9", `{"op": "fork", "req": "A", `+recordedState+`}`), `op 0: unknown operation "fork"`},
		{"a request nobody knows", cacheTraceOf("9", `{"op": "admit", "req": "B"}`), `op 0: no request "B"`},
		{"a request without tokens", cacheTraceOf("9", `{"op": "admit", "req": "none", "schedule": 1}`), "token counts are impossible"},
		{"a schedule beyond the tokens", cacheTraceOf("9", `{"op": "admit", "req": "A", "schedule": 2147483647}`), "token range is impossible"},
		{"a step of what was not admitted", cacheTraceOf("9", `{"op": "continue", "req": "A", "schedule": 1}`), "not admitted"},
		{"the end of what was not admitted", cacheTraceOf("9", `{"op": "finish", "req": "A"}`), "not admitted"},
		{"a block beyond the pool", cacheTraceOf("9", `{"op": "evict", "ids": [9]}`), "no such block"},
		{"no hit", cacheTraceOf("9", `{"op": "admit", "req": "A", "schedule": 5}`), `no "hit" recorded`},
		{"no success", cacheTraceOf("9", `{"op": "admit", "req": "A", "schedule": 5, "hit": 0}`), `no "ok" recorded`},
		{"no blocks", cacheTraceOf("9", `{"op": "admit", "req": "A", "schedule": 5, "hit": 0, "ok": true}`), `no "blocks" recorded`},
		{"no state", cacheTraceOf("9", `{"op": "reset", "ok": true}`), `no "free" recorded`},
		{"no events", cacheTraceOf("9", `{"op": "reset", "ok": true, "free": [], "keys": 0}`), `no "events" recorded`},
		{"an event that is no list", cacheTraceOf("9", `{"op": "reset", "ok": true, "free": [], "keys": 0, "events": [7]}`), "events[0]"},
		{"an event without a tag", cacheTraceOf("9", `{"op": "reset", "ok": true, "free": [], "keys": 0, "events": [[7]]}`), "events[0]: no tag"},
		{"an event nobody knows", cacheTraceOf("9", `{"op": "reset", "ok": true, "free": [], "keys": 0, "events": [["X", 1]]}`), `event "X" of 2 parts`},
		{"an event with another part", cacheTraceOf("9", `{"op": "reset", "ok": true, "free": [], "keys": 0, "events": [["R", "a", []]]}`), "part 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			report, err := golden.PrefixCache([]byte(tc.file))
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, err, "trace")
			assert.Nil(t, report)
		})
	}
}

func FuzzPrefixCache(f *testing.F) {
	f.Add([]byte(cacheTraceOf("9", `{"op": "reset", "ok": true, `+recordedState+`}`)))
	f.Add([]byte(cacheTraceOf("9", `{"op": "admit", "req": "A", "schedule": 5, "hit": 0, "ok": true, "blocks": [[1, 2]], "free": [3, 4, 5, 6, 7, 8], "keys": 1, "events": [["S", 0, null, ["1"], 4, 4]]},
		{"op": "decode", "req": "A", "token": 6, "ok": true, "blocks": [[1, 2]], `+recordedState+`},
		{"op": "evict", "ids": [1], `+recordedState+`}, {"op": "preempt", "req": "A", `+recordedState+`}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := golden.PrefixCache(data)
		if (report == nil) == (err == nil) {
			t.Fatalf("report %v, error %v", report, err)
		}
	})
}

// compact takes the white space out of a file, so that its text can be searched.
func compact(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, json.Compact(&out, data))
	return out.Bytes()
}
