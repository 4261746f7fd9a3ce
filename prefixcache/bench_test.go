package prefixcache_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/prefixcache"
)

// TestServingAllocatesNothing admits, decodes and frees in a cache that has seen
// the sequence before, and in one where every block is evicted on reuse.
func TestServingAllocatesNothing(t *testing.T) {
	for _, test := range []struct {
		name   string
		cfg    prefixcache.Config
		shared int // tokens that all rounds have in common
	}{
		{"when everything is hit", single(2000, 16), 16_000},
		{"when everything is evicted", single(1100, 16), 0},
		{"with two groups", prefixcache.Config{Blocks: 4000, Groups: []prefixcache.Group{full(16), window(16, 128)}}, 8_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCache(t, test.cfg)
			prompts := make([]*sequence, 4)
			for i := range prompts {
				prompts[i] = newSequence(t, 16, append(count(0, test.shared), count(1_000_000*(i+1), 16_300-test.shared)...)...)
			}
			var r prefixcache.Request
			round := 0
			serve := func() {
				s := prompts[round%len(prompts)]
				round++
				// The last 100 tokens are decoded.
				r.Prompt, r.Tokens = s.Tokens-100, s.Tokens-100
				r.Hashes = s.Hashes[:r.Tokens/16]
				hit, err := c.Lookup(&r, prefixcache.NoLimit)
				check(t, err)
				_, ok, err := c.Admit(&r, prefixcache.NoLimit, r.Tokens-hit)
				check(t, err)
				for r.Tokens < s.Tokens && ok {
					r.Tokens++
					r.Hashes = s.Hashes[:r.Tokens/16]
					ok, err = c.Allocate(&r, 1, 0)
					check(t, err)
				}
				if !ok {
					t.Error("no room")
				}
				check(t, c.Free(&r))
			}
			for range 8 {
				serve()
			}
			require.Zero(t, testing.AllocsPerRun(40, serve))
		})
	}
}

// check is require.NoError without what that allocates.
func check(t testing.TB, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// poolSizes are the pools of a small and of a large GPU.
var poolSizes = []int{10_000, 1_000_000}

// fill registers distinct sequences until every block of the cache has a hash.
func fill(b *testing.B, c *prefixcache.Cache) {
	const tokens = 16 * 1000
	for i := 0; i*1000 < c.Config().Blocks; i++ {
		s := newSequence(b, 16, count(100_000_000+i*tokens, tokens)...)
		admit(b, c, s)
		check(b, c.Free(&s.Request))
	}
}

func BenchmarkAdmitHit(b *testing.B) {
	const blocks = 8 * 1024
	for _, pool := range poolSizes {
		b.Run(fmt.Sprintf("blocks=%d/pool=%d", blocks, pool), func(b *testing.B) {
			c := newCache(b, single(pool, 16))
			fill(b, c)
			s := newSequence(b, 16, count(0, blocks*16+1)...)
			admit(b, c, s)
			check(b, c.Free(&s.Request))
			b.ReportAllocs()
			for b.Loop() {
				s.Prompt, s.Tokens, s.Hashes = s.chain.Tokens(), s.chain.Tokens(), s.chain.Hashes()
				hit, ok, err := c.Admit(&s.Request, prefixcache.NoLimit, 1)
				check(b, err)
				if hit != blocks*16 || !ok {
					b.Fatal("no hit")
				}
				b.StopTimer()
				check(b, c.Free(&s.Request))
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*blocks), "ns/block")
		})
	}
}

func BenchmarkFree(b *testing.B) {
	const blocks = 8 * 1024
	for _, pool := range poolSizes {
		b.Run(fmt.Sprintf("blocks=%d/pool=%d", blocks, pool), func(b *testing.B) {
			c := newCache(b, single(pool, 16))
			fill(b, c)
			s := newSequence(b, 16, count(0, blocks*16+1)...)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				admit(b, c, s)
				b.StartTimer()
				check(b, c.Free(&s.Request))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*blocks), "ns/block")
		})
	}
}

// BenchmarkEvict admits prompts of which nothing is cached to a full pool, so
// that every block taken loses a hash and gets another.
func BenchmarkEvict(b *testing.B) {
	const blocks = 1024
	for _, pool := range poolSizes {
		b.Run(fmt.Sprintf("blocks=%d/pool=%d", blocks, pool), func(b *testing.B) {
			c := newCache(b, single(pool, 16))
			fill(b, c)
			prompts := make([]*sequence, 2*pool/blocks+1)
			for i := range prompts {
				prompts[i] = newSequence(b, 16, count(i*blocks*16, blocks*16)...)
			}
			var r prefixcache.Request
			next := 0
			b.ReportAllocs()
			for b.Loop() {
				s := prompts[next%len(prompts)]
				next++
				r.Prompt, r.Tokens, r.Hashes = s.Tokens, s.Tokens, s.Hashes
				hit, _, err := c.Admit(&r, prefixcache.NoLimit, s.Tokens)
				check(b, err)
				if hit != 0 {
					b.Fatal("hit")
				}
				b.StopTimer()
				check(b, c.Free(&r))
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*blocks), "ns/block")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	const longest = 64 * 1024
	for _, pool := range poolSizes {
		b.Run(fmt.Sprintf("pool=%d", pool), func(b *testing.B) {
			c := newCache(b, single(pool, 16))
			fill(b, c)
			s := newSequence(b, 16, count(0, longest)...)
			var r prefixcache.Request
			b.ReportAllocs()
			for b.Loop() {
				if !r.Admitted() || r.Tokens == longest {
					b.StopTimer()
					if r.Admitted() {
						check(b, c.Free(&r))
					}
					r.Prompt, r.Tokens, r.Hashes, r.SkipLookup = 1, 1, nil, true
					_, _, err := c.Admit(&r, prefixcache.NoLimit, 1)
					check(b, err)
					b.StartTimer()
				}
				r.Tokens++
				r.Hashes = s.Hashes[:r.Tokens/16]
				_, err := c.Allocate(&r, 1, 0)
				check(b, err)
			}
		})
	}
}

func BenchmarkLookupMiss(b *testing.B) {
	c := newCache(b, single(10_000, 16))
	fill(b, c)
	s := newSequence(b, 16, count(0, 16*1024)...)
	b.ReportAllocs()
	for b.Loop() {
		_, err := c.Lookup(&s.Request, prefixcache.NoLimit)
		check(b, err)
	}
}
