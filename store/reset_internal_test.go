package store

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// checkSlots counts anew what slots, nodes and index say, slot by slot.
func checkSlots(t *testing.T, s *Store) {
	t.Helper()
	s.lock()
	defer s.mu.Unlock()
	var used, orphaned, unviewed, copied, viewed int
	for slot := int32(1); slot <= int32(s.slots.total); slot++ {
		n := &s.slots.nodes[slot]
		live := s.index.find(n.tag, &n.hash) == slot
		pinned := n.busy > 0 || n.views > 0
		switch {
		case live:
			used++
		case pinned:
			orphaned++
			if n.views == 0 {
				unviewed++
			}
		}
		switch {
		case n.views > 0:
			viewed++
		case n.busy > 0:
			copied++
		}
	}
	require.Equal(t, []int{used, orphaned, unviewed, copied, viewed},
		[]int{s.slots.used, s.slots.orphaned, s.slots.unviewed, s.slots.copied, s.slots.viewed}, "used, orphaned, unviewed, copied, viewed")
	free := s.slots.vacancies
	for slot := s.slots.fresh + 1; slot <= int32(s.slots.total); slot++ {
		if n := &s.slots.nodes[slot]; n.busy == 0 && n.views == 0 {
			free++
		}
	}
	require.Equal(t, free, s.slots.free(), "slots that can be taken")
}

// pinned is a copy out of a block that goes on, or a view that is open.
type pinned struct {
	slots []int32
	rows  []byte
	end   func()
}

// pin begins a copy or a view of a block.
func pin(t *testing.T, s *Store, n uint64, view bool) pinned {
	t.Helper()
	hashes := []blockhash.Hash{numbered(n)}
	tag := s.tag(&hashes[0])
	p := pinned{slots: []int32{s.index.find(tag, &hashes[0])}}
	p.rows = bytes.Clone(s.rows(p.slots[0]))
	if !view {
		p.end = beginRead(t, s, hashes...)
		return p
	}
	v, err := s.View(hashes)
	require.NoError(t, err)
	p.end = func() { require.NoError(t, v.Close()) }
	return p
}

// fillUp puts blocks, from number first on, until nothing is free.
func fillUp(t *testing.T, s *Store, first uint64) {
	t.Helper()
	for n := first; s.slots.free() > 0; n++ {
		_, err := s.Put(Batch{Generation: s.generation, Blocks: []Block{blockOf(n, s.blockBytes)}})
		require.NoError(t, err)
	}
}

// TestAResetWritesToNothingThatGrowsWithTheStore compares the book-keeping before and
// after, in all states of a store.
func TestAResetWritesToNothingThatGrowsWithTheStore(t *testing.T) {
	const slots, blockBytes = 2000, 8
	for _, verify := range []bool{false, true} {
		for _, populate := range []bool{false, true} {
			for _, used := range []uint64{0, 10, slots} {
				for _, pins := range []string{"", "copies", "views", "both"} {
					t.Run(fmt.Sprintf("verify=%v populate=%v used=%d pins=%s", verify, populate, used, pins), func(t *testing.T) {
						s, err := New(Options{MaxBytes: slots * blockBytes, BlockBytes: blockBytes, Verify: verify, Populate: populate})
						require.NoError(t, err)
						defer func() { require.NoError(t, s.Close()) }()
						for n := range used {
							_, err := s.Put(Batch{Blocks: []Block{blockOf(n, blockBytes)}})
							require.NoError(t, err)
						}
						var held []pinned
						for n := range min(used, 8) {
							if pins == "copies" || pins == "both" {
								held = append(held, pin(t, s, n, false))
							}
							if pins == "views" || pins == "both" && n%2 == 0 {
								held = append(held, pin(t, s, n, true))
							}
						}
						resets(t, s)
						checkSlots(t, s)
						for _, p := range held {
							require.Equal(t, p.rows, s.rows(p.slots[0]), "what was begun goes on")
						}
						fillUp(t, s, 10_000)
						checkSlots(t, s)
						for _, p := range held {
							require.Equal(t, p.rows, s.rows(p.slots[0]), "and nobody else gets its slot")
							p.end()
						}
						checkSlots(t, s)
						fillUp(t, s, 20_000)
						require.Equal(t, slots, s.slots.used)
					})
				}
			}
		}
	}
}

// resets resets a store twice, and looks at what that has changed.
func resets(t *testing.T, s *Store) {
	t.Helper()
	nodes := s.recency.nodes[1:]
	book := unsafe.Slice((*byte)(unsafe.Pointer(&nodes[0])), len(nodes)*int(unsafe.Sizeof(node{})))
	before := bytes.Clone(book)
	mapped := s.Stats().MappedBytes
	for range 2 {
		cells, marks := &s.index.cells[0], &s.history.marks[0]
		generation, err := s.Reset()
		require.NoError(t, err)
		require.Equal(t, s.generation, generation)
		require.True(t, bytes.Equal(before, book), "no node is written")
		if s.index.cells[0] == 0 && s.history.marks[0] == 0 {
			require.NotSame(t, cells, &s.index.cells[0], "another index, not one that was cleared")
			require.NotSame(t, marks, &s.history.marks[0])
		}
		require.Zero(t, s.Stats().Used)
		require.Equal(t, mapped, s.Stats().MappedBytes)
		require.Zero(t, s.Snapshot())
	}
}

// TestSlotsAreAccountedForThroughManyResets pins, resets, evicts, removes and unpins
// in random turns, so that there are pins of many generations.
func TestSlotsAreAccountedForThroughManyResets(t *testing.T) {
	const slots, blockBytes = 12, 16
	r := rand.New(rand.NewPCG(3, 4))
	s, err := New(Options{MaxBytes: slots * blockBytes, BlockBytes: blockBytes})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	var held []pinned
	end := func(at int) {
		p := held[at]
		require.Equal(t, p.rows, s.rows(p.slots[0]), "rows that are being read")
		p.end()
		held = append(held[:at], held[at+1:]...)
	}
	for range 5000 {
		n := r.Uint64N(2 * slots)
		hash := numbered(n)
		switch r.IntN(8) {
		case 0, 1, 2:
			if s.slots.unviewed > 0 || s.slots.copied > 0 {
				for at := len(held) - 1; at >= 0; at-- { // a put might wait for them
					end(at)
				}
			}
			if _, err := s.Put(Batch{Generation: s.generation, Blocks: []Block{blockOf(n, blockBytes)}}); err != nil {
				require.ErrorIs(t, err, auxerrors.ErrCannotFit)
			}
		case 3, 4:
			if tag := s.tag(&hash); s.index.find(tag, &hash) != 0 {
				held = append(held, pin(t, s, n, r.IntN(2) == 0))
			}
		case 5:
			if len(held) > 0 {
				end(r.IntN(len(held)))
			}
		case 6:
			_, err := s.Remove(s.generation, []blockhash.Hash{hash})
			require.NoError(t, err)
		case 7:
			if r.IntN(3) == 0 {
				_, err := s.Reset()
				require.NoError(t, err)
			}
		}
		checkSlots(t, s)
	}
	for len(held) > 0 {
		end(0)
	}
	checkSlots(t, s)
	require.Zero(t, s.slots.orphaned)
}

// TestRowsThatComeInDuringAResetAreOfTheOldGeneration resets between the two halves of
// a put.
func TestRowsThatComeInDuringAResetAreOfTheOldGeneration(t *testing.T) {
	const slots, blockBytes = 3, 8
	s, err := New(Options{MaxBytes: slots * blockBytes, BlockBytes: blockBytes})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	end := beginPut(t, s, Batch{Blocks: []Block{blockOf(1, blockBytes), blockOf(2, blockBytes)}})
	_, err = s.Reset()
	require.NoError(t, err)
	checkSlots(t, s)
	require.Equal(t, 1, s.slots.free())
	_, err = s.Put(Batch{Generation: 1, Blocks: []Block{blockOf(3, blockBytes)}})
	require.NoError(t, err)
	_, err = s.Get(nil, []blockhash.Hash{numbered(1)})
	require.ErrorIs(t, err, auxerrors.ErrNeverStored)
	end()
	checkSlots(t, s)
	require.Equal(t, 2, s.slots.free())
	rows, err := s.Get(nil, []blockhash.Hash{numbered(3)})
	require.NoError(t, err)
	require.Equal(t, rowsOf(3, blockBytes), rows)
	require.Zero(t, s.Prefix([]blockhash.Hash{numbered(1)}))
}

// beginPut does everything of a put up to the copies, which the result does.
func beginPut(t *testing.T, s *Store, batch Batch) (end func()) {
	t.Helper()
	p := new(staged)
	if fault := s.stage(p, &batch); fault != nil {
		require.NoError(t, fault)
	}
	s.lock()
	defer s.mu.Unlock()
	if fault := s.admit(p, &batch); fault != nil {
		require.NoError(t, fault)
	}
	s.commit(p, &batch)
	s.inFlight++
	return func() {
		s.fill(p, batch.Blocks)
		s.lock()
		defer s.mu.Unlock()
		s.endFill(p, batch.Generation)
	}
}

// TestAResetSucceedsWhereThereIsNoMemoryForASecondIndex: the rows of older weights
// must go, whatever the system says.
func TestAResetSucceedsWhereThereIsNoMemoryForASecondIndex(t *testing.T) {
	const slots, blockBytes = 600, 8
	s, err := New(Options{MaxBytes: slots * blockBytes, BlockBytes: blockBytes})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	fillUp(t, s, 0)
	_, err = s.Put(Batch{Blocks: []Block{blockOf(5000, blockBytes)}})
	require.NoError(t, err)
	index := &s.index.cells[0]
	s.memory.slots = math.MaxInt / 16 // a table for as many is what no system has memory for
	generation, err := s.Reset()
	s.memory.slots = slots
	require.NoError(t, err)
	require.EqualValues(t, 1, generation)
	require.Same(t, index, &s.index.cells[0], "the one there is, cleared")
	require.Zero(t, s.Snapshot())
	for n := range uint64(slots) {
		_, err = s.Get(nil, []blockhash.Hash{numbered(n)})
		require.ErrorIs(t, err, auxerrors.ErrNeverStored)
	}
	fillUp(t, s, 7000)
	checkSlots(t, s)
	require.Equal(t, slots, s.slots.used)
}
