package capacity

import (
	"math"
	"math/rand/v2"
	"testing"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func curveOf(t require.TestingT, trace [][]uint32) *Curve {
	var pass Pass
	for _, blocks := range trace {
		require.NoError(t, pass.Add(blocks))
	}
	return pass.Curve()
}

func TestOnePassGivesTheHitsOfALiteralLRUAtEveryCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := anyTrace(t)
		curve := curveOf(t, trace)
		for capacity := 1; capacity <= curve.UniqueBlocks()+1; capacity++ {
			literal := &literalLRU{capacity: capacity}
			hits, requests := 0, 0
			for _, blocks := range trace {
				hit := literal.replay(blocks)
				hits += hit
				if hit > 0 {
					requests++
				}
			}
			require.EqualValues(t, hits, curve.HitBlocks(capacity), "capacity %d", capacity)
			require.Equal(t, requests, curve.RequestsWithHit(capacity), "capacity %d", capacity)
		}
	})
}

// TestALongTraceAgreesWithAnotherLRU is long enough to renumber the time line
// many times, and compares with golang-lru.
func TestALongTraceAgreesWithAnotherLRU(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var trace [][]uint32
	for range 3000 {
		first := random.Uint32N(60) * 50
		blocks := make([]uint32, random.IntN(50)+1)
		for i := range blocks {
			blocks[i] = first + uint32(i)
		}
		if random.IntN(10) == 0 {
			blocks[len(blocks)-1] = blocks[0]
		}
		trace = append(trace, blocks)
	}
	trace = densely(trace)
	curve := curveOf(t, trace)
	for _, capacity := range []int{1, 10, 49, 100, 500, 1000, 2000, 2999} {
		cache, err := lru.New[uint32, struct{}](capacity)
		require.NoError(t, err)
		hits := 0
		for _, blocks := range trace {
			hits += hashicorpReplay(cache, blocks)
		}
		assert.EqualValues(t, hits, curve.HitBlocks(capacity), "capacity %d", capacity)
	}
}

func TestTheTimeLineStaysBoundedByTheUniqueBlocks(t *testing.T) {
	var pass Pass
	blocks := make([]uint32, 1000)
	for i := range blocks {
		blocks[i] = uint32(i)
	}
	for range 2000 {
		require.NoError(t, pass.Add(blocks))
	}
	assert.LessOrEqual(t, pass.axis.moments(), 8*len(blocks))
	assert.Equal(t, len(blocks), pass.axis.marks)
	assert.EqualValues(t, 1999*1000, pass.Curve().HitBlocks(1000))
	assert.Zero(t, pass.Curve().HitBlocks(0))
	assert.InDelta(t, 1999.0*999/2000/1000, pass.Curve().HitRatio(999), 1e-12, "tail first: only the tail is lost")
}

func TestACurveOfNothingHasNoHits(t *testing.T) {
	for name, trace := range map[string][][]uint32{
		"no request":      nil,
		"empty requests":  {{}, {}},
		"no block twice":  {{0, 1}, {2}},
		"one lone prompt": {{0}},
	} {
		t.Run(name, func(t *testing.T) {
			curve := curveOf(t, trace)
			for _, capacity := range []int{-1, 0, 1, math.MaxInt} {
				assert.Zero(t, curve.HitRatio(capacity))
				assert.Zero(t, curve.ShareOfCeiling(capacity))
				assert.Zero(t, curve.RequestsWithHit(capacity))
				assert.Zero(t, curve.SafeSlots(capacity))
			}
			assert.Zero(t, curve.Smallest(1))
		})
	}
}

func TestBlockNumbersThatSkipAheadAreRefusedAndChangeNothing(t *testing.T) {
	var pass Pass
	require.NoError(t, pass.Add([]uint32{0, 1}))
	require.ErrorContains(t, pass.Add([]uint32{0, 4_000_000_000}), "4000000000")
	curve := pass.Curve()
	assert.Equal(t, 1, curve.Requests())
	assert.EqualValues(t, 2, curve.References())

	beside, err := NewBeside(10, Store{Slots: 1})
	require.NoError(t, err)
	require.ErrorContains(t, beside.Add([]uint32{4_000_000_000}), "order of first appearance")
}

func TestTheSmallestCapacityForAShareIsTheFirstThatReachesIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		curve := curveOf(t, anyTrace(t))
		share := rapid.Float64Range(0, 1.2).Draw(t, "share")
		least := curve.Smallest(share)
		if curve.HitBlocks(curve.UniqueBlocks()) == 0 {
			require.Zero(t, least)
			return
		}
		require.GreaterOrEqual(t, curve.ShareOfCeiling(least)+1e-12, min(share, 1))
		if least > 0 {
			require.Less(t, curve.ShareOfCeiling(least-1), min(share, 1))
		}
	})
}

func TestTheAxisCountsMarksLikeAListOfBools(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const moments = 500
		axis, marked := newAxis(moments), [moments]bool{}
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			first := rapid.IntRange(0, moments-1).Draw(t, "first")
			end := first
			for end < moments && end-first < 150 && marked[end] == marked[first] {
				end++
			}
			if marked[first] {
				axis.clear(uint32(first), uint32(end))
			} else {
				axis.set(uint32(first), uint32(end))
			}
			for i := first; i < end; i++ {
				marked[i] = !marked[i]
			}
		}
		count := 0
		for i, mark := range marked {
			require.Equal(t, count, axis.before(uint32(i)))
			if mark {
				count++
			}
		}
		require.Equal(t, count, axis.marks)
	})
}
