package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/bench/trace"
)

const committedTrace = "../testdata/traces/multiturn_blk16.jsonl"

// capacityOf runs the subcommand and returns what it prints.
func capacityOf(args ...string) (string, error) {
	cmd := newCapacityCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	var out, status bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&status)
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

func TestCapacityRefusesWrongFlagsAsUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"no trace":                        {},
		"an argument":                     {"--trace", committedTrace, "extra"},
		"an unknown flag":                 {"--trace", committedTrace, "--frobnicate"},
		"a zero capacity":                 {"--trace", committedTrace, "--capacities", "100,0"},
		"a negative capacity":             {"--trace", committedTrace, "--capacities=-1"},
		"an empty capacity":               {"--trace", committedTrace, "--capacities", "1,,2"},
		"no capacity":                     {"--trace", committedTrace, "--capacities", ""},
		"a capacity that is no number":    {"--trace", committedTrace, "--capacities", "NaN"},
		"a capacity beyond the limit":     {"--trace", committedTrace, "--capacities", "2147483648"},
		"a capacity beyond 64 bits":       {"--trace", committedTrace, "--capacities", "99999999999999999999"},
		"a zero block":                    {"--trace", committedTrace, "--block", "0"},
		"a negative block":                {"--trace", committedTrace, "--block", "-16"},
		"a block beyond the limit":        {"--trace", committedTrace, "--block", "4294967296"},
		"a block of too many bytes":       {"--trace", committedTrace, "--block", "2147483647", "--profile", "48,8,128"},
		"an unknown scope":                {"--trace", committedTrace, "--scope", "here"},
		"a profile of two numbers":        {"--trace", committedTrace, "--profile", "48,8"},
		"a negative profile":              {"--trace", committedTrace, "--profile=-48,8,128"},
		"a huge profile":                  {"--trace", committedTrace, "--profile", "9223372036854775807,8,128"},
		"an unknown model":                {"--trace", committedTrace, "--model", "gpt-2"},
		"a profile and a model":           {"--trace", committedTrace, "--profile", "48,8,128", "--model", "Kimi-K2"},
		"zero KV blocks":                  {"--trace", committedTrace, "--kv-blocks", "0"},
		"negative KV blocks":              {"--trace", committedTrace, "--kv-blocks=-4"},
		"KV blocks beyond the limit":      {"--trace", committedTrace, "--kv-blocks", "2147483648"},
		"KV blocks that are no number":    {"--trace", committedTrace, "--kv-blocks", "1e3"},
		"a fraction without KV blocks":    {"--trace", committedTrace, "--store-fraction", "0.9"},
		"slots without KV blocks":         {"--trace", committedTrace, "--store-slots", "9"},
		"an order without KV blocks":      {"--trace", committedTrace, "--order", "head-first"},
		"a touch without KV blocks":       {"--trace", committedTrace, "--touch-on-hit=false"},
		"a regime without KV blocks":      {"--trace", committedTrace, "--on-loss", "fail"},
		"a zero fraction":                 {"--trace", committedTrace, "--kv-blocks", "10", "--store-fraction", "0"},
		"a negative fraction":             {"--trace", committedTrace, "--kv-blocks", "10", "--store-fraction", "1,-0.5"},
		"a fraction that is not a number": {"--trace", committedTrace, "--kv-blocks", "10", "--store-fraction", "NaN"},
		"an infinite fraction":            {"--trace", committedTrace, "--kv-blocks", "10", "--store-fraction", "Inf"},
		"a fraction beyond floats":        {"--trace", committedTrace, "--kv-blocks", "10", "--store-fraction", "1e999"},
		"a fraction of text":              {"--trace", committedTrace, "--kv-blocks", "10", "--store-fraction", "half"},
		"a fraction that leaves no slot":  {"--trace", committedTrace, "--kv-blocks", "10", "--store-fraction", "0.01"},
		"zero slots":                      {"--trace", committedTrace, "--kv-blocks", "10", "--store-slots", "0"},
		"too many stores":                 {"--trace", committedTrace, "--kv-blocks", "10", "--store-slots", "1" + string(bytes.Repeat([]byte(",1"), 64))},
		"an unknown order":                {"--trace", committedTrace, "--kv-blocks", "10", "--order", "sideways"},
		"an unknown regime":               {"--trace", committedTrace, "--kv-blocks", "10", "--on-loss", "pray"},
		"a touch that is no boolean":      {"--trace", committedTrace, "--kv-blocks", "10", "--touch-on-hit=maybe"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := capacityOf(args...)
			var usage usageError
			require.ErrorAs(t, err, &usage)
			assert.Empty(t, out)
		})
	}
}

func TestCapacityReportsDamageWithItsPlaceAndNotAsUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "damaged.jsonl")
	kept, err := os.ReadFile(committedTrace)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, kept[:len(kept)-20], 0o600))
	for _, c := range []struct{ name, file, want string }{
		{"a truncated file", file, "the JSON ends early"},
		{"a directory", t.TempDir(), ":1: reading after this line"},
		{"an absent file", file + ".gone", "no such file"},
		{"something else", "capacity_test.go", "capacity_test.go:1: not a trace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := capacityOf("--trace", c.file)
			require.ErrorContains(t, err, c.want)
			var usage usageError
			assert.False(t, errors.As(err, &usage))
			assert.Empty(t, out)
		})
	}
	_, err = capacityOf("--trace", file)
	var damage *trace.Error
	require.ErrorAs(t, err, &damage)
	assert.Equal(t, bytes.Count(kept, []byte("\n")), damage.Line)
}

func TestCapacityPrintsTheCurveAndTheSafeStore(t *testing.T) {
	out, err := capacityOf("--trace", committedTrace, "--capacities", "64,512", "--model", "qwen3-30b-a3b", "--kv-blocks", "200", "--store-fraction", "1,0.5", "--store-slots", "100")
	require.NoError(t, err)
	for _, want := range []string{
		"multiturn_blk16.jsonl (Mooncake JSONL)",
		"16 (full blocks only)",
		"Qwen3-30B-A3B, 48,8,128 layers,top-k,experts: 384 bytes a token, 6144 a block",
		"capacity (blocks)", "share of ceiling", "lost (fail)", "lost (recompute)",
		"Smallest safe store (tail first, hits touched): ", "max_bytes = ",
	} {
		assert.Contains(t, out, want)
	}
}

func TestCapacityPrintsTheSameAsJSON(t *testing.T) {
	out, err := capacityOf("--trace", committedTrace, "--capacities", "64,512", "--profile", "48,8,128", "--kv-blocks", "200", "--on-loss", "recompute", "--order", "head-first", "--touch-on-hit=false", "--json")
	require.NoError(t, err)
	var got struct {
		Trace       string
		BlockTokens int `json:"block_tokens"`
		BlockBytes  int `json:"block_bytes"`
		Curve       []struct {
			Blocks, Tokens, Bytes int
			HitRatio              float64 `json:"hit_ratio"`
		}
		Store struct {
			Order      string
			TouchOnHit bool `json:"touch_on_hit"`
			Stores     []struct {
				Blocks, Bytes int
				Fraction      float64
				Lost          map[string]struct{ Requests int }
			}
			Safe struct{ Blocks, Bytes int } `json:"smallest_safe"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	assert.Equal(t, committedTrace, got.Trace)
	assert.Equal(t, 16, got.BlockTokens)
	assert.Equal(t, 6144, got.BlockBytes)
	require.Len(t, got.Curve, 2)
	assert.Equal(t, 512*6144, got.Curve[1].Bytes)
	assert.Greater(t, got.Curve[1].HitRatio, got.Curve[0].HitRatio)
	assert.Equal(t, "head-first", got.Store.Order)
	assert.False(t, got.Store.TouchOnHit)
	require.Len(t, got.Store.Stores, 3)
	assert.Equal(t, 180, got.Store.Stores[1].Blocks)
	assert.Contains(t, got.Store.Stores[0].Lost, "recompute")
	assert.NotContains(t, got.Store.Stores[0].Lost, "fail")
	assert.Positive(t, got.Store.Stores[0].Lost["recompute"].Requests)
	assert.LessOrEqual(t, got.Store.Safe.Blocks, 200)
	assert.Equal(t, got.Store.Safe.Blocks*6144, got.Store.Safe.Bytes)
}
