package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stamped are rows that follow from the hash, and that tell when two versions
// are mixed: every 8 bytes are the same stamp.
func stamped(hash blockhash.Hash, version, size int) []byte {
	return bytes.Repeat(binary.LittleEndian.AppendUint64(nil, hash.Low64()^uint64(version)<<56), size/8)
}

func isStamped(hash blockhash.Hash, rows []byte) bool {
	stamp := binary.LittleEndian.Uint64(rows)
	if (stamp^hash.Low64())<<8 != 0 {
		return false
	}
	return bytes.Equal(rows, bytes.Repeat(rows[:8], len(rows)/8))
}

// TestConcurrentUseReturnsOnlyPublishedRows lets every operation race every
// other on a store that is far too small, and checks each row that comes back.
func TestConcurrentUseReturnsOnlyPublishedRows(t *testing.T) {
	const blockBytes, slots, hashes = 512, 24, 64
	s, err := store.New(store.Options{MaxBytes: slots * blockBytes, BlockBytes: blockBytes})
	require.NoError(t, err)

	all := make([]blockhash.Hash, hashes)
	for i := range all {
		all[i] = hashOf(i)
	}
	run := func(r *rand.Rand) []blockhash.Hash {
		from := r.IntN(hashes - 8)
		return all[from : from+1+r.IntN(8)]
	}
	allowed := func(err error) bool {
		return err == nil || errors.Is(err, auxerrors.ErrAbsent) ||
			errors.Is(err, auxerrors.ErrCannotFit) || errors.Is(err, auxerrors.ErrGeneration) ||
			errors.Is(err, auxerrors.ErrClosed)
	}

	ctx, stop := context.WithTimeout(t.Context(), raceTime())
	defer stop()
	var readOK, refused atomic.Int64
	var wg sync.WaitGroup
	work := func(seed uint64, step func(r *rand.Rand) error) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for ctx.Err() == nil {
				if err := step(r); !allowed(err) {
					t.Errorf("unexpected error: %v", err)
					return
				}
			}
		})
	}
	put := func(r *rand.Rand) error {
		batch := store.Batch{Generation: s.Generation()}
		for _, hash := range run(r) {
			batch.Blocks = append(batch.Blocks, store.Block{Hash: hash, Rows: stamped(hash, r.IntN(200), blockBytes)})
		}
		_, err := s.Put(batch)
		if errors.Is(err, auxerrors.ErrCannotFit) {
			refused.Add(1)
		}
		return err
	}
	for seed := range uint64(2) {
		work(seed, put)
		var dst []byte
		work(10+seed, func(r *rand.Rand) error {
			want := run(r)
			var err error
			dst, err = s.Get(dst[:0], want)
			if err != nil {
				return err
			}
			for i, hash := range want {
				if !isStamped(hash, dst[i*blockBytes:(i+1)*blockBytes]) {
					t.Errorf("wrong rows for %v", hash)
				}
			}
			readOK.Add(1)
			return nil
		})
		work(20+seed, func(r *rand.Rand) error {
			want := run(r)
			v, err := s.View(want)
			if err != nil {
				return err
			}
			for i, hash := range want {
				rows, err := v.Block(i)
				if err != nil {
					return err
				}
				if !isStamped(hash, rows) {
					t.Errorf("wrong rows viewed for %v", hash)
				}
			}
			return v.Close()
		})
		work(30+seed, func(r *rand.Rand) error {
			lease := s.Lease()
			defer lease.Close()
			want := run(r)
			n, err := lease.RetainPrefix(want)
			if err != nil {
				return err
			}
			rows, err := lease.Get(nil, want[:n])
			if errors.Is(err, auxerrors.ErrAbsent) {
				t.Errorf("retained, and yet: %v", err)
			}
			for i := range len(rows) / blockBytes {
				if !isStamped(want[i], rows[i*blockBytes:(i+1)*blockBytes]) {
					t.Errorf("wrong rows retained for %v", want[i])
				}
			}
			return err
		})
	}
	work(40, func(r *rand.Rand) error {
		_, err := s.Remove(s.Generation(), run(r)[:1])
		return err
	})
	work(41, func(r *rand.Rand) error {
		time.Sleep(time.Millisecond)
		if r.IntN(4) == 0 {
			_, err := s.Reset()
			return err
		}
		stats := s.Stats()
		if stats.Used+stats.Orphaned > stats.Slots || stats.UsedBytes > stats.MaxBytes {
			t.Errorf("over budget: %+v", stats)
		}
		return nil
	})
	wg.Wait()
	require.Positive(t, readOK.Load(), "no read succeeded: the test proved nothing")

	stats := s.Stats()
	require.Zero(t, stats.Retained, "all leases are closed")
	require.Zero(t, stats.Pending)
	require.Zero(t, stats.OpenViews)
	require.Zero(t, stats.Orphaned)
	require.Len(t, s.Snapshot().Evictable, stats.Used)
	require.NoError(t, s.Close())
}

// raceTime is how long racing operations run.
func raceTime() time.Duration {
	if testing.Short() {
		return 200 * time.Millisecond
	}
	return 2 * time.Second
}

// TestABatchIsSeenWholeOrNotAtAll puts two chains in turn into a store that
// holds one of them, while readers look at both.
func TestABatchIsSeenWholeOrNotAtAll(t *testing.T) {
	const blockBytes, length = 4096, 16
	s, err := store.New(store.Options{MaxBytes: length * blockBytes, BlockBytes: blockBytes})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()

	var chains [2]store.Batch
	var hashes [2][]blockhash.Hash
	for c := range chains {
		for i := range length {
			hash := hashOf(c*length + i)
			hashes[c] = append(hashes[c], hash)
			chains[c].Blocks = append(chains[c].Blocks, store.Block{Hash: hash, Rows: stamped(hash, 0, blockBytes)})
		}
	}
	_, err = s.Put(chains[0])
	require.NoError(t, err)

	ctx, stop := context.WithTimeout(t.Context(), raceTime())
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		for c := 1; ctx.Err() == nil; c = 1 - c {
			if _, err := s.Put(chains[c]); err != nil {
				t.Error(err)
			}
		}
	})
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				for c := range hashes {
					if n := s.Prefix(hashes[c]); n != 0 && n != length {
						t.Errorf("%d of %d blocks of a batch are visible", n, length)
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestAPutGetsItsTurnBesideReaders has readers that never leave the only slot
// alone, and a put that needs it.
func TestAPutGetsItsTurnBesideReaders(t *testing.T) {
	const blockBytes = 1 << 20
	s, err := store.New(store.Options{MaxBytes: blockBytes, BlockBytes: blockBytes})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	blocks := []store.Block{
		{Hash: hashOf(0), Rows: stamped(hashOf(0), 0, blockBytes)},
		{Hash: hashOf(1), Rows: stamped(hashOf(1), 0, blockBytes)},
	}
	_, err = s.Put(store.Batch{Blocks: blocks[:1]})
	require.NoError(t, err)

	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var dst []byte
			for ctx.Err() == nil {
				for i := range 2 {
					got, err := s.Get(dst[:0], hashesOf(i))
					if err == nil && !isStamped(hashOf(i), got) {
						t.Error("wrong rows")
					}
					dst = got
				}
			}
		})
	}
	for i := range 50 {
		_, err := s.Put(store.Batch{Blocks: blocks[(i+1)%2:][:1]})
		require.NoError(t, err)
	}
	require.NoError(t, ctx.Err(), "50 puts did not get through in a minute")
	stop()
	wg.Wait()
}

func TestCloseRacesEverything(t *testing.T) {
	for range 50 {
		const blockBytes = 4096
		s, err := store.New(store.Options{MaxBytes: 8 * blockBytes, BlockBytes: blockBytes})
		require.NoError(t, err)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				<-start
				for {
					_, err := s.Put(store.Batch{Blocks: []store.Block{{Hash: hashOf(i), Rows: stamped(hashOf(i), 0, blockBytes)}}})
					if errors.Is(err, auxerrors.ErrClosed) {
						return
					}
					rows, err := s.Get(nil, hashesOf(i))
					if err == nil && !isStamped(hashOf(i), rows) {
						t.Error("wrong rows")
					}
					if v, err := s.View(hashesOf(i)); err == nil {
						if rows, err := v.Block(0); err != nil || !isStamped(hashOf(i), rows) {
							t.Error("wrong view")
						}
						v.Close()
					}
				}
			})
		}
		for range 2 {
			wg.Go(func() {
				<-start
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		wg.Wait()
	}
}
