package throughput

import (
	"github.com/auxoutput/auxoutput/bench/machine"
	"github.com/auxoutput/auxoutput/bench/numbered"
	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// limit is memory and nothing else: the place of a block follows from its hash.
type limit struct {
	region machine.Region
	bytes  int
	slots  uint32
}

func newLimit(setup Setup, hugePages bool) (Cache, error) {
	r, err := machine.NewRegion(setup.Slots()*setup.BlockBytes, hugePages)
	if err != nil {
		return nil, err
	}
	return &limit{region: r, bytes: setup.BlockBytes, slots: uint32(setup.Slots())}, nil
}

func (l *limit) place(hash *blockhash.Hash) []byte {
	from := int(uint32(numbered.ID(hash))%l.slots) * l.bytes // a short division: it is no part of a copy
	return l.region.Bytes[from : from+l.bytes]
}

func (l *limit) Put(blocks []store.Block) error {
	for i := range blocks {
		copy(l.place(&blocks[i].Hash), blocks[i].Rows)
	}
	return nil
}

func (l *limit) Get(dst []byte, hashes []blockhash.Hash) (int, error) {
	for i := range hashes {
		copy(dst[i*l.bytes:(i+1)*l.bytes], l.place(&hashes[i]))
	}
	return len(hashes), nil
}

// Hold leaves fewer places for what is put from now on. It gives every block
// another place, so nothing can be read back afterwards.
func (l *limit) Hold(hashes []blockhash.Hash) error {
	l.slots -= uint32(len(hashes))
	return nil
}

func (l *limit) Close() error { return l.region.Release() }
