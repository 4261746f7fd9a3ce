package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// The store on which faults are committed: of four slots, blocks 0 to 3 are stored,
// 0 is retained twice, 9 once and absent. 1 is oldest, 2 newest.
const (
	faultSlots = 4
	faultBlock = 16
)

// fault is a misuse. It is committed on a store in the state above, in generation 1,
// and answers its error; skip says that the store cannot be misused like that.
type fault struct {
	name   string
	reason error
	commit func(t require.TestingT, s Store) (err error, skip bool)
}

// faults are all misuses.
func faults() []fault {
	rows := make([]byte, faultBlock)
	block := func(n int) store.Block { return store.Block{Hash: numbered(n), Rows: rows} }
	blocks := func(numbers ...int) (list []store.Block) {
		for _, n := range numbers {
			list = append(list, block(n))
		}
		return list
	}
	zero := make([]blockhash.Hash, 1)
	list := []fault{
		badBatch("rows that are too short", auxerrors.ErrPayloadSize, store.Batch{Blocks: []store.Block{block(4), {Hash: numbered(5), Rows: rows[1:]}}, Retain: numbers(1, 6)}),
		badBatch("rows that are too long", auxerrors.ErrPayloadSize, store.Batch{Blocks: []store.Block{{Hash: numbered(5), Rows: make([]byte, faultBlock+1)}}}),
		badBatch("no rows at all", auxerrors.ErrPayloadSize, store.Batch{Blocks: []store.Block{{Hash: numbered(5)}}, Release: numbers(0)}),
		badBatch("rows of the wrong size for a block that is there", auxerrors.ErrPayloadSize, store.Batch{Blocks: []store.Block{{Hash: numbered(1), Rows: rows[1:]}}}),
		badBatch("rows of the wrong size for a block that is named again", auxerrors.ErrPayloadSize, store.Batch{Blocks: []store.Block{{Hash: numbered(5), Rows: rows[1:]}, block(5)}}),
		badBatch("a block without a hash", auxerrors.ErrInvalidHash, store.Batch{Blocks: []store.Block{block(4), {Rows: rows}}}),
		badBatch("retaining no hash", auxerrors.ErrInvalidHash, store.Batch{Retain: append(numbers(1), zero...)}),
		badBatch("releasing no hash", auxerrors.ErrInvalidHash, store.Batch{Release: append(numbers(0), zero...)}),
		badBatch("releasing what is not retained", auxerrors.ErrNotRetained, store.Batch{Blocks: blocks(4), Retain: numbers(2), Release: numbers(0, 2, 1)}),
		badBatch("releasing what nobody knows", auxerrors.ErrNotRetained, store.Batch{Release: numbers(9, 8)}),
		badBatch("releasing once more than retained", auxerrors.ErrNotRetained, store.Batch{Release: numbers(0, 0, 0)}),
		badBatch("releasing once more than the batch retains", auxerrors.ErrNotRetained, store.Batch{Retain: numbers(7), Release: numbers(7, 7)}),
		badBatch("a batch of an older generation", auxerrors.ErrGeneration, store.Batch{Blocks: blocks(4), Retain: numbers(1)}),
		badBatch("a batch of a generation to come", auxerrors.ErrGeneration, store.Batch{Generation: 2, Blocks: blocks(4), Retain: numbers(1)}),
		badBatch("more blocks than slots", auxerrors.ErrCannotFit, store.Batch{Blocks: blocks(10, 11, 12, 13, 14)}),
		badBatch("more blocks than may be evicted", auxerrors.ErrCannotFit, store.Batch{Blocks: blocks(10, 11, 12, 13), Retain: numbers(10, 1)}),
		badBatch("a block too many for what the batch itself retains", auxerrors.ErrCannotFit, store.Batch{Blocks: blocks(10), Retain: numbers(1, 2, 3)}),
		badBatch("blocks that are there and one too many", auxerrors.ErrCannotFit, store.Batch{Blocks: blocks(3, 2, 1, 10), Release: numbers(9)}),
		badRead("a read of no hash", auxerrors.ErrInvalidHash, append(numbers(1), zero...)),
		badRead("a read of what is not there", auxerrors.ErrAbsent, numbers(1, 9)),
	}
	for _, generation := range []uint64{0, 2} {
		list = append(list, fault{fmt.Sprintf("retaining a prefix in generation %d of 1", generation), auxerrors.ErrGeneration, func(t require.TestingT, s Store) (error, bool) {
			retainer, ok := s.(PrefixRetainer)
			if !ok {
				return nil, true
			}
			n, err := retainer.RetainPrefix(generation, numbers(1, 2))
			require.Zero(t, n)
			return err, false
		}}, fault{fmt.Sprintf("removing in generation %d of 1", generation), auxerrors.ErrGeneration, func(t require.TestingT, s Store) (error, bool) {
			remover, ok := s.(Remover)
			if !ok {
				return nil, true
			}
			n, err := remover.Remove(generation, numbers(0, 1))
			require.Zero(t, n)
			return err, false
		}})
	}
	return list
}

// numbers are numbered hashes.
func numbers(list ...int) (hashes []blockhash.Hash) {
	for _, n := range list {
		hashes = append(hashes, numbered(n))
	}
	return hashes
}

// badBatch is the fault of putting a batch, which is of generation 1 unless the
// generation is what is wrong.
func badBatch(name string, reason error, batch store.Batch) fault {
	if reason != auxerrors.ErrGeneration {
		batch.Generation = 1
	}
	return fault{name, reason, func(t require.TestingT, s Store) (error, bool) {
		gone := numbers(99)
		batch.Evicted = &gone
		result, err := s.Put(batch)
		require.Zero(t, result)
		require.Equal(t, numbers(99), gone, "a batch that is refused evicts nothing")
		return err, false
	}}
}

// badRead is the fault of reading hashes, with a view too where there are views.
func badRead(name string, reason error, hashes []blockhash.Hash) fault {
	return fault{name, reason, func(t require.TestingT, s Store) (error, bool) {
		dst := append(make([]byte, 0, 1000), "before"...)
		got, err := s.Get(dst, hashes)
		require.Equal(t, dst, got, "the buffer as it was")
		if viewer, ok := s.(Viewer); ok {
			_, viewErr := viewer.OpenView(hashes)
			require.ErrorIs(t, viewErr, reason)
		}
		return err, false
	}}
}

// checkFaults commits every fault on a store of its own.
func checkFaults(t *testing.T, factory Factory) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) { checkFault(t, factory, f) })
	}
	t.Run("a consumer of a view that fails", func(t *testing.T) { checkConsumers(t, factory) })
	t.Run("a view that is closed while it is written", func(t *testing.T) { checkViewInUse(t, factory) })
	t.Run("a lease whose hashes others release", func(t *testing.T) { checkForeignRelease(t, factory) })
	t.Run("after Close", func(t *testing.T) { checkClosed(t, factory) })
}

// consumer is a function that takes rows.
type consumer func(rows []byte) (int, error)

func (c consumer) Write(rows []byte) (int, error) { return c(rows) }

// checkConsumers shows views to consumers that fail or panic. The view stays open
// and right, and closing it gives everything back.
func checkConsumers(t require.TestingT, factory Factory) {
	broken := errors.New("the consumer is broken")
	for _, c := range []consumer{
		func([]byte) (int, error) { panic(broken) },
		func([]byte) (int, error) { return 0, broken },
	} {
		s := prepared(t, factory)
		viewer, ok := s.(Viewer)
		if !ok {
			require.NoError(t, s.Close())
			return
		}
		view, err := viewer.OpenView(numbers(1, 3))
		require.NoError(t, err)
		err = func() (err error) {
			defer func() {
				if thrown := recover(); thrown != nil {
					err = thrown.(error)
				}
			}()
			_, err = view.WriteTo(c)
			return err
		}()
		require.ErrorIs(t, err, broken)

		// One slot is left beside the view and a retained block.
		for n := 20; n < 30; n++ {
			_, err := s.Put(store.Batch{Generation: 1, Blocks: []store.Block{{Hash: numbered(n), Rows: make([]byte, faultBlock)}}})
			require.NoError(t, err, "the store goes on")
		}
		for i, n := range []int{1, 3} {
			rows, err := view.Block(i)
			require.NoError(t, err, "the view is its owner's")
			require.Equal(t, payload(numbered(n), n, faultBlock), rows)
		}
		require.NoError(t, view.Close())
		for n := 30; n < 33; n++ {
			_, err := s.Put(store.Batch{Generation: 1, Blocks: []store.Block{{Hash: numbered(n), Rows: make([]byte, faultBlock)}}})
			require.NoError(t, err)
		}
		require.Equal(t, 3, s.Prefix(numbers(30, 31, 32)), "every slot but that of the retained block is there again")
		require.NoError(t, s.Close())
	}
}

// checkFault commits a fault. It is a typed error, and afterwards the store answers
// like its twin, on which no fault was committed.
func checkFault(t require.TestingT, factory Factory, f fault) {
	for _, ask := range []func(t require.TestingT, s Store) []string{askRows, askOrder, askCounts} {
		misused, twin := prepared(t, factory), prepared(t, factory)
		before := seen(misused)
		err, skip := f.commit(t, misused)
		if !skip {
			require.ErrorIs(t, err, f.reason)
			var typed *auxerrors.BlockObjectStoreError
			require.ErrorAs(t, err, &typed)
			require.Equal(t, before, seen(misused), "a fault has changed the state")
			require.Equal(t, ask(t, twin), ask(t, misused), "a fault has changed later answers")
		}
		require.NoError(t, misused.Close())
		require.NoError(t, twin.Close())
	}
}

// prepared is a store in the state on which faults are committed.
func prepared(t require.TestingT, factory Factory) Store {
	s, err := factory(faultSlots, faultBlock)
	require.NoError(t, err)
	generation, err := s.Reset()
	require.NoError(t, err)
	require.EqualValues(t, 1, generation)
	batch := store.Batch{Generation: 1, Retain: numbers(0, 0, 9)}
	for n := range faultSlots {
		batch.Blocks = append(batch.Blocks, store.Block{Hash: numbered(n), Rows: payload(numbered(n), n, faultBlock)})
	}
	_, err = s.Put(batch)
	require.NoError(t, err)
	for _, n := range []int{1, 3, 2} {
		_, err = s.Get(nil, numbers(n))
		require.NoError(t, err)
	}
	return s
}

// seen is what can be seen of the state without touching it.
func seen(s Store) string {
	var there []int
	for n := range 15 {
		there = append(there, s.Prefix(numbers(n)))
	}
	text := fmt.Sprint(there)
	if snapshotter, ok := s.(Snapshotter); ok {
		snapshot := snapshotter.Snapshot()
		text += fmt.Sprint(snapshot.Evictable, byHash(snapshot.Held), byHash(snapshot.Pending))
	}
	if counter, ok := s.(Counter); ok {
		c := counter.Stats()
		text += fmt.Sprint(c.Generation, c.Used, c.Retained, c.Pending, c.OpenViews, c.Orphaned)
	}
	return text
}

// askRows reads everything.
func askRows(_ require.TestingT, s Store) (answers []string) {
	for n := range 15 {
		rows, err := s.Get(nil, numbers(n))
		answers = append(answers, fmt.Sprint(n, rows, errors.Is(err, auxerrors.ErrAbsent)))
	}
	return answers
}

// askOrder finds out in which order blocks are evicted, by evicting them.
func askOrder(_ require.TestingT, s Store) (answers []string) {
	for n := range faultSlots + 1 {
		result, err := s.Put(store.Batch{Generation: 1, Blocks: []store.Block{{Hash: numbered(50 + n), Rows: make([]byte, faultBlock)}}})
		answers = append(answers, fmt.Sprint(result, err == nil, errors.Is(err, auxerrors.ErrCannotFit)))
		for old := range 15 {
			answers = append(answers, fmt.Sprint(n, old, s.Prefix(numbers(old))))
		}
	}
	return answers
}

// askCounts finds out how often everything is retained, by releasing it.
func askCounts(t require.TestingT, s Store) (answers []string) {
	for n := range 15 {
		count := 0
		for ; count < 10; count++ {
			if _, err := s.Put(store.Batch{Generation: 1, Release: numbers(n)}); err != nil {
				require.ErrorIs(t, err, auxerrors.ErrNotRetained)
				break
			}
		}
		answers = append(answers, fmt.Sprint(n, count))
	}
	return answers
}

// checkClosed closes a store twice and does everything to it once more.
func checkClosed(t require.TestingT, factory Factory) {
	s := prepared(t, factory)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "a second Close is harmless")
	require.Zero(t, s.Prefix(numbers(0, 1)))
	for name, err := range useOf(s, numbers(0, 1)) {
		require.ErrorIs(t, err, auxerrors.ErrClosed, name)
		var typed *auxerrors.BlockObjectStoreError
		require.ErrorAs(t, err, &typed, name)
	}
	require.NoError(t, s.Close())
}

// useOf does everything that can be done to a store and may fail, and closes what
// it opens. What it retains it releases.
func useOf(s Store, hashes []blockhash.Hash) map[string]error {
	errs := map[string]error{}
	batch := store.Batch{Generation: 1, Partial: true}
	for _, hash := range hashes {
		batch.Blocks = append(batch.Blocks, store.Block{Hash: hash, Rows: payload(hash, 0, faultBlock)})
	}
	_, errs["put"] = s.Put(batch)
	_, errs["get"] = s.Get(nil, hashes)
	if retainer, ok := s.(PrefixRetainer); ok {
		var n int
		if n, errs["retain prefix"] = retainer.RetainPrefix(1, hashes); n > 0 {
			_, errs["release"] = s.Put(store.Batch{Generation: 1, Release: hashes[:n]})
		}
	}
	if viewer, ok := s.(Viewer); ok {
		var view View
		if view, errs["open view"] = viewer.OpenView(hashes); view != nil && errs["open view"] == nil {
			_, errs["view block"] = view.Block(0)
			errs["close view"] = view.Close()
		}
	}
	if remover, ok := s.(Remover); ok {
		_, errs["remove"] = remover.Remove(1, slices.Clone(hashes[:1]))
	}
	return errs
}

// checkCloseRaces lets everything race with several calls of Close: each operation
// does its work, or finds the store closed, and Close returns once nothing is going
// on any more.
func checkCloseRaces(t require.TestingT, factory Factory) {
	for range 30 {
		s := prepared(t, factory)
		var wg sync.WaitGroup
		for user := range 4 {
			wg.Go(func() {
				for {
					errs := useOf(s, numbers(user, user+1))
					closed := 0
					for name, err := range errs {
						switch {
						case errors.Is(err, auxerrors.ErrClosed):
							closed++
						case err != nil && !errors.Is(err, auxerrors.ErrAbsent):
							t.Errorf("%s beside Close: %v", name, err)
							return
						}
					}
					if closed == len(errs) {
						return
					}
				}
			})
		}
		for range 3 {
			wg.Go(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close beside everything: %v", err)
				}
				if _, err := s.Get(nil, numbers(0)); !errors.Is(err, auxerrors.ErrClosed) {
					t.Errorf("a Get after Close has returned: %v", err)
				}
			})
		}
		wg.Wait()
	}
}
