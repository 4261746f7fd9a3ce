package storetest

import (
	"crypto/sha256"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// universe is how many hashes the drawn operations use: few, so that they meet.
const universe = 12

// hashOf gives the number of a hash its digest. Every odd one shares its first 31
// bytes with the even one below, so that whole hashes have to be compared.
func hashOf(n int) blockhash.Hash {
	digest := sha256.Sum256([]byte{byte(n &^ 1)})
	digest[31] ^= byte(n & 1)
	hash, err := blockhash.FromBytes(digest[:])
	if err != nil {
		panic(err) // a SHA-256 digest has the right size
	}
	return hash
}

// machine drives a store and the model side by side.
type machine struct {
	real       Store
	model      *Model
	blockBytes int
	views      []viewPair
	opened     []View // every view of the store, to be closed whatever happens
	leases     []leasePair
	tries      int // makes payloads differ
}

// model checks sequences of operations against the model.
func checkModel(t *testing.T, factory Factory) {
	rapid.Check(t, Property(factory))
}

// Property is the property that [Run] checks with rapid: whatever is done to a
// store, it does what the model says. Give it to [rapid.MakeFuzz] for a fuzz
// target.
func Property(factory Factory) func(*rapid.T) {
	return func(t *rapid.T) {
		slots := rapid.IntRange(1, 7).Draw(t, "slots")
		blockBytes := rapid.SampledFrom([]int{1, 8, 63, 64}).Draw(t, "block bytes")
		real, err := factory(slots, blockBytes)
		require.NoError(t, err)
		mc := &machine{real: real, model: NewModel(slots, blockBytes), blockBytes: blockBytes}
		if verifier, ok := real.(Verifier); ok {
			mc.model.Verify = verifier.Verifies()
		}
		defer func() {
			for _, view := range mc.opened {
				_ = view.Close() // the store would wait for it
			}
			require.NoError(t, real.Close())
			require.NoError(t, real.Close(), "a second Close is harmless")
			_, err := real.Get(nil, nil)
			require.ErrorIs(t, err, auxerrors.ErrClosed)
			_, err = real.Put(store.Batch{})
			require.ErrorIs(t, err, auxerrors.ErrClosed)
		}()
		t.Repeat(mc.actions())
	}
}

// actions are the operations that the store has. One that has nothing to do
// returns and does not skip: rapid gives up where it draws nothing but skips, and a
// fuzzer does draw that.
func (mc *machine) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"Put": mc.put, "Get": mc.get, "Prefix": mc.prefix, "Reset": mc.reset, "": mc.check,
	}
	if _, ok := mc.real.(PrefixRetainer); ok {
		actions["RetainPrefix"] = mc.retainPrefix
	}
	if _, ok := mc.real.(Remover); ok {
		actions["Remove"] = mc.remove
	}
	if _, ok := mc.real.(Viewer); ok {
		actions["OpenView"] = mc.openView
		actions["CloseView"] = mc.closeView
	}
	if _, ok := mc.real.(Leaser); ok {
		actions["Lease"] = mc.lease
	}
	return actions
}

// drawPresent draws hashes half of the time from those that are there, in any
// order and with repetitions: random ones are mostly absent.
func (mc *machine) drawPresent(t *rapid.T, label string, most int) []blockhash.Hash {
	if len(mc.model.order) == 0 || !rapid.Bool().Draw(t, "of those present") {
		return drawHashes(t, label, most)
	}
	var hashes []blockhash.Hash
	for range rapid.IntRange(1, most).Draw(t, label) {
		hashes = append(hashes, mc.model.order[rapid.IntRange(0, len(mc.model.order)-1).Draw(t, "present")].hash)
	}
	return hashes
}

// drawHashes draws any hashes. Numbers stand for them where counterexamples are
// printed.
func drawHashes(t *rapid.T, label string, most int) []blockhash.Hash {
	var hashes []blockhash.Hash
	for _, n := range rapid.SliceOfN(rapid.IntRange(0, universe-1), 0, most).Draw(t, label) {
		hashes = append(hashes, hashOf(n))
	}
	return hashes
}

func (mc *machine) drawBatch(t *rapid.T) store.Batch {
	batch := store.Batch{Generation: mc.model.generation, Partial: rapid.IntRange(0, 3).Draw(t, "partial") == 0}
	if rapid.IntRange(0, 19).Draw(t, "late") == 0 && batch.Generation > 0 {
		batch.Generation--
	}
	// Rows in one array, as of a step's capture, or each in its own.
	var array []byte
	if rapid.Bool().Draw(t, "one array") {
		array = make([]byte, 0, 6*(mc.blockBytes+1))
	}
	for _, hash := range drawHashes(t, "blocks", 5) {
		mc.tries++
		size := mc.blockBytes
		if rapid.IntRange(0, 39).Draw(t, "odd size") == 0 {
			size++
		}
		try := mc.tries
		if rapid.IntRange(0, 2).Draw(t, "known rows") == 0 {
			try = 0 // the same rows again, perhaps
		}
		rows := payload(hash, try, size)
		if array != nil {
			array = append(array, rows...)
			rows = array[len(array)-size:]
		}
		batch.Blocks = append(batch.Blocks, store.Block{Hash: hash, Rows: rows})
	}
	if rapid.Bool().Draw(t, "retains") { // not always, or all slots would soon be held
		batch.Retain = mc.drawPresent(t, "retain", 3)
	}
	batch.Release = mc.drawReleases(t, batch.Retain)
	return batch
}

// drawReleases draws releases that are mostly allowed, in any order.
func (mc *machine) drawReleases(t *rapid.T, retained []blockhash.Hash) []blockhash.Hash {
	held := slices.Clone(retained)
	for n := range universe {
		for range mc.model.refs[hashOf(n)] {
			held = append(held, hashOf(n))
		}
	}
	var release []blockhash.Hash
	releases := len(held)
	if rapid.Bool().Draw(t, "some") {
		releases = rapid.IntRange(0, len(held)).Draw(t, "releases")
	}
	for range releases {
		at := rapid.IntRange(0, len(held)-1).Draw(t, "release")
		release = append(release, held[at])
		held = slices.Delete(held, at, at+1)
	}
	if rapid.IntRange(0, 9).Draw(t, "unbalanced") == 0 {
		release = append(release, drawHashes(t, "release too", 2)...)
	}
	return release
}

// payload is rows that no other block and no other attempt has.
func payload(hash blockhash.Hash, try, size int) []byte {
	rows := make([]byte, size)
	for i := range rows {
		rows[i] = byte(hash.Low64()) + byte(try*7+i)
	}
	return rows
}

func (mc *machine) put(t *rapid.T) {
	batch := mc.drawBatch(t)
	want, wantErr := mc.model.Put(batch)
	var gone []blockhash.Hash
	batch.Evicted = &gone
	got, err := mc.real.Put(batch)
	sameReason(t, wantErr, err)
	if !mc.model.Verify {
		got.Conflicts = 0 // the store may know them, or not
	}
	require.Equal(t, want, got)
	if err == nil {
		require.Equal(t, distinct(batch.Blocks), got.Stored+got.Present+got.LeftOut+got.Dropped, "each block has one fate")
		require.Equal(t, got.Stored+got.Present, mc.there(batch.Blocks), "and these two are to be there")
	}
	for _, hash := range gone {
		require.Nil(t, mc.model.find(hash), "a block that is there was named as evicted")
	}
}

// distinct counts different hashes.
func distinct(blocks []store.Block) int {
	hashes := map[blockhash.Hash]bool{}
	for _, block := range blocks {
		hashes[block.Hash] = true
	}
	return len(hashes)
}

// there counts those of the different blocks that the store has.
func (mc *machine) there(blocks []store.Block) int {
	hashes := map[blockhash.Hash]bool{}
	for _, block := range blocks {
		hashes[block.Hash] = mc.real.Prefix([]blockhash.Hash{block.Hash}) == 1
	}
	n := 0
	for _, there := range hashes {
		if there {
			n++
		}
	}
	return n
}

func (mc *machine) get(t *rapid.T) {
	hashes := mc.drawPresent(t, "hashes", 6)
	if gone := mc.gone(); len(gone) > 0 && rapid.IntRange(0, 2).Draw(t, "one that is gone") == 0 {
		hashes = append(hashes, gone[rapid.IntRange(0, len(gone)-1).Draw(t, "gone")])
	}
	want, wantErr := mc.model.Get([]byte("kept"), hashes)
	got, err := mc.real.Get([]byte("kept"), hashes)
	sameReason(t, wantErr, err)
	require.Equal(t, want, got, "rows, or the buffer as it was")
}

// gone are the hashes whose blocks were stored and no longer are.
func (mc *machine) gone() (hashes []blockhash.Hash) {
	for n := range universe {
		if hash := hashOf(n); mc.model.gone[hash] != nil && mc.model.find(hash) == nil {
			hashes = append(hashes, hash)
		}
	}
	return hashes
}

func (mc *machine) prefix(t *rapid.T) {
	hashes := mc.drawPresent(t, "hashes", 6)
	require.Equal(t, mc.model.Prefix(hashes), mc.real.Prefix(hashes))
}

func (mc *machine) retainPrefix(t *rapid.T) {
	hashes := mc.drawPresent(t, "hashes", 6)
	want, _ := mc.model.RetainPrefix(mc.model.generation, hashes)
	got, err := mc.real.(PrefixRetainer).RetainPrefix(mc.model.generation, hashes)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = mc.real.(PrefixRetainer).RetainPrefix(mc.model.generation+1, hashes)
	require.ErrorIs(t, err, auxerrors.ErrGeneration)
}

func (mc *machine) remove(t *rapid.T) {
	hashes := mc.drawPresent(t, "hashes", 3)
	want, _ := mc.model.Remove(mc.model.generation, hashes)
	got, err := mc.real.(Remover).Remove(mc.model.generation, hashes)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func (mc *machine) reset(t *rapid.T) {
	if rapid.IntRange(0, 4).Draw(t, "reset") > 0 {
		return // resets are rare
	}
	want, _ := mc.model.Reset()
	got, err := mc.real.Reset()
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// check compares what can be seen of the state, and the rows that open views show.
func (mc *machine) check(t *rapid.T) {
	for n := range universe {
		list := []blockhash.Hash{hashOf(n)}
		require.Equal(t, mc.model.Prefix(list), mc.real.Prefix(list), "whether hash %d is there", n)
	}
	for _, view := range mc.views {
		sameView(t, view)
	}
	evictable, held, pending := mc.model.snapshot()
	if s, ok := mc.real.(Snapshotter); ok {
		snapshot := s.Snapshot()
		require.Equal(t, evictable, snapshot.Evictable, "evictable blocks, oldest first")
		require.Equal(t, held, byHash(snapshot.Held), "held blocks")
		require.Equal(t, pending, byHash(snapshot.Pending), "retained hashes without a block")
	}
	if c, ok := mc.real.(Counter); ok {
		stats := c.Stats()
		retained := 0
		for _, h := range held {
			if h.Refs > 0 {
				retained++
			}
		}
		require.Equal(t, len(evictable)+len(held), stats.Used)
		require.Equal(t, retained, stats.Retained)
		require.Equal(t, len(pending), stats.Pending)
		require.Equal(t, len(mc.model.views), stats.OpenViews)
		require.Equal(t, mc.model.occupied(), stats.Used+stats.Orphaned)
		require.LessOrEqual(t, stats.Used+stats.Orphaned, stats.Slots)
	}
}

func byHash(list []store.Holding) map[blockhash.Hash]store.Holding {
	m := map[blockhash.Hash]store.Holding{}
	for _, h := range list {
		m[h.Hash] = h
	}
	return m
}

// sameReason compares an error with the model's: the sentinel, and where the model
// names it, the place of the hash. A store may have forgotten why a block is gone,
// and then says "absent" and no more. What it does say has to be true.
func sameReason(t require.TestingT, want, got error) {
	if want == nil {
		require.NoError(t, got)
		return
	}
	var model, typed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, want, &model)
	require.ErrorAs(t, got, &typed)
	if errors.Is(want, auxerrors.ErrAbsent) {
		require.ErrorIs(t, got, auxerrors.ErrAbsent)
		require.Equal(t, model.Index, typed.Index)
		if typed.Reason == auxerrors.ErrAbsent {
			return
		}
	}
	require.ErrorIs(t, got, model.Reason)
}
