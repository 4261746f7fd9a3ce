package storetest

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// brokenViews is a model whose views have a mistake each.
type brokenViews struct {
	*Model
	breakIt func(*openModelView) View
}

func (s brokenViews) OpenView(hashes []blockhash.Hash) (View, error) {
	view, err := s.Model.OpenView(hashes)
	if err != nil {
		return nil, err
	}
	return s.breakIt(view.(*openModelView)), nil
}

// hastyView gives its blocks back when it is closed, used or not.
type hastyView struct{ *openModelView }

func (v hastyView) WriteTo(w io.Writer) (int64, error) {
	if v.view.closed {
		return v.openModelView.WriteTo(w)
	}
	n, err := w.Write(rowsOf(v.view.blocks))
	return int64(n), err
}

// strayView looks its slots up again for every block, and finds who took them.
type strayView struct{ hastyView }

func (v strayView) WriteTo(w io.Writer) (written int64, err error) {
	if v.view.closed {
		return v.openModelView.WriteTo(w)
	}
	for i, block := range v.view.blocks {
		rows := block.rows
		if v.view.closed {
			rows = v.model.order[i%len(v.model.order)].rows
		}
		n, err := w.Write(rows)
		if written += int64(n); err != nil {
			return written, err
		}
	}
	return written, nil
}

// leakyView keeps its blocks for ever if it is closed while it is used.
type leakyView struct{ *openModelView }

func (v leakyView) WriteTo(w io.Writer) (int64, error) {
	n, err := v.openModelView.WriteTo(consumer(func(rows []byte) (int, error) {
		n, err := w.Write(rows)
		if v.view.closed {
			v.view.uses++ // nobody ends it
		}
		return n, err
	}))
	return n, err
}

// frailView keeps its blocks for ever if its consumer panics.
type frailView struct{ *openModelView }

func (v frailView) WriteTo(w io.Writer) (int64, error) {
	if err := v.begin("view write"); err != nil {
		return 0, err
	}
	n, err := w.Write(rowsOf(v.view.blocks))
	v.end()
	return int64(n), err
}

// brokenLeases is a model whose leases have a mistake each.
type brokenLeases struct {
	*Model
	breakIt func(*modelLease) Lease
}

func (s brokenLeases) TakeLease() Lease { return s.breakIt(s.Model.TakeLease().(*modelLease)) }

// allOrNothing gives nothing back if one of its hashes is gone.
type allOrNothing struct{ *modelLease }

func (l allOrNothing) Close() error {
	if l.closed {
		return nil
	}
	var held []blockhash.Hash
	for _, hash := range l.order {
		held = append(held, slices.Repeat([]blockhash.Hash{hash}, l.counts[hash])...)
	}
	_, err := l.model.Put(store.Batch{Generation: l.generation, Release: held})
	l.closed = true
	clear(l.counts)
	return err
}

// silent does not tell what was gone.
type silent struct{ *modelLease }

func (l silent) Close() error {
	_ = l.modelLease.Close()
	return nil
}

// repeating gives the same back again when it is closed again.
type repeating struct {
	*modelLease
	held []blockhash.Hash
}

func (l *repeating) Close() error {
	if l.closed {
		for _, hash := range l.held {
			_, _ = l.model.Put(store.Batch{Generation: l.generation, Release: []blockhash.Hash{hash}})
		}
		return nil
	}
	l.held = slices.Clone(l.order)
	return l.modelLease.Close()
}

// halfWay releases the first hashes of a list that it refuses.
type halfWay struct{ *modelLease }

func (l halfWay) Release(hashes []blockhash.Hash) error {
	err := l.modelLease.Release(hashes)
	if err != nil {
		_ = l.modelLease.Release(hashes[:min(1, len(hashes))])
	}
	return err
}

func TestStoresWhoseViewsOrLeasesOthersBreakAreCaught(t *testing.T) {
	viewsOf := func(breakIt func(*openModelView) View) func(*Model) Store {
		return func(m *Model) Store { return brokenViews{m, breakIt} }
	}
	leasesOf := func(breakIt func(*modelLease) Lease) func(*Model) Store {
		return func(m *Model) Store { return brokenLeases{m, breakIt} }
	}
	for name, tc := range map[string]struct {
		breakIt func(*Model) Store
		check   func(require.TestingT, Factory)
	}{
		"gives the blocks of a view in use away":       {viewsOf(func(v *openModelView) View { return hastyView{v} }), checkViewInUse},
		"goes on with whoever took the slots":          {viewsOf(func(v *openModelView) View { return strayView{hastyView{v}} }), checkViewInUse},
		"keeps the blocks of a view closed in use":     {viewsOf(func(v *openModelView) View { return leakyView{v} }), checkViewInUse},
		"keeps the blocks when a consumer panics":      {viewsOf(func(v *openModelView) View { return frailView{v} }), checkViewInUse},
		"gives nothing back if one hash is gone":       {leasesOf(func(l *modelLease) Lease { return allOrNothing{l} }), checkForeignRelease},
		"does not tell what was gone":                  {leasesOf(func(l *modelLease) Lease { return silent{l} }), checkForeignRelease},
		"gives back again when a lease is closed anew": {leasesOf(func(l *modelLease) Lease { return &repeating{modelLease: l} }), checkForeignRelease},
		"releases half of a list that it refuses":      {leasesOf(func(l *modelLease) Lease { return halfWay{l} }), checkForeignRelease},
	} {
		t.Run(name, func(t *testing.T) {
			factory := func(slots, blockBytes int) (Store, error) { return tc.breakIt(NewModel(slots, blockBytes)), nil }
			for _, f := range faults() {
				checkFault(t, factory, f)
			}
			checkPressure(t, factory)
			require.NotEmpty(t, verdict(func(t require.TestingT) { tc.check(t, factory) }), "nothing was noticed")
		})
	}
}

func TestTheModelAndTheStoreAreNotCaught(t *testing.T) {
	for name, factory := range map[string]Factory{
		"model": func(slots, blockBytes int) (Store, error) { return NewModel(slots, blockBytes), nil },
		"store": func(slots, blockBytes int) (Store, error) {
			s, err := store.New(store.Options{MaxBytes: int64(slots * blockBytes), BlockBytes: blockBytes})
			return Of(s), err
		},
	} {
		require.Empty(t, verdict(func(t require.TestingT) { checkViewInUse(t, factory); checkForeignRelease(t, factory) }), name)
	}
}

// waitingViews is a store whose Close of a view waits for those who use it.
type waitingViews struct{ adapted }

type waitingView struct {
	View
	writing chan struct{}
}

func (s waitingViews) OpenView(hashes []blockhash.Hash) (View, error) {
	view, err := s.adapted.OpenView(hashes)
	return waitingView{view, make(chan struct{}, 1)}, err
}

func (v waitingView) WriteTo(w io.Writer) (int64, error) {
	v.writing <- struct{}{}
	defer func() { <-v.writing }()
	return v.View.WriteTo(w)
}

func (v waitingView) Close() error {
	v.writing <- struct{}{}
	defer func() { <-v.writing }()
	return v.View.Close()
}

func TestAStoreWhoseCloseOfAViewWaitsForItsConsumerIsCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("LOUD: it takes as long as such a Close may take")
	}
	factory := func(slots, blockBytes int) (Store, error) {
		s, err := store.New(store.Options{MaxBytes: int64(slots * blockBytes), BlockBytes: blockBytes})
		return waitingViews{adapted{s}}, err
	}
	require.Contains(t, verdict(func(t require.TestingT) { checkStuckConsumer(t, factory) }), "Close waits")
}

// strayViews is a store whose views go on with what lies in their slots by then when
// they are closed while they are written.
type strayViews struct{ adapted }

type straySlots struct {
	View
	rows []byte // as they were when the view was opened
}

func (s strayViews) OpenView(hashes []blockhash.Hash) (View, error) {
	view, err := s.adapted.OpenView(hashes)
	if err != nil {
		return nil, err
	}
	var rows bytes.Buffer
	_, err = view.WriteTo(&rows)
	return straySlots{view, rows.Bytes()}, err
}

func (v straySlots) WriteTo(w io.Writer) (written int64, err error) {
	n := v.Len()
	if n == 0 {
		return v.View.WriteTo(w)
	}
	for rows := range slices.Chunk(slices.Clone(v.rows), len(v.rows)/n) {
		if written > 0 && v.Len() == 0 {
			clear(rows)
		}
		n, err := w.Write(rows)
		if written += int64(n); err != nil {
			return written, err
		}
	}
	return written, nil
}

func TestAStoreWhoseClosedViewsGoOnInOtherBlocksIsCaughtByItsHistories(t *testing.T) {
	require.NotEmpty(t, illegalHistory(t, func(slots, blockBytes int) (Store, error) {
		s, err := store.New(store.Options{MaxBytes: int64(slots * blockBytes), BlockBytes: blockBytes})
		return strayViews{adapted{s}}, err
	}, 20_000))
}

// twoSteps is a store whose leases look first and then retain.
type twoSteps struct{ adapted }

type twoStepLease struct {
	Lease
	store Store
}

func (s twoSteps) TakeLease() Lease { return twoStepLease{s.adapted.TakeLease(), s} }

func (l twoStepLease) RetainPrefix(hashes []blockhash.Hash) (int, error) {
	n := l.store.Prefix(hashes)
	return n, l.Lease.Retain(hashes[:n]) // others come in between
}

func TestAStoreWhoseLeasesLookAndRetainInTwoStepsIsCaughtByItsHistories(t *testing.T) {
	require.NotEmpty(t, illegalHistory(t, func(slots, blockBytes int) (Store, error) {
		s, err := store.New(store.Options{MaxBytes: int64(slots * blockBytes), BlockBytes: blockBytes})
		return twoSteps{adapted{s}}, err
	}, 20_000))
}
