package trace

import (
	"encoding/json"
	"time"
)

// plain reads the forms with one request a line and every block id written out:
// Mooncake's, and Qwen-Bailian's.
type plain struct {
	format Format
	scope  Scope
	line   plainLine
	chats  map[int64]int // Qwen: session that a chat belongs to
	clock  clock         // Mooncake
}

type plainLine struct {
	Timestamp *float64        `json:"timestamp"`
	Delay     *float64        `json:"delay"`
	Input     *int64          `json:"input_length"`
	Output    *int64          `json:"output_length"`
	Session   json.RawMessage `json:"session_id"`
	Scope     *string         `json:"hash_id_scope"`
	Chat      *int64          `json:"chat_id"`
	Parent    *int64          `json:"parent_chat_id"`
	IDs       blockIDs        `json:"hash_ids"`
}

func newPlain(format Format, scope Scope) *plain {
	return &plain{format: format, scope: scope, chats: make(map[int64]int)}
}

func (p *plain) next(r *Reader) error {
	text, err := r.lines.next()
	if err != nil {
		return err
	}
	p.line = plainLine{IDs: blockIDs{ids: p.line.IDs.ids}}
	if err := json.Unmarshal(text, &p.line); err != nil {
		return jsonFault(err)
	}
	q := &r.request
	q.Line = r.lines.number
	if q.Session, err = p.session(r); err != nil {
		return err
	}
	if err := p.setTime(q); err != nil {
		return err
	}
	if q.InputTokens, err = tokens("input_length", p.line.Input); err != nil {
		return err
	}
	// AIPerf leaves out the length of an answer that the engine is to end itself.
	if q.OutputUnknown = p.format == Mooncake && p.line.Output == nil; q.OutputUnknown {
		q.OutputTokens = 0
	} else if q.OutputTokens, err = tokens("output_length", p.line.Output); err != nil {
		return err
	}
	if !p.line.IDs.present {
		return missing("hash_ids")
	}
	local, err := isLocal(p.scope, p.line.Scope, false)
	if err != nil {
		return err
	}
	scope, err := scopeOf(local, q.Session)
	if err != nil {
		return err
	}
	return r.setIDs(scope, p.line.IDs.ids)
}

// setTime sets the request's arrival.
func (p *plain) setTime(q *Request) (err error) {
	if p.format == Qwen {
		q.Arrival, err = arrival("timestamp", p.line.Timestamp, time.Second)
		return err
	}
	delay := time.Duration(0)
	if p.line.Delay != nil {
		if delay, err = arrival("delay", p.line.Delay, time.Millisecond); err != nil {
			return err
		}
	}
	if q.ArrivalAssumed = p.line.Timestamp == nil; q.ArrivalAssumed {
		q.Arrival, err = p.clock.after(q.Session, delay)
	} else {
		q.Arrival, err = arrival("timestamp", p.line.Timestamp, time.Millisecond)
	}
	if err == nil {
		p.clock.set(q.Session, q.Arrival)
	}
	return err
}

// session finds the line's session. In the Qwen form a request is a chat, and a
// chat with a parent continues the parent's session.
func (p *plain) session(r *Reader) (int, error) {
	if p.format == Qwen {
		if p.line.Chat == nil {
			return 0, missing("chat_id")
		}
		chat := *p.line.Chat
		session, known := 0, false
		if p.line.Parent != nil {
			session, known = p.chats[*p.line.Parent]
		}
		if !known {
			session = r.session(string(p.line.chatName()))
		}
		p.chats[chat] = session
		return session, nil
	}
	name := p.line.Session
	switch {
	case len(name) == 0 || string(name) == "null":
		return -1, nil
	case name[0] == '{' || name[0] == '[':
		return 0, faultf("session_id: found %s, want a string or a number", clip(string(name)))
	}
	return r.session(string(name)), nil
}

// chatName is the name of a session that starts with this line.
func (l *plainLine) chatName() []byte {
	name, _ := json.Marshal(*l.Chat)
	return name
}

// isLocal decides whether ids are local to their session: the caller's word
// first, then the file's, then the format's custom.
func isLocal(scope Scope, written *string, custom bool) (bool, error) {
	if written != nil && *written != "local" && *written != "global" {
		return false, faultf("hash_id_scope: found %s, want \"local\" or \"global\"", clip(*written))
	}
	switch {
	case scope == Local:
		return true, nil
	case scope == Global:
		return false, nil
	case written != nil:
		return *written == "local", nil
	}
	return custom, nil
}
