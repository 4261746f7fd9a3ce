package blockhash_test

import (
	"bytes"
	"encoding/binary"
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

	// pyNumbers is a tuple of whole numbers.
	pyNumbers struct{ numbers []uint32 }
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
	if n, ok := object.(int64); ok { // is never remembered
		p.saveInt(n)
		return
	}
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
		p.saveTuple(o, len(o.items), func(i int) { p.save(o.items[i]) })
	case *pyNumbers:
		p.saveTuple(o, len(o.numbers), func(i int) {
			p.endFrame(false)
			p.saveInt(int64(o.numbers[i]))
		})
	}
}

// saveTuple saves a tuple of n items.
func (p *pickler) saveTuple(tuple any, n int, save func(i int)) {
	if n == 0 {
		p.frame.WriteByte(')')
		return
	}
	if n > 3 {
		p.frame.WriteByte('(')
	}
	for i := range n {
		save(i)
	}
	end := map[int]byte{1: 0x85, 2: 0x86, 3: 0x87}
	if op, short := end[n]; short {
		p.frame.WriteByte(op)
	} else {
		p.frame.WriteByte('t')
	}
	p.remember(tuple)
}

func (p *pickler) saveInt(n int64) {
	switch {
	case n >= 0 && n <= 0xff:
		p.frame.Write([]byte{'K', byte(n)})
		return
	case n >= 0 && n <= 0xffff:
		p.frame.Write([]byte{'M', byte(n), byte(n >> 8)})
		return
	case n >= -1<<31 && n < 1<<31:
		p.frame.Write([]byte{'J', byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)})
		return
	}
	// As many bytes as two's complement needs, found by cutting off those that the
	// sign of what is left makes up for.
	digits := binary.LittleEndian.AppendUint64(nil, uint64(n))
	for {
		last, rest := int8(digits[len(digits)-1]), digits[:len(digits)-1]
		if sign := int8(rest[len(rest)-1]) >> 7; last != sign {
			break
		}
		digits = rest
	}
	p.frame.Write([]byte{0x8a, byte(len(digits))})
	p.frame.Write(digits)
}
