package blockhash_test

import (
	"crypto/sha256"
	"math"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/xxh3"

	"github.com/auxoutput/auxoutput/blockhash"
)

var algorithms = []blockhash.Algorithm{
	blockhash.SHA256, blockhash.SHA256CBOR, blockhash.XXHash, blockhash.XXHashCBOR, blockhash.XXH64,
}

// BenchmarkChain128k hashes a prompt of 128k tokens at 16 tokens to a block, and
// in turn takes the bare digests of the same preimages. The metric
// x-bare-digest is the one time over the other, each that of its fastest turn:
// on a shared machine sums tell of the neighbours.
func BenchmarkChain128k(b *testing.B) {
	const promptTokens, blockTokens = 128 << 10, 16
	tokens := filler(promptTokens)
	for _, a := range algorithms {
		b.Run(a.String(), func(b *testing.B) {
			chain := newChain(b, a, blockTokens, blockhash.Request{})
			preimages := preimagesOf(b, a, blockTokens, tokens)
			chain.Reserve(promptTokens)
			b.ReportAllocs()
			chained, bare := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			for b.Loop() {
				begin := time.Now()
				if err := chain.Reset(blockhash.Request{}); err != nil {
					b.Fatal(err)
				}
				chain.Append(tokens...)
				middle := time.Now()
				bareDigests(a, preimages)
				chained = min(chained, middle.Sub(begin))
				bare = min(bare, time.Since(middle))
			}
			const blocks = promptTokens / blockTokens
			b.ReportMetric(float64(chained.Nanoseconds())/blocks, "ns/block")
			b.ReportMetric(float64(bare.Nanoseconds())/blocks, "ns/bare-digest")
			b.ReportMetric(float64(chained)/float64(bare), "x-bare-digest")
		})
	}
}

// BenchmarkDecode appends one generated token at a time.
func BenchmarkDecode(b *testing.B) {
	for _, a := range algorithms {
		b.Run(a.String(), func(b *testing.B) {
			chain := newChain(b, a, 16, blockhash.Request{})
			chain.Reserve(1 << 16)
			b.ReportAllocs()
			for b.Loop() {
				if chain.Tokens() == 1<<16 {
					if err := chain.Reset(blockhash.Request{}); err != nil {
						b.Fatal(err)
					}
				}
				chain.Append(151643)
			}
		})
	}
}

func preimagesOf(tb testing.TB, a blockhash.Algorithm, blockTokens int, tokens []uint32) [][]byte {
	tb.Helper()
	parent, err := blockhash.SeedRoot(a, blockhash.DefaultSeed)
	if err != nil {
		tb.Fatal(err)
	}
	var preimages [][]byte
	for ; len(tokens) >= blockTokens; tokens = tokens[blockTokens:] {
		preimage, err := blockhash.AppendPreimage(nil, a, parent, tokens[:blockTokens])
		if err != nil {
			tb.Fatal(err)
		}
		preimages = append(preimages, preimage)
		if parent, err = blockhash.HashBlock(a, parent, tokens[:blockTokens]); err != nil {
			tb.Fatal(err)
		}
	}
	return preimages
}

// bareSink keeps the digests from being optimised away.
var bareSink byte

func bareDigests(a blockhash.Algorithm, preimages [][]byte) {
	switch a {
	case blockhash.SHA256, blockhash.SHA256CBOR:
		for _, p := range preimages {
			d := sha256.Sum256(p)
			bareSink ^= d[0]
		}
	case blockhash.XXHash, blockhash.XXHashCBOR:
		for _, p := range preimages {
			d := xxh3.Hash128(p)
			bareSink ^= byte(d.Lo)
		}
	case blockhash.XXH64:
		for _, p := range preimages {
			bareSink ^= byte(xxhash.Sum64(p))
		}
	}
}

// filler is the token sequence of the golden file.
func filler(n int) []uint32 {
	tokens := make([]uint32, n)
	for i := range tokens {
		tokens[i] = uint32((7919*i + 13) % 152064)
	}
	return tokens
}

func newChain(tb testing.TB, a blockhash.Algorithm, blockTokens int, request blockhash.Request) *blockhash.Chain {
	tb.Helper()
	root, err := blockhash.SeedRoot(a, blockhash.DefaultSeed)
	if err != nil {
		tb.Fatal(err)
	}
	chain, err := blockhash.NewChain(a, root, blockTokens, request)
	if err != nil {
		tb.Fatal(err)
	}
	return chain
}
