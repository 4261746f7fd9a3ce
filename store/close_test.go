package store_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

const closingBlock = 1024

// closing is a store that is about to be closed, and the hashes that are used.
type closing struct {
	store  *store.Store
	writer *store.Writer
	hashes []blockhash.Hash
}

func (c *closing) run(r *rand.Rand) []blockhash.Hash {
	from := r.IntN(len(c.hashes) - 3)
	return c.hashes[from : from+1+r.IntN(3)]
}

func (c *closing) batch(r *rand.Rand) store.Batch {
	batch := store.Batch{Generation: c.store.Generation(), Partial: r.IntN(3) == 0}
	for _, hash := range c.run(r) {
		batch.Blocks = append(batch.Blocks, store.Block{Hash: hash, Rows: stamped(hash, r.IntN(200), closingBlock)})
	}
	return batch
}

// errWrong is what no operation may ever find.
var errWrong = errors.New("wrong rows")

func check(hashes []blockhash.Hash, rows []byte) error {
	if len(rows) != len(hashes)*closingBlock {
		return errWrong
	}
	for i, hash := range hashes {
		if !isStamped(hash, rows[i*closingBlock:(i+1)*closingBlock]) {
			return errWrong
		}
	}
	return nil
}

// show reads a view in all ways and closes it.
func show(hashes []blockhash.Hash, view store.View, err error) error {
	if err != nil {
		return err
	}
	for i := range hashes {
		rows, err := view.Block(i)
		if err == nil {
			err = check(hashes[i:i+1], rows)
		}
		if err != nil {
			return errors.Join(errWrong, err)
		}
	}
	if n, err := view.WriteTo(io.Discard); err != nil || n != int64(len(hashes)*closingBlock) {
		return errors.Join(errWrong, err)
	}
	return view.Close()
}

// everything is all that can be done with a store.
var everything = map[string]func(c *closing, r *rand.Rand) error{
	"put": func(c *closing, r *rand.Rand) error { _, err := c.store.Put(c.batch(r)); return err },
	"get": func(c *closing, r *rand.Rand) error {
		hashes := c.run(r)
		rows, err := c.store.Get(nil, hashes)
		if err != nil {
			return err
		}
		return check(hashes, rows)
	},
	"view": func(c *closing, r *rand.Rand) error {
		hashes := c.run(r)
		view, err := c.store.View(hashes)
		return show(hashes, view, err)
	},
	"prefix": func(c *closing, r *rand.Rand) error { c.store.Prefix(c.run(r)); return nil },
	"retain prefix": func(c *closing, r *rand.Rand) error {
		generation, hashes := c.store.Generation(), c.run(r)
		n, err := c.store.RetainPrefix(generation, hashes)
		if err != nil {
			return err
		}
		_, err = c.store.Put(store.Batch{Generation: generation, Release: hashes[:n]})
		return err
	},
	"remove": func(c *closing, r *rand.Rand) error {
		_, err := c.store.Remove(c.store.Generation(), c.run(r))
		return err
	},
	"reset": func(c *closing, r *rand.Rand) error { _, err := c.store.Reset(); return err },
	"stats": func(c *closing, r *rand.Rand) error {
		if stats := c.store.Stats(); stats.Used+stats.Orphaned > stats.Slots {
			return errWrong
		}
		if len(c.store.Snapshot().Evictable) > c.store.Slots() {
			return errWrong
		}
		return nil
	},
	"lease": func(c *closing, r *rand.Rand) error {
		lease := c.store.Lease()
		defer lease.Close()
		hashes := c.run(r)
		n, err := lease.RetainPrefix(hashes)
		if err != nil {
			return err
		}
		if rows, err := lease.Get(nil, hashes[:n]); err == nil {
			if err := check(hashes[:n], rows); err != nil {
				return err
			}
		} else if errors.Is(err, auxerrors.ErrAbsent) {
			return errors.Join(errWrong, err)
		}
		if view, err := lease.View(hashes[:n]); err == nil {
			if err := show(hashes[:n], view, nil); err != nil {
				return err
			}
		}
		if _, err := lease.Publish(c.batch(r).Blocks); err != nil {
			return err
		}
		if err := lease.Release(hashes[:n]); err != nil {
			return err
		}
		return lease.Close()
	},
	"writer": func(c *closing, r *rand.Rand) error {
		ctx := context.Background()
		batch := c.batch(r)
		batch.Partial = true // or the first batch without room would end the writer
		ticket, err := c.writer.Put(ctx, batch)
		if err != nil {
			return err
		}
		c.writer.Queued()
		c.writer.Late()
		switch hashes := c.run(r); r.IntN(4) {
		case 0:
			return c.writer.Wait(ctx, ticket)
		case 1:
			return c.writer.Flush(ctx)
		case 2:
			view, err := c.writer.View(ctx, hashes)
			return show(hashes, view, err)
		default:
			rows, err := c.writer.Get(ctx, nil, hashes)
			if err != nil {
				return err
			}
			return check(hashes, rows)
		}
	},
}

// TestCloseRacesEveryOperation closes a store, and in half of the rounds its writer
// before it, while each operation is being repeated.
func TestCloseRacesEveryOperation(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 10
	}
	for round := range rounds {
		s, err := store.New(store.Options{MaxBytes: 8 * closingBlock, BlockBytes: closingBlock, Verify: round%3 == 0})
		require.NoError(t, err)
		writer, err := store.NewWriter(s, 2)
		require.NoError(t, err)
		c := &closing{store: s, writer: writer}
		for i := range 12 {
			c.hashes = append(c.hashes, hashOf(i))
		}
		var over atomic.Bool // the store is closed, and every operation has to say so
		var running, wg sync.WaitGroup
		for name, operation := range everything {
			running.Add(1)
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(len(name))))
				for turn := 0; ; turn++ {
					last := over.Load()
					err := operation(c, r)
					if turn == 0 {
						running.Done()
					}
					switch {
					case errors.Is(err, errWrong):
						t.Errorf("%s: %v", name, err)
					case errors.Is(err, auxerrors.ErrClosed):
						var typed *auxerrors.BlockObjectStoreError
						if !errors.As(err, &typed) {
							t.Errorf("%s: an untyped error: %v", name, err)
						}
					case err != nil && !errors.Is(err, auxerrors.ErrAbsent) && !errors.Is(err, auxerrors.ErrCannotFit) && !errors.Is(err, auxerrors.ErrGeneration):
						t.Errorf("%s: unexpected: %v", name, err)
					case last && err != nil:
						t.Errorf("%s: closed, and yet: %v", name, err)
					case last && name != "prefix" && name != "stats":
						t.Errorf("%s: it succeeded on a closed store", name)
					}
					if last {
						return
					}
				}
			})
		}
		running.Wait() // everything has been done once
		time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
		var closers sync.WaitGroup
		for closer := range 3 {
			closers.Go(func() {
				if closer == 0 && round%2 == 0 {
					if err := writer.Close(); err != nil && !errors.Is(err, auxerrors.ErrClosed) {
						t.Errorf("closing the writer: %v", err)
					}
				}
				if err := s.Close(); err != nil {
					t.Errorf("closing: %v", err)
				}
			})
		}
		closers.Wait()
		over.Store(true)
		wg.Wait()
		if err := writer.Close(); err != nil {
			require.ErrorIs(t, err, auxerrors.ErrClosed, "the store ended before the writer")
			require.ErrorIs(t, err, auxerrors.ErrPublication)
		}
		require.Zero(t, writer.Queued())
		stats := s.Stats()
		require.Zero(t, stats.OpenViews)
		require.Zero(t, stats.MappedBytes)
		require.Zero(t, s.Snapshot())
	}
}
