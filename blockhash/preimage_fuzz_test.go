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

// FuzzPreimages compares both of vLLM's serialisers with slow ones. The blocks
// that it makes may be long enough for several frames.
func FuzzPreimages(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0}, false, "", int64(0), byte(0))
	f.Add([]byte("\xff\xff\xff\xff\x00\x01\x00\x00"), false, "name", int64(-11), byte(0b1111))
	f.Add([]byte("\xff\xff\xff\x7f\x00\x01\x00\x00"), true, "name", int64(1<<40), byte(0b10110))
	f.Add([]byte{1, 2, 3, 4}, false, strings.Repeat("long", 80), int64(-1<<40), byte(0xff))
	f.Fuzz(func(t *testing.T, data []byte, large bool, text string, offset int64, shape byte) {
		most := 300
		if large {
			most = 14_000
		}
		var tokens []uint32
		for rest := data; len(rest) >= 4 && len(tokens) < most; rest = rest[4:] {
			tokens = append(tokens, binary.LittleEndian.Uint32(rest))
		}
		if len(tokens) == 0 || len(text) > 1000 {
			return
		}
		text = strings.ToValidUTF8(text, "?")
		if large {
			tokens = slices.Repeat(tokens, most/len(tokens))
			text = strings.Repeat(text, 1+frame/(1+len(text)))
		}
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
	})
}
