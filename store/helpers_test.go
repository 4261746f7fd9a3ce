package store_test

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/auxoutput/auxoutput/blockhash"
)

// hashOf is a hash for tests. Numbers that differ only above bit 4 give digests
// that share their first 31 bytes, so that whole hashes have to be compared.
func hashOf(n int) blockhash.Hash {
	digest := sha256.Sum256([]byte{byte(n & 15)})
	if n >= 16 {
		digest[31] ^= byte(n >> 4)
	}
	if n >= 16<<8 {
		binary.BigEndian.PutUint64(digest[23:], uint64(n))
	}
	hash, err := blockhash.FromBytes(digest[:])
	if err != nil {
		panic(err)
	}
	return hash
}

func hashesOf(numbers ...int) []blockhash.Hash {
	hashes := make([]blockhash.Hash, len(numbers))
	for i, n := range numbers {
		hashes[i] = hashOf(n)
	}
	return hashes
}

// rowsFor are rows that no other hash and no other version has.
func rowsFor(n, version, size int) []byte {
	rows := make([]byte, size)
	for i := range rows {
		rows[i] = byte(n*31 + version*7 + i)
	}
	return rows
}
