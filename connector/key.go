package connector

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/auxoutput/auxoutput/blockhash"
)

// keyDomain keeps keys apart from every other use of SHA-256 over block hashes.
const keyDomain = "auxoutput/key1"

// keyOf is the key under which the rows of a hash block are stored: its hash and the
// number of the admission whose forward pass wrote the KV block.
//
// The hash alone names the tokens. Two requests that compute the same tokens in
// different batches can be routed differently, and then each has rows of its own.
// A key is SHA-256 over the domain, the number and the digest, whose length closes
// the input: two pairs of hash and number share a key only where SHA-256 collides.
func keyOf(hash blockhash.Hash, admission uint64) blockhash.Hash {
	var buffer [len(keyDomain) + 8 + blockhash.MaxSize]byte
	input := append(buffer[:0], keyDomain...)
	input = binary.LittleEndian.AppendUint64(input, admission)
	input = hash.AppendTo(input)
	digest := sha256.Sum256(input)
	key, err := blockhash.FromBytes(digest[:])
	if err != nil {
		panic(err) // a SHA-256 digest has a length that a hash may have
	}
	return key
}
