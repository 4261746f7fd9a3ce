package store

import "sync"

// waiting is who waits for what. A goroutine is woken when what it waits for may
// have happened, and not when somebody else has begun or ended to wait.
//
// A put that needs a slot which is being copied waits for copies to end. Such puts
// have their turns in the order in which they came, and only the first one is woken.
// A put that needs slots and comes later waits behind them, or small puts could
// overtake a large one for ever. A read waits for the puts that were waiting when it
// came, and for no later ones: so neither puts nor reads can starve the others.
//
// Copies end by themselves, and whoever waits holds none, so every wait ends.
type waiting struct {
	mu      *sync.Mutex
	filled  sync.Cond // rows have been copied in, or the store was reset or closed
	drained sync.Cond // the memory of a closed store was given back

	first, last *staged // the queue of puts
	came        uint64  // puts that ever joined it

	wakeUps uint64 // how often anybody was woken, for tests
}

// queued is the place of a put in the queue.
type queued struct {
	number uint64     // among the puts that ever joined
	next   *staged    // the put behind it
	turn   *sync.Cond // it is the first, and a copy has ended
	left   *sync.Cond // it has left the queue
}

func (w *waiting) init(mu *sync.Mutex) {
	w.mu, w.filled.L, w.drained.L = mu, mu, mu
}

// wait lets others at the store until a condition is signalled.
func (w *waiting) wait(c *sync.Cond) {
	c.Wait()
	w.wakeUps++
}

// join puts a put at the end of the queue.
func (w *waiting) join(p *staged) {
	w.came++
	p.queued = queued{number: w.came, turn: sync.NewCond(w.mu), left: sync.NewCond(w.mu)}
	if w.first == nil {
		w.first = p
	} else {
		w.last.queued.next = p
	}
	w.last = p
}

// leave takes the first put out of the queue, and lets go on who waited for it.
func (w *waiting) leave() {
	place := w.first.queued
	w.first.queued = queued{}
	if w.first = place.next; w.first == nil {
		w.last = nil
	}
	place.left.Broadcast()
	w.wakeFirst()
}

// wakeFirst wakes the first put in the queue.
func (w *waiting) wakeFirst() {
	if w.first != nil {
		w.first.queued.turn.Signal()
	}
}

// wakeAll wakes whoever can find out that the store was reset or closed: reads of
// rows that are being copied in, and the first put, which wakes the next one.
func (w *waiting) wakeAll() {
	w.filled.Broadcast()
	w.wakeFirst()
}

// ahead is the last put that was in the queue when a read came.
type ahead struct {
	number uint64
	left   *sync.Cond
}

// ahead returns what a read that comes now has to wait for.
func (w *waiting) ahead() ahead {
	if w.last == nil {
		return ahead{}
	}
	return ahead{w.last.queued.number, w.last.queued.left}
}

// isQueued reports whether that put is still in the queue.
func (w *waiting) isQueued(a ahead) bool {
	return w.first != nil && w.first.queued.number <= a.number
}
