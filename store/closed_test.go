package store_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// calls is every method that may fail, with right arguments and with all that can be
// wrong about them.
type calls map[string]func() error

// badBatches are batches that are refused for a reason of their own.
func badBatches() map[string]store.Batch {
	zero := make([]blockhash.Hash, 1)
	return map[string]store.Batch{
		"nothing at all":          {},
		"a block":                 {Blocks: blocksOf(0)},
		"rows that are too short": {Blocks: []store.Block{{Hash: hashOf(0), Rows: make([]byte, 3)}}},
		"a block without a hash":  {Blocks: []store.Block{{Rows: make([]byte, testBlock)}}},
		"another generation":      {Generation: 7, Blocks: blocksOf(0)},
		"retaining no hash":       {Retain: zero},
		"releasing no hash":       {Release: zero},
		"a foreign release":       {Release: hashesOf(5)},
		"more than fits":          {Blocks: blocksOf(0, 1, 2, 3, 4, 5, 6, 7, 8)},
	}
}

// badLists are lists of hashes, of which most cannot be read.
func badLists() map[string][]blockhash.Hash {
	return map[string][]blockhash.Hash{
		"nothing": nil, "a block": hashesOf(0), "an absent block": hashesOf(0, 9), "no hash": make([]blockhash.Hash, 1),
	}
}

func callsOfStore(s *store.Store) calls {
	c := calls{"reset": func() error { _, err := s.Reset(); return err }}
	for name, batch := range badBatches() {
		c["put of "+name] = func() error { _, err := s.Put(batch); return err }
	}
	for name, list := range badLists() {
		c["get of "+name] = func() error { _, err := s.Get(nil, list); return err }
		c["view of "+name] = func() error { _, err := s.View(list); return err }
		for generation := range uint64(2) {
			c["retain prefix of "+name] = func() error { _, err := s.RetainPrefix(generation, list); return err }
			c["remove of "+name] = func() error { _, err := s.Remove(generation, list); return err }
		}
	}
	return c
}

func callsOfLease(l *store.Lease) calls {
	c := calls{}
	for name, batch := range badBatches() {
		c["publish of "+name] = func() error { _, err := l.Publish(batch.Blocks); return err }
		c["retain of "+name] = func() error { return l.Retain(batch.Retain) }
		c["release of "+name] = func() error { return l.Release(batch.Release) }
	}
	for name, list := range badLists() {
		c["get of "+name] = func() error { _, err := l.Get(nil, list); return err }
		c["view of "+name] = func() error { _, err := l.View(list); return err }
		c["retain prefix of "+name] = func() error { _, err := l.RetainPrefix(list); return err }
		c["retain of "+name] = func() error { return l.Retain(list) }
		c["release of "+name] = func() error { return l.Release(list) }
	}
	return c
}

func callsOfView(v store.View) calls {
	return calls{
		"block":                      func() error { _, err := v.Block(0); return err },
		"a block that is none":       func() error { _, err := v.Block(-1); return err },
		"write":                      func() error { _, err := v.WriteTo(&bytes.Buffer{}); return err },
		"a write to a broken writer": func() error { _, err := v.WriteTo(nil); return err },
		"close":                      v.Close,
	}
}

func callsOfWriter(t *testing.T, w *store.Writer) calls {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	c := calls{}
	for how, ctx := range map[string]context.Context{"": t.Context(), ", cancelled": cancelled} {
		c["flush"+how] = func() error { return w.Flush(ctx) }
		c["wait for a ticket that is none"+how] = func() error { return w.Wait(ctx, 1<<40) }
		for name, batch := range badBatches() {
			c["put of "+name+how] = func() error { _, err := w.Put(ctx, batch); return err }
		}
		for name, list := range badLists() {
			c["get of "+name+how] = func() error { _, err := w.Get(ctx, nil, list); return err }
			c["view of "+name+how] = func() error { _, err := w.View(ctx, list); return err }
		}
	}
	return c
}

// TestWhatIsClosedSaysSoWhateverElseIsWrong closes a store, and what is open of it, and
// calls everything with everything.
func TestWhatIsClosedSaysSoWhateverElseIsWrong(t *testing.T) {
	open := func() (*store.Store, *store.Lease, *store.Writer) {
		s, err := store.New(store.Options{MaxBytes: 8 * testBlock, BlockBytes: testBlock})
		require.NoError(t, err)
		put(t, s, 0)
		w, err := store.NewWriter(s, 1)
		require.NoError(t, err)
		return s, s.Lease(), w
	}
	closed, itsLease, itsWriter := open()
	require.NoError(t, closed.Close())
	defer itsWriter.Close()

	s, lease, w := open()
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, lease.Close())
	require.NoError(t, w.Close())
	view, err := s.View(hashesOf(0))
	require.NoError(t, err)
	require.NoError(t, view.Close())

	// A batch in good order is not refused until it is applied; and a ticket that is
	// none is no business of the store's.
	writer := callsOfWriter(t, itsWriter)
	for _, name := range []string{"flush", "wait for a ticket that is none", "put of a block", "put of nothing at all", "put of a foreign release", "put of more than fits"} {
		delete(writer, name)
		delete(writer, name+", cancelled")
	}
	for what, c := range map[string]calls{
		"a closed store": callsOfStore(closed), "a lease of a closed store": callsOfLease(itsLease),
		"a writer of a closed store": writer,
		"a closed lease":             callsOfLease(lease), "a closed view": callsOfView(view), "the zero view": callsOfView(store.View{}),
		"a closed writer": callsOfWriter(t, w),
	} {
		for name, call := range c {
			err := call()
			require.ErrorIs(t, err, auxerrors.ErrClosed, "%s: %s", what, name)
			var typed *auxerrors.BlockObjectStoreError
			require.ErrorAs(t, err, &typed, "%s: %s", what, name)
		}
	}
	require.Zero(t, closed.Prefix(hashesOf(0)))
	require.Zero(t, closed.Prefix(make([]blockhash.Hash, 1)))
	require.Zero(t, closed.Snapshot())
	require.Zero(t, lease.Held())
	require.Zero(t, view.Len())
	require.NoError(t, closed.Close())
	require.NoError(t, lease.Close())
	require.NoError(t, w.Close())
	require.Zero(t, s.Stats().OpenViews+s.Stats().Retained+s.Stats().Pending)
	require.EqualValues(t, 1, s.Stats().Puts, "what is closed has put nothing")
}
