package blockhash

import "encoding/binary"

const (
	// frameTarget is the length in bytes at which CPython's pickler ends a
	// frame, and from which a text or bytes object stays outside of frames
	// (_FRAME_SIZE_TARGET in Lib/pickle.py).
	frameTarget = 64 << 10

	// frameMin is the length of the shortest payload that gets a frame header.
	frameMin = 4

	frameHeader = 1 + 8
)

// splitFrames lays out anew, as CPython does, a pickle that was written since
// start as if one frame could hold it all. The pickler looks at the length of
// the open frame whenever it begins an object, so the frames follow from the
// opcodes. Only a block of some 13,000 tokens, or a salt of 64 KiB, comes here.
func splitFrames(b []byte, start int) []byte {
	end := len(b)
	b = append(b, opProto, 5)
	open := -1 // where the header of the open frame stands; -1 if none is open
	write := func(part []byte) {
		if open < 0 {
			open = len(b)
			b = append(b, opFrame, 0, 0, 0, 0, 0, 0, 0, 0)
		}
		b = append(b, part...)
	}
	commit := func() {
		if open < 0 {
			return
		}
		payload := len(b) - open - frameHeader
		if payload < frameMin {
			b = append(b[:open], b[open+frameHeader:]...)
		} else {
			binary.LittleEndian.PutUint64(b[open+1:], uint64(payload))
		}
		open = -1
	}
	for pos := start + pickleHeader; pos < end; {
		size, object := pickleOpcode(b[pos:end])
		if object && open >= 0 && len(b)-open-frameHeader >= frameTarget {
			commit()
		}
		if part := b[pos : pos+size]; size >= frameTarget+5 {
			commit()
			b = append(b, part...)
		} else {
			write(part)
		}
		pos += size
	}
	commit()
	return append(b[:start], b[end:]...)
}

// pickleOpcode is the length of the opcode at the start of b with its argument,
// and whether the pickler begins an object with it.
func pickleOpcode(b []byte) (size int, object bool) {
	switch b[0] {
	case opInt1, opGet1:
		return 2, true
	case opInt2:
		return 3, true
	case opInt4, opGet4:
		return 5, true
	case opLong1, opBytes1, opText1:
		return 2 + int(b[1]), true
	case opBytes4, opText4:
		return 5 + int(binary.LittleEndian.Uint32(b[1:])), true
	case opNone, opMark:
		return 1, true
	}
	return 1, false
}
