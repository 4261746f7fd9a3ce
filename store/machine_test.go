package store_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
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

// machine drives a store and the model side by side.
type machine struct {
	s     *store.Store
	m     *model
	views []openView
	tries int // makes payloads differ
}

type openView struct {
	real  store.View
	model *modelView
}

const universe = 12

func drawHashes(t *rapid.T, label string, most int) []blockhash.Hash {
	numbers := rapid.SliceOfN(rapid.IntRange(0, universe-1), 0, most).Draw(t, label)
	// Half of the hashes share 31 bytes with another one.
	for i, n := range numbers {
		if n%2 == 1 {
			numbers[i] = n - 1 + 16
		}
	}
	return hashesOf(numbers...)
}

func (mc *machine) drawBatch(t *rapid.T) store.Batch {
	batch := store.Batch{Generation: mc.m.generation, Partial: rapid.IntRange(0, 3).Draw(t, "partial") == 0}
	if rapid.IntRange(0, 19).Draw(t, "late") == 0 && batch.Generation > 0 {
		batch.Generation--
	}
	for _, hash := range drawHashes(t, "blocks", 5) {
		mc.tries++
		size := mc.m.blockBytes
		if rapid.IntRange(0, 39).Draw(t, "odd size") == 0 {
			size++
		}
		batch.Blocks = append(batch.Blocks, store.Block{Hash: hash, Rows: rowsFor(int(hash.Low64()), mc.tries, size)})
	}
	batch.Retain = drawHashes(t, "retain", 4)
	// Mostly releases that are allowed, in random order.
	var held []blockhash.Hash
	for n := range 32 {
		hash := hashOf(n)
		for range mc.m.refs[hash] {
			held = append(held, hash)
		}
	}
	held = append(held, batch.Retain...)
	if len(held) > 0 {
		held = rapid.Permutation(held).Draw(t, "held")
		batch.Release = held[:rapid.IntRange(0, len(held)).Draw(t, "release")]
	}
	if rapid.IntRange(0, 9).Draw(t, "unbalanced") == 0 {
		batch.Release = append(batch.Release, drawHashes(t, "also release", 2)...)
	}
	return batch
}

func (mc *machine) Put(t *rapid.T) {
	batch := mc.drawBatch(t)
	want, reason := mc.m.put(batch)
	var gone []blockhash.Hash
	batch.Evicted = &gone
	got, err := mc.s.Put(batch)
	sameReason(t, reason, err)
	require.Equal(t, want, got)
	require.Len(t, gone, got.Evicted+got.Dropped+got.LeftOut)
	for _, hash := range gone {
		require.Nil(t, mc.m.find(hash))
	}
}

func (mc *machine) Get(t *rapid.T) {
	hashes := drawHashes(t, "hashes", 6)
	before := []byte("kept")
	want, absent, reason := mc.m.get(hashes)
	got, err := mc.s.Get(before, hashes)
	sameAbsence(t, absent, reason, err)
	if reason != nil {
		require.Equal(t, before, got, "the buffer is as it was")
		return
	}
	require.Equal(t, append([]byte("kept"), want...), got)
}

func (mc *machine) View(t *rapid.T) {
	hashes := drawHashes(t, "hashes", 3)
	view, absent, reason := mc.m.view(hashes)
	got, err := mc.s.View(hashes)
	sameAbsence(t, absent, reason, err)
	if reason == nil {
		mc.views = append(mc.views, openView{got, view})
	}
}

func (mc *machine) CloseView(t *rapid.T) {
	if len(mc.views) == 0 {
		t.Skip("no view is open")
	}
	at := rapid.IntRange(0, len(mc.views)-1).Draw(t, "view")
	view := mc.views[at]
	mc.views = slices.Delete(mc.views, at, at+1)
	mc.checkView(t, view)
	mc.m.closeView(view.model)
	require.NoError(t, view.real.Close())
	require.ErrorIs(t, view.real.Close(), auxerrors.ErrClosed)
	_, err := view.real.Block(0)
	require.ErrorIs(t, err, auxerrors.ErrClosed)
}

func (mc *machine) checkView(t *rapid.T, view openView) {
	require.Equal(t, len(view.model.blocks), view.real.Len())
	for i, block := range view.model.blocks {
		rows, err := view.real.Block(i)
		require.NoError(t, err)
		require.Equal(t, block.rows, rows)
	}
	var all bytes.Buffer
	n, err := view.real.WriteTo(&all)
	require.NoError(t, err)
	require.EqualValues(t, all.Len(), n)
	require.True(t, bytes.Equal(rowsOf(view.model.blocks), all.Bytes()))
}

func (mc *machine) Prefix(t *rapid.T) {
	hashes := drawHashes(t, "hashes", 6)
	require.Equal(t, mc.m.prefix(hashes), mc.s.Prefix(hashes))
}

func (mc *machine) RetainPrefix(t *rapid.T) {
	hashes := drawHashes(t, "hashes", 6)
	want := mc.m.retainPrefix(hashes)
	got, err := mc.s.RetainPrefix(mc.m.generation, hashes)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func (mc *machine) Remove(t *rapid.T) {
	hashes := drawHashes(t, "hashes", 3)
	want := mc.m.remove(hashes)
	got, err := mc.s.Remove(mc.m.generation, hashes)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func (mc *machine) Reset(t *rapid.T) {
	if rapid.IntRange(0, 4).Draw(t, "reset") > 0 {
		t.Skip("resets are rare")
	}
	mc.m.reset()
	generation, err := mc.s.Reset()
	require.NoError(t, err)
	require.Equal(t, mc.m.generation, generation)
}

// Check compares the whole state, and the rows that open views show.
func (mc *machine) Check(t *rapid.T) {
	evictable, held, pending := mc.m.snapshot()
	snapshot := mc.s.Snapshot()
	require.Equal(t, evictable, snapshot.Evictable, "evictable blocks, oldest first")
	require.Equal(t, held, byHash(snapshot.Held), "held blocks")
	require.Equal(t, pending, byHash(snapshot.Pending), "retained hashes without a block")

	stats := mc.s.Stats()
	require.Equal(t, len(evictable)+len(held), stats.Used)
	require.Equal(t, len(pending), stats.Pending)
	require.Equal(t, len(mc.views), stats.OpenViews)
	require.Equal(t, mc.m.occupied(), stats.Used+stats.Orphaned)
	require.LessOrEqual(t, stats.Used+stats.Orphaned, stats.Slots)
	retained := 0
	for _, h := range held {
		if h.Refs > 0 {
			retained++
		}
	}
	require.Equal(t, retained, stats.Retained)
	for _, view := range mc.views {
		mc.checkView(t, view)
	}
}

func byHash(list []store.Holding) map[blockhash.Hash]store.Holding {
	m := map[blockhash.Hash]store.Holding{}
	for _, h := range list {
		m[h.Hash] = h
	}
	return m
}

// sameReason compares an error with the sentinel it has to wrap.
func sameReason(t *rapid.T, want, got error) {
	if want == nil {
		require.NoError(t, got)
		return
	}
	require.ErrorIs(t, got, want)
	var typed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, got, &typed)
}

// sameAbsence does that for a read. The store forgets after a while why a block
// is gone, so "never stored" is right for every absent one.
func sameAbsence(t *rapid.T, index int, want, got error) {
	if want != nil && errors.Is(got, auxerrors.ErrNeverStored) {
		want = auxerrors.ErrNeverStored
	}
	sameReason(t, want, got)
	var typed *auxerrors.BlockObjectStoreError
	if errors.As(got, &typed) {
		require.Equal(t, index, typed.Index)
		require.ErrorIs(t, got, auxerrors.ErrAbsent)
	}
}

// followsModel is the property: whatever is done, the store does what the model
// says.
func followsModel(verify bool) func(*rapid.T) {
	return func(t *rapid.T) {
		slots := rapid.IntRange(1, 7).Draw(t, "slots")
		blockBytes := rapid.SampledFrom([]int{1, 8, 63, 64}).Draw(t, "block bytes")
		surplus := rapid.IntRange(0, blockBytes-1).Draw(t, "surplus")
		s, err := store.New(store.Options{
			MaxBytes: int64(slots*blockBytes + surplus), BlockBytes: blockBytes, Verify: verify,
		})
		require.NoError(t, err)
		require.Equal(t, slots, s.Slots())
		mc := &machine{s: s, m: newModel(slots, blockBytes, verify)}
		defer func() {
			for _, view := range mc.views {
				view.real.Close()
			}
			require.NoError(t, s.Close())
		}()
		t.Repeat(rapid.StateMachineActions(mc))
	}
}

func TestTheStoreDoesWhatTheModelSays(t *testing.T) {
	for _, verify := range []bool{false, true} {
		t.Run(fmt.Sprintf("verify=%v", verify), func(t *testing.T) {
			rapid.Check(t, followsModel(verify))
		})
	}
}

func FuzzTheStoreDoesWhatTheModelSays(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(followsModel(true)))
}
