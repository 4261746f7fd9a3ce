package blockhash

import (
	"fmt"
	"iter"
)

// DefaultSeed is the seed of vLLM's default root since PR 51875 (merged August
// 2026). An engine takes another one from PYTHONHASHSEED.
const DefaultSeed = "vllm-none-hash"

// SeedRoot is the root (vLLM's NONE_HASH) that an engine makes of a seed: the
// digest of the seed, serialised as a string. Any text is a seed, the empty one
// and "random" too. For [XXH64] it is the digest of the bare bytes.
func SeedRoot(a Algorithm, seed string) (Hash, error) {
	preimage, err := AppendSeedPreimage(nil, a, seed)
	if err != nil {
		return Hash{}, err
	}
	var root Hash
	a.sum(&root, preimage)
	return root, nil
}

// AppendSeedPreimage appends the bytes whose digest is the root of a seed.
func AppendSeedPreimage(b []byte, a Algorithm, seed string) ([]byte, error) {
	if err := a.check(); err != nil {
		return b, err
	}
	if err := checkText(seed); err != nil {
		return b, fmt.Errorf("seed: %w", err)
	}
	switch a {
	case SHA256, XXHash:
		return appendPickleString(b, seed), nil
	case SHA256CBOR, XXHashCBOR:
		return appendCBORText(b, seed), nil
	default:
		return append(b, seed...), nil
	}
}

// DefaultRoot is the root of an engine that was given no seed: that of
// [DefaultSeed]. For the XXH3-128 algorithms it is an error that wraps
// [ErrNoDefaultRoot], because there vLLM draws a seed in every process; before
// PR 51875 it did so for all algorithms, using 32 random bytes as they are. For
// such an engine give PYTHONHASHSEED a value and use [SeedRoot].
//
// [XXH64] is no engine's algorithm; its default root is that of DefaultSeed.
func DefaultRoot(a Algorithm) (Hash, error) {
	if a == XXHash || a == XXHashCBOR {
		return Hash{}, fmt.Errorf("%w (algorithm %v)", ErrNoDefaultRoot, a)
	}
	return SeedRoot(a, DefaultSeed)
}

// FindSeed learns the seed of an engine from what it says about one first
// block: low64 is the integer of the event, see [Hash.Low64], tokens and extra
// are what the block holds. It tries the candidates in order, and returns the
// first that fits with its root. If none fits the error wraps [ErrNoSeed].
//
// A wrong candidate fits with odds of 1 in 2^64. No seed explains a root that
// was drawn at random.
func FindSeed(a Algorithm, candidates iter.Seq[string], low64 uint64, tokens []uint32, extra ...ExtraKey) (string, Hash, error) {
	if err := checkBlock(a, tokens, extra); err != nil {
		return "", Hash{}, err
	}
	var preimage []byte
	tried := 0
	for seed := range candidates {
		var err error
		if preimage, err = AppendSeedPreimage(preimage[:0], a, seed); err != nil {
			return "", Hash{}, err
		}
		var root, first Hash
		a.sum(&root, preimage)
		preimage = appendPreimage(preimage[:0], a, &root, tokens, extra)
		a.sum(&first, preimage)
		if first.Low64() == low64 {
			return seed, root, nil
		}
		tried++
	}
	return "", Hash{}, fmt.Errorf("%w: %d tried for %d under %v", ErrNoSeed, tried, low64, a)
}

// checkRoot refuses a parent that no engine would chain from. A root may be 32
// raw bytes under any of vLLM's algorithms, and stays that long.
func checkRoot(a Algorithm, root Hash) error {
	size := root.Size()
	if size == a.Size() || size == MaxSize && a != XXH64 {
		return nil
	}
	if a == XXHash || a == XXHashCBOR {
		return fmt.Errorf("%w: parent of %d bytes under %v, want %d or %d", ErrSize, size, a, a.Size(), MaxSize)
	}
	return fmt.Errorf("%w: parent of %d bytes under %v, want %d", ErrSize, size, a, a.Size())
}
