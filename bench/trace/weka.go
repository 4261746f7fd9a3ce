package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// wekaSessions reads the form of kv-cache-tester and AIPerf: one JSON object a
// session, on one line or laid out over many. Sub-agents are entries that hold
// requests of their own; they share the session's block ids and clock. The
// requests of a session come out by time, those of one moment as listed, and the
// sessions one after another.
type wekaSessions struct {
	wanted Scope
	input  *sessionText
	json   *json.Decoder
	read   int // sessions read

	session int    // the one in hand
	line    int    // where it starts
	scope   uint32 // name space of its ids
	ready   []wekaEntry
}

type wekaSession struct {
	ID          json.RawMessage `json:"id"`
	BlockTokens *int64          `json:"block_size"`
	Scope       *string         `json:"hash_id_scope"`
	Entries     []wekaEntry     `json:"requests"`
}

// wekaEntry is a request, or a sub-agent if it has requests of its own.
type wekaEntry struct {
	Time    *float64    `json:"t"`
	Input   *int64      `json:"in"`
	Output  *int64      `json:"out"`
	IDs     blockIDs    `json:"hash_ids"`
	Entries []wekaEntry `json:"requests"`

	path    string // where in the session, for messages
	arrival time.Duration
}

func newWEKA(l *lines, wanted Scope) *wekaSessions {
	input := &sessionText{lines: l}
	return &wekaSessions{wanted: wanted, input: input, json: json.NewDecoder(input)}
}

func (w *wekaSessions) next(r *Reader) error {
	for len(w.ready) == 0 {
		if err := w.readSession(r); err != nil {
			return err
		}
	}
	entry := w.ready[0]
	w.ready = w.ready[1:]
	if err := w.set(r, entry); err != nil {
		return &fault{line: w.line, reason: fmt.Sprintf("%s: %v", entry.path, err)}
	}
	return nil
}

// set makes the entry the reader's request.
func (w *wekaSessions) set(r *Reader, entry wekaEntry) (err error) {
	q := &r.request
	q.Line, q.Session, q.Arrival = w.line, w.session, entry.arrival
	if q.InputTokens, err = tokens("in", entry.Input); err != nil {
		return err
	}
	if q.OutputTokens, err = tokens("out", entry.Output); err != nil {
		return err
	}
	if !entry.IDs.present {
		return missing("hash_ids")
	}
	return r.setIDs(w.scope, entry.IDs.ids)
}

// readSession takes the next session apart.
func (w *wekaSessions) readSession(r *Reader) error {
	var text json.RawMessage
	if err := w.json.Decode(&text); err != nil {
		return w.decodeFault(err)
	}
	start := w.json.InputOffset() - int64(len(text))
	w.line, _ = w.input.place(start)
	var s wekaSession
	if err := json.Unmarshal(text, &s); err != nil {
		found := jsonFault(err)
		var f *fault
		if errors.As(found, &f) && f.line == 0 {
			f.line, f.column = w.input.place(start + int64(max(f.column, 1)) - 1)
		}
		return found
	}
	w.input.forget(w.json.InputOffset())
	if err := w.open(r, s); err != nil {
		return &fault{line: w.line, reason: err.Error()}
	}
	w.ready = w.ready[:0]
	if err := w.flatten(s.Entries, "requests", 0); err != nil {
		return &fault{line: w.line, reason: err.Error()}
	}
	slices.SortStableFunc(w.ready, func(a, b wekaEntry) int { return cmp.Compare(a.arrival, b.arrival) })
	return nil
}

// decodeFault says what ended the stream of sessions.
func (w *wekaSessions) decodeFault(err error) error {
	var syntax *json.SyntaxError
	switch {
	case err == io.EOF:
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &fault{reason: "the session ends early: the file is truncated", err: err}
	case errors.As(err, &syntax):
		line, column := w.input.place(syntax.Offset - 1)
		return &fault{line: line, column: column, reason: syntax.Error(), err: err}
	}
	return err
}

// open checks what the session says of itself.
func (w *wekaSessions) open(r *Reader, s wekaSession) error {
	if s.Entries == nil {
		return missing("requests")
	}
	if s.BlockTokens != nil {
		switch block := *s.BlockTokens; {
		case block < 1 || block > math.MaxInt32:
			return faultf("block_size: %d is not a number of tokens from 1 to %d", block, math.MaxInt32)
		case r.layouts.stated == 0 && w.read == 0:
			r.layouts = newLayouts(int(block))
		case r.layouts.stated != block:
			return faultf("block_size: found %d, where %d was stated before", block, r.layouts.stated)
		}
	}
	// Sessions without an id are different ones all the same.
	name := string(s.ID)
	if name == "" || name == "null" {
		name = fmt.Sprintf("#%d", w.read)
	}
	w.read++
	w.session = r.session(name)
	local, err := isLocal(w.wanted, s.Scope, true)
	if err != nil {
		return err
	}
	w.scope, err = scopeOf(local, w.session)
	return err
}

// flatten lists the requests of a session and of its sub-agents.
func (w *wekaSessions) flatten(entries []wekaEntry, path string, depth int) (err error) {
	if depth > MaxNesting {
		return faultf("%s: sub-agents are nested more than %d deep", path, MaxNesting)
	}
	for i, entry := range entries {
		entry.path = fmt.Sprintf("%s[%d]", path, i)
		if entry.Entries != nil {
			if err := w.flatten(entry.Entries, entry.path+".requests", depth+1); err != nil {
				return err
			}
			continue
		}
		if entry.arrival, err = arrival("t", entry.Time, time.Second); err != nil {
			return faultf("%s: %v", entry.path, err)
		}
		w.ready = append(w.ready, entry)
	}
	return nil
}

// sessionText feeds the lines of a file to a JSON decoder, and remembers which
// byte of the feed came from which line.
type sessionText struct {
	lines  *lines
	rest   []byte
	fed    int64 // bytes fed so far
	kept   int64 // where the session in hand starts
	starts []lineStart
}

type lineStart struct {
	offset int64
	line   int
}

// Read returns at most one line.
func (t *sessionText) Read(p []byte) (int, error) {
	if len(t.rest) == 0 {
		line, err := t.lines.next()
		if err != nil {
			return 0, err
		}
		t.starts = append(t.starts, lineStart{t.fed, t.lines.number})
		t.rest = append(append(t.rest[:0], line...), '\n')
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	t.fed += int64(n)
	if t.fed-t.kept > MaxLineBytes {
		return 0, faultf("the session is longer than %d bytes", MaxLineBytes)
	}
	return n, nil
}

// place is the line and the column, from 1, of a byte of the feed.
func (t *sessionText) place(offset int64) (line, column int) {
	at, found := slices.BinarySearchFunc(t.starts, offset, func(s lineStart, offset int64) int {
		return cmp.Compare(s.offset, offset)
	})
	if !found {
		at--
	}
	if at < 0 {
		return max(t.lines.number, 1), 0
	}
	return t.starts[at].line, int(offset-t.starts[at].offset) + 1
}

// forget drops what is known of the lines before the one that holds offset.
func (t *sessionText) forget(offset int64) {
	t.kept = offset
	for len(t.starts) > 1 && t.starts[1].offset <= offset {
		t.starts = t.starts[1:]
	}
}
