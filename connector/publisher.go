package connector

import (
	"context"
	"slices"

	"github.com/auxoutput/auxoutput/blockhash"
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
