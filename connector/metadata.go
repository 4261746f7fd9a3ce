package connector

import (
	"github.com/auxoutput/auxoutput/blockhash"
)

// Metadata is what the scheduler half tells the worker half about one step.
// [Scheduler.Build] fills it in; it can be used again as soon as [Worker.Begin]
// has returned. All lists of hashes are in prefix order.
type Metadata struct {
	// Generation counts the resets of the prefix cache, from 0.
	Generation uint64

	// Removed are hashes that the KV cache dropped out of order, see
	// [Scheduler.Remove].
	Removed []blockhash.Hash

	// Finished are the requests that ended since the last step, in the order in
	// which their KV blocks were freed, each with the hashes that became known
	// since the last step it was mentioned in. They take effect before Scheduled:
	// an id may end one life and start the next in the same step.
	Finished []Update

	// Scheduled are the requests of the step.
	Scheduled []Scheduled

	// Updates are requests that are not scheduled, but have new hashes.
	Updates []Update

	arena []blockhash.Hash // the memory of all lists of hashes
}

// Scheduled is a request that runs in a step.
type Scheduled struct {
	ID        string
	New       bool             // the first step of a life
	EmitStart int              // first position whose row has not been handed out, or is wanted at all
	Hashes    []blockhash.Hash // the ones that are new since the last mention
}

// Update is new hashes of a request.
type Update struct {
	ID     string
	Hashes []blockhash.Hash
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

// add puts a copy of hashes into the memory of the metadata.
func (m *Metadata) add(hashes []blockhash.Hash) []blockhash.Hash {
	at := len(m.arena)
	m.arena = append(m.arena, hashes...)
	return m.arena[at:len(m.arena):len(m.arena)]
}

// copyFrom makes m a copy that shares nothing with from.
func (m *Metadata) copyFrom(from *Metadata) {
	m.Reset()
	m.Generation = from.Generation
	m.Removed = append(m.Removed, from.Removed...)
	for _, f := range from.Finished {
		m.Finished = append(m.Finished, Update{f.ID, m.add(f.Hashes)})
	}
	for _, s := range from.Scheduled {
		s.Hashes = m.add(s.Hashes)
		m.Scheduled = append(m.Scheduled, s)
	}
	for _, u := range from.Updates {
		m.Updates = append(m.Updates, Update{u.ID, m.add(u.Hashes)})
	}
}

// check finds what is wrong with metadata whatever the state of the worker.
func (m *Metadata) check() error {
	for _, s := range m.Scheduled {
		if s.EmitStart < 0 {
			return refuse("begin", s.ID, ErrMetadata, "emit start %d", s.EmitStart)
		}
		if err := checkHashes(s.ID, s.Hashes); err != nil {
			return err
		}
	}
	for _, list := range [2][]Update{m.Updates, m.Finished} {
		for _, u := range list {
			if err := checkHashes(u.ID, u.Hashes); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkHashes(id string, hashes []blockhash.Hash) error {
	for i := range hashes {
		if hashes[i].IsZero() {
			return refuse("begin", id, ErrMetadata, "new hash %d is zero", i)
		}
	}
	return nil
}
