package connector

import (
	"fmt"
	"slices"
	"sync"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// Gate is where the scheduler meets the store, in the modes RowGated and Linked.
// It decides how much of a KV hit has its rows at hand, and whether the store has
// room for the blocks that a step would complete. It is safe for concurrent use.
//
// For a waiting request the engine looks up the KV hit and calls Admit; then it
// admits at most that much and calls Reserve with the hashes that this registers.
// If one of the two does not work out, it calls Drop. For a running request it
// calls Reserve before it allocates. The rest happens by itself: the worker takes
// over what is held as the request's first step begins, and gives it back when the
// request has ended.
type Gate struct {
	slots int

	mu      sync.Mutex
	rows    publisher
	current map[string]*holding         // the latest life of each request
	places  map[blockhash.Hash]interest // every hash that a life holds
	epoch   uint64                      // resets so far
}

// interest is how many lives hold a hash, and how many of them will publish it.
type interest struct {
	lives    int32
	promises int32
}

// holding is what the gate keeps for one life.
type holding struct {
	id        string
	epoch     uint64
	hashes    []blockhash.Hash // leading hashes for which there is room
	pinned    []blockhash.Hash // of these, the hit, until the worker retains it
	published int              // leading blocks that are no longer promised
	claimed   bool             // the worker knows the life
}

func newGate(s *store.Store, writer *store.Writer) *Gate {
	g := &Gate{
		slots:   s.Slots(),
		rows:    publisher{store: s, writer: writer},
		current: make(map[string]*holding),
		places:  make(map[blockhash.Hash]interest),
	}
	g.rows.follow()
	return g
}

// Admit starts a life of a request with the hashes of its KV hit, in prefix order,
// and returns how many leading ones can be used: their rows are stored, or promised
// by a request whose publication comes first, and there is room to retain them.
// Exactly those are pinned from here on. It is called for every admission, even
// with no hit at all.
//
// An id whose last admission is neither scheduled nor dropped is
// ErrDuplicateRequest. Errors of the store come back as they are.
func (g *Gate) Admit(id string, hit []blockhash.Hash) (n int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if h := g.current[id]; h != nil && !h.claimed {
		return 0, refuse("admit", id, ErrDuplicateRequest, "it is admitted already")
	}
	if err := g.rows.flush(); err != nil {
		return 0, err
	}
	n, err = g.pin(hit[:g.fitting(hit)])
	if err != nil {
		return 0, err
	}
	h := &holding{id: id, epoch: g.epoch, published: n, pinned: slices.Clone(hit[:n])}
	g.hold(h, hit[:n])
	g.current[id] = h
	return n, nil
}

// fitting is how many leading hashes there is room for.
func (g *Gate) fitting(hashes []blockhash.Hash) int {
	room := g.slots - len(g.places)
	for i := range hashes {
		if _, held := g.places[hashes[i]]; held {
			continue
		}
		if room == 0 {
			return i
		}
		room--
	}
	return len(hashes)
}

// pin retains the leading hashes whose rows are stored or promised.
func (g *Gate) pin(hashes []blockhash.Hash) (int, error) {
	n := 0
	for {
		stored, err := g.rows.store.RetainPrefix(g.rows.generation(), hashes[n:])
		if err == nil {
			n += stored
			if n == len(hashes) || g.places[hashes[n]].promises == 0 {
				return n, nil
			}
			_, err = g.rows.store.Put(store.Batch{Generation: g.rows.generation(), Retain: hashes[n : n+1]})
		}
		if err != nil {
			if n > 0 {
				_ = g.rows.put(store.Batch{Release: hashes[:n]}) // the first error says why
			}
			return 0, err
		}
		n++
	}
}

// hold adds hashes to a life; there must be room.
func (g *Gate) hold(h *holding, hashes []blockhash.Hash) {
	for i := range hashes {
		place := g.places[hashes[i]]
		place.lives++
		if len(h.hashes) >= h.published {
			place.promises++
		}
		g.places[hashes[i]] = place
		h.hashes = append(h.hashes, hashes[i])
	}
}

// Reserve asks for room for the blocks of a request up to and including the ones
// that it is about to register: hashes are all its leading hashes up to there.
// ok is false if the store has no room: nothing has changed, and the engine waits
// or preempts. Room once given stays until the request ends.
//
// A request that needs more slots than there are is an errors.BlockObjectStoreError
// that wraps ErrCannotFit: it will never fit. A request that was not admitted is
// ErrUnknownRequest.
func (g *Gate) Reserve(id string, hashes []blockhash.Hash) (ok bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.current[id]
	switch {
	case h == nil:
		return false, refuse("reserve", id, ErrUnknownRequest, "it is not admitted")
	case len(hashes) <= len(h.hashes):
		return true, nil
	case len(hashes) > g.slots:
		return false, &auxerrors.BlockObjectStoreError{
			Op: "reserve", Reason: auxerrors.ErrCannotFit, Index: -1, Used: len(g.places), Limit: g.slots,
			Detail: fmt.Sprintf("request %q alone needs %d", id, len(hashes)), Advice: "increase max_bytes",
		}
	}
	more := hashes[len(h.hashes):]
	if g.fitting(more) < len(more) {
		return false, nil
	}
	g.hold(h, more)
	return true, nil
}

// Drop takes an admission back whose request is not scheduled after all. Without
// one it does nothing.
func (g *Gate) Drop(id string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.current[id]
	if h == nil || h.claimed {
		return nil
	}
	return g.drop(h)
}

func (g *Gate) drop(h *holding) error {
	if err := g.rows.put(store.Batch{Release: h.pins()}); err != nil {
		return err
	}
	h.pinned = nil
	g.forget(h)
	return nil
}

// Room is the number of slots that are neither retained nor promised.
func (g *Gate) Room() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.slots - len(g.places)
}

// Reset drops everything at a reset of the prefix cache, the blocks in the store
// included. Call it together with [Scheduler.Reset].
func (g *Gate) Reset() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, err := g.rows.store.Reset(); err != nil {
		return err
	}
	g.rows.follow()
	clear(g.current)
	clear(g.places)
	g.epoch++
	return nil
}

// forget ends what a life holds. What was left of it is no longer promised.
func (g *Gate) forget(h *holding) {
	if h.epoch != g.epoch {
		return
	}
	for i := range h.hashes {
		place := g.places[h.hashes[i]]
		place.lives--
		if i >= h.published {
			place.promises--
		}
		if place.lives == 0 {
			delete(g.places, h.hashes[i])
			continue
		}
		g.places[h.hashes[i]] = place
	}
	h.hashes = nil
	if g.current[h.id] == h {
		delete(g.current, h.id)
	}
}

// pins are the hashes that are retained for a life which the worker does not
// retain yet.
func (h *holding) pins() []blockhash.Hash {
	if h == nil {
		return nil
	}
	return h.pinned
}

// The methods below are for the worker. A worker without a gate calls them on nil.
// What it gives back it gives back after the put that released it: a background
// writer keeps that order, so the count is never below what the store retains.

// claim takes over the admissions of the requests whose life begins with a step.
func (g *Gate) claim(step *begun, meta *Metadata) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range meta.Scheduled {
		if !s.New {
			step.holdings = append(step.holdings, nil)
			continue
		}
		h := g.current[s.ID]
		if h == nil || h.claimed {
			return refuse("begin", s.ID, ErrUnknownRequest, "it starts and was not admitted by the gate")
		}
		h.claimed = true
		step.holdings = append(step.holdings, h)
	}
	return nil
}

// unclaim gives admissions back.
func (g *Gate) unclaim(holdings []*holding) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range holdings {
		if h != nil {
			h.claimed = false
		}
	}
}

// covers checks that there is room for the first n hashes of a life.
func (g *Gate) covers(h *holding, id string, n int) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if h == nil || h.epoch == g.epoch && n > len(h.hashes) {
		return refuse("begin", id, ErrMetadata, "%d hashes, room for less was reserved", n)
	}
	return nil
}

// unpin is called when the worker has retained what was pinned.
func (g *Gate) unpin(holdings []*holding) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range holdings {
		if h != nil {
			h.pinned = nil
		}
	}
}

// published is called when the first n blocks of a life have been put, as far as
// they had to be.
func (g *Gate) published(h *holding, n int) {
	if g == nil || h == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for ; h.epoch == g.epoch && h.published < min(n, len(h.hashes)); h.published++ {
		hash := h.hashes[h.published]
		place := g.places[hash]
		place.promises--
		g.places[hash] = place
	}
}

// release is called when the worker has released what a life held.
func (g *Gate) release(h *holding) {
	if g == nil || h == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(h)
}

// close drops the admissions that never began.
func (g *Gate) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range g.current {
		if h.claimed {
			g.forget(h)
			continue
		}
		if err := g.drop(h); err != nil {
			return err
		}
	}
	return nil
}
