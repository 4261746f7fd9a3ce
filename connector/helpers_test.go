package connector_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	"github.com/auxoutput/auxoutput/connector/guard"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/store"
)

// letters is a profile whose rows are one byte long, so that rows can be written as
// text. Blocks are of four rows.
var letters = routing.Profile{Layers: 1, TopK: 1, Experts: 256}

const four = 4

// checked is the set-up of a single rank, with which nothing is wrong.
var checked = func() guard.Checked {
	c, err := guard.Check(guard.SingleRank())
	if err != nil {
		panic(err)
	}
	return c
}()

// hashesOf makes a hash for each name.
func hashesOf(names ...string) []blockhash.Hash {
	hashes := []blockhash.Hash{}
	for _, name := range names {
		digest := sha256.Sum256([]byte(name))
		hash, err := blockhash.FromBytes(digest[:])
		if err != nil {
			panic(err) // a SHA-256 digest has the right size
		}
		hashes = append(hashes, hash)
	}
	return hashes
}

// bench is a worker over a store of its own.
type bench struct {
	testing.TB
	store  *store.Store
	worker *connector.Worker
	out    connector.Output
}

func options() connector.Options {
	return connector.Options{Checked: checked, Profile: letters, BlockTokens: four, MaxSequences: 4, MaxStepTokens: 16, MaxInFlight: 2}
}

func newBench(t testing.TB, slots int, change ...func(*connector.Options)) *bench {
	t.Helper()
	return benchFor(t, slots, options(), change...)
}

// benchFor is a bench whose store has so many slots for the blocks of the options.
func benchFor(t testing.TB, slots int, o connector.Options, change ...func(*connector.Options)) *bench {
	t.Helper()
	blockBytes := o.BlockTokens * o.Profile.RowBytes()
	s, err := store.New(store.Options{MaxBytes: int64(slots * blockBytes), BlockBytes: blockBytes})
	require.NoError(t, err)
	for _, c := range change {
		c(&o)
	}
	w, err := connector.NewWorker(s, o)
	require.NoError(t, err)
	b := &bench{TB: t, store: s, worker: w}
	t.Cleanup(func() {
		require.NoError(t, w.Close())
		require.NoError(t, s.Close())
	})
	return b
}

// starts is metadata in which requests start, each with hashes.
func starts(generation uint64, hashes map[string][]blockhash.Hash, ids ...string) *connector.Metadata {
	meta := &connector.Metadata{Generation: generation}
	for _, id := range ids {
		meta.Scheduled = append(meta.Scheduled, connector.Scheduled{ID: id, New: true, Keys: hashes[id]})
	}
	return meta
}

// goesOn is metadata in which requests run on.
func goesOn(ids ...string) *connector.Metadata {
	meta := &connector.Metadata{}
	for _, id := range ids {
		meta.Scheduled = append(meta.Scheduled, connector.Scheduled{ID: id})
	}
	return meta
}

// ends is metadata in which requests end.
func ends(ids ...string) *connector.Metadata {
	meta := &connector.Metadata{}
	for _, id := range ids {
		meta.Finished = append(meta.Finished, connector.Update{ID: id})
	}
	return meta
}

// one is a batch of one request that samples.
func one(id string, start int, rows string) connector.Batch {
	return connector.Batch{IDs: []string{id}, Starts: []int{start}, Bounds: []int{0, len(rows)}, Sampled: []int{1}, Rejected: []int{0}, RowCount: len(rows), Rows: []byte(rows)}
}

// chunk is a batch of a part of a prompt.
func chunk(id string, start int, rows string) connector.Batch {
	b := one(id, start, rows)
	b.Sampled[0] = 0
	return b
}

func (b *bench) begin(meta *connector.Metadata) connector.Step {
	b.Helper()
	step, err := b.worker.Begin(meta)
	require.NoError(b, err)
	return step
}

// process returns the rows handed out, "id@start:rows" each, in the batch's order.
func (b *bench) process(step connector.Step, batch connector.Batch) []string {
	b.Helper()
	require.NoError(b, b.worker.Process(step, batch, &b.out))
	return b.handed()
}

func (b *bench) handed() []string {
	var out []string
	for _, r := range b.out.Requests {
		if r.Err != nil {
			out = append(out, fmt.Sprintf("%s: %v", r.ID, r.Err))
			continue
		}
		out = append(out, fmt.Sprintf("%s@%d:%s", r.ID, r.Start, r.Rows))
	}
	return out
}

// run begins a step and processes its output.
func (b *bench) run(meta *connector.Metadata, batch connector.Batch) []string {
	b.Helper()
	return b.process(b.begin(meta), batch)
}

// refuses runs a step that must be refused whole.
func (b *bench) refuses(step connector.Step, batch connector.Batch, reason error) {
	b.Helper()
	worker, stored := b.worker.Stats(), b.store.Snapshot()
	require.ErrorIs(b, b.worker.Process(step, batch, &b.out), reason)
	require.Empty(b, b.out.Requests)
	require.Equal(b, worker, b.worker.Stats())
	require.ElementsMatch(b, stored.Held, b.store.Snapshot().Held)
	require.ElementsMatch(b, stored.Pending, b.store.Snapshot().Pending)
	require.Equal(b, stored.Evictable, b.store.Snapshot().Evictable)
}

// empty checks that nothing is left of any request.
func (b *bench) empty() {
	b.Helper()
	held, stored := b.worker.Stats(), b.store.Stats()
	require.Zero(b, held.Requests+held.InFlight+held.Tails+held.Waiting)
	require.Zero(b, stored.Retained+stored.Pending)
}
