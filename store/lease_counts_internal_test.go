package store

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
)

// TestReleasingOneHashAtATimeCostsTheSameHoweverManyAreHeld counts the entries that
// are gone through when the counts of a lease are tidied up or grow, in every pattern
// in which hashes come and go one by one.
func TestReleasingOneHashAtATimeCostsTheSameHoweverManyAreHeld(t *testing.T) {
	for name, pattern := range map[string]func(n int, raise, lower func(int)){
		"each released and retained again": func(n int, raise, lower func(int)) {
			for range 4 {
				for i := range n {
					lower(i)
					raise(i)
				}
			}
		},
		"each released, then each retained": func(n int, raise, lower func(int)) {
			for range 4 {
				for i := range n {
					lower(i)
				}
				for i := range n {
					raise(i)
				}
			}
		},
		"half released, then one and one again": func(n int, raise, lower func(int)) {
			for i := range n / 2 {
				lower(i)
			}
			for range n {
				lower(n - 1)
				raise(n - 1)
			}
		},
		"always other hashes": func(n int, raise, lower func(int)) {
			for i := range 4 * n {
				raise(n + i)
				lower(i)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{100, 1000, 8000} {
				var c leaseCounts
				calls, work := 0, 0
				watched := func(op func()) {
					entries, cells := len(c.entries), len(c.cells)
					op()
					calls++
					if len(c.entries) < entries || len(c.cells) != cells { // all were gone through
						work += entries
					}
				}
				raise := func(i int) {
					h := numbered(uint64(i))
					watched(func() { c.raise(tag(i)*0x9e3779b97f4a7c15>>7, &h) })
				}
				lower := func(i int) {
					h := numbered(uint64(i))
					watched(func() {
						require.True(t, c.lower(tag(i)*0x9e3779b97f4a7c15>>7, &h))
						c.tidy()
					})
				}
				for i := range n {
					raise(i)
				}
				pattern(n, raise, lower)
				require.LessOrEqual(t, len(c.entries), 2*n+fewestUnused, "entries kept for %d hashes", n)
				require.LessOrEqual(t, work, 4*calls, "entries gone through in %d calls with %d hashes", calls, n)
			}
		})
	}
}

// TestTheCountsOfALeaseAreThoseOfAMap draws retains and releases.
func TestTheCountsOfALeaseAreThoseOfAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c leaseCounts
		want := map[int]int{}
		tagOf := func(i int) tag { return tag(i % 5) } // most collide
		for range rapid.IntRange(0, 300).Draw(t, "calls") {
			i := rapid.IntRange(0, 99).Draw(t, "hash")
			h := numbered(uint64(i))
			if rapid.Bool().Draw(t, "raise") {
				c.raise(tagOf(i), &h)
				want[i]++
				continue
			}
			require.Equal(t, want[i] > 0, c.lower(tagOf(i), &h))
			if want[i] > 0 {
				want[i]--
			}
			c.tidy()
		}
		counts, total := map[blockhash.Hash]int{}, 0
		for i, n := range want {
			if total += n; n > 0 {
				counts[numbered(uint64(i))] = n
			}
		}
		got := map[blockhash.Hash]int{}
		for _, h := range c.appendAll(nil) {
			got[h]++
		}
		require.Equal(t, counts, got)
		require.Equal(t, total, c.total)
		require.LessOrEqual(t, len(c.entries), 2*len(counts)+fewestUnused, "what is released takes no more room")
	})
}
