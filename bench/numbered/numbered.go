// Package numbered makes hashes and marks rows of blocks that have nothing but a
// number, so that a benchmark can tell whether a block that came back is the right
// one without having its rows at hand.
package numbered

import (
	"encoding/binary"
	"fmt"

	"github.com/auxoutput/auxoutput/blockhash"
)

// Hash is the hash of block number id: 24 bytes that look random, and the
// number itself, from which the limit finds the block's place.
func Hash(id int64) blockhash.Hash {
	var digest [32]byte
	for i := range 3 {
		binary.LittleEndian.PutUint64(digest[8*i:], scramble(uint64(id)*3+uint64(i)))
	}
	binary.BigEndian.PutUint64(digest[24:], uint64(id))
	hash, err := blockhash.FromBytes(digest[:])
	if err != nil {
		panic(err) // 32 bytes are a hash
	}
	return hash
}

// ID is the block number behind a hash that Hash has made.
func ID(hash *blockhash.Hash) int64 { return int64(hash.Low64()) }

// scramble is the finaliser of SplitMix64.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Stamp marks rows as those of block id, at both ends.
func Stamp(rows []byte, id int64) {
	binary.LittleEndian.PutUint64(rows, uint64(id))
	binary.LittleEndian.PutUint64(rows[len(rows)-8:], ^uint64(id))
}

// Unstamp wipes the stamps in a buffer about to be read into, so that what an
// earlier read left there cannot pass for rows.
func Unstamp(dst []byte, blockBytes int) {
	for ; len(dst) >= blockBytes; dst = dst[blockBytes:] {
		clear(dst[:8])
		clear(dst[blockBytes-8 : blockBytes])
	}
}

// Check looks at the ends of each block that was read.
func Check(dst []byte, blockBytes int, hashes []blockhash.Hash) error {
	for i := range hashes {
		rows := dst[i*blockBytes : (i+1)*blockBytes]
		id := uint64(ID(&hashes[i]))
		head, tail := binary.LittleEndian.Uint64(rows), ^binary.LittleEndian.Uint64(rows[blockBytes-8:])
		if head != id || tail != id {
			return fmt.Errorf("wrong rows: block %d came back with the stamps %d and %d", id, head, tail)
		}
	}
	return nil
}
