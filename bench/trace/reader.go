package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// DefaultInventedTokens is the block size that is assumed for a format without
// block ids: vLLM's default.
const DefaultInventedTokens = 16

// Options tell a reader what a file does not say. The zero value is right for
// every known trace.
type Options struct {
	// BlockTokens states the block size. 0 lets the reader find out. A line
	// whose number of ids fits no reading of a stated size is an error.
	BlockTokens int

	// Scope overrides how far block ids reach.
	Scope Scope
}

// Reader reads the requests of one trace. It is not safe for concurrent use.
type Reader struct {
	name     string
	format   Format
	lines    *lines
	layouts  layouts
	ids      *interner
	sessions map[string]int
	source   source
	request  Request
	gaps     Gaps
	closer   io.Closer
	failed   error
}

// source reads the requests of one format. At the end it returns io.EOF.
type source interface {
	next(r *Reader) error
}

// Open reads the trace in a file. Errors are those of [NewReader], or what the
// system says about the file.
func Open(path string, options Options) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(file, path, options)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	r.closer = file
	return r, nil
}

// NewReader reads a trace from r; name stands for it in errors. It reads the
// first line: an empty input or an unknown format is an [*Error]. A negative
// BlockTokens is a [auxerrors.ConfigError].
func NewReader(r io.Reader, name string, options Options) (*Reader, error) {
	if options.BlockTokens < 0 {
		return nil, &auxerrors.ConfigError{Field: "BlockTokens", Value: options.BlockTokens, Want: "at least 1, or 0 to find out", Reason: auxerrors.ErrTooSmall}
	}
	reader := &Reader{
		name:     name,
		lines:    newLines(r),
		layouts:  newLayouts(options.BlockTokens),
		ids:      newInterner(),
		sessions: make(map[string]int),
	}
	first, err := reader.lines.next()
	if err == io.EOF {
		err = faultf("the file is empty")
	}
	if err == nil {
		err = reader.recognise(first, options)
	}
	if err != nil {
		return nil, reader.locate(err)
	}
	return reader, nil
}

// recognise picks the format by the first line.
func (r *Reader) recognise(first []byte, options Options) error {
	if bytes.EqualFold(bytes.TrimSpace(first), []byte(azureHeader)) {
		r.format, r.source = Azure, &azure{}
		if options.BlockTokens == 0 {
			r.layouts = newLayouts(DefaultInventedTokens)
		}
		return nil
	}
	r.lines.hold(first)
	// An object that is laid out over many lines can only be a session.
	if bytes.Equal(bytes.TrimSpace(first), []byte("{")) {
		r.format, r.source = WEKA, newWEKA(r.lines, options.Scope)
		return nil
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(first, &keys); err != nil {
		if bytes.HasPrefix(bytes.TrimLeft(first, " \t"), []byte("{")) {
			return jsonFault(err)
		}
		return faultf("not a trace: the first line is neither a JSON object nor %q", azureHeader)
	}
	has := func(key string) bool { _, ok := keys[key]; return ok }
	switch {
	case has("runs"):
		r.format, r.source = Runs, &runLines{scope: options.Scope}
	case has("requests"):
		r.format, r.source = WEKA, newWEKA(r.lines, options.Scope)
	case has("chat_id"):
		r.format, r.source = Qwen, newPlain(Qwen, options.Scope)
	case has("hash_ids"), has("input_length"):
		r.format, r.source = Mooncake, newPlain(Mooncake, options.Scope)
	default:
		return faultf("not a trace: the first line has no hash_ids, runs or requests")
	}
	return nil
}

// All yields the requests in the order of the file. After an error, always an
// [*Error], it ends. The request is the reader's own and valid until the next
// one. A loop that was left early can be taken up again.
func (r *Reader) All() iter.Seq2[*Request, error] {
	return func(yield func(*Request, error) bool) {
		for r.failed == nil {
			if err := r.source.next(r); err != nil {
				r.failed = err
				if err != io.EOF {
					yield(nil, r.locate(err))
				}
				return
			}
			if r.request.ArrivalAssumed {
				r.gaps.Arrivals++
			}
			if r.request.OutputUnknown {
				r.gaps.Outputs++
			}
			if !yield(&r.request, nil) {
				return
			}
		}
	}
}

// Format is the recognised format.
func (r *Reader) Format() Format { return r.format }

// Layout is how the requests read so far cut prompts into blocks. Ask after the
// last one: a single short line fits many sizes.
func (r *Reader) Layout() Layout { return r.layouts.layout() }

// Gaps counts what the requests so far did not tell.
func (r *Reader) Gaps() Gaps { return r.gaps }

// UniqueBlocks is the number of different blocks so far.
func (r *Reader) UniqueBlocks() int { return int(r.ids.unique) }

// Sessions is the number of different sessions so far, 0 if the format has none.
func (r *Reader) Sessions() int { return len(r.sessions) }

// Close closes the file that [Open] opened.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

// locate adds the file and the line to what a part of the reader found.
func (r *Reader) locate(err error) error {
	located := &Error{File: r.name, Line: max(r.lines.number, 1), Reason: err.Error()}
	var found *fault
	if errors.As(err, &found) {
		located.Column, located.Err = found.column, found.err
		if found.line > 0 {
			located.Line = found.line
		}
	}
	return located
}

// session numbers sessions in order of appearance.
func (r *Reader) session(name string) int {
	number, ok := r.sessions[name]
	if !ok {
		number = len(r.sessions)
		r.sessions[name] = number
	}
	return number
}

// setIDs checks the number of ids against the tokens and translates them.
func (r *Reader) setIDs(scope uint32, ids []uint64) error {
	if err := r.layouts.observe(int64(r.request.InputTokens), len(ids)); err != nil {
		return err
	}
	blocks, err := r.request.Blocks[:0], error(nil)
	for _, id := range ids {
		if blocks, err = r.ids.appendID(blocks, scope, id); err != nil {
			return err
		}
	}
	r.request.Blocks = blocks
	return nil
}

// scopeOf is the name space of the ids of a session: 0 is the global one.
func scopeOf(local bool, session int) (uint32, error) {
	switch {
	case !local:
		return 0, nil
	case session < 0:
		return 0, faultf("session_id is missing: block ids that are local to a session need one")
	}
	return uint32(session) + 1, nil
}
