package capacity

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/bench/trace"
)

// openPublic opens one of the public traces, which are too large to be kept with
// the code.
func openPublic(t *testing.T, name string) *trace.Reader {
	dir := os.Getenv("AUXOUTPUT_TRACES")
	if dir == "" {
		t.Skip("LOUD: set AUXOUTPUT_TRACES to the folder of the public traces to check them")
	}
	r, err := trace.Open(filepath.Join(dir, name), trace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	return r
}

// TestPublicTracesGiveThePublishedCurves compares with ratios that another
// implementation computed.
func TestPublicTracesGiveThePublishedCurves(t *testing.T) {
	for _, c := range []struct {
		file    string
		unique  int
		refs    int64
		layout  trace.Layout
		ceiling string
		hits    map[int]string
	}{
		{"mooncake_conversation_trace.jsonl", 182790, 288500, trace.Layout{BlockTokens: 512, LastBlock: trace.PartialListed}, "0.3664",
			map[int]string{1000: "0.0445", 2000: "0.0543", 4000: "0.0865", 8000: "0.1781", 16000: "0.2627", 32000: "0.3320", 64000: "0.3593", 128000: "0.3653", 200000: "0.3664"}},
		{"mooncake_synthetic_trace.jsonl", 43924, 121877, trace.Layout{BlockTokens: 512, LastBlock: trace.PartialListed}, "0.6396",
			map[int]string{500: "0.0451", 1000: "0.0841", 2000: "0.1464", 4000: "0.2345", 8000: "0.3733", 16000: "0.5299", 32000: "0.6281", 48000: "0.6396"}},
		{"agentic_claudecode_sample.jsonl", 83986, 2334627, trace.Layout{BlockTokens: 64, LastBlock: trace.FullOnly}, "0.9640",
			map[int]string{2000: "0.2092", 4000: "0.3716", 8000: "0.6071", 16000: "0.8926", 32000: "0.9547", 64000: "0.9640"}},
		{"agentic_lmcache_miniswe_blk16.jsonl", 13065, 204585, trace.Layout{BlockTokens: 16, LastBlock: trace.FullOnly}, "0.9361",
			map[int]string{500: "0.6141", 1000: "0.7420", 2000: "0.8843", 4000: "0.9353", 8000: "0.9361"}},
		{"agentic_lmcache_magagent_blk16.jsonl", 16438, 103102, trace.Layout{BlockTokens: 16, LastBlock: trace.FullOnly}, "0.8406",
			map[int]string{500: "0.6107", 1000: "0.7589", 2000: "0.8398", 4000: "0.8404", 8000: "0.8406"}},
		{"agentic_claudecode_runs.jsonl", 3069981, 81588207, trace.Layout{BlockTokens: 64, LastBlock: trace.FullOnly}, "0.9624", nil},
	} {
		t.Run(c.file, func(t *testing.T) {
			r := openPublic(t, c.file)
			var pass Pass
			for request, err := range r.All() {
				require.NoError(t, err)
				require.NoError(t, pass.Add(request.Blocks))
			}
			curve := pass.Curve()
			assert.Equal(t, c.layout, r.Layout())
			assert.Equal(t, c.refs, curve.References())
			assert.Equal(t, c.unique, curve.UniqueBlocks())
			assert.Equal(t, c.ceiling, fmt.Sprintf("%.4f", curve.Ceiling()))
			for capacity, ratio := range c.hits {
				assert.Equal(t, ratio, fmt.Sprintf("%.4f", curve.HitRatio(capacity)), "capacity %d", capacity)
			}
		})
	}
}

// TestPublicTracesLoseThePublishedShares compares the lost requests, too, with
// another implementation's.
func TestPublicTracesLoseThePublishedShares(t *testing.T) {
	for _, c := range []struct {
		file     string
		kvBlocks int
		hits     int
		digits   int
		lost     map[Store]string
	}{
		{"mooncake_conversation_trace.jsonl", 16000, 12030, 2, map[Store]string{
			{Slots: 16000}:                                      "0.00",
			{Slots: 16000, Regime: Recompute}:                   "0.00",
			{Slots: 14400}:                                      "2.27",
			{Slots: 14400, Regime: Recompute}:                   "1.26",
			{Slots: 8000}:                                       "12.36",
			{Slots: 8000, Regime: Recompute}:                    "10.21",
			{Slots: 16000, IgnoreHits: true}:                    "93.98",
			{Slots: 16000, IgnoreHits: true, Regime: Recompute}: "93.98",
			{Slots: 16000, Order: HeadFirst}:                    "0.01",
			{Slots: 16000, Order: HeadFirst, Regime: Recompute}: "0.01",
		}},
		{"agentic_claudecode_sample.jsonl", 4000, 541, 1, map[Store]string{
			{Slots: 4000}:                                      "0.0",
			{Slots: 4000, Regime: Recompute}:                   "0.0",
			{Slots: 3600}:                                      "41.2",
			{Slots: 3600, Regime: Recompute}:                   "34.0",
			{Slots: 2000}:                                      "81.1",
			{Slots: 2000, Regime: Recompute}:                   "65.8",
			{Slots: 4000, IgnoreHits: true}:                    "30.5",
			{Slots: 4000, IgnoreHits: true, Regime: Recompute}: "30.5",
			{Slots: 4000, Order: HeadFirst}:                    "36.2",
			{Slots: 4000, Order: HeadFirst, Regime: Recompute}: "22.0",
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			r := openPublic(t, c.file)
			var stores []Store
			for store := range c.lost {
				stores = append(stores, store)
			}
			beside, err := NewBeside(c.kvBlocks, stores...)
			require.NoError(t, err)
			for request, err := range r.All() {
				require.NoError(t, err)
				require.NoError(t, beside.Add(request.Blocks))
			}
			for _, o := range beside.Outcomes() {
				assert.Equal(t, c.hits, o.Hits)
				assert.Equal(t, c.lost[o.Store], fmt.Sprintf("%.*f", c.digits, 100*o.LostShare()), "%+v", o.Store)
			}
		})
	}
}
