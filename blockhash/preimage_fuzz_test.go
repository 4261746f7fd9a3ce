package blockhash_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/auxoutput/auxoutput/blockhash"
)

// frame is the length of a frame of CPython's pickler.
const frame = 64 << 10

// FuzzPreimages compares both of vLLM's serialisers with slow ones.
func FuzzPreimages(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0}, "", int64(0), byte(0))
	f.Add([]byte("\xff\xff\xff\xff\x00\x01\x00\x00"), "name", int64(-11), byte(0b1111))
	f.Add([]byte{1, 2, 3, 4}, strings.Repeat("long", 80), int64(-1<<40), byte(0xff))
	f.Fuzz(func(t *testing.T, data []byte, text string, offset int64, shape byte) {
		tokens := tokensOf(data, 300)
		if len(tokens) == 0 || len(text) > 1000 {
			return
		}
		checkShape(t, tokens, text, offset, shape)
	})
}

// FuzzPreimagesOfManyFrames does the same with blocks that are long enough for
// several frames. Such a block takes a hundred times as long as a short one.
func FuzzPreimagesOfManyFrames(f *testing.F) {
	f.Add([]byte("\xff\xff\xff\x7f\x00\x01\x00\x00"), "name", int64(1<<40), byte(0b10110))
	f.Fuzz(func(t *testing.T, data []byte, text string, offset int64, shape byte) {
		const most = 14_000
		tokens := tokensOf(data, most)
		if len(tokens) == 0 || len(text) > 1000 {
			return
		}
		tokens = slices.Repeat(tokens, most/len(tokens))
		checkShape(t, tokens, strings.Repeat(text, 1+frame/(1+len(text))), offset, shape)
	})
}

// tokensOf reads up to most tokens.
func tokensOf(data []byte, most int) (tokens []uint32) {
	for ; len(data) >= 4 && len(tokens) < most; data = data[4:] {
		tokens = append(tokens, binary.LittleEndian.Uint32(data))
	}
	return tokens
}

// checkShape checks a block with extra keys, of which the bits of shape say which
// ones there are, which of them share a text, and which come twice.
func checkShape(t *testing.T, tokens []uint32, text string, offset int64, shape byte) {
	text = strings.ToValidUTF8(text, "?")
	var keys []testKey
	for _, k := range []testKey{textKey(text), imageKey(text, offset), imageKey("x"+text, ^offset), bytesKey(text), imageKey(text, offset+1)} {
		if shape&1 != 0 {
			if shape&64 != 0 {
				k = k.asShared()
			}
			keys = append(keys, k)
		}
		shape = shape>>1 | shape<<7
		if shape&32 != 0 && len(keys) > 0 {
			keys = append(keys, keys[0])
		}
	}
	parent, err := blockhash.FromBytes(make([]byte, 16+16*int(shape&1)))
	if err != nil {
		t.Fatal(err)
	}
	checkPreimages(t, parent, tokens, keys)
}
