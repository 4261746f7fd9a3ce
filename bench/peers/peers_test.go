package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/bench/throughput"
	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// TestMain lets the test binary be the child process that compare starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-child" {
		main()
		return
	}
	os.Exit(m.Run())
}

// small is a budget at which every peer can work.
var small = throughput.Setup{BudgetBytes: 4 << 20, BlockBytes: 1024, SourceBytes: 1 << 20}

func hashes(from, n int) []blockhash.Hash {
	list := make([]blockhash.Hash, n)
	for i := range list {
		var digest [32]byte
		for j := range digest {
			digest[j] = byte((from + i) >> (8 * (j % 3)))
		}
		digest[31] = byte(i)
		list[i], _ = blockhash.FromBytes(digest[:])
	}
	return list
}

func blocks(list []blockhash.Hash, rows func(i int) []byte) []store.Block {
	var batch []store.Block
	for i, hash := range list {
		batch = append(batch, store.Block{Hash: hash, Rows: rows(i)})
	}
	return batch
}

// Every adapter gives back what it was given, stops at the first absent block,
// and does not keep the caller's rows.
func TestEveryPeerGivesBackWhatItWasGiven(t *testing.T) {
	for _, c := range contestants() {
		if c.Bare {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			cache, err := c.Make(small)
			require.NoError(t, err)
			list := hashes(1, 8)
			batch := blocks(list, func(i int) []byte { return bytes.Repeat([]byte{byte(i + 1)}, small.BlockBytes) })
			require.NoError(t, cache.Put(batch))
			for i := range batch {
				clear(batch[i].Rows)
			}
			dst := make([]byte, 8*small.BlockBytes)
			found, err := cache.Get(dst, list)
			require.NoError(t, err)
			require.Equal(t, 8, found)
			for i := range dst {
				require.Equal(t, byte(i/small.BlockBytes+1), dst[i], "byte %d", i)
			}
			found, err = cache.Get(dst, append(list[:2:2], hashes(1000, 1)...))
			require.NoError(t, err)
			require.Less(t, found, 3, "the third block was never put")
			require.NoError(t, cache.Close())
		})
	}
}

func TestEveryPeerGoesThroughEveryPhase(t *testing.T) {
	limit, err := find(throughput.LimitName)
	require.NoError(t, err)
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			c, err := find(name)
			require.NoError(t, err)
			runs, err := throughput.Measure(t.Context(), small, limit, c)
			require.NoError(t, err)
			run := runs[1]
			for _, phase := range []string{throughput.PhaseCold, throughput.PhaseEvict, throughput.PhaseSteady} {
				require.Positive(t, run.Sample(phase).Rate(), phase)
			}
			require.NotNil(t, run.Memory)
			require.Positive(t, run.Sample(throughput.PhaseProbe).HitShare(), "nothing of what was put last is there")
			if !c.Bare {
				require.Positive(t, run.Sample(throughput.PhaseMix).HitShare())
			}
		})
	}
}

func TestRoundsInProcessesOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	md, figures, picture := filepath.Join(dir, "a.md"), filepath.Join(dir, "a.json"), filepath.Join(dir, "a.svg")
	var progress bytes.Buffer
	err := run(t.Context(), []string{
		"-rounds", "2", "-budget", "4MiB", "-block", "1024,2048", "-source", "1MiB", "-peers", "auxoutput, golang-lru,limit-4KiB",
		"-md", md, "-json", figures, "-svg", picture,
	}, io.Discard, &progress)
	require.NoError(t, err)
	require.Equal(t, 12, strings.Count(progress.String(), "\n"), "3 peers x 2 rounds x 2 sizes of block")

	table, err := os.ReadFile(md)
	require.NoError(t, err)
	checkTables(t, string(table), 4, []string{"limit, GB/s", "its spread", "limit-4KiB", "auxoutput", "golang-lru"})

	text, err := os.ReadFile(figures)
	require.NoError(t, err)
	var r report
	require.NoError(t, json.Unmarshal(text, &r))
	require.Len(t, r.Matches, 2)
	for _, m := range r.Matches {
		require.Len(t, m.Bouts, 6)
		require.Equal(t, 2, m.Summary.Rounds)
		own, found := m.Summary.Line(throughput.StoreName)
		require.True(t, found)
		require.Positive(t, m.Summary.Cell(own, throughput.PhaseSteady).Ratio)
		require.Equal(t, throughput.Summarise(m.Summary.Setup, m.Bouts), m.Summary)
	}

	drawn, err := os.ReadFile(picture)
	require.NoError(t, err)
	checkPicture(t, drawn, "golang-lru", "auxoutput", "two readers")
}

// checkTables looks for Markdown tables whose lines are all as wide as their heads.
func checkTables(t *testing.T, text string, tables int, peers []string) {
	t.Helper()
	heads, width := 0, 0
	var names []string
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			width = 0
		case width == 0:
			heads, width = heads+1, len(cells)
		default:
			require.Len(t, cells, width, line)
			names = append(names, strings.TrimSpace(cells[0]))
		}
	}
	require.Equal(t, tables, heads)
	for _, peer := range peers {
		require.True(t, slices.Contains(names, peer), "%q is in no table:\n%s", peer, text)
	}
}

// checkPicture looks for well-formed XML with the words in it.
func checkPicture(t *testing.T, svg []byte, words ...string) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	for _, word := range words {
		require.Contains(t, string(svg), word)
	}
}

func TestAMostlyMissedReadHasNoRatio(t *testing.T) {
	require.Equal(t, "0.50", ratio(throughput.Cell{Ratio: 0.5}))
	require.Equal(t, "0.50 (20 % missed)", ratio(throughput.Cell{Ratio: 0.5, Missed: 0.2}))
	require.Equal(t, "- (80 % missed)", ratio(throughput.Cell{Ratio: 0.5, Missed: 0.8}))
	require.Equal(t, "-", ratio(throughput.Cell{}))
	require.Equal(t, "- (50 % missed)", ratio(throughput.Cell{Missed: 0.5}))
}

func TestUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"an unknown peer":    {"-peers", "memcached"},
		"a peer named twice": {"-peers", "otter,otter"},
		"an unknown child":   {"-child", "memcached"},
		"no size":            {"-budget", "much"},
		"no rounds":          {"-rounds", "0"},
		"an argument":        {"now"},
		"an unknown flag":    {"-fast"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, run(t.Context(), args, io.Discard, io.Discard), errUsage)
		})
	}
}

func TestAChildThatFailsSaysWhy(t *testing.T) {
	err := run(t.Context(), []string{
		"-rounds", "1", "-budget", "40MiB", "-block", "128KiB", "-source", "16MiB", "-peers", "fastcache",
	}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "values below 64 KiB")
}
