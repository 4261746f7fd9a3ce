package blockhash

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// MaxSize is the length in bytes of the longest digest, SHA-256.
const MaxSize = 32

// Hash is the digest that identifies one full block of tokens together with
// everything before it. It is comparable, so it serves as a map key; the zero
// Hash identifies nothing.
//
// A digest is 8 (xxh64), 16 (XXH3-128) or 32 (SHA-256) bytes long. The length
// is part of the value: a short digest never equals a long one that happens to
// start with the same bytes and end in zeros.
type Hash struct {
	digest [MaxSize]byte
	size   uint8
}

// FromBytes makes a Hash of a digest of 8, 16 or 32 bytes, which it copies.
// Any other length is an error that wraps [ErrSize].
func FromBytes(digest []byte) (Hash, error) {
	switch len(digest) {
	case 8, 16, MaxSize:
		h := Hash{size: uint8(len(digest))}
		copy(h.digest[:], digest)
		return h, nil
	}
	return Hash{}, fmt.Errorf("%w: %d bytes, want 8, 16 or 32", ErrSize, len(digest))
}

// Parse reads the hexadecimal form that [Hash.String] writes.
func Parse(text string) (Hash, error) {
	if len(text) > 2*MaxSize {
		return Hash{}, fmt.Errorf("%w: %d hexadecimal digits, want 16, 32 or 64", ErrSize, len(text))
	}
	digest, err := hex.DecodeString(text)
	if err != nil {
		return Hash{}, fmt.Errorf("blockhash: %q is not a digest: %w", text, err)
	}
	return FromBytes(digest)
}

// IsZero reports whether h is the zero Hash.
func (h Hash) IsZero() bool { return h.size == 0 }

// Size is the length of the digest in bytes: 8, 16 or 32, and 0 for the zero Hash.
func (h Hash) Size() int { return int(h.size) }

// Bytes returns the digest in a slice of its own.
func (h Hash) Bytes() []byte { return h.AppendTo(nil) }

// AppendTo appends the digest to b.
func (h Hash) AppendTo(b []byte) []byte { return append(b, h.digest[:h.size]...) }

// String is the digest in lowercase hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h.digest[:h.size]) }

// Low64 is the last 8 bytes of the digest as a big-endian number: the integer
// that vLLM puts into its KV events by default, and what llm-d keeps of a
// digest that arrives as bytes. It is 0 for the zero Hash.
func (h Hash) Low64() uint64 {
	if h.size < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(h.digest[h.size-8:])
}

// First64 is the first 8 bytes of the digest as a big-endian two's complement
// number: the integer of SGLang's KV events, and what AIBrix keeps of a digest
// that arrives as bytes. It is 0 for the zero Hash.
func (h Hash) First64() int64 {
	return int64(binary.BigEndian.Uint64(h.digest[:8]))
}

// AppendGroupKey appends the key under which vLLM's block pool files this hash
// for one KV cache group: the digest followed by the group as 4 bytes,
// big-endian.
func (h Hash) AppendGroupKey(b []byte, group uint32) []byte {
	return binary.BigEndian.AppendUint32(h.AppendTo(b), group)
}
