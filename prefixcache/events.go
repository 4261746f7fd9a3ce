package prefixcache

import (
	"fmt"

	"github.com/auxoutput/auxoutput/blockhash"
)

// EventKind tells what an [Event] reports.
type EventKind uint8

// The events of vLLM's KV event stream.
const (
	Stored  EventKind = iota // BlockStored
	Removed                  // BlockRemoved
	Cleared                  // AllBlocksCleared
)

// String is the name that vLLM gives the event.
func (k EventKind) String() string {
	switch k {
	case Stored:
		return "BlockStored"
	case Removed:
		return "BlockRemoved"
	case Cleared:
		return "AllBlocksCleared"
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// Event is one change of what is registered. Every physical copy of a block has
// its own events: a consumer that wants to know what can be hit counts, per group
// and hash, stored less removed.
type Event struct {
	Kind  EventKind
	Group int

	// Hashes that were registered, in order, or the one that was removed. A stored
	// event leaves out null blocks and blocks that no hit could use, so it may list
	// fewer than Tokens / BlockTokens, and does in models with several groups.
	Hashes []blockhash.Hash

	Parent      blockhash.Hash // hash of the block before the first stored one; zero at the start of a sequence
	Tokens      int            // tokens of a stored event, those of left out blocks included
	BlockTokens int            // tokens per hash of a stored event; less than a block for an entry inside one
}

// hashChunk is the number of hashes that are allocated together.
const hashChunk = 256

// eventLog collects events until they are drained. The hashes of many events
// share one allocation, which no later event overwrites.
type eventLog struct {
	on     bool
	events []Event
	chunk  []blockhash.Hash
}

// begin makes room for n hashes; what is appended to the result belongs to one
// event.
func (l *eventLog) begin(n int) []blockhash.Hash {
	if cap(l.chunk)-len(l.chunk) < n {
		l.chunk = make([]blockhash.Hash, 0, max(n, hashChunk))
	}
	at := len(l.chunk)
	return l.chunk[at:at:cap(l.chunk)]
}

// commit records an event whose hashes came from begin.
func (l *eventLog) commit(e Event) {
	l.chunk = l.chunk[:len(l.chunk)+len(e.Hashes)]
	e.Hashes = e.Hashes[:len(e.Hashes):len(e.Hashes)]
	l.events = append(l.events, e)
}

func (l *eventLog) removed(k key) {
	if !l.on {
		return
	}
	l.commit(Event{Kind: Removed, Group: int(k.group), Hashes: append(l.begin(1), k.hash)})
}

func (l *eventLog) cleared() {
	if !l.on {
		return
	}
	l.events = append(l.events, Event{Kind: Cleared})
}
