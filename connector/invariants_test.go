package connector_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	"github.com/auxoutput/auxoutput/store"
)

// The five invariants that any way of keeping rows beside a KV cache has to keep, I1
// to I5, each looked at in the store itself after every step of a small engine.
// What the requests get is the business of other tests.

// modes are the ways in which the invariants have to hold.
var modes = []connector.Mode{connector.FailClosed, connector.RowGated, connector.Linked}

// along plays drawn traffic in each mode, with an observer of its own for each
// engine. few says in which modes the store may be smaller than the KV pool.
func along(t *testing.T, few func(connector.Mode) bool, change func(*engineConfig), observe func(*engine) observer) {
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := drawConfig(t, mode)
				if few(mode) && rapid.Bool().Draw(t, "few slots") {
					cfg.slots = rapid.IntRange(1, cfg.slots).Draw(t, "slots")
				}
				if mode != connector.Linked {
					cfg.writer = rapid.IntRange(0, 4).Draw(t, "writer") == 0
				}
				change(&cfg)
				e := newEngine(t, cfg, drawn{t})
				defer e.close()
				e.watch = observe(e)
				traffic(e, rapid.IntRange(1, 60).Draw(t, "steps"))
				e.drain()
			})
		})
	}
}

// happened fails if what an invariant is about did not occur in any of the cases
// drawn. A short run draws too few to insist.
func happened(t *testing.T, times int, what string) {
	if !testing.Short() {
		require.Positive(t, times, "it never happened %s: draw more cases", what)
	}
}

func always(connector.Mode) bool            { return true }
func inGatedModes(mode connector.Mode) bool { return mode != connector.FailClosed }
func asDrawn(*engineConfig)                 {}

// look is everything that the store knows, once all that was put is in it.
func (e *engine) look() store.Snapshot {
	if e.writer != nil {
		require.NoError(e.t, e.writer.Flush(context.Background()))
	}
	return e.store.Snapshot()
}

// peek reads every block and leaves the order of eviction as it is: what is newest
// stands first in the list, and the store walks a list backwards.
func (e *engine) peek() map[blockhash.Hash][]byte {
	snapshot := e.look()
	hashes := slices.Clone(snapshot.Evictable)
	slices.Reverse(hashes)
	for _, held := range snapshot.Held {
		hashes = append(hashes, held.Hash)
	}
	all, err := e.store.Get(nil, hashes)
	require.NoError(e.t, err)
	blocks, size := map[blockhash.Hash][]byte{}, e.store.BlockBytes()
	for i, hash := range hashes {
		blocks[hash] = all[i*size : (i+1)*size]
	}
	require.Equal(e.t, snapshot.Evictable, e.store.Snapshot().Evictable, "a look that changed the order")
	return blocks
}

// renewed reports whether the worker has heard of the last reset. Until then a gated
// store is empty, and any other one is still of the generation before.
func (e *engine) renewed() bool { return e.worker.Stats().Generation == e.scheduler.Generation() }

// truth is the rows of the block of a key.
func (e *engine) truth(generation uint64, key blockhash.Hash) []byte {
	it, known := e.contents[key]
	require.True(e.t, known, "a key of no tokens")
	var rows []byte
	for p := it.at; p < it.at+e.cfg.block; p++ {
		rows = append(rows, e.row(generation, it.writer, it.tokens, p)...)
	}
	return rows
}

// eachTime is an observer of single moments.
type eachTime struct{ check func() }

func (o eachTime) begun()           { o.check() }
func (o eachTime) processed(flight) { o.check() }

// told follows what the worker was told, and so must retain.
type told struct {
	*engine
	generation uint64
	lives      map[string]*toldLife
	steps      []connector.Metadata // without an output so far; that of the first one is in effect
	pinned     map[*toldLife]map[blockhash.Hash]bool
}

type toldLife struct{ keys []blockhash.Hash }

func (o *told) begun() {
	meta := o.meta
	if meta.Generation > o.generation {
		o.generation, o.steps, o.lives = meta.Generation, nil, map[string]*toldLife{}
	}
	if len(o.steps) == 0 {
		o.apply(meta)
	}
	if len(o.steps) > 0 || len(meta.Scheduled) > 0 {
		o.steps = append(o.steps, copied(meta))
	}
	o.check()
}

func (o *told) processed(flight) {
	for o.steps = o.steps[1:]; len(o.steps) > 0; o.steps = o.steps[1:] {
		o.apply(o.steps[0])
		if len(o.steps[0].Scheduled) > 0 {
			break
		}
	}
	o.check()
}

func (o *told) apply(meta connector.Metadata) {
	for _, f := range meta.Finished {
		delete(o.lives, f.ID)
	}
	for _, s := range meta.Scheduled {
		if s.New {
			o.lives[s.ID] = new(toldLife)
		}
		o.lives[s.ID].keys = append(o.lives[s.ID].keys, s.Keys...)
	}
	for _, u := range meta.Updates {
		o.lives[u.ID].keys = append(o.lives[u.ID].keys, u.Keys...)
	}
}

// copied is metadata that outlives the next step.
func copied(meta connector.Metadata) connector.Metadata {
	c := connector.Metadata{Generation: meta.Generation}
	for _, f := range meta.Finished {
		c.Finished = append(c.Finished, connector.Update{ID: f.ID, Keys: slices.Clone(f.Keys)})
	}
	for _, s := range meta.Scheduled {
		s.Keys = slices.Clone(s.Keys)
		c.Scheduled = append(c.Scheduled, s)
	}
	for _, u := range meta.Updates {
		c.Updates = append(c.Updates, connector.Update{ID: u.ID, Keys: slices.Clone(u.Keys)})
	}
	return c
}

func (o *told) check() {
	snapshot := o.look()
	if !o.renewed() && o.worker.Gate() != nil {
		return // nothing is stored, and all that is to come is refused
	}
	want, got, there := map[blockhash.Hash]int{}, map[blockhash.Hash]int{}, map[blockhash.Hash]bool{}
	for _, life := range o.lives {
		for _, key := range life.keys {
			want[key]++
		}
	}
	for _, held := range snapshot.Held {
		got[held.Hash], there[held.Hash] = held.Refs, true
	}
	for _, pending := range snapshot.Pending {
		got[pending.Hash] = pending.Refs
	}
	if o.worker.Gate() == nil {
		require.Equal(o.t, want, got, "each live request retains each of its keys once, and nobody else does")
	}
	for key, n := range want { // a gate also holds what was admitted and has not begun
		require.GreaterOrEqual(o.t, got[key], n)
	}
	was := o.pinned
	o.pinned = map[*toldLife]map[blockhash.Hash]bool{}
	for _, life := range o.lives {
		o.pinned[life] = map[blockhash.Hash]bool{}
		for _, key := range life.keys {
			require.True(o.t, there[key] || !was[life][key], "a block of a live request is gone")
			o.pinned[life][key] = there[key]
		}
	}
}

// I1: the blocks of a live request are pinned. From the step in which the worker
// hears of a key until it hears of the end of the request, that request retains it
// once, stored or not yet, and once stored the block stays.
func TestI1_BlocksOfALiveRequestArePinned(t *testing.T) {
	along(t, always, asDrawn, func(e *engine) observer {
		return &told{engine: e, lives: map[string]*toldLife{}}
	})
}

// I2: the store never holds more blocks than it has slots, nor slots than its budget
// pays for, however many requests want to keep theirs.
func TestI2_NoMoreSlotsAreUsedThanThereAre(t *testing.T) {
	along(t, always, asDrawn, func(e *engine) observer {
		return eachTime{func() {
			snapshot := e.look()
			stats := e.store.Stats()
			there := map[blockhash.Hash]bool{}
			for _, hash := range snapshot.Evictable {
				there[hash] = true
			}
			for _, held := range snapshot.Held {
				there[held.Hash] = true
			}
			require.LessOrEqual(e.t, len(there), e.cfg.slots)
			require.LessOrEqual(e.t, stats.Used+stats.Orphaned, e.cfg.slots)
			require.Len(e.t, there, stats.Used)
			require.LessOrEqual(e.t, int64(stats.Slots)*int64(stats.BlockBytes), stats.MaxBytes)
		}}
	})
}

// I3: every block of a hit that was served can be read, and has the rows of its
// tokens, from the output of the request's first step to its end: whether the
// request reads it or not. In FailClosed that needs a slot for each hash block.
func TestI3_AServedHitIsReadableUntilTheRequestEnds(t *testing.T) {
	checked := 0
	along(t, inGatedModes, asDrawn, func(e *engine) observer {
		return eachTime{func() {
			blocks := e.peek()
			for _, s := range e.running {
				if s.landed != s.life+1 {
					continue // the rows may be those that its first step computes
				}
				keys, err := e.scheduler.Keys(s.id, s.kv.HitHashes())
				require.NoError(e.t, err)
				for i, key := range keys {
					rows, there := blocks[key]
					require.True(e.t, there, "request %s hit %d tokens, and block %v is gone", s.id, s.kv.Hit(), key)
					require.Equal(e.t, e.truth(e.scheduler.Generation(), key), rows)
					require.Equal(e.t, e.wroteBy(s, i*e.cfg.block), e.contents[key].writer, "rows of another computation")
					checked++
				}
			}
		}}
	})
	happened(t, checked, "that anything was hit")
}

// I4: what is stored under a key was computed with the weights of the generation in
// which it can be read. No output that was in flight as a generation ended, and no
// block of before, is there afterwards.
func TestI4_StoredRowsAreOfTheGenerationThatReadsThem(t *testing.T) {
	late := 0
	along(t, always, asDrawn, func(e *engine) observer {
		return eachTime{func() {
			blocks := e.peek()
			if e.worker.Gate() != nil && !e.renewed() {
				require.Empty(e.t, blocks)
			}
			generation := e.worker.Stats().Generation
			for key, rows := range blocks {
				require.Equal(e.t, e.truth(generation, key), rows)
			}
			late += e.refused
		}}
	})
	happened(t, late, "that an output came too late")
}

// residents watches the bytes of each block for as long as it stays.
type residents struct {
	*engine
	blocks map[blockhash.Hash][]byte
	stats  store.Stats
	twice  *int
}

func (o *residents) begun()           { o.check() }
func (o *residents) processed(flight) { o.check() }

func (o *residents) check() {
	blocks := o.peek()
	stats := o.store.Stats()
	hashes := map[blockhash.Hash]bool{}
	for key, rows := range blocks {
		if was, stood := o.blocks[key]; stood && stats.Generation == o.stats.Generation {
			require.Equal(o.t, was, rows, "a block changed while it stayed")
		}
		if hash := o.contents[key].hash; hashes[hash] {
			*o.twice++
		} else {
			hashes[hash] = true
		}
	}
	published := stats.Stored + stats.Present + stats.Dropped + stats.LeftOut
	require.LessOrEqual(o.t, published, o.completed, "a computed block is published once at most")
	require.Zero(o.t, stats.Present, "a key is published by the one admission that it names")
	o.blocks, o.stats = blocks, stats
}

// I5: a block is written once. Whoever computes the same tokens again publishes rows of
// its own, and both can be there at a time.
func TestI5_ABlockIsWrittenOnce(t *testing.T) {
	twice := 0
	along(t, always, asDrawn, func(e *engine) observer {
		return &residents{engine: e, blocks: map[blockhash.Hash][]byte{}, twice: &twice}
	})
	happened(t, twice, "that a block was computed again while its rows were there")
}
