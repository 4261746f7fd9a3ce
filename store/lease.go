package store

import (
	"slices"
	"sync"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Lease owns the retains of one request, in the generation in which it was
// taken. Close gives back whatever it still holds, so a request that is lost
// half-way cannot leave blocks that are never evicted.
//
// After a reset of the store the references are gone: every method but Close
// then returns ErrGeneration, and so the rows of newer weights cannot get into
// an older request. After Close they return ErrClosed.
//
// A Lease is safe for concurrent use. The zero Lease is closed.
type Lease struct {
	store      *Store
	generation uint64

	mu     sync.Mutex
	closed bool
	counts leaseCounts      // in prefix order, if the request's retains are
	hashes []blockhash.Hash // room for those of Publish
	tags   []tag            // room for those of a list
}

// Lease takes a lease that holds nothing yet.
func (s *Store) Lease() *Lease {
	return &Lease{store: s, generation: s.Generation()}
}

// Generation is the generation of the store in which the lease was taken.
func (l *Lease) Generation() uint64 { return l.generation }

// RetainPrefix is [Store.RetainPrefix]; the lease owns what it retained.
func (l *Lease) RetainPrefix(hashes []blockhash.Hash) (int, error) {
	if err := l.lock("retain prefix"); err != nil {
		return 0, err
	}
	defer l.mu.Unlock()
	n, err := l.store.RetainPrefix(l.generation, hashes)
	if err != nil {
		return 0, err
	}
	l.own(hashes[:n])
	return n, nil
}

// Retain raises the count of each hash by one, whether its block is stored or not.
func (l *Lease) Retain(hashes []blockhash.Hash) error {
	if err := l.lock("retain"); err != nil {
		return err
	}
	defer l.mu.Unlock()
	if _, err := l.store.Put(Batch{Generation: l.generation, Retain: hashes}); err != nil {
		return err
	}
	l.own(hashes)
	return nil
}

// Publish puts blocks and retains their hashes in the same step, so that no
// other batch can evict them in between.
func (l *Lease) Publish(blocks []Block) (PutResult, error) {
	if err := l.lock("publish"); err != nil {
		return PutResult{}, err
	}
	defer l.mu.Unlock()
	l.hashes = slices.Grow(l.hashes[:0], len(blocks))
	for i := range blocks {
		l.hashes = append(l.hashes, blocks[i].Hash)
	}
	result, err := l.store.Put(Batch{Generation: l.generation, Blocks: blocks, Retain: l.hashes})
	if err != nil {
		return PutResult{}, err
	}
	l.own(l.hashes)
	return result, nil
}

// Release gives back one retain of each hash, in prefix order: all of them, or none
// and an error. A hash that the lease does not hold is ErrNotRetained, even if
// another request retains it; and so is one that somebody else has released. Its
// cost does not depend on what else the lease holds.
func (l *Lease) Release(hashes []blockhash.Hash) error {
	if err := l.lock("release"); err != nil {
		return err
	}
	defer l.mu.Unlock()
	l.tag(hashes)
	for i := range hashes {
		if !l.counts.lower(l.tags[i], &hashes[i]) {
			l.restore(hashes[:i])
			return l.store.unlessClosed("release", l.store.hashError("release", auxerrors.ErrNotRetained, hashes[i], i))
		}
	}
	if _, err := l.store.Put(Batch{Generation: l.generation, Release: hashes}); err != nil {
		l.restore(hashes)
		return err
	}
	l.counts.tidy()
	return nil
}

// Get is [Store.Get] in the lease's generation.
func (l *Lease) Get(dst []byte, hashes []blockhash.Hash) ([]byte, error) {
	if err := l.lock("get"); err != nil {
		return dst, err
	}
	l.mu.Unlock()
	return l.store.get(dst, hashes, l.generation)
}

// View is [Store.View] in the lease's generation. The view outlives the lease.
func (l *Lease) View(hashes []blockhash.Hash) (View, error) {
	if err := l.lock("view"); err != nil {
		return View{}, err
	}
	l.mu.Unlock()
	return l.store.view(hashes, l.generation)
}

// Held is the number of retains the lease owns.
func (l *Lease) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts.total
}

// Close gives back everything the lease holds, as one step, heads ending newest. If
// somebody else has released some of it, the rest is given back all the same, and the
// error is a [auxerrors.BlockObjectStoreError] with ErrNotRetained: it names the
// first hash that was gone and says how many were. If the store was reset or closed
// since, there is nothing left to give back, and that is no error. A second call does
// nothing.
func (l *Lease) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	held := l.counts.appendAll(l.hashes[:0])
	l.counts, l.hashes, l.tags = leaseCounts{}, nil, nil
	if len(held) == 0 {
		return nil
	}
	return l.store.giveBack(l.generation, held)
}

// lock locks the lease, unless it is closed.
func (l *Lease) lock(op string) error {
	l.mu.Lock()
	if !l.closed && l.store != nil {
		return nil
	}
	l.mu.Unlock()
	return &auxerrors.BlockObjectStoreError{Op: op, Reason: auxerrors.ErrClosed, Index: -1, Detail: "the lease is closed"}
}

func (l *Lease) own(hashes []blockhash.Hash) {
	l.tag(hashes)
	l.restore(hashes)
}

// restore counts hashes whose tags are known.
func (l *Lease) restore(hashes []blockhash.Hash) {
	for i := range hashes {
		l.counts.raise(l.tags[i], &hashes[i])
	}
}

// tag computes the tags of a list.
func (l *Lease) tag(hashes []blockhash.Hash) {
	l.tags = slices.Grow(l.tags[:0], len(hashes))
	for i := range hashes {
		l.tags = append(l.tags, l.store.tag(&hashes[i]))
	}
}
