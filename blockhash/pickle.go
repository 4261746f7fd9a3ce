package blockhash

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// The opcodes of pickle protocol 5 (Lib/pickletools.py of CPython) that occur
// in a block.
const (
	opProto      = 0x80
	opFrame      = 0x95
	opStop       = '.'
	opNone       = 'N'
	opInt1       = 'K'  // 1 byte
	opInt2       = 'M'  // 2 bytes
	opInt4       = 'J'  // 4 bytes, signed
	opLong1      = 0x8a // length, then so many bytes, signed
	opBytes1     = 'C'  // 1 byte of length
	opBytes4     = 'B'  // 4 bytes of length
	opText1      = 0x8c // 1 byte of length
	opText4      = 'X'  // 4 bytes of length
	opMark       = '('
	opTuple      = 't'
	opTuple1     = 0x85 // opTuple2, opTuple3 follow
	opMemoize    = 0x94
	opGet1       = 'h' // 1 byte of memo index
	opGet4       = 'j' // 4 bytes of memo index
	pickleHeader = 2 + frameHeader
)

// pickleCodes holds the code of every bit length, for a little-endian store.
var pickleCodes = func() (codes [33]tokenCode) {
	for length := range codes {
		switch {
		case length <= 8:
			codes[length] = tokenCode{opInt1, 8, 2}
		case length <= 16:
			codes[length] = tokenCode{opInt2, 8, 3}
		case length <= 31:
			codes[length] = tokenCode{opInt4, 8, 5}
		default:
			// The fifth byte is 0, so that the number is not negative.
			codes[length] = tokenCode{5<<8 | opLong1, 16, 7}
		}
	}
	return codes
}()

// appendPickle writes the block as CPython pickles, with protocol 5, the tuple
// (parent, (token, ...), None or (extra, ...)). Its bytes are the same in
// CPython 3.8 to 3.13.
func appendPickle(b []byte, parent *Hash, tokens []uint32, extra []ExtraKey) []byte {
	start := len(b)
	b = append(appendPickleHeader(b), opBytes1, parent.size)
	b = append(b, parent.digest[:parent.size]...)
	if len(tokens) > 3 {
		b = append(b, opMemoize, opMark)
	} else {
		b = append(b, opMemoize)
	}
	b = appendPickleTokens(b, tokens)
	b = appendPickleTupleEnd(b, len(tokens))
	if len(extra) == 0 {
		b = append(b, opNone, opTuple1+2, opMemoize, opStop)
	} else {
		b = append(appendPickleExtra(b, extra), opTuple1+2, opMemoize, opStop)
	}
	return finishPickle(b, start)
}

// appendPickleString pickles a lone string, as the root of a seed needs it.
func appendPickleString(b []byte, text string) []byte {
	start := len(b)
	b = appendPickleHeader(b)
	b = appendPickleContent(b, opText1, opText4, text)
	b = append(b, opStop)
	return finishPickle(b, start)
}

// appendPickleHeader leaves the length of the frame to finishPickle.
func appendPickleHeader(b []byte) []byte {
	return append(b, opProto, 5, opFrame, 0, 0, 0, 0, 0, 0, 0, 0)
}

// finishPickle frames what was written since start. One frame holds nearly
// every block there is.
func finishPickle(b []byte, start int) []byte {
	payload := len(b) - start - pickleHeader
	if payload >= frameTarget {
		return splitFrames(b, start)
	}
	binary.LittleEndian.PutUint64(b[start+3:], uint64(payload))
	return b
}

// appendPickleTokens takes no branch that depends on a token: lengths change
// too often from one to the next for a processor to guess them.
func appendPickleTokens(b []byte, tokens []uint32) []byte {
	n := uint(len(b))
	b = slices.Grow(b, 7*len(tokens)+tokenSlack)
	b = b[:cap(b)]
	for _, t := range tokens {
		code := &pickleCodes[bits.Len32(t)]
		binary.LittleEndian.PutUint64(b[n:n+8], code.head|uint64(t)<<(code.shift&63))
		n += uint(code.size)
	}
	return b[:n]
}

func appendPickleTupleEnd(b []byte, length int) []byte {
	if length > 3 {
		return append(b, opTuple, opMemoize)
	}
	return append(b, opTuple1-1+byte(length), opMemoize)
}

// appendPickleExtra writes the extra keys as a tuple. It counts the entries of
// the pickler's memo, because an object that was met before is written as a
// reference to its entry.
func appendPickleExtra(b []byte, extra []ExtraKey) []byte {
	memo := 2               // the parent and the tuple of tokens came first
	var seen map[string]int // entry of every text that is marked as shared
	if slices.ContainsFunc(extra, func(k ExtraKey) bool { return k.shared }) {
		seen = make(map[string]int, 8)
	}
	if len(extra) > 3 {
		b = append(b, opMark)
	}
	for i := range extra {
		k := &extra[i]
		entry, met := seen[k.content]
		switch {
		case k.kind == embedsKey:
			b = appendPickleContent(b, opBytes1, opBytes4, k.content)
			memo++
		case k.shared && met:
			b = appendPickleGet(b, entry)
		default:
			b = appendPickleContent(b, opText1, opText4, k.content)
			if k.shared {
				seen[k.content] = memo
			}
			memo++
		}
		if k.kind == imageKey {
			b = appendPickleInt(b, k.offset)
			b = append(b, opTuple1+1, opMemoize)
			memo++
		}
	}
	return appendPickleTupleEnd(b, len(extra))
}

func appendPickleGet(b []byte, entry int) []byte {
	if entry < 256 {
		return append(b, opGet1, byte(entry))
	}
	return binary.LittleEndian.AppendUint32(append(b, opGet4), uint32(entry))
}

// appendPickleContent writes text or bytes with the opcode for its length.
func appendPickleContent(b []byte, short, long byte, content string) []byte {
	if len(content) < 256 {
		b = append(b, short, byte(len(content)))
	} else {
		b = binary.LittleEndian.AppendUint32(append(b, long), uint32(len(content)))
	}
	b = append(b, content...)
	return append(b, opMemoize)
}

// appendPickleInt writes an offset; unlike tokens it may be negative.
func appendPickleInt(b []byte, n int64) []byte {
	switch {
	case 0 <= n && n < 1<<8:
		return append(b, opInt1, byte(n))
	case 0 <= n && n < 1<<16:
		return binary.LittleEndian.AppendUint16(append(b, opInt2), uint16(n))
	case math.MinInt32 <= n && n <= math.MaxInt32:
		return binary.LittleEndian.AppendUint32(append(b, opInt4), uint32(n))
	}
	// The shortest two's complement form with room for the sign.
	size := bits.Len64(uint64(n^n>>63))/8 + 1
	b = append(b, opLong1, byte(size))
	for range size {
		b = append(b, byte(n))
		n >>= 8
	}
	return b
}
