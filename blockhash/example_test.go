package blockhash_test

import (
	"fmt"
	"log"
	"strconv"

	"github.com/auxoutput/auxoutput/blockhash"
)

// An engine that was started with PYTHONHASHSEED=42 hashes a prompt of 9 tokens
// into two blocks of 4.
func Example() {
	root, err := blockhash.SeedRoot(blockhash.SHA256CBOR, "42")
	if err != nil {
		log.Fatal(err)
	}
	chain, err := blockhash.NewChain(blockhash.SHA256CBOR, root, 4, blockhash.Request{})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range chain.Append(1, 2, 3, 4, 5, 6, 7, 8, 9) {
		fmt.Println(h, h.Low64())
	}
	fmt.Println("left:", chain.Pending())
	// Output:
	// 0a99040f25d8a5f22275b867f403918da98c9d140eaea10f5319d4d1d84429df 5988051177307384287
	// c415b4994e9ed1d993bc50f53dc3c4e18c5200f39d1787ce9ba2dacb65221d14 11214766589215907092
	// left: [9]
}

// The chain of a request grows with its tokens; the LoRA is on every block, the
// salt on the first, the image on those that it overlaps.
func ExampleChain() {
	root, err := blockhash.DefaultRoot(blockhash.SHA256)
	if err != nil {
		log.Fatal(err)
	}
	chain, err := blockhash.NewChain(blockhash.SHA256, root, 4, blockhash.Request{
		LoRA:         "sql-adapter",
		Salt:         "tenant-7",
		Images:       []blockhash.Image{{Identifier: "3dd3f8d1", Offset: 1, Tokens: 5}},
		PromptTokens: 7,
	})
	if err != nil {
		log.Fatal(err)
	}
	prompt := []uint32{11, 9, 9, 9, 9, 9, 12}
	fmt.Println(len(chain.Append(prompt...)), "block of the prompt")
	for _, generated := range []uint32{13, 14} {
		fmt.Println(len(chain.Append(generated)), "block completed,", chain.Tokens(), "tokens")
	}
	// Output:
	// 1 block of the prompt
	// 1 block completed, 8 tokens
	// 0 block completed, 9 tokens
}

// A KV event of an engine tells which seed it has.
func ExampleFindSeed() {
	numbers := func(yield func(string) bool) {
		for i := range 10_000 {
			if !yield(strconv.Itoa(i)) {
				return
			}
		}
	}
	tokens := []uint32{
		151644, 872, 198, 9064, 374, 279, 6722, 315,
		5616, 30, 151645, 198, 151644, 77091, 198, 151667,
	}
	seed, _, err := blockhash.FindSeed(blockhash.SHA256, numbers, 15760518052499183552, tokens)
	fmt.Println(seed, err)
	// Output: 1047 <nil>
}

// Routers whose hash blocks are longer than the engine's take every other hash.
func ExampleCoarseView() {
	root, err := blockhash.SeedRoot(blockhash.XXH64, "private")
	if err != nil {
		log.Fatal(err)
	}
	chain, err := blockhash.NewChain(blockhash.XXH64, root, 2, blockhash.Request{})
	if err != nil {
		log.Fatal(err)
	}
	fine := chain.Append(1, 2, 3, 4, 5, 6)
	coarse, err := blockhash.CoarseView(fine, 2)
	fmt.Println(len(fine), len(coarse), coarse[0] == fine[1], err)
	// Output: 3 1 true <nil>
}

// One block by itself, as a test of another implementation needs it.
func ExampleHashBlock() {
	root, err := blockhash.DefaultRoot(blockhash.SHA256)
	if err != nil {
		log.Fatal(err)
	}
	h, err := blockhash.HashBlock(blockhash.SHA256, root, []uint32{0})
	fmt.Println(h, err)
	// Output: 1876a790824e1c62cc68ce0472a1542ccc7bf2d1d5c9e53827fc516bb9f88601 <nil>
}

// An adapter is loaded again under its old name, so that its blocks have their old
// hashes. In the next generation of its namespace they have other keys: rows of the
// older weights are not found, and another adapter's are.
func ExampleNamespace() {
	root, err := blockhash.DefaultRoot(blockhash.SHA256)
	if err != nil {
		log.Fatal(err)
	}
	chain, err := blockhash.NewChain(blockhash.SHA256, root, 4, blockhash.Request{LoRA: "policy"})
	if err != nil {
		log.Fatal(err)
	}
	hashes := chain.Append(1, 2, 3, 4, 5, 6, 7, 8)

	policy := blockhash.NewNamespace("Qwen3-30B-A3B", "policy")
	critic := blockhash.NewNamespace("Qwen3-30B-A3B", "critic")
	stored := map[blockhash.Hash]string{
		policy.Key(hashes[0]): "rows of policy",
		critic.Key(hashes[0]): "rows of critic",
	}

	policy = policy.Next() // the adapter was loaded again
	keys := policy.AppendKeys(nil, hashes)
	fmt.Printf("policy: %q\n", stored[keys[0]])
	fmt.Printf("critic: %q\n", stored[critic.Key(hashes[0])])
	// Output:
	// policy: ""
	// critic: "rows of critic"
}
