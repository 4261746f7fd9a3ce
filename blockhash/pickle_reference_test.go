package blockhash_test

import (
	"bytes"
	"encoding/binary"
	"math/big"
)

// pickler is a slow pickler after Lib/pickle.py of CPython: it works on a tree
// of objects, remembers which it has met by identity, and cuts frames while it
// writes. It shares no idea with the one under test.
type pickler struct {
	out   bytes.Buffer
	frame bytes.Buffer // the open frame, without its header
	memo  map[any]int
}

// The objects: pointers have identity, as Python's objects do.
type (
	pyText  struct{ text string }
	pyBytes struct{ data []byte }
	pyTuple struct{ items []any }
)

func pickleOf(object any) []byte {
	p := &pickler{memo: map[any]int{}}
	p.out.Write([]byte{0x80, 5})
	p.save(object)
	p.frame.WriteByte('.')
	p.endFrame(true)
	return p.out.Bytes()
}

func (p *pickler) endFrame(force bool) {
	if !force && p.frame.Len() < 64*1024 {
		return
	}
	if p.frame.Len() >= 4 {
		p.out.WriteByte(0x95)
		_ = binary.Write(&p.out, binary.LittleEndian, uint64(p.frame.Len()))
	}
	p.out.Write(p.frame.Bytes())
	p.frame.Reset()
}

func (p *pickler) writeLarge(head []byte, data []byte) {
	if len(data) < 64*1024 {
		p.frame.Write(append(head, data...))
		return
	}
	p.endFrame(true)
	p.out.Write(head)
	p.out.Write(data)
}

func (p *pickler) remember(object any) {
	p.memo[object] = len(p.memo)
	p.frame.WriteByte(0x94)
}

func (p *pickler) save(object any) {
	p.endFrame(false)
	if entry, met := p.memo[object]; met {
		if entry < 256 {
			p.frame.Write([]byte{'h', byte(entry)})
		} else {
			p.frame.Write(binary.LittleEndian.AppendUint32([]byte{'j'}, uint32(entry)))
		}
		return
	}
	switch o := object.(type) {
	case nil:
		p.frame.WriteByte('N')
	case *big.Int:
		p.saveInt(o)
	case *pyBytes:
		if len(o.data) < 256 {
			p.writeLarge([]byte{'C', byte(len(o.data))}, o.data)
		} else {
			p.writeLarge(binary.LittleEndian.AppendUint32([]byte{'B'}, uint32(len(o.data))), o.data)
		}
		p.remember(o)
	case *pyText:
		if len(o.text) < 256 {
			p.writeLarge([]byte{0x8c, byte(len(o.text))}, []byte(o.text))
		} else {
			p.writeLarge(binary.LittleEndian.AppendUint32([]byte{'X'}, uint32(len(o.text))), []byte(o.text))
		}
		p.remember(o)
	case *pyTuple:
		if len(o.items) == 0 {
			p.frame.WriteByte(')')
			return
		}
		if len(o.items) > 3 {
			p.frame.WriteByte('(')
		}
		for _, item := range o.items {
			p.save(item)
		}
		end := map[int]byte{1: 0x85, 2: 0x86, 3: 0x87}
		if op, short := end[len(o.items)]; short {
			p.frame.WriteByte(op)
		} else {
			p.frame.WriteByte('t')
		}
		p.remember(o)
	}
}

func (p *pickler) saveInt(n *big.Int) {
	if n.IsInt64() {
		switch v := n.Int64(); {
		case v >= 0 && v <= 0xff:
			p.frame.Write([]byte{'K', byte(v)})
			return
		case v >= 0 && v <= 0xffff:
			p.frame.Write([]byte{'M', byte(v), byte(v >> 8)})
			return
		case v >= -1<<31 && v < 1<<31:
			p.frame.Write(binary.LittleEndian.AppendUint32([]byte{'J'}, uint32(v)))
			return
		}
	}
	// As many bytes as two's complement needs, found by trying.
	for size := 1; ; size++ {
		limit := new(big.Int).Lsh(big.NewInt(1), uint(8*size-1))
		if n.Cmp(limit) >= 0 || n.Cmp(new(big.Int).Neg(limit)) < 0 {
			continue
		}
		p.frame.Write([]byte{0x8a, byte(size)})
		word := new(big.Int).Mod(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
		digits := word.FillBytes(make([]byte, size))
		for i := range digits {
			p.frame.WriteByte(digits[size-1-i])
		}
		return
	}
}
