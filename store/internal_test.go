package store

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

func TestANodeIsOneCacheLineWithoutPointers(t *testing.T) {
	require.EqualValues(t, 64, unsafe.Sizeof(node{}))
	require.LessOrEqual(t, MetadataBytes, 88)
	require.False(t, hasPointers(reflect.TypeFor[node]()))
}

func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Array:
		return hasPointers(t.Elem())
	case reflect.Int32, reflect.Uint8, reflect.Uint64:
		return false
	}
	return true
}

// edgeTags share two places of a table, at its end and at its beginning.
var edgeTags = []tag{0, 1 << 32, 1 << 63, (1<<32 - 1) << 32, (1<<32 - 2) << 32}

func numbered(n uint64) blockhash.Hash {
	hash, err := blockhash.FromBytes(binary.BigEndian.AppendUint64(make([]byte, 24), n))
	if err != nil {
		panic(err)
	}
	return hash
}

// TestTheIndexFindsExactlyWhatIsInIt draws tags that share a few places, around
// the end of the table too, and removes in any order.
func TestTheIndexFindsExactlyWhatIsInIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 12).Draw(t, "slots")
		x := index{cells: make([]uint64, cellsFor(slots)), nodes: make([]node, slots+1)}
		tagOf := map[int32]tag{}
		tags := rapid.SampledFrom(edgeTags)
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				slot := int32(rapid.IntRange(1, slots).Draw(t, "slot"))
				if _, there := tagOf[slot]; there {
					return
				}
				tag := tags.Draw(t, "tag")
				x.nodes[slot] = node{hash: numbered(uint64(slot)), tag: tag}
				x.insert(tag, slot)
				tagOf[slot] = tag
			},
			"remove": func(t *rapid.T) {
				slot := int32(rapid.IntRange(1, slots).Draw(t, "slot"))
				tag, there := tagOf[slot]
				if !there {
					return
				}
				x.remove(tag, slot)
				delete(tagOf, slot)
			},
			"": func(t *rapid.T) {
				for slot := int32(1); slot <= int32(slots); slot++ {
					hash := numbered(uint64(slot))
					tag, there := tagOf[slot]
					if !there {
						for _, tag := range edgeTags {
							require.Zero(t, x.find(tag, &hash))
						}
						continue
					}
					require.Equal(t, slot, x.find(tag, &hash))
					require.Equal(t, tag, tagOf[x.candidate(tag)])
				}
			},
		})
	})
}

func TestWithVerifyABlockThatWasWrittenOverIsNotReturned(t *testing.T) {
	s, err := New(Options{MaxBytes: 256, BlockBytes: 64, Verify: true})
	require.NoError(t, err)
	defer s.Close()
	blocks := []Block{{numbered(1), bytes.Repeat([]byte{1}, 64)}, {numbered(2), bytes.Repeat([]byte{2}, 64)}}
	hashes := []blockhash.Hash{numbered(1), numbered(2)}
	_, err = s.Put(Batch{Blocks: blocks})
	require.NoError(t, err)
	tag := s.tag(&hashes[1])
	s.rows(s.index.find(tag, &hashes[1]))[5] ^= 1

	dst := []byte("before")
	got, err := s.Get(dst, hashes)
	require.ErrorIs(t, err, auxerrors.ErrCorrupt)
	require.Equal(t, dst, got)
	var typed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, err, &typed)
	require.Equal(t, 1, typed.Index)
	_, err = s.View(hashes)
	require.ErrorIs(t, err, auxerrors.ErrCorrupt)
	require.EqualValues(t, 2, s.Stats().Corrupt)
	require.Zero(t, s.Stats().OpenViews)

	_, err = s.Remove(0, hashes[1:])
	require.NoError(t, err)
	_, err = s.Put(Batch{Blocks: blocks})
	require.NoError(t, err)
	got, err = s.Get(nil, hashes)
	require.NoError(t, err)
	require.Equal(t, slices.Concat(blocks[0].Rows, blocks[1].Rows), got)
}

// TestSlotsAreAccountedForWhateverIsPinned resets a store whose slots are viewed,
// copied and free in random turns, and finds every slot again.
func TestSlotsAreAccountedForWhateverIsPinned(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s, err := New(Options{MaxBytes: 8 * 8, BlockBytes: 8})
	require.NoError(t, err)
	defer s.Close()
	for range 500 {
		var views []View
		for n := range uint64(8) {
			_, err := s.Put(Batch{Generation: s.generation, Blocks: []Block{{numbered(n), make([]byte, 8)}}})
			if err != nil {
				require.ErrorIs(t, err, auxerrors.ErrCannotFit)
				continue
			}
			if r.IntN(2) == 0 {
				v, err := s.View([]blockhash.Hash{numbered(n)})
				require.NoError(t, err)
				views = append(views, v)
			}
		}
		_, err := s.Reset()
		require.NoError(t, err)
		require.Equal(t, len(views), s.slots.orphaned)
		r.Shuffle(len(views), func(i, j int) { views[i], views[j] = views[j], views[i] })
		left := views[:r.IntN(len(views)+1)]
		for _, v := range views[len(left):] {
			require.NoError(t, v.Close())
		}
		for n := range s.slots.free() {
			_, err := s.Put(Batch{Generation: s.generation, Blocks: []Block{{numbered(uint64(100 + n)), make([]byte, 8)}}})
			require.NoError(t, err)
		}
		require.Equal(t, 8, s.slots.used+s.slots.orphaned)
		for _, v := range left {
			require.NoError(t, v.Close())
		}
		_, err = s.Reset()
		require.NoError(t, err)
		require.Equal(t, 8, s.slots.free())
	}
}

// TestHashesWithTheSameTagAreKeptApart looks for two hashes that the index cannot
// tell from each other by their cells, of which there are some among so many.
func TestHashesWithTheSameTagAreKeptApart(t *testing.T) {
	s, err := New(Options{MaxBytes: 3 * 8, BlockBytes: 8})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	seen := map[uint32]uint64{}
	var twins []blockhash.Hash
	for n := uint64(0); twins == nil; n++ {
		hash := numbered(n)
		half := uint32(s.tag(&hash) >> 32)
		if other, found := seen[half]; found {
			twins = []blockhash.Hash{numbered(other), hash}
		}
		seen[half] = n
	}
	rows := [][]byte{[]byte("rows of1"), []byte("rows of2")}
	_, err = s.Put(Batch{Blocks: []Block{{twins[0], rows[0]}, {twins[1], rows[1]}}})
	require.NoError(t, err)
	require.Equal(t, 2, s.Prefix(twins))
	for i := range twins {
		got, err := s.Get(nil, twins[i:i+1])
		require.NoError(t, err)
		require.Equal(t, rows[i], got)
	}
	_, err = s.Remove(0, twins[:1])
	require.NoError(t, err)
	_, err = s.Get(nil, twins)
	require.ErrorIs(t, err, auxerrors.ErrRemoved)
	got, err := s.Get(nil, twins[1:])
	require.NoError(t, err)
	require.Equal(t, rows[1], got)
}

func TestWhereGoroutinesRunOneAtATimeTheLockIsNotTriedAgain(t *testing.T) {
	require.Equal(t, runtime.GOMAXPROCS(0) > 1, lockTries() > 0)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	require.Zero(t, lockTries())
}
