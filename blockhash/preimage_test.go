package blockhash_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
)

// A testKey is an extra key together with what it is made of, for the
// serialisers that the tests compare with.
type testKey struct {
	key    blockhash.ExtraKey
	kind   string // "text", "bytes" or "image"
	text   string
	offset int64
	shared bool
}

func textKey(text string) testKey {
	return testKey{key: blockhash.LoRAKey(text), kind: "text", text: text}
}

func bytesKey(data string) testKey {
	return testKey{key: blockhash.EmbedsKey([]byte(data)), kind: "bytes", text: data}
}

func imageKey(text string, offset int64) testKey {
	return testKey{key: blockhash.ImageKey(text, offset), kind: "image", text: text, offset: offset}
}

func (k testKey) asShared() testKey {
	k.key = k.key.Shared()
	k.shared = true
	return k
}

func extraOf(keys []testKey) (extra []blockhash.ExtraKey) {
	for _, k := range keys {
		extra = append(extra, k.key)
	}
	return extra
}

// canonical is another library's encoder.
var canonical = sync.OnceValues(func() (cbor.EncMode, error) { return cbor.CanonicalEncOptions().EncMode() })

// cborOf encodes a block with another library.
func cborOf(tb require.TestingT, parent blockhash.Hash, tokens []uint32, keys []testKey) []byte {
	mode, err := canonical()
	require.NoError(tb, err)
	var extra []any // encodes as null
	for _, k := range keys {
		switch k.kind {
		case "bytes":
			extra = append(extra, []byte(k.text))
		case "image":
			extra = append(extra, []any{k.text, k.offset})
		default:
			extra = append(extra, k.text)
		}
	}
	encoded, err := mode.Marshal([]any{parent.Bytes(), tokens, extra})
	require.NoError(tb, err)
	return encoded
}

// pickledOf encodes a block with the slow pickler.
func pickledOf(parent blockhash.Hash, tokens []uint32, keys []testKey) []byte {
	block := &pyTuple{items: []any{&pyBytes{data: parent.Bytes()}, &pyNumbers{tokens}, nil}}
	if len(keys) == 0 {
		return pickleOf(block)
	}
	extra := new(pyTuple)
	objects := map[string]*pyText{}
	for _, k := range keys {
		text := &pyText{text: k.text}
		if known := objects[k.text]; known != nil && k.shared {
			text = known
		} else if k.shared && k.kind != "bytes" {
			objects[k.text] = text
		}
		switch k.kind {
		case "bytes":
			extra.items = append(extra.items, &pyBytes{data: []byte(k.text)})
		case "image":
			extra.items = append(extra.items, &pyTuple{items: []any{text, k.offset}})
		default:
			extra.items = append(extra.items, text)
		}
	}
	block.items[2] = extra
	return pickleOf(block)
}

func checkPreimages(tb require.TestingT, parent blockhash.Hash, tokens []uint32, keys []testKey) {
	before := []byte("before")
	for a, want := range map[blockhash.Algorithm][]byte{
		blockhash.XXHashCBOR: cborOf(tb, parent, tokens, keys),
		blockhash.XXHash:     pickledOf(parent, tokens, keys),
	} {
		got, err := blockhash.AppendPreimage(before, a, parent, tokens, extraOf(keys)...)
		require.NoError(tb, err)
		if !bytes.Equal(append(bytes.Clone(before), want...), got) {
			require.Equal(tb, hex.EncodeToString(want), hex.EncodeToString(got[len(before):]), "%v", a)
		}
	}
}

func TestPreimagesEqualThoseOfSlowSerialisers(t *testing.T) {
	edges := []uint32{
		0, 1, 23, 24, 127, 128, 255, 256, 32767, 32768, 65535, 65536,
		1<<24 - 1, 1 << 24, math.MaxInt32, 1 << 31, math.MaxUint32,
	}
	many := make([]testKey, 300)
	for i := range many {
		many[i] = imageKey(strings.Repeat("m", i%150), int64(i)).asShared()
	}
	for _, tc := range []struct {
		name   string
		tokens []uint32
		keys   []testKey
	}{
		{"every width of token", edges, nil},
		{"one token", edges[5:6], nil},
		{"two tokens", edges[6:8], nil},
		{"three tokens", edges[7:10], nil},
		{"a block of 256", filler(256), nil},
		{"an empty text", edges, []testKey{textKey("")}},
		{"names of 23, 24, 255 and 256 bytes", edges, []testKey{
			textKey(strings.Repeat("a", 23)), textKey(strings.Repeat("a", 24)),
			textKey(strings.Repeat("a", 255)), textKey(strings.Repeat("a", 256)),
		}},
		{"bytes of 255, 256 and 65536", edges, []testKey{
			bytesKey(strings.Repeat("\xff", 255)), bytesKey(strings.Repeat("\xff", 256)), bytesKey(strings.Repeat("\xff", 65536)),
		}},
		{"offsets on both sides of every width", edges, []testKey{
			imageKey("i", -1), imageKey("i", -24), imageKey("i", -25), imageKey("i", -256), imageKey("i", -257),
			imageKey("i", math.MinInt32), imageKey("i", math.MinInt32-1), imageKey("i", math.MaxInt32), imageKey("i", math.MaxInt32+1),
			imageKey("i", -1<<39), imageKey("i", -1<<39-1), imageKey("i", 1<<39-1), imageKey("i", 1<<39),
			imageKey("i", math.MinInt64), imageKey("i", math.MaxInt64),
		}},
		{"equal texts that are one object", edges, []testKey{
			imageKey("i", 0).asShared(), imageKey("k", 3), imageKey("i", 8).asShared(), textKey("i").asShared(), textKey("i"),
		}},
		{"a shared mark on bytes", edges, []testKey{bytesKey("i").asShared(), textKey("i").asShared(), bytesKey("i").asShared()}},
		{"references beyond entry 255", edges, many},
		{"a block of many frames", filler(40000), nil},
		{"texts just below a frame and just a frame", filler(16), []testKey{
			textKey(strings.Repeat("l", 65535)), textKey(strings.Repeat("l", 65536)), textKey("x"), textKey(strings.Repeat("l", 70000)),
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, parent := range []string{strings.Repeat("ab", 16), strings.Repeat("cd", 32)} {
				checkPreimages(t, mustParse(t, parent), tc.tokens, tc.keys)
			}
		})
	}
}

// The digests are those of CPython 3.11, pickle.dumps with protocol 5.
func TestPickleCutsFramesAsCPythonDoes(t *testing.T) {
	parent := make([]byte, 32)
	for i := range parent {
		parent[i] = byte(i)
	}
	root, err := blockhash.FromBytes(parent)
	require.NoError(t, err)
	long := func(c string, n int) blockhash.ExtraKey { return blockhash.LoRAKey(strings.Repeat(c, n)) }
	for _, tc := range []struct {
		name   string
		tokens int
		extra  []blockhash.ExtraKey
		want   string
	}{
		{"one frame", 12000, nil, "3f42aa7a0e1b9d204cbdf9b5ca54eb3b6cf81f0ad33fb76799fe37d5ab3fa00d"},
		{"three frames", 40000, nil, "d5e9a6a3a2e85dba6769dbd3505b003ab954f22d917d9f548d44e5218c5e9737"},
		{"a text that just fits", 16, []blockhash.ExtraKey{long("l", 65535)}, "8978c6af8754eb8ad15439cea355a3f566287f374228bfb2e0f39d5493aeffbf"},
		{"a text outside of frames", 16, []blockhash.ExtraKey{long("l", 65536)}, "b98e76a1a6cc40119d57e6675f37a3bba8f370000a82b2b49865e741635d99ae"},
		{"a frame too short for a header", 16, []blockhash.ExtraKey{long("l", 70000), long("s", 70000)}, "8398af52668560e0ca31896b1246094ef6bd64c444f081245f3e2342e081c3de"},
		{"a frame that ends within the keys", 16, []blockhash.ExtraKey{long("l", 65530), blockhash.SaltKey("salt")}, "e5c7ad603c7eb8aaaf943a8876304de9e7ea64cb61a5caabfa9a122fbdd56729"},
		{"an image, a long salt and bytes", 13000, []blockhash.ExtraKey{
			blockhash.ImageKey(strings.Repeat("i", 64), -5), long("s", 65536), blockhash.EmbedsKey(bytes.Repeat([]byte("x"), 32)),
		}, "af7cdaf44b20c9bcf1a46db8fa08e15cc8034de254e9d5fac5e48cc676206a09"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			preimage, err := blockhash.AppendPreimage([]byte("before"), blockhash.SHA256, root, filler(tc.tokens), tc.extra...)
			require.NoError(t, err)
			digest := sha256.Sum256(preimage[len("before"):])
			assert.Equal(t, tc.want, hex.EncodeToString(digest[:]))
			h, err := blockhash.HashBlock(blockhash.SHA256, root, filler(tc.tokens), tc.extra...)
			require.NoError(t, err)
			assert.Equal(t, tc.want, h.String())
		})
	}
}

func TestPreimagesOfAnyBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{16, 32}).Draw(t, "parent size")
		parent, err := blockhash.FromBytes(rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "parent"))
		require.NoError(t, err)
		tokens := rapid.SliceOfN(rapid.Uint32(), 1, 40).Draw(t, "tokens")
		keys := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) testKey {
			text := rapid.OneOf(rapid.SampledFrom([]string{"a", "b", ""}), rapid.String()).Draw(t, "text")
			var k testKey
			switch rapid.SampledFrom([]string{"text", "bytes", "image"}).Draw(t, "kind") {
			case "text":
				k = textKey(text)
			case "bytes":
				k = bytesKey(text)
			default:
				k = imageKey(text, rapid.Int64().Draw(t, "offset"))
			}
			if rapid.Bool().Draw(t, "shared") {
				return k.asShared()
			}
			return k
		}), 0, 8).Draw(t, "keys")
		checkPreimages(t, parent, tokens, keys)
	})
}

func mustParse(tb testing.TB, text string) blockhash.Hash {
	tb.Helper()
	h, err := blockhash.Parse(text)
	require.NoError(tb, err)
	return h
}
