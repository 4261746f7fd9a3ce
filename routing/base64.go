package routing

import (
	"bytes"
	"encoding/base64"
	"io"
)

// base64Writer writes base64 text. It differs from [base64.NewEncoder] in the size
// of its writes: 32 KiB instead of 1 KiB.
type base64Writer struct {
	w      io.Writer
	group  [3]byte // bytes that are not yet three
	held   int
	buf    [32 << 10]byte // text that is not yet written
	filled int
}

// Write takes bytes; n counts those taken before an error.
func (b *base64Writer) Write(data []byte) (int, error) {
	taken := 0
	if b.held > 0 {
		taken = copy(b.group[b.held:], data)
		if b.held += taken; b.held < len(b.group) {
			return taken, nil
		}
		if err := b.encode(b.group[:]); err != nil {
			return taken, err
		}
		b.held = 0
	}
	for len(data)-taken >= len(b.group) {
		piece := min((len(data)-taken)/3, (len(b.buf)-b.filled)/4) * 3
		if err := b.encode(data[taken : taken+piece]); err != nil {
			return taken, err
		}
		taken += piece
	}
	b.held = copy(b.group[:], data[taken:])
	return len(data), nil
}

// encode appends the text of bytes for which there is room, and makes room again.
func (b *base64Writer) encode(data []byte) error {
	base64.StdEncoding.Encode(b.buf[b.filled:], data)
	b.filled += base64.StdEncoding.EncodedLen(len(data))
	if b.filled < len(b.buf) {
		return nil
	}
	return b.flush()
}

func (b *base64Writer) flush() error {
	err := writeAll(b.w, b.buf[:b.filled])
	b.filled = 0
	return err
}

// close writes what is held, with padding.
func (b *base64Writer) close() error {
	if err := b.encode(b.group[:b.held]); err != nil {
		return err
	}
	b.held = 0
	return b.flush()
}

// decodeBase64 decodes standard base64 with padding and nothing else: no line
// breaks, no stray bits.
func decodeBase64(text []byte) ([]byte, error) {
	if len(text)%4 != 0 {
		return nil, refuse("base64", ErrFormat, "%d bytes of text are not groups of 4", len(text))
	}
	data, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil {
		return nil, refuse("base64", ErrFormat, "%v", err)
	}
	// The decoder skips line breaks; they show in a length that is too small.
	padding := len(text) - len(bytes.TrimRight(text, "="))
	if len(data) != len(text)/4*3-padding {
		return nil, refuse("base64", ErrFormat, "line breaks in %d bytes of text", len(text))
	}
	return data, nil
}
