package blockhash_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
)

// Bugs that people met in public projects, as far as block hashes are concerned. Each
// name has the number of the case.

func TestPublicCase_PC_016_CoarseBlocksKeepTheirFineHashes(t *testing.T) {
	chain := newChain(t, blockhash.SHA256CBOR, 16, blockhash.Request{})
	fine := chain.Append(filler(100)...)
	require.Len(t, fine, 6, "96 tokens")
	require.Equal(t, filler(100)[96:], chain.Pending())

	coarse, err := blockhash.CoarseView(fine, 64/16)
	require.NoError(t, err)
	require.Equal(t, fine[3:4], coarse, "a block of 64 is known by the hash that ends it")

	long := newChain(t, blockhash.SHA256CBOR, 64, blockhash.Request{})
	require.NotEqual(t, coarse[0], long.Append(filler(64)...)[0], "which is not that of 64 tokens at once")
}

func TestPublicCase_PC_097_NamesThatJoinToTheSameTextAreDifferentKeys(t *testing.T) {
	first := func(a blockhash.Algorithm, request blockhash.Request) blockhash.Hash {
		return newChain(t, a, 4, request).Append(1, 2, 3, 4)[0]
	}
	for _, a := range algorithms {
		t.Run(a.String(), func(t *testing.T) {
			split := first(a, blockhash.Request{LoRA: "a", Salt: "bc"})
			assert.NotEqual(t, split, first(a, blockhash.Request{LoRA: "ab", Salt: "c"}))
			assert.NotEqual(t, split, first(a, blockhash.Request{LoRA: "abc"}))

			// A LoRA by the name of another request's salt is one key to the engine, whose
			// bytes these are. Only the private algorithm may tell them apart.
			lora, salt := first(a, blockhash.Request{LoRA: "x"}), first(a, blockhash.Request{Salt: "x"})
			assert.Equal(t, a != blockhash.XXH64, lora == salt)
		})
	}
}

func TestPublicCase_PC_098_AHashStandsForAllTokensBeforeItToo(t *testing.T) {
	for _, a := range algorithms {
		one := newChain(t, a, 1, blockhash.Request{}).Append(1, 2, 9)
		other := newChain(t, a, 1, blockhash.Request{}).Append(3, 4, 9)
		for i := range one {
			assert.NotEqual(t, one[i], other[i], "%v, block %d", a, i)
		}
	}
}

// printKeys makes another process of this test print its keys and do nothing else.
const printKeys = "AUXOUTPUT_TEST_PRINT_KEYS"

func TestPublicCase_PC_100_AnotherProcessHasTheSameKeys(t *testing.T) {
	var keys []string
	for _, a := range algorithms {
		root, err := blockhash.SeedRoot(a, "42")
		require.NoError(t, err)
		chain, err := blockhash.NewChain(a, root, 16, blockhash.Request{LoRA: "adapter", Salt: "tenant"})
		require.NoError(t, err)
		for _, hash := range chain.Append(filler(64)...) {
			keys = append(keys, hash.String())
		}
	}
	if os.Getenv(printKeys) != "" {
		os.Stdout.WriteString("keys: " + strings.Join(keys, " ") + "\n")
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), printKeys+"=1")
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Contains(t, string(output), "keys: "+strings.Join(keys, " ")+"\n")
	require.Len(t, keys, 4*len(algorithms))

	// And what was written down is read back as the same key.
	again, err := blockhash.Parse(keys[0])
	require.NoError(t, err)
	require.Equal(t, keys[0], again.String())
}
