package store_test

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

func TestAFullStoreAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("LOUD: pools drop what they hold at random under the race detector, and views copy")
	}
	const batch, slots = 16, 64
	s := newStore(t, slots)
	var blocks [8][]store.Block
	var hashes [8][]blockhash.Hash
	for i := range blocks {
		for j := range batch {
			blocks[i] = append(blocks[i], blocksOf(i*batch + j)[0])
			hashes[i] = append(hashes[i], blocks[i][j].Hash)
		}
	}
	turn := 0
	next := func() int { turn = (turn + 1) % len(blocks); return turn }
	dst := make([]byte, 0, batch*testBlock)
	for name, op := range map[string]func(){
		"put that evicts": func() {
			if _, err := s.Put(store.Batch{Blocks: blocks[next()]}); err != nil {
				t.Fatal(err)
			}
		},
		"put, retain and release": func() {
			i := next()
			if _, err := s.Put(store.Batch{Blocks: blocks[i], Retain: hashes[i], Release: hashes[i]}); err != nil {
				t.Fatal(err)
			}
		},
		"retain before the block is there": func() {
			i := next()
			if _, err := s.Put(store.Batch{Retain: hashes[i]}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Put(store.Batch{Blocks: blocks[i], Release: hashes[i]}); err != nil {
				t.Fatal(err)
			}
		},
		"get": func() {
			i := next()
			if _, err := s.Put(store.Batch{Blocks: blocks[i]}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(dst, hashes[i]); err != nil {
				t.Fatal(err)
			}
		},
		"view": func() {
			i := next()
			if _, err := s.Put(store.Batch{Blocks: blocks[i]}); err != nil {
				t.Fatal(err)
			}
			v, err := s.View(hashes[i])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := v.Block(0); err != nil {
				t.Fatal(err)
			}
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
		},
		"prefix": func() { s.Prefix(hashes[next()]) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 * len(blocks) {
				op()
			}
			require.Zero(t, testing.AllocsPerRun(200, op))
		})
	}
}

// resident is the resident memory of this process in bytes.
func resident(t testing.TB, field string) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("LOUD: resident memory is not measured here: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			require.NoError(t, err)
			return kib << 10
		}
	}
	t.Skipf("LOUD: no %s in the process status", field)
	return 0
}

func TestABudgetOf100GiBCostsNothingUntilUsed(t *testing.T) {
	if raceEnabled || strconv.IntSize == 32 {
		t.Skip("LOUD: needs a mapping of 100 GiB")
	}
	before := resident(t, "VmRSS")
	const blockBytes = 6144
	s, err := store.New(store.Options{MaxBytes: 100 << 30, BlockBytes: blockBytes})
	require.NoError(t, err)
	defer s.Close()
	rows := bytes.Repeat([]byte{1}, blockBytes)
	for i := range 100 {
		_, err := s.Put(store.Batch{Blocks: []store.Block{{Hash: hashOf(i), Rows: rows}}})
		require.NoError(t, err)
	}
	require.Greater(t, s.Stats().MappedBytes, int64(100<<30))
	require.Less(t, resident(t, "VmRSS")-before, int64(16<<20))
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	require.Less(t, memory.HeapAlloc, uint64(64<<20), "the collector does not count it")
}

func TestResidentMemoryStaysWithinTheBudget(t *testing.T) {
	if raceEnabled {
		t.Skip("LOUD: the race detector's own memory would be measured")
	}
	const blockBytes, budget = 6144, 64 << 20
	s, err := store.New(store.Options{MaxBytes: budget, BlockBytes: blockBytes})
	require.NoError(t, err)
	defer s.Close()
	rows := make([]byte, blockBytes)
	before := resident(t, "VmRSS")
	for i := range 3 * s.Slots() {
		_, err := s.Put(store.Batch{Blocks: []store.Block{{Hash: hashOf(i), Rows: rows}}})
		require.NoError(t, err)
	}
	stats := s.Stats()
	require.Equal(t, stats.Slots, stats.Used)
	require.Less(t, resident(t, "VmRSS")-before, int64(budget*103/100)+stats.MetadataBytes)
}

func TestAThousandStoresLeaveNoMemoryBehind(t *testing.T) {
	if raceEnabled {
		t.Skip("LOUD: blocks are in the Go heap under the race detector")
	}
	cycle := func() {
		s, err := store.New(store.Options{MaxBytes: 8 << 20, BlockBytes: 6144})
		require.NoError(t, err)
		_, err = s.Put(store.Batch{Blocks: []store.Block{{Hash: hashOf(1), Rows: make([]byte, 6144)}}})
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	for range 100 {
		cycle()
	}
	before := resident(t, "VmSize")
	for range 1000 {
		cycle()
	}
	require.Less(t, resident(t, "VmSize")-before, int64(256<<20))
}
