package blockhash

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/xxh3"
)

// Algorithm is how a block becomes a digest: a serialiser and a hash function.
// The zero Algorithm is SHA256, the default of vLLM.
type Algorithm uint8

const (
	SHA256     Algorithm = iota // CPython pickle, SHA-256: 32 bytes
	SHA256CBOR                  // canonical CBOR, SHA-256: 32 bytes
	XXHash                      // CPython pickle, XXH3-128: 16 bytes
	XXHashCBOR                  // canonical CBOR, XXH3-128: 16 bytes
	XXH64                       // this library's own layout, XXH64: 8 bytes
)

// algorithmNames are the values of vLLM's --prefix-caching-hash-algo, and the
// one name that is ours.
var algorithmNames = [...]string{"sha256", "sha256_cbor", "xxhash", "xxhash_cbor", "xxh64"}

// ParseAlgorithm finds an algorithm by the name that vLLM's option
// --prefix-caching-hash-algo uses, or by "xxh64". Any other name is an error
// that wraps [ErrAlgorithm].
func ParseAlgorithm(name string) (Algorithm, error) {
	for i, known := range algorithmNames {
		if name == known {
			return Algorithm(i), nil
		}
	}
	return 0, fmt.Errorf("%w: %q, want one of %q", ErrAlgorithm, name, algorithmNames)
}

// String is the name that [ParseAlgorithm] takes.
func (a Algorithm) String() string {
	if !a.valid() {
		return fmt.Sprintf("Algorithm(%d)", uint8(a))
	}
	return algorithmNames[a]
}

// Size is the length of a digest in bytes, and 0 if there is no such algorithm.
func (a Algorithm) Size() int {
	switch a {
	case SHA256, SHA256CBOR:
		return sha256.Size
	case XXHash, XXHashCBOR:
		return 16
	case XXH64:
		return 8
	}
	return 0
}

func (a Algorithm) valid() bool { return int(a) < len(algorithmNames) }

// check is the error that every entry of this package gives for a number that
// stands for no algorithm.
func (a Algorithm) check() error {
	if !a.valid() {
		return fmt.Errorf("%w: number %d", ErrAlgorithm, uint8(a))
	}
	return nil
}

// sum puts the digest of a preimage into h. It writes in place because a chain
// does this once per block, straight into its list.
func (a Algorithm) sum(h *Hash, preimage []byte) {
	switch a {
	case SHA256, SHA256CBOR:
		h.digest = sha256.Sum256(preimage)
		h.size = sha256.Size
	case XXHash, XXHashCBOR:
		// The canonical form of XXH3-128 puts the high half first.
		d := xxh3.Hash128(preimage)
		binary.BigEndian.PutUint64(h.digest[:8], d.Hi)
		binary.BigEndian.PutUint64(h.digest[8:16], d.Lo)
		h.size = 16
	case XXH64:
		binary.BigEndian.PutUint64(h.digest[:8], xxhash.Sum64(preimage))
		h.size = 8
	}
}
