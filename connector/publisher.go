package connector

import (
	"context"
	"errors"
	"slices"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// publisher is the way to the store, straight or through a background writer. It
// speaks for one generation of the store.
type publisher struct {
	store  *store.Store
	writer *store.Writer
	lease  *store.Lease // holds nothing; its reads are bound to the generation
}

// follow makes the store's generation that of the publisher.
func (p *publisher) follow() { p.lease = p.store.Lease() }

func (p *publisher) generation() uint64 { return p.lease.Generation() }

// stale reports whether somebody has reset the store since.
func (p *publisher) stale() bool { return p.store.Generation() != p.generation() }

// put carries out a batch, or queues a copy of it.
func (p *publisher) put(b store.Batch) error {
	if len(b.Blocks) == 0 && len(b.Retain) == 0 && len(b.Release) == 0 {
		return nil
	}
	b.Generation = p.generation()
	if p.writer == nil {
		_, err := p.store.Put(b)
		return err
	}
	b.Blocks = slices.Clone(b.Blocks)
	rows := make([]byte, 0, len(b.Blocks)*p.store.BlockBytes())
	for i := range b.Blocks {
		rows = append(rows, b.Blocks[i].Rows...)
		b.Blocks[i].Rows = rows[len(rows)-len(b.Blocks[i].Rows):]
	}
	b.Retain, b.Release = slices.Clone(b.Retain), slices.Clone(b.Release)
	_, err := p.writer.Put(context.Background(), b)
	return err
}

// putOrApart carries out a batch in steps of its own if somebody else has released some
// of what it releases: otherwise that mistake would refuse this step and all that follow.
func (p *publisher) putOrApart(b store.Batch) error {
	err := p.put(b)
	if p.writer != nil || !errors.Is(err, auxerrors.ErrNotRetained) {
		return err
	}
	if err := p.put(store.Batch{Retain: b.Retain}); err != nil {
		return err
	}
	if err := p.giveBack(b.Release); err != nil {
		return err
	}
	b.Retain, b.Release = nil, nil
	return p.put(b)
}

// giveBack releases keys whatever else has happened to them: one that somebody else
// has released, by a mistake at a shared store, keeps none of the others retained.
func (p *publisher) giveBack(keys []blockhash.Hash) error {
	err := p.put(store.Batch{Release: keys})
	if p.writer != nil || !errors.Is(err, auxerrors.ErrNotRetained) {
		return err
	}
	for i := len(keys) - 1; i >= 0; i-- { // so that the head ends newest
		if one := p.put(store.Batch{Release: keys[i : i+1]}); one != nil && !errors.Is(one, auxerrors.ErrNotRetained) {
			return one
		}
	}
	return nil
}

// get appends the rows of blocks to dst, after everything that was put.
func (p *publisher) get(dst []byte, hashes []blockhash.Hash) ([]byte, error) {
	if err := p.flush(); err != nil {
		return dst, err
	}
	return p.lease.Get(dst, hashes)
}

// absent are the keys whose blocks are not stored. It reads no rows.
func (p *publisher) absent(keys []blockhash.Hash) []blockhash.Hash {
	var absent []blockhash.Hash
	for len(keys) > 0 {
		n := p.store.Prefix(keys)
		if n == len(keys) {
			break
		}
		absent = append(absent, keys[n])
		keys = keys[n+1:]
	}
	return absent
}

// remove drops blocks, after everything that was put.
func (p *publisher) remove(hashes []blockhash.Hash) error {
	if len(hashes) == 0 {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	_, err := p.store.Remove(p.generation(), hashes)
	return err
}

// flush waits until everything that was put is in the store.
func (p *publisher) flush() error {
	if p.writer == nil {
		return nil
	}
	return p.writer.Flush(context.Background())
}
