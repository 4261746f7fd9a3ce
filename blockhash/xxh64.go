package blockhash

import (
	"encoding/binary"
	"slices"
)

// appendXXH64 writes the layout of XXH64: the parent as 8 bytes and each token
// as 4 bytes, little-endian; then per extra key a byte for its kind, its length
// as 8 bytes little-endian and its content, and for an image its offset as 8
// more bytes. So no key can pass for another one, nor two for one. Without
// extra keys this is the layout of llm-d's XXH64 mode.
func appendXXH64(b []byte, parent *Hash, tokens []uint32, extra []ExtraKey) []byte {
	b = binary.LittleEndian.AppendUint64(b, parent.Low64())
	b = appendTokensLE(b, tokens)
	for i := range extra {
		k := &extra[i]
		b = append(b, byte(k.kind))
		b = binary.LittleEndian.AppendUint64(b, uint64(len(k.content)))
		b = append(b, k.content...)
		if k.kind == imageKey {
			b = binary.LittleEndian.AppendUint64(b, uint64(k.offset))
		}
	}
	return b
}

// appendTokensLE writes each token as 4 bytes, little-endian. It stores two at
// once, in the width in which hash functions load them: a load that spans two
// stores would have to wait for both.
func appendTokensLE(b []byte, tokens []uint32) []byte {
	n := len(b)
	b = slices.Grow(b, 4*len(tokens))
	b = b[:n+4*len(tokens)]
	out := b[n:]
	for ; len(tokens) >= 2; tokens = tokens[2:] {
		binary.LittleEndian.PutUint64(out, uint64(tokens[0])|uint64(tokens[1])<<32)
		out = out[8:]
	}
	if len(tokens) == 1 {
		binary.LittleEndian.PutUint32(out, tokens[0])
	}
	return b
}
