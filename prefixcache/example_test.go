package prefixcache_test

import (
	"fmt"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/prefixcache"
)

// hashesOf hashes a sequence in blocks of 4 tokens.
func hashesOf(tokens []uint32) []blockhash.Hash {
	root, err := blockhash.SeedRoot(blockhash.SHA256CBOR, "42")
	if err != nil {
		panic(err)
	}
	chain, err := blockhash.NewChain(blockhash.SHA256CBOR, root, 4, blockhash.Request{})
	if err != nil {
		panic(err)
	}
	return chain.Append(tokens...)
}

// A prompt is served twice. The second time its first two blocks are hit, and the
// third is computed again, because the last token always is.
func Example() {
	cache, err := prefixcache.New(prefixcache.Config{
		Blocks: 10, // block 0 is the null block
		Groups: []prefixcache.Group{{Kind: prefixcache.FullAttention, BlockTokens: 4}},
		Events: true,
	})
	if err != nil {
		panic(err)
	}
	hashes := hashesOf([]uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	for range 2 {
		request := &prefixcache.Request{Prompt: 12, Tokens: 12, Hashes: hashes}
		found, err := cache.Lookup(request, prefixcache.NoLimit)
		if err != nil {
			panic(err)
		}
		hit, ok, err := cache.Admit(request, prefixcache.NoLimit, 12-found)
		if err != nil {
			panic(err)
		}
		fmt.Println("hit", hit, "room", ok, "blocks", request.Table(0))
		if err := cache.Free(request); err != nil {
			panic(err)
		}
		fmt.Println("free", cache.AppendFreeList(nil))
	}
	for _, event := range cache.DrainEvents(nil) {
		fmt.Println(event.Kind, len(event.Hashes), "hashes,", event.Tokens, "tokens")
	}
	// Output:
	// hit 0 room true blocks [1 2 3]
	// free [4 5 6 7 8 9 3 2 1]
	// hit 8 room true blocks [1 2 4]
	// free [5 6 7 8 9 3 4 2 1]
	// BlockStored 3 hashes, 12 tokens
	// BlockStored 1 hashes, 4 tokens
}

// A caller that has only part of what a hit would need shortens it: here to 6
// tokens, which leaves one block.
func ExampleCache_Lookup() {
	cache, err := prefixcache.New(prefixcache.Config{
		Blocks: 10,
		Groups: []prefixcache.Group{{BlockTokens: 4}},
	})
	if err != nil {
		panic(err)
	}
	hashes := hashesOf([]uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	first := &prefixcache.Request{Prompt: 12, Tokens: 12, Hashes: hashes}
	if _, _, err := cache.Admit(first, prefixcache.NoLimit, 12); err != nil {
		panic(err)
	}
	again := &prefixcache.Request{Prompt: 12, Tokens: 12, Hashes: hashes}
	hit, err := cache.Lookup(again, 6)
	fmt.Println(hit, err)
	// Output: 4 <nil>
}

// Qwen3-30B-A3B has 48 layers of 4 KV heads with 128 values each.
func ExamplePlan() {
	plan, err := prefixcache.NewPlan(16, prefixcache.LayerType{
		Layers: 48,
		Page:   prefixcache.GQA{Heads: 4, HeadK: 128, ItemBytes: 2},
	})
	if err != nil {
		panic(err)
	}
	blocks, err := plan.Blocks(40 << 30)
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.BlockBytes, "bytes per block,", blocks, "blocks,", blocks*plan.BlockTokens, "tokens")
	// Output: 1572864 bytes per block, 27306 blocks, 436896 tokens
}
