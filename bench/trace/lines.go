package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// lines cuts a file into lines that hold something, and knows their numbers.
type lines struct {
	input  *bufio.Reader
	number int    // of the line returned last
	bytes  int64  // read so far
	long   []byte // a line that does not fit the reader's own buffer
	held   []byte // a line given back by hold
}

func newLines(r io.Reader) *lines {
	return &lines{input: bufio.NewReaderSize(r, 256<<10)}
}

// hold makes the next call of next return line again.
func (l *lines) hold(line []byte) { l.held = line }

// next returns the next line that is not blank, without its end. The slice is
// valid until the call after. At the end of the file it returns io.EOF.
func (l *lines) next() ([]byte, error) {
	if held := l.held; held != nil {
		l.held = nil
		return held, nil
	}
	for {
		line, err := l.raw()
		if err != nil {
			return nil, err
		}
		if l.number == 1 {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if !utf8.Valid(line) {
			at := firstInvalid(line)
			return nil, &fault{column: at + 1, reason: fmt.Sprintf("byte 0x%02x is not UTF-8 text", line[at])}
		}
		if line = bytes.TrimRight(line, " \t\r\n"); len(bytes.TrimLeft(line, " \t")) > 0 {
			return line, nil
		}
	}
}

// raw returns the next line with its end, blank or not.
func (l *lines) raw() ([]byte, error) {
	l.long = l.long[:0]
	for first := true; ; first = false {
		part, err := l.input.ReadSlice('\n')
		l.bytes += int64(len(part))
		if first && len(part) > 0 {
			l.number++
		}
		if len(l.long)+len(part) > MaxLineBytes {
			return nil, faultf("the line is longer than %d bytes", MaxLineBytes)
		}
		switch {
		case err == nil && first:
			return part, nil
		case errors.Is(err, bufio.ErrBufferFull):
			l.long = append(l.long, part...)
		case err == nil, err == io.EOF && len(l.long)+len(part) > 0:
			l.long = append(l.long, part...)
			return l.long, nil
		case err == io.EOF:
			return nil, io.EOF
		default:
			return nil, &fault{reason: fmt.Sprintf("reading after this line: %v", err), err: err}
		}
	}
}

// firstInvalid is the place of the first byte that is not UTF-8.
func firstInvalid(text []byte) int {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size <= 1 {
			return at
		}
		at += size
	}
	return len(text)
}
