package trace

import (
	"bytes"
	"strconv"
	"time"
)

// azureHeader is the first line of Azure's LLM inference traces.
const azureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens"

// azureTimes are the ways those traces write times: 2023, and 2024 with a zone.
var azureTimes = []string{"2006-01-02 15:04:05.9999999", "2006-01-02 15:04:05.9999999Z07:00"}

// azure reads Azure's traces: lengths and arrivals. Every request gets full
// blocks of its own.
type azure struct {
	start   time.Time
	started bool
}

func (a *azure) next(r *Reader) error {
	text, err := r.lines.next()
	if err != nil {
		return err
	}
	fields := bytes.Split(text, []byte(","))
	if len(fields) != 3 {
		return faultf("%d fields, want the 3 of %s", len(fields), azureHeader)
	}
	at, err := azureTime(string(bytes.TrimSpace(fields[0])))
	if err != nil {
		return err
	}
	if !a.started {
		a.start, a.started = at, true
	}
	q := &r.request
	q.Line, q.Session = r.lines.number, -1
	q.Arrival = at.Sub(a.start)
	if q.InputTokens, err = azureTokens("ContextTokens", fields[1]); err != nil {
		return err
	}
	if q.OutputTokens, err = azureTokens("GeneratedTokens", fields[2]); err != nil {
		return err
	}
	count := q.InputTokens / int(r.layouts.stated)
	if count > MaxBlocks {
		return faultf("ContextTokens: %d tokens make %d blocks of %d: a request has at most %d", q.InputTokens, count, r.layouts.stated, MaxBlocks)
	}
	if err := r.layouts.observe(int64(q.InputTokens), count); err != nil {
		return err
	}
	r.ids.allow(r.lines.bytes)
	q.Blocks, err = r.ids.invent(q.Blocks[:0], count)
	return err
}

func azureTime(text string) (time.Time, error) {
	for _, layout := range azureTimes {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, faultf("TIMESTAMP: found %s, want a time like 2023-11-16 18:17:03.9799600", clip(text))
}

func azureTokens(name string, field []byte) (int, error) {
	text := string(bytes.TrimSpace(field))
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, faultf("%s: found %s, want a whole number of tokens", name, clip(text))
	}
	return tokens(name, &n)
}
