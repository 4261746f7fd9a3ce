package soak

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/auxoutput/auxoutput/bench/truth"
	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// The store that everybody shares is far too small for what is put into it.
const (
	blockBytes = 6144
	slots      = 512
	hashes     = 2048
	longest    = 24 // blocks of one operation
)

// shared is a store with many users.
type shared struct {
	*run
	seed   uint64
	store  *store.Store
	writer *store.Writer
	chain  []blockhash.Hash
}

func newShared(r *run, seed uint64) (*shared, error) {
	s := &shared{run: r, seed: seed}
	var err error
	if s.store, err = store.New(store.Options{MaxBytes: slots * blockBytes, BlockBytes: blockBytes, Verify: true}); err != nil {
		return nil, err
	}
	if s.writer, err = store.NewWriter(s.store, 4); err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	for i := range uint64(hashes) {
		digest := make([]byte, 32)
		for at := 0; at < len(digest); at += 8 {
			binary.BigEndian.PutUint64(digest[at:], truth.Mix(i<<8|uint64(at)))
		}
		hash, err := blockhash.FromBytes(digest)
		if err != nil {
			return nil, err
		}
		s.chain = append(s.chain, hash)
	}
	return s, nil
}

// start sets everybody going.
func (s *shared) start(wg *sync.WaitGroup) {
	for i, work := range []func(*rand.Rand){s.put, s.put, s.publish, s.read, s.read, s.view, s.lease, s.misuse, s.reset} {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(s.seed, uint64(i)))
			for s.ctx.Err() == nil {
				work(r)
			}
		})
	}
}

// finish closes the store and looks for what was left behind.
func (s *shared) finish() {
	if err := s.writer.Close(); err != nil {
		s.violate("the writer ended with %v", err)
	}
	stats := s.store.Stats()
	if stats.Retained+stats.Pending+stats.OpenViews+stats.Orphaned > 0 {
		s.violate("left behind: %d retained, %d pending, %d views, %d orphans", stats.Retained, stats.Pending, stats.OpenViews, stats.Orphaned)
	}
	if stats.Corrupt > 0 {
		s.violate("%d blocks did not match their checksums", stats.Corrupt)
	}
	if err := s.store.Close(); err != nil {
		s.violate("the store ended with %v", err)
	}
}

func (s *shared) stretch(r *rand.Rand) []blockhash.Hash {
	from := r.IntN(hashes - longest)
	return s.chain[from : from+1+r.IntN(longest)]
}

// rows are a stamp that follows from hash and generation, over and over.
func rows(hash blockhash.Hash, generation uint64) []byte {
	return bytes.Repeat(binary.LittleEndian.AppendUint64(nil, truth.Mix(hash.Low64()^generation)), blockBytes/8)
}

func (s *shared) blocks(list []blockhash.Hash, generation uint64) []store.Block {
	blocks := make([]store.Block, len(list))
	for i, hash := range list {
		blocks[i] = store.Block{Hash: hash, Rows: rows(hash, generation)}
	}
	return blocks
}

// expect notes an error that is not one of those an operation may have here.
func (s *shared) expect(op string, err error, allowed ...error) bool {
	if err == nil {
		return true
	}
	for _, reason := range allowed {
		if errors.Is(err, reason) {
			return false
		}
	}
	s.violate("%s: %v", op, err)
	return false
}

// look compares rows with those of the generation.
func (s *shared) look(op string, list []blockhash.Hash, got []byte, generation uint64) {
	if len(got) != len(list)*blockBytes {
		s.violate("%s: %d bytes for %d blocks", op, len(got), len(list))
		return
	}
	for i, hash := range list {
		s.counts.Blocks.Add(1)
		if !bytes.Equal(got[i*blockBytes:(i+1)*blockBytes], rows(hash, generation)) {
			s.violate("%s: wrong rows for %v", op, hash)
			return
		}
	}
}

func (s *shared) put(r *rand.Rand) {
	generation := s.store.Generation()
	_, err := s.store.Put(store.Batch{Generation: generation, Blocks: s.blocks(s.stretch(r), generation), Partial: r.IntN(4) == 0})
	s.counts.Puts.Add(1)
	if !s.expect("put", err, auxerrors.ErrCannotFit, auxerrors.ErrGeneration) {
		s.counts.Refused.Add(1)
	}
}

// publish puts through the writer, and gives up waiting now and then.
func (s *shared) publish(r *rand.Rand) {
	generation := s.store.Generation()
	ctx := s.ctx
	if r.IntN(4) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(100))*time.Microsecond)
		defer cancel()
	}
	_, err := s.writer.Put(ctx, store.Batch{Generation: generation, Blocks: s.blocks(s.stretch(r), generation), Partial: true})
	s.expect("background put", err, context.DeadlineExceeded, context.Canceled, auxerrors.ErrGeneration)
	s.counts.Puts.Add(1)
}

// read reads through a lease, which is bound to one generation.
func (s *shared) read(r *rand.Rand) {
	lease := s.store.Lease()
	defer lease.Close()
	list := s.stretch(r)
	got, err := lease.Get(nil, list)
	if s.expect("get", err, auxerrors.ErrAbsent, auxerrors.ErrGeneration) {
		s.look("get", list, got, lease.Generation())
		s.counts.Reads.Add(1)
	} else {
		s.counts.Absent.Add(1)
	}
}

// panicky is a consumer that fails in the middle.
type panicky struct{ after int }

func (p *panicky) Write(b []byte) (int, error) {
	if p.after -= len(b); p.after < 0 {
		panic("the consumer failed")
	}
	return len(b), nil
}

// view shows blocks for a while, sometimes to a consumer that panics.
func (s *shared) view(r *rand.Rand) {
	lease := s.store.Lease()
	defer lease.Close()
	list := s.stretch(r)
	view, err := lease.View(list)
	if !s.expect("view", err, auxerrors.ErrAbsent, auxerrors.ErrGeneration) {
		return
	}
	defer func() {
		if recover() != nil {
			s.counts.Panicked.Add(1)
		}
		s.expect("view close", view.Close())
	}()
	s.counts.Views.Add(1)
	if r.IntN(8) == 0 {
		time.Sleep(time.Duration(r.IntN(1000)) * time.Microsecond)
	}
	var all bytes.Buffer
	_, err = view.WriteTo(&all)
	s.expect("view write", err)
	s.look("view", list, all.Bytes(), lease.Generation())
	if r.IntN(8) == 0 {
		_, _ = view.WriteTo(&panicky{r.IntN(len(list) * blockBytes)})
	}
}

// lease is a request: it retains what is there, publishes the rest, reads all of
// it, and sometimes gets lost without giving anything back itself.
func (s *shared) lease(r *rand.Rand) {
	lease := s.store.Lease()
	defer lease.Close()
	s.counts.Leases.Add(1)
	list := s.stretch(r)
	hit, err := lease.RetainPrefix(list)
	if !s.expect("retain prefix", err, auxerrors.ErrGeneration) {
		return
	}
	_, err = lease.Publish(s.blocks(list[hit:], lease.Generation()))
	if !s.expect("publish", err, auxerrors.ErrCannotFit, auxerrors.ErrGeneration) {
		return
	}
	got, err := lease.Get(nil, list)
	if s.expect("get of what is retained", err, auxerrors.ErrGeneration) {
		s.look("lease", list, got, lease.Generation())
	}
	if r.IntN(2) == 0 {
		s.expect("release", lease.Release(list), auxerrors.ErrGeneration)
	}
}

// misuse does what must be refused, and removes a few blocks, which must not.
func (s *shared) misuse(r *rand.Rand) {
	generation := s.store.Generation()
	list := s.stretch(r)
	for _, wrong := range []struct {
		batch  store.Batch
		reason error
	}{
		{store.Batch{Generation: generation, Blocks: []store.Block{{Hash: list[0], Rows: make([]byte, r.IntN(blockBytes))}}}, auxerrors.ErrPayloadSize},
		{store.Batch{Generation: generation, Release: s.chain[hashes-1:]}, auxerrors.ErrNotRetained},
		{store.Batch{Generation: generation + 1<<20}, auxerrors.ErrGeneration},
		{store.Batch{Generation: generation, Retain: make([]blockhash.Hash, 1)}, auxerrors.ErrInvalidHash},
	} {
		_, err := s.store.Put(wrong.batch)
		switch {
		case err == nil:
			s.violate("a put that ought to be refused with %v was not", wrong.reason)
		case s.expect("misuse", err, wrong.reason, auxerrors.ErrGeneration):
		}
		s.counts.Misused.Add(1)
	}
	_, err := s.store.Remove(generation, list[:1])
	s.expect("remove", err, auxerrors.ErrGeneration)
	stats := s.store.Stats()
	if stats.Used+stats.Orphaned > stats.Slots || stats.UsedBytes > stats.MaxBytes {
		s.violate("over budget: %d used, %d orphaned of %d slots", stats.Used, stats.Orphaned, stats.Slots)
	}
	time.Sleep(time.Millisecond)
}

func (s *shared) reset(r *rand.Rand) {
	select {
	case <-time.After(time.Duration(50+r.IntN(200)) * time.Millisecond):
	case <-s.ctx.Done():
		return
	}
	_, err := s.store.Reset()
	s.expect("reset", err)
	s.counts.Resets.Add(1)
}
