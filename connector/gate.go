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
// admits at most that much and calls Reserve with the keys of what this registers.
// If one of the two does not work out, it calls Drop. For a running request it
// calls Reserve before it allocates. The rest happens by itself: the worker takes
// over what is held as the request's first step begins, and gives it back when the
// request has ended.
type Gate struct {
	slots int

	mu      sync.Mutex
	rows    publisher
	current map[string]*holding         // the latest life of each request
	places  map[blockhash.Hash]interest // every key that a life holds
	epoch   uint64                      // resets so far
}

// interest is how many lives hold a key, and whether its block is still to be
// published: by the one life that computes it.
type interest struct {
	lives    int32
	promised bool
}

// holding is what the gate keeps for one life.
type holding struct {
	id        string
	epoch     uint64
	keys      []blockhash.Hash // leading keys for which there is room
	pinned    []blockhash.Hash // of these, the hit, until the worker retains it
	published int              // leading blocks that are no longer promised
	claimed   bool             // the worker knows the life
	lost      bool             // nothing of it will be published any more
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

// Admit starts a life of a request with the keys of its KV hit, in prefix order
// ([Scheduler.AppendHitKeys]), and returns how many leading ones can be used: their
// rows are stored, or promised by a request whose publication comes first, and there is
// room to retain them. Exactly those are pinned from here on. It is called for every
// admission, even with no hit at all. If the hit that the KV cache can use is shorter,
// [Gate.Shorten] comes next.
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

// Shorten gives back what an admission holds behind its first n keys, if the hit that
// the KV cache can use ends there: in the middle of a KV block hits do not end, and a
// sliding window may have lost what a shorter hit needs. It is called before the request
// is given blocks of its own. A request without an admission that has not begun is
// ErrUnknownRequest.
func (g *Gate) Shorten(id string, n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.current[id]
	if h == nil || h.claimed {
		return refuse("shorten", id, ErrUnknownRequest, "it has no admission that waits")
	}
	n = max(n, 0)
	if n >= len(h.keys) {
		return nil
	}
	if n < len(h.pinned) {
		if err := g.rows.put(store.Batch{Release: h.pinned[n:]}); err != nil {
			return err
		}
		h.pinned = h.pinned[:n]
	}
	h.published = min(h.published, n)
	g.letGo(h.keys[n:])
	h.keys = h.keys[:n]
	return nil
}

// fitting is how many leading keys there is room for.
func (g *Gate) fitting(keys []blockhash.Hash) int {
	room := g.slots - len(g.places)
	for i := range keys {
		if _, held := g.places[keys[i]]; held {
			continue
		}
		if room == 0 {
			return i
		}
		room--
	}
	return len(keys)
}

// pin retains the leading keys whose rows are stored or promised.
func (g *Gate) pin(keys []blockhash.Hash) (int, error) {
	n := 0
	for {
		stored, err := g.rows.store.RetainPrefix(g.rows.generation(), keys[n:])
		if err == nil {
			n += stored
			if n == len(keys) || !g.places[keys[n]].promised {
				return n, nil
			}
			_, err = g.rows.store.Put(store.Batch{Generation: g.rows.generation(), Retain: keys[n : n+1]})
		}
		if err != nil {
			if n > 0 {
				_ = g.rows.put(store.Batch{Release: keys[:n]}) // the first error says why
			}
			return 0, err
		}
		n++
	}
}

// hold adds keys to a life; there must be room.
func (g *Gate) hold(h *holding, keys []blockhash.Hash) {
	for i := range keys {
		place := g.places[keys[i]]
		place.lives++
		if len(h.keys) >= h.published && !h.lost {
			place.promised = true
		}
		g.places[keys[i]] = place
		h.keys = append(h.keys, keys[i])
	}
}

// Reserve asks for room for the blocks of a request up to and including the ones
// that it is about to register: keys are all its leading keys up to there
// ([Scheduler.Keys]).
// ok is false if the store has no room: nothing has changed, and the engine waits
// or preempts. Room once given stays until the request ends.
//
// A request that needs more slots than there are is an errors.BlockObjectStoreError
// that wraps ErrCannotFit: it will never fit. A request that was not admitted is
// ErrUnknownRequest.
func (g *Gate) Reserve(id string, keys []blockhash.Hash) (ok bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.current[id]
	switch {
	case h == nil:
		return false, refuse("reserve", id, ErrUnknownRequest, "it is not admitted")
	case len(keys) <= len(h.keys):
		return true, nil
	case len(keys) > g.slots:
		return false, &auxerrors.BlockObjectStoreError{
			Op: "reserve", Reason: auxerrors.ErrCannotFit, Index: -1, Used: len(g.places), Limit: g.slots,
			Detail: fmt.Sprintf("request %q alone needs %d slots", id, len(keys)), Advice: "increase max_bytes",
		}
	}
	more := keys[len(h.keys):]
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
	if err := g.rows.giveBack(h.pins()); err != nil {
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
	g.keep(h, len(h.keys))
	g.letGo(h.keys)
	h.keys = nil
	if g.current[h.id] == h {
		delete(g.current, h.id)
	}
}

// letGo takes a life off keys that are not promised by it.
func (g *Gate) letGo(keys []blockhash.Hash) {
	for _, key := range keys {
		place := g.places[key]
		if place.lives--; place.lives == 0 {
			delete(g.places, key)
			continue
		}
		g.places[key] = place
	}
}

// keep ends the promises of the first n blocks of a life.
func (g *Gate) keep(h *holding, n int) {
	for ; h.published < min(n, len(h.keys)); h.published++ {
		key := h.keys[h.published]
		place := g.places[key]
		place.promised = false
		g.places[key] = place
	}
}

// pins are the keys that are retained for a life which the worker does not
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

// covers checks that there is room for the first n keys of a life.
func (g *Gate) covers(h *holding, id string, n int) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if h == nil || h.epoch == g.epoch && n > len(h.keys) {
		return refuse("begin", id, ErrMetadata, "%d keys, room for less was reserved", n)
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
	if h.epoch == g.epoch {
		g.keep(h, n)
	}
}

// lose is called when nothing of a life will be published any more: what it promised
// is withdrawn, and what it gets room for later is not promised.
func (g *Gate) lose(h *holding) {
	if g == nil || h == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	h.lost = true
	if h.epoch == g.epoch {
		g.keep(h, len(h.keys))
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
