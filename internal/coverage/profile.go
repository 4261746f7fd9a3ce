package main

import (
	"bufio"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
)

// span is a block of statements as a cover profile names it.
type span struct {
	file                             string // import path of the package, and the file in it
	line, column, endLine, endColumn int
	statements                       int
	covered                          bool
}

// parseProfile reads what `go test -coverprofile` writes: a line with the mode, and
// a line for each block of statements,
//
//	import/path/file.go:10.2,12.16 3 1
//
// from line 10 column 2 to line 12 column 16, 3 statements, run once. A block may be
// listed by several test binaries; it is covered if one of them ran it. Blocks come
// back in the order of the source.
func parseProfile(r io.Reader) ([]span, error) {
	type place struct {
		file                             string
		line, column, endLine, endColumn int
	}
	at := map[place]int{}
	var spans []span
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		text := lines.Text()
		if strings.HasPrefix(text, "mode: ") {
			continue // where profiles were joined there are several
		}
		s, err := parseSpan(text)
		if err != nil {
			return nil, fmt.Errorf("line %d of the profile: %w", number, err)
		}
		p := place{s.file, s.line, s.column, s.endLine, s.endColumn}
		if i, known := at[p]; known {
			spans[i].covered = spans[i].covered || s.covered
			continue
		}
		at[p] = len(spans)
		spans = append(spans, s)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	sort.SliceStable(spans, func(i, j int) bool {
		a, b := spans[i], spans[j]
		if a.file != b.file {
			return a.file < b.file
		}
		if a.line != b.line {
			return a.line < b.line
		}
		return a.column < b.column
	})
	return spans, nil
}

func parseSpan(text string) (span, error) {
	fail := fmt.Errorf("%q is no block of statements", text)
	colon := strings.LastIndexByte(text, ':')
	if colon < 1 {
		return span{}, fail
	}
	fields := strings.FieldsFunc(text[colon+1:], func(r rune) bool { return r == '.' || r == ',' || r == ' ' })
	if len(fields) != 6 {
		return span{}, fail
	}
	var numbers [6]int
	for i, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 {
			return span{}, fail
		}
		numbers[i] = n
	}
	s := span{
		file: text[:colon], line: numbers[0], column: numbers[1], endLine: numbers[2], endColumn: numbers[3],
		statements: numbers[4], covered: numbers[5] > 0,
	}
	if s.line < 1 || s.endLine < s.line {
		return span{}, fail
	}
	return s, nil
}
