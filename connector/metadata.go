package connector

import (
	"github.com/auxoutput/auxoutput/blockhash"
)

// Metadata is what the scheduler half tells the worker half about one step.
// [Scheduler.Build] fills it in; it can be used again as soon as [Worker.Begin]
// has returned. All lists of keys are in prefix order.
type Metadata struct {
	// Generation counts the resets of the prefix cache, from 0.
	Generation uint64

	// Removed are keys whose KV is gone in another way than by reuse of the oldest
	// free block, see [Scheduler.Evicted].
	Removed []blockhash.Hash

	// Finished are the requests that ended since the last step, in the order in
	// which their KV blocks were freed, each with the keys that became known
	// since the last step it was mentioned in. They take effect before Scheduled:
	// an id may end one life and start the next in the same step.
	Finished []Update

	// Scheduled are the requests of the step.
	Scheduled []Scheduled

	// Updates are requests that are not scheduled, but have new keys.
	Updates []Update

	arena []blockhash.Hash // the memory of all lists of keys
}

// Scheduled is a request that runs in a step.
type Scheduled struct {
	ID        string
	New       bool             // the first step of a life
	EmitStart int              // first position whose row has not been handed out, or is wanted at all
	Keys      []blockhash.Hash // of hash blocks, the ones that are new since the last mention
	Hit       int              // leading keys of a new life whose rows other requests computed
}

// Update is new keys of a request.
type Update struct {
	ID   string
	Keys []blockhash.Hash

	// NeverRan marks, in Finished, a request that was admitted and preempted before
	// its first step began. Keys are those of its hit. The worker knows no such
	// request; but the KV cache has freed the blocks of the hit anew, and so their
	// rows become newest too.
	NeverRan bool
}

// Reset empties the metadata and keeps its memory.
func (m *Metadata) Reset() {
	m.Generation = 0
	m.Removed = m.Removed[:0]
	m.Finished = clearAll(m.Finished)
	m.Scheduled = clearAll(m.Scheduled)
	m.Updates = clearAll(m.Updates)
	m.arena = m.arena[:0]
}

// clearAll empties a list and lets go of what it refers to.
func clearAll[T any](list []T) []T {
	clear(list)
	return list[:0]
}

// add puts a copy of keys into the memory of the metadata.
func (m *Metadata) add(keys []blockhash.Hash) []blockhash.Hash {
	at := len(m.arena)
	m.arena = append(m.arena, keys...)
	return m.arena[at:len(m.arena):len(m.arena)]
}

// copyFrom makes m a copy that shares nothing with from.
func (m *Metadata) copyFrom(from *Metadata) {
	m.Reset()
	m.Generation = from.Generation
	m.Removed = append(m.Removed, from.Removed...)
	for _, f := range from.Finished {
		m.Finished = append(m.Finished, Update{f.ID, m.add(f.Keys), f.NeverRan})
	}
	for _, s := range from.Scheduled {
		s.Keys = m.add(s.Keys)
		m.Scheduled = append(m.Scheduled, s)
	}
	for _, u := range from.Updates {
		m.Updates = append(m.Updates, Update{ID: u.ID, Keys: m.add(u.Keys)})
	}
}

// check finds what is wrong with metadata whatever the state of the worker.
func (m *Metadata) check() error {
	for _, s := range m.Scheduled {
		if s.EmitStart < 0 {
			return refuse("begin", s.ID, ErrMetadata, "emit start %d", s.EmitStart)
		}
		if s.Hit < 0 || s.Hit > len(s.Keys) {
			return refuse("begin", s.ID, ErrMetadata, "%d of %d keys hit", s.Hit, len(s.Keys))
		}
		if err := checkKeys(s.ID, s.Keys); err != nil {
			return err
		}
	}
	for _, list := range [2][]Update{m.Updates, m.Finished} {
		for _, u := range list {
			if err := checkKeys(u.ID, u.Keys); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkKeys(id string, keys []blockhash.Hash) error {
	for i := range keys {
		if keys[i].IsZero() {
			return refuse("begin", id, ErrMetadata, "new key %d is zero", i)
		}
	}
	return nil
}
