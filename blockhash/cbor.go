package blockhash

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// The major types of CBOR (RFC 8949, section 3) that occur here, in place.
const (
	cborUnsigned = 0 << 5
	cborNegative = 1 << 5
	cborBytes    = 2 << 5
	cborText     = 3 << 5
	cborArray    = 4 << 5
	cborMap      = 5 << 5
	cborNull     = 0xf6
)

// tokenCode is how to write a token of one bit length: the word
// head | token<<shift is stored whole, and size bytes of it count.
type tokenCode struct {
	head  uint64
	shift uint8
	size  uint8
}

// tokenSlack is how far the store of a token may reach past its last byte.
const tokenSlack = 8

// cborCodes holds the code of every bit length, for a big-endian store. Entry 0
// is for the values that fit into the head.
var cborCodes = func() (codes [33]tokenCode) {
	for length := range codes {
		switch {
		case length == 0:
			codes[length] = tokenCode{shift: 56, size: 1}
		case length <= 8:
			codes[length] = tokenCode{0x18 << 56, 48, 2}
		case length <= 16:
			codes[length] = tokenCode{0x19 << 56, 40, 3}
		default:
			codes[length] = tokenCode{0x1a << 56, 24, 5}
		}
	}
	return codes
}()

// appendCBOR writes the block as the canonical CBOR (all heads of the shortest
// form) of the array [parent, [token...], null or [extra...]]. vLLM writes it
// with cbor2, canonical=True (PR 20511, as bytes since PR 23673).
func appendCBOR(b []byte, parent *Hash, tokens []uint32, extra []ExtraKey) []byte {
	b = append(b, cborArray|3)
	b = appendCBORHead(b, cborBytes, uint64(parent.size))
	b = append(b, parent.digest[:parent.size]...)
	b = appendCBORHead(b, cborArray, uint64(len(tokens)))
	b = appendCBORTokens(b, tokens)
	if len(extra) == 0 {
		return append(b, cborNull)
	}
	b = appendCBORHead(b, cborArray, uint64(len(extra)))
	for i := range extra {
		switch k := &extra[i]; k.kind {
		case imageKey:
			b = append(b, cborArray|2)
			b = appendCBORText(b, k.content)
			b = appendCBORInt(b, k.offset)
		case embedsKey:
			b = appendCBORHead(b, cborBytes, uint64(len(k.content)))
			b = append(b, k.content...)
		default:
			b = appendCBORText(b, k.content)
		}
	}
	return b
}

// appendCBORTokens takes no branch that depends on a token: lengths change too
// often from one to the next for a processor to guess them.
func appendCBORTokens(b []byte, tokens []uint32) []byte {
	n := uint(len(b))
	b = slices.Grow(b, 5*len(tokens)+tokenSlack)
	b = b[:cap(b)]
	for _, t := range tokens {
		length := bits.Len32(t)
		if t < 24 {
			length = 0
		}
		code := &cborCodes[length]
		binary.BigEndian.PutUint64(b[n:n+8], code.head|uint64(t)<<(code.shift&63))
		n += uint(code.size)
	}
	return b[:n]
}

// appendCBORHead writes a major type and its number in the shortest form.
func appendCBORHead(b []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n < 1<<8:
		return append(b, major|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, major|27), n)
}

func appendCBORText(b []byte, text string) []byte {
	return append(appendCBORHead(b, cborText, uint64(len(text))), text...)
}

func appendCBORInt(b []byte, n int64) []byte {
	if n < 0 {
		return appendCBORHead(b, cborNegative, uint64(^n))
	}
	return appendCBORHead(b, cborUnsigned, uint64(n))
}
