package store

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestTheHistoryNeverSaysNeverStoredOfWhatLeft draws tags of few buckets, more than
// they can remember.
func TestTheHistoryNeverSaysNeverStoredOfWhatLeft(t *testing.T) {
	buckets := []tag{0, 1 << 63, (1<<32 - 1) << 32}
	lost := false
	rapid.Check(t, func(t *rapid.T) {
		h := history{marks: make([]uint32, marksFor(1))}
		places := rapid.SampledFrom(buckets)
		left := map[tag]absence{}
		for range rapid.IntRange(1, 60).Draw(t, "leave") {
			tag := places.Draw(t, "place") | tag(rapid.IntRange(0, 30).Draw(t, "tag")<<2)
			why := rapid.SampledFrom([]absence{wasEvicted, wasRemoved}).Draw(t, "why")
			h.add(tag, why)
			left[tag] = why
			require.Equal(t, why, h.why(tag), "the last one is remembered")
		}
		for _, place := range buckets {
			for n := range tag(31) {
				tag := place | n<<2
				why := h.why(tag)
				if want, gone := left[tag]; gone {
					require.Contains(t, []absence{want, unknown}, why)
				} else {
					require.Contains(t, []absence{neverStored, unknown}, why)
				}
				lost = lost || why == unknown
			}
		}
	})
	require.True(t, lost, "nothing was ever forgotten: draw more")
}

func TestAFullBucketForgetsTheOldestMarkFirst(t *testing.T) {
	h := history{marks: make([]uint32, marksFor(1))}
	tags := make([]tag, bucketMarks+1) // all in one bucket
	for i := range tags {
		tags[i] = tag(i+1) << 2
	}
	for _, tag := range tags[:bucketMarks] {
		require.Equal(t, neverStored, h.why(tag))
		h.add(tag, wasEvicted)
	}
	for _, tag := range tags[:bucketMarks] {
		require.Equal(t, wasEvicted, h.why(tag))
	}
	h.add(tags[1], wasRemoved)
	require.Equal(t, wasRemoved, h.why(tags[1]), "the last reason counts")
	require.Equal(t, wasEvicted, h.why(tags[0]), "and takes no second place")

	h.add(tags[bucketMarks], wasEvicted)
	require.Equal(t, unknown, h.why(tags[0]), "the oldest is forgotten")
	require.Equal(t, wasRemoved, h.why(tags[1]))
	require.Equal(t, neverStored, h.why(1<<63), "another bucket has lost nothing")
}

func TestTheHistoryTakesEightBytesASlot(t *testing.T) {
	for _, slots := range []int{512, 200_000, 17_895_697, MaxSlots} {
		require.LessOrEqual(t, 4*marksFor(slots), 8*slots)
		require.Greater(t, 4*marksFor(slots), 8*(slots-bucketSlots))
	}
	require.Equal(t, 4096, 4*marksFor(1))
	require.Equal(t, 8, MetadataBytes-64-16)
}
