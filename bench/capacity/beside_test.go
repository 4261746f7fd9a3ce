package capacity

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// literalLost counts lost requests as the text of Beside says it.
func literalLost(trace [][]uint32, kvBlocks int, store Store) (hits, lost int) {
	kv, rows := &literalLRU{capacity: kvBlocks}, &literalLRU{capacity: store.Slots}
	for _, blocks := range trace {
		hit := kv.replay(blocks)
		if hit > 0 {
			hits++
		}
		present := func(block uint32) bool { return rows.has(block) }
		if !allOf(blocks[:hit], present) {
			lost++
		}
		var touched []uint32
		for i, block := range blocks[:min(len(blocks), store.Slots)] {
			if i < hit && (store.IgnoreHits || store.Regime == FailClosed && !present(block)) {
				continue
			}
			touched = append(touched, block)
		}
		if store.Order == TailFirst {
			slices.Reverse(touched)
		}
		for _, block := range touched {
			rows.touch(block)
		}
	}
	return hits, lost
}

func allOf(blocks []uint32, ok func(uint32) bool) bool {
	return !slices.ContainsFunc(blocks, func(block uint32) bool { return !ok(block) })
}

func lostOf(t require.TestingT, trace [][]uint32, kvBlocks int, stores ...Store) []Outcome {
	beside, err := NewBeside(kvBlocks, stores...)
	require.NoError(t, err)
	for _, blocks := range trace {
		require.NoError(t, beside.Add(blocks))
	}
	return beside.Outcomes()
}

func TestAStoreBesideTheCacheLosesWhatALiteralReplayLoses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := uniqueTrace(t)
		kvBlocks := rapid.IntRange(1, 30).Draw(t, "kv blocks")
		store := Store{
			Slots:      rapid.IntRange(1, 30).Draw(t, "slots"),
			Order:      rapid.SampledFrom([]Order{TailFirst, HeadFirst}).Draw(t, "order"),
			Regime:     rapid.SampledFrom([]Regime{FailClosed, Recompute}).Draw(t, "regime"),
			IgnoreHits: rapid.Bool().Draw(t, "ignore hits"),
		}
		hits, lost := literalLost(trace, kvBlocks, store)
		require.Equal(t, []Outcome{{Store: store, Hits: hits, Lost: lost}}, lostOf(t, trace, kvBlocks, store))
	})
}

// TestTheSmallestSafeStoreIsExact is the proof of the package's text by
// simulation: nothing is lost with that many slots or more, in either regime, and
// something with one fewer. Repeated blocks in a request do not disturb it.
func TestTheSmallestSafeStoreIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := anyTrace(t)
		kvBlocks := rapid.IntRange(1, 40).Draw(t, "kv blocks")
		curve := curveOf(t, trace)
		safe := curve.SafeSlots(kvBlocks)
		require.LessOrEqual(t, safe, kvBlocks)
		for _, slots := range []int{safe - 1, safe, safe + 1, kvBlocks} {
			if slots < 1 {
				continue
			}
			for _, o := range lostOf(t, trace, kvBlocks, Store{Slots: slots}, Store{Slots: slots, Regime: Recompute}) {
				require.Equal(t, curve.RequestsWithHit(kvBlocks), o.Hits)
				if slots < safe {
					require.Positive(t, o.Lost, "%d slots, %v", slots, o.Regime)
				} else {
					require.Zero(t, o.Lost, "%d slots, %v", slots, o.Regime)
				}
			}
		}
	})
}

func TestStoresThatDoNotFollowTheCacheLoseRowsAtEqualSize(t *testing.T) {
	// A chain that stays in use while others pass by; the cache holds all of it.
	trace := [][]uint32{{0, 1}, {2, 3}, {0, 1}, {4, 5}, {0, 1}}
	got := lostOf(t, trace, 4,
		Store{Slots: 4},
		Store{Slots: 4, IgnoreHits: true},
		Store{Slots: 2},
		Store{Slots: 2, Regime: Recompute},
	)
	lost := make([]int, len(got))
	for i, o := range got {
		lost[i] = o.Lost
		assert.Equal(t, 2, o.Hits)
	}
	assert.Equal(t, []int{0, 1, 2, 2}, lost)
	assert.InDelta(t, 0.5, got[1].LostShare(), 1e-12)
	assert.Zero(t, Outcome{}.LostShare())
}

func TestSizesOutOfRangeAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		kv, slots int
		reason    error
	}{
		"no KV block":        {0, 1, auxerrors.ErrTooSmall},
		"negative KV blocks": {-1, 1, auxerrors.ErrTooSmall},
		"no slot":            {1, 0, auxerrors.ErrTooSmall},
		"too many slots":     {1, MaxSize + 1, auxerrors.ErrTooLarge},
		"too many KV blocks": {math.MaxInt, 1, auxerrors.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewBeside(c.kv, Store{Slots: c.slots})
			require.ErrorIs(t, err, c.reason)
		})
	}
}

func TestAHugeSizeCostsNothing(t *testing.T) {
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if _, err := NewBeside(MaxSize, Store{Slots: MaxSize}); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	assert.Less(t, allocated, int64(4096))
}
