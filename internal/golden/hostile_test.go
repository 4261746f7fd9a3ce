package golden_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/internal/golden"
)

// mostAllocated is what the replay of a small file may take from the heap in all.
const mostAllocated = 48 << 20

// allocated is how many bytes a function takes from the heap, given back or not.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// repeated is a list of n texts that differ in their number.
func repeated(n int, format string) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(texts, ",")
}

// hostileRecordings are a few kilobytes each, and ask for gigabytes.
var hostileRecordings = map[string]string{
	"objects of megabytes":      `{"traces":[{"id":"T","limit":1,"object_nbytes":16777216,"max_bytes":16777216,"ops":[{"op":"put","objects":[` + repeated(60, `["%d",1]`) + `]}]}]}`,
	"megabytes read many times": `{"traces":[{"id":"T","limit":1,"object_nbytes":4194304,"max_bytes":16777216,"ops":[{"op":"put","objects":[["A",1]]},{"op":"get","keys":["A"` + strings.Repeat(`,"A"`, 60) + `]}]}]}`,
	"a budget beyond memory":    `{"traces":[{"id":"T","limit":1,"object_nbytes":1,"max_bytes":9223372036854775807}]}`,
	"tails of wide rows":        `{"traces":[{"id":"T","layers":1000,"top_k":100,"dtype":"uint8","block":16,"max_num_seqs":64,"max_num_batched_tokens":4096,"max_concurrent_batches":4,"pool_blocks":1,"ops":[]}]}`,
	"tails of many rows":        `{"traces":[{"id":"T","layers":1,"top_k":1,"dtype":"uint8","block":1073741824,"max_num_seqs":1,"max_num_batched_tokens":1,"max_concurrent_batches":1,"pool_blocks":1,"ops":[]}]}`,
	"a capture beyond its rows": `{"traces":[{"id":"T","layers":1,"top_k":1,"dtype":"uint8","block":4,"max_num_seqs":1,"max_num_batched_tokens":4,"max_concurrent_batches":1,"pool_blocks":3,"ops":[{"op":"capture","req":"a","start":0,"n":2147483647,"rows":"00"},{"op":"read","req":"a","start":0,"end":2147483647}]}]}`,
	"a KV pool beyond memory":   cacheTraceOf("65537", ""),
	"a large KV pool compared":  cacheTraceOf("65536", repeated(40, `{"op":"reset","ok":true,"free":[],"keys":%d,"events":[]}`)),
	"a schedule beyond tokens":  cacheTraceOf("9", `{"op":"admit","req":"A","schedule":1073741824,"hit":0,"ok":true,"blocks":[],`+recordedState+`}`),
	"a sched output of much":    `{"traces":[{"id":"36","kind":"sched","requests":{"a":{"hashes":[]}},"events":[{"ev":"take","req":"a","num_tokens":7,"given":[4,2147483647],"result":"ok","rows":2}]}]}`,
	"a pool of many sequences":  `{"traces":[{"id":"T","kind":"worker","profile":{"layers":1,"top_k":1,"dtype":"uint8","block":1024},"slots":1024,"max_num_seqs":1024,"max_num_batched_tokens":1024,"max_concurrent_batches":1024,"events":[]}]}`,
	"an npy header of much":     `{"cases":[{"id":"a","npy":"k05VTVBZAgD/////e30=","expect":"error"}]}`,
	"an npy shape of much":      `{"cases":[{"id":"a","npy":"k05VTVBZAQBLAHsnZGVzY3InOiAnfHUxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDEwMDAwMDAsIDEwMDAsIDEwMDApLCB9Cg==","expect":"error"}]}`,
	"a page beyond tokens":      `{"sglang":[{"id":"a","page_size":2147483647,"tokens":[1]}],"llmd":[{"id":"b","block_size":2147483647,"tokens":[1]}]}`,
}

func TestARecordingThatAsksForMuchMemoryGetsLittle(t *testing.T) {
	for name, text := range hostileRecordings {
		t.Run(name, func(t *testing.T) {
			require.Less(t, len(text), 8<<10)
			var report *golden.Report
			took := allocated(func() { _, report, _ = golden.File([]byte(text)) })
			require.Less(t, took, int64(mostAllocated))
			if report == nil {
				return
			}
			kept := 0
			for _, failure := range report.Failures {
				kept += len(failure.Want) + len(failure.Got)
			}
			require.Less(t, kept, 1<<20, "a report that is longer than anybody reads")
		})
	}
}

// recording is a file of testdata.
func recording(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile("../../testdata/" + name)
	require.NoError(tb, err)
	return data
}
