package blockhash

import "fmt"

// HashBlock hashes one full block after its parent, which is the hash of the
// block before or the root. The extra keys enter in the order given; the
// engine's is LoRA, images, salt, embeddings. To follow a whole request use a
// [Chain].
//
// The error wraps [ErrSize] for a parent that cannot be, [ErrBlockTokens] if
// there is no token, and [ErrText] for a key that cannot be hashed.
func HashBlock(a Algorithm, parent Hash, tokens []uint32, extra ...ExtraKey) (Hash, error) {
	var room [512]byte
	preimage, err := AppendPreimage(room[:0], a, parent, tokens, extra...)
	if err != nil {
		return Hash{}, err
	}
	var h Hash
	a.sum(&h, preimage)
	return h, nil
}

// AppendPreimage appends the bytes that [HashBlock] takes the digest of. Its
// errors are the same, and then b comes back as it was.
func AppendPreimage(b []byte, a Algorithm, parent Hash, tokens []uint32, extra ...ExtraKey) ([]byte, error) {
	if err := checkBlock(a, tokens, extra); err != nil {
		return b, err
	}
	if err := checkRoot(a, parent); err != nil {
		return b, err
	}
	return appendPreimage(b, a, &parent, tokens, extra), nil
}

func checkBlock(a Algorithm, tokens []uint32, extra []ExtraKey) error {
	if err := a.check(); err != nil {
		return err
	}
	if len(tokens) == 0 {
		return fmt.Errorf("%w: none, want at least 1", ErrBlockTokens)
	}
	for i, key := range extra {
		if err := key.check(); err != nil {
			return fmt.Errorf("extra key %d: %w", i, err)
		}
	}
	return nil
}

// appendPreimage serialises a block that has been checked.
func appendPreimage(b []byte, a Algorithm, parent *Hash, tokens []uint32, extra []ExtraKey) []byte {
	switch a {
	case SHA256, XXHash:
		return appendPickle(b, parent, tokens, extra)
	case SHA256CBOR, XXHashCBOR:
		return appendCBOR(b, parent, tokens, extra)
	default:
		return appendXXH64(b, parent, tokens, extra)
	}
}
