package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// sequentialState is the model between two operations.
type sequentialState struct {
	model  *Model
	shared *handles
}

// sequential is the model as porcupine wants it: without memory of its own.
func sequential(slots int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return sequentialState{NewModel(slots, historyBlock), newHandles()} },
		Step: func(state, input, output any) (bool, any) {
			next := state.(sequentialState).clone()
			return next.step(input.(call), output.(answer)), next
		},
		Equal:             func(a, b any) bool { return a.(sequentialState).text() == b.(sequentialState).text() },
		DescribeOperation: describe,
	}
}

// step does an operation and reports whether the answer is the model's.
func (s sequentialState) step(in call, out answer) bool {
	if !s.shared.has(in) {
		return false // another client uses it before it is made
	}
	want, _ := in.on(s.model, s.shared)
	if in.op == "end write" {
		if out.err != nil {
			return errors.Is(want.err, auxerrors.ErrClosed) && errors.Is(out.err, auxerrors.ErrClosed) &&
				len(out.rows) < len(want.rows) && bytes.HasPrefix(want.rows, out.rows)
		}
		return bytes.Equal(want.rows, out.rows)
	}
	return want.result == out.result && want.n == out.n && bytes.Equal(want.rows, out.rows) && sameAnswer(want.err, out.err)
}

// sameAnswer compares errors as sameReason does.
func sameAnswer(want, got error) bool {
	if want == nil || got == nil {
		return want == nil && got == nil
	}
	var model, typed *auxerrors.BlockObjectStoreError
	if !errors.As(want, &model) || !errors.As(got, &typed) {
		return false
	}
	if errors.Is(want, auxerrors.ErrAbsent) {
		return errors.Is(got, auxerrors.ErrAbsent) && model.Index == typed.Index
	}
	return errors.Is(got, model.Reason)
}

// clone copies the state, for porcupine tries many orders.
func (s sequentialState) clone() sequentialState {
	m := *s.model
	copies := map[*modelBlock]*modelBlock{}
	copyOf := func(b *modelBlock) *modelBlock {
		if copies[b] == nil {
			c := *b
			copies[b] = &c
		}
		return copies[b]
	}
	m.order = nil
	for _, block := range s.model.order {
		m.order = append(m.order, copyOf(block))
	}
	saved := s.model.save()
	m.refs, m.gone = saved.refs, saved.gone
	m.views = nil
	views := map[*modelView]*modelView{}
	viewOf := func(v *modelView) *modelView {
		if views[v] == nil {
			c := &modelView{uses: v.uses, closed: v.closed}
			for _, block := range v.blocks {
				c.blocks = append(c.blocks, copyOf(block))
			}
			views[v] = c
		}
		return views[v]
	}
	for _, view := range s.model.views {
		m.views = append(m.views, viewOf(view))
	}
	shared := newHandles()
	for n, view := range s.shared.views {
		shared.views[n] = &openModelView{&m, viewOf(view.(*openModelView).view)}
	}
	for n, write := range s.shared.writes {
		shared.writes[n] = &heldWrite{model: &openModelView{&m, viewOf(write.model.view)}}
	}
	for n, lease := range s.shared.leases {
		c := *lease.(*modelLease)
		c.model, c.order, c.counts = &m, slices.Clone(c.order), maps.Clone(c.counts)
		shared.leases[n] = &c
	}
	return sequentialState{&m, shared}
}

// text is the state in a form that can be compared; why blocks are gone is left
// out, since stores may forget it.
func (s sequentialState) text() string {
	var b bytes.Buffer
	fmt.Fprintln(&b, s.model.generation, s.model.closed)
	for _, block := range s.model.order {
		fmt.Fprintln(&b, block.hash, block.rows[0], block.views, block.removed)
	}
	for n := range universe {
		fmt.Fprintln(&b, s.model.refs[hashOf(n)])
	}
	for _, n := range s.shared.viewNumbers() {
		view := s.shared.views[n].(*openModelView).view
		fmt.Fprintln(&b, n, view.closed, view.uses)
		for _, block := range view.blocks {
			fmt.Fprintln(&b, block.hash, block.rows[0])
		}
	}
	for _, n := range s.shared.leaseNumbers() {
		lease := s.shared.leases[n].(*modelLease)
		fmt.Fprintln(&b, n, lease.closed, lease.generation, lease.order)
		for _, hash := range lease.order {
			fmt.Fprintln(&b, lease.counts[hash])
		}
	}
	fmt.Fprintln(&b, slices.Sorted(maps.Keys(s.shared.writes)))
	return b.String()
}

// describe tells an operation in a line.
func describe(input, output any) string {
	in, out := input.(call), output.(answer)
	names := func(hashes []blockhash.Hash) (list []int) {
		for _, hash := range hashes {
			for n := range universe {
				if hashOf(n) == hash {
					list = append(list, n)
				}
			}
		}
		return list
	}
	text := in.op
	if in.op == "put" {
		var blocks []blockhash.Hash
		for _, block := range in.batch.Blocks {
			blocks = append(blocks, block.Hash)
		}
		text += fmt.Sprintf(" %v retain %v release %v generation %d partial %v: %+v", names(blocks),
			names(in.batch.Retain), names(in.batch.Release), in.batch.Generation, in.batch.Partial, out.result)
	} else {
		text += fmt.Sprintf(" %v number %d: n=%d, %d bytes", names(in.hashes), in.number, out.n, len(out.rows))
	}
	if out.err != nil {
		text += ": " + out.err.Error()
	}
	return text
}
