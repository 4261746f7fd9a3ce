package storetest

import (
	"bytes"
	"maps"
	"slices"
	"sync"
)

// on does the operation on a store or on the model, with the views and leases made of
// it. The generation is the new one of a reset, else 0.
func (in call) on(s Store, shared *handles) (out answer, generation uint64) {
	switch in.op {
	case "put":
		out.result, out.err = s.Put(in.batch)
		out.result.Conflicts = 0
	case "get":
		out.rows, out.err = s.Get(nil, in.hashes)
	case "prefix":
		out.n = s.Prefix(in.hashes)
	case "retain prefix":
		out.n, out.err = s.(PrefixRetainer).RetainPrefix(in.generation, in.hashes)
	case "remove":
		out.n, out.err = s.(Remover).Remove(in.generation, in.hashes)
	case "reset":
		if generation, out.err = s.Reset(); out.err != nil {
			return out, 0
		}
		out.n = int(generation)
	case "open view":
		var view View
		if view, out.err = s.(Viewer).OpenView(in.hashes); out.err == nil {
			shared.addView(in.number, view)
		}
	case "close view":
		out.err = shared.view(in.number).Close()
	case "begin write":
		var write *heldWrite
		if write, out.err = beginWrite(shared.view(in.number)); out.err == nil {
			shared.addWrite(in.write, write)
		}
	case "end write":
		out.rows, out.err = shared.takeWrite(in.write).end()
	case "take lease":
		shared.addLease(in.number, s.(Leaser).TakeLease())
	case "retain by lease":
		out.n, out.err = shared.lease(in.number).RetainPrefix(in.hashes)
	case "release by lease":
		out.err = shared.lease(in.number).Release(in.hashes)
	case "close lease":
		out.err = shared.lease(in.number).Close()
	case "close":
		out.err = s.Close()
	}
	return out, generation
}

// handles are the views and leases of a history, which all clients use, and the
// writings of views that have begun.
type handles struct {
	mu     sync.Mutex
	views  map[int]View
	leases map[int]Lease
	writes map[int]*heldWrite
}

func newHandles() *handles {
	return &handles{views: map[int]View{}, leases: map[int]Lease{}, writes: map[int]*heldWrite{}}
}

// with does something under the lock.
func (h *handles) with(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
}

func (h *handles) addView(n int, v View)        { h.with(func() { h.views[n] = v }) }
func (h *handles) addLease(n int, l Lease)      { h.with(func() { h.leases[n] = l }) }
func (h *handles) addWrite(n int, w *heldWrite) { h.with(func() { h.writes[n] = w }) }

func (h *handles) view(n int) (v View)   { h.with(func() { v = h.views[n] }); return v }
func (h *handles) lease(n int) (l Lease) { h.with(func() { l = h.leases[n] }); return l }

// has reports whether what a call uses has been made.
func (h *handles) has(in call) bool {
	switch in.op {
	case "close view", "begin write":
		return h.view(in.number) != nil
	case "retain by lease", "release by lease", "close lease":
		return h.lease(in.number) != nil
	}
	return true
}

// takeWrite is a writing that is to end.
func (h *handles) takeWrite(n int) (w *heldWrite) {
	h.with(func() { w = h.writes[n]; delete(h.writes, n) })
	return w
}

func (h *handles) viewNumbers() (numbers []int) {
	h.with(func() { numbers = slices.Sorted(maps.Keys(h.views)) })
	return numbers
}

func (h *handles) leaseNumbers() (numbers []int) {
	h.with(func() { numbers = slices.Sorted(maps.Keys(h.leases)) })
	return numbers
}

// heldWrite is the writing of a view that has reached its consumer, and stays there
// until it is told to end. The model needs no goroutine for that.
type heldWrite struct {
	model *openModelView

	reached, goOn, ended chan struct{}
	once                 sync.Once
	got                  bytes.Buffer
	err                  error
}

func (w *heldWrite) Write(rows []byte) (int, error) {
	w.once.Do(func() {
		close(w.reached)
		<-w.goOn
	})
	return w.got.Write(rows)
}

// beginWrite begins to write a view, and returns when its consumer has been reached:
// until the writing ends, the blocks are held, whoever closes the view.
func beginWrite(view View) (*heldWrite, error) {
	if model, ok := view.(*openModelView); ok {
		return &heldWrite{model: model}, model.begin("view write")
	}
	w := &heldWrite{reached: make(chan struct{}), goOn: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		_, w.err = view.WriteTo(w)
	}()
	select {
	case <-w.reached:
	case <-w.ended: // it is closed, or has no blocks
		if w.err != nil {
			return nil, w.err
		}
	}
	return w, nil
}

// end lets the writing end and returns the rows that were written. The model returns
// all, and ErrClosed if the view is closed: then a store may return less.
func (w *heldWrite) end() ([]byte, error) {
	if w.model != nil {
		_, err := w.model.Block(-1)
		rows := rowsOf(w.model.view.blocks)
		w.model.end()
		return rows, err
	}
	close(w.goOn)
	<-w.ended
	return w.got.Bytes(), w.err
}
