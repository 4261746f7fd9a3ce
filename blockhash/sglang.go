package blockhash

import (
	"crypto/sha256"
	"fmt"
)

// SGLangRoot is the parent of the first page of a salted request in SGLang's
// KV events, SHA-256("sglang-cache-salt-v1" NUL salt), since its PR 30827. A
// request without a salt has none: its first page follows the zero Hash.
func SGLangRoot(salt string) Hash {
	if salt == "" {
		return Hash{}
	}
	const tag = "sglang-cache-salt-v1\x00"
	return Hash{digest: sha256.Sum256([]byte(tag + salt)), size: sha256.Size}
}

// AppendSGLangPages appends the hash of every full page of the tokens that
// follow prior, as SGLang's radix cache and HiCache have them: SHA-256 of the
// page before, if there is one, and of each token as 4 bytes little-endian. The
// integer of SGLang's events is [Hash.First64]. A LoRA enters none of this.
//
// A page below 1 token is an error that wraps [ErrBlockTokens], a prior that is
// neither zero nor 32 bytes long one that wraps [ErrSize]; then dst comes back
// as it was.
func AppendSGLangPages(dst []Hash, prior Hash, pageTokens int, tokens []uint32) ([]Hash, error) {
	if pageTokens < 1 {
		return dst, fmt.Errorf("%w: %d, want at least 1", ErrBlockTokens, pageTokens)
	}
	if !prior.IsZero() && prior.Size() != sha256.Size {
		return dst, fmt.Errorf("%w: parent of %d bytes for an SGLang page, want %d", ErrSize, prior.Size(), sha256.Size)
	}
	var room [MaxSize + 4*64]byte
	preimage := room[:0]
	for ; len(tokens) >= pageTokens; tokens = tokens[pageTokens:] {
		preimage = prior.AppendTo(preimage[:0])
		preimage = appendTokensLE(preimage, tokens[:pageTokens])
		SHA256.sum(&prior, preimage)
		dst = append(dst, prior)
	}
	return dst, nil
}
