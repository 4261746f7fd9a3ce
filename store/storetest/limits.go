package storetest

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// checkLimits runs the checks of limits that need no second goroutine.
func checkLimits(t *testing.T, factory Factory) {
	t.Run("many hashes take no more than the slots", func(t *testing.T) { checkManyHashes(t, factory) })
	t.Run("a slot that is used again shows nothing of before", func(t *testing.T) { checkStale(t, factory) })
}

// checkManyHashes puts 32 MiB of blocks through four slots and looks for what grows.
func checkManyHashes(t require.TestingT, factory Factory) {
	const slots, blockBytes, hashes, spare = 4, 64 << 10, 512, 8 << 20
	s, err := factory(slots, blockBytes)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	before := footprint(s)
	var waiting []blockhash.Hash
	for n := range hashes {
		next := numbers(1_000_000 + n) // never published
		rows := payload(numbered(n), n, blockBytes)
		_, err := s.Put(store.Batch{Blocks: []store.Block{{Hash: numbered(n), Rows: rows}}, Retain: next, Release: waiting})
		require.NoError(t, err)
		waiting = next
		got, err := s.Get(nil, numbers(n))
		require.NoError(t, err)
		require.Equal(t, rows, got)
		if counter, ok := s.(Counter); ok {
			stats := counter.Stats()
			require.LessOrEqual(t, stats.Used+stats.Orphaned, slots)
			require.LessOrEqual(t, stats.Pending, 1)
		}
	}
	there := 0
	for n := range hashes {
		there += s.Prefix(numbers(n))
	}
	require.Equal(t, slots, there, "blocks that are there after %d were put", hashes)
	require.Less(t, footprint(s)-before, int64(spare), "memory grows with hashes that are gone")
}

// footprint is the memory of this process as far as a test can see it without the
// system's help: the Go heap, and what the store says that it maps.
func footprint(s Store) int64 {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	total := int64(memory.HeapAlloc)
	if counter, ok := s.(Counter); ok {
		total += counter.Stats().MappedBytes
	}
	return total
}

// checkStale brings the same hashes back with other rows, by all the ways in which
// a block can go.
func checkStale(t require.TestingT, factory Factory) {
	const slots, blockBytes = 3, 64
	s, err := factory(slots, blockBytes)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	generation := uint64(0)
	leave := map[string]func(){
		"evicted": func() {
			for n := range slots {
				_, err := s.Put(store.Batch{Generation: generation, Blocks: []store.Block{{Hash: numbered(100 + n), Rows: payload(numbered(100+n), 0, blockBytes)}}})
				require.NoError(t, err)
			}
		},
		"reset": func() {
			generation, err = s.Reset()
			require.NoError(t, err)
		},
	}
	if remover, ok := s.(Remover); ok {
		leave["removed"] = func() {
			_, err := remover.Remove(generation, numbers(0, 1, 2))
			require.NoError(t, err)
		}
	}
	version := 0
	for range 20 {
		for how, leave := range leave {
			version++
			old := version
			batch := store.Batch{Generation: generation}
			var want []byte
			for n := range slots {
				rows := payload(numbered(n), version, blockBytes)
				want = append(want, rows...)
				batch.Blocks = append(batch.Blocks, store.Block{Hash: numbered(n), Rows: rows})
			}
			_, err := s.Put(batch)
			require.NoError(t, err)
			got, err := s.Get(nil, numbers(0, 1, 2))
			require.NoError(t, err)
			require.Equal(t, want, got, "rows of version %d", old)

			leave()
			require.Zero(t, s.Prefix(numbers(0)), "%s, and there all the same", how)
			for n := range slots {
				_, err := s.Get(nil, numbers(n))
				require.ErrorIs(t, err, auxerrors.ErrAbsent, how)
			}
		}
	}
}

// checkBudget lets many goroutines put and retain at the same time: there are never
// more blocks than slots, no read finds rows of another hash, and in the end every
// slot is there to be used.
func checkBudget(t require.TestingT, factory Factory) {
	const slots, blockBytes, putters, rounds = 5, 512, 6, 1000
	s, err := factory(slots, blockBytes)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	all := make([]blockhash.Hash, slots+1) // one more than can be there
	for n := range all {
		all[n] = numbered(n)
	}
	var putting, watching sync.WaitGroup
	over := make(chan struct{})
	for putter := range putters {
		putting.Go(func() {
			r := rand.New(rand.NewPCG(uint64(putter), 7))
			for range rounds {
				if err := putAndRelease(s, r, all, blockBytes); err != nil {
					t.Errorf("a put beside others: %v", err)
					return
				}
			}
		})
	}
	for range 2 {
		watching.Go(func() {
			for {
				if text := overBudget(s, all, slots, blockBytes); text != "" {
					t.Errorf("beside many puts: %s", text)
					return
				}
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	putting.Wait()
	close(over)
	watching.Wait()

	there := 0
	for n := range all {
		there += s.Prefix(all[n : n+1])
	}
	require.LessOrEqual(t, there, slots, "blocks that are there when all is quiet")
	last := store.Batch{}
	for n := range slots {
		last.Blocks = append(last.Blocks, store.Block{Hash: numbered(50 + n), Rows: make([]byte, blockBytes)})
	}
	_, err = s.Put(last)
	require.NoError(t, err, "nothing is retained any more, so every slot can be had")
	require.Equal(t, slots, s.Prefix(numbers(50, 51, 52, 53, 54)))
}

// putAndRelease puts a run of blocks, which it retains or not, and releases them.
func putAndRelease(s Store, r *rand.Rand, all []blockhash.Hash, blockBytes int) error {
	from := r.IntN(len(all))
	run := all[from : from+1+r.IntN(len(all)-from)]
	batch := store.Batch{Partial: r.IntN(2) == 0}
	for _, hash := range run {
		batch.Blocks = append(batch.Blocks, store.Block{Hash: hash, Rows: stamped(hash, r.IntN(200), blockBytes)})
	}
	if r.IntN(3) == 0 {
		batch.Retain = run
	}
	_, err := s.Put(batch)
	if errors.Is(err, auxerrors.ErrCannotFit) {
		return nil // what others retain is in the way
	}
	if err == nil && batch.Retain != nil {
		_, err = s.Put(store.Batch{Release: run})
	}
	return err
}

// overBudget says what is wrong with a store that others use at the moment.
func overBudget(s Store, all []blockhash.Hash, slots, blockBytes int) string {
	if s.Prefix(all) > slots {
		return "more blocks are there than there are slots"
	}
	if counter, ok := s.(Counter); ok {
		if stats := counter.Stats(); stats.Used+stats.Orphaned > stats.Slots || stats.UsedBytes > stats.MaxBytes {
			return "the store says itself that it is over its budget"
		}
	}
	for n := range all {
		rows, err := s.Get(nil, all[n:n+1])
		switch {
		case errors.Is(err, auxerrors.ErrAbsent):
		case err != nil:
			return "a read: " + err.Error()
		case len(rows) != blockBytes || !isStamped(all[n], rows):
			return "a read found rows of another hash, or of two"
		}
	}
	return ""
}

// stamped are rows of which every 8 bytes name the hash and the version.
func stamped(hash blockhash.Hash, version, size int) []byte {
	rows := make([]byte, 0, size)
	for len(rows) < size {
		rows = binary.LittleEndian.AppendUint64(rows, hash.Low64()^uint64(version)<<56)
	}
	return rows
}

// isStamped reports whether rows are one version of a hash's.
func isStamped(hash blockhash.Hash, rows []byte) bool {
	first := binary.LittleEndian.Uint64(rows)
	for at := 0; at < len(rows); at += 8 {
		if stamp := binary.LittleEndian.Uint64(rows[at:]); stamp != first || (stamp^hash.Low64())<<8 != 0 {
			return false
		}
	}
	return true
}
