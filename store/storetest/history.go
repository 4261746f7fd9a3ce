package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// call is one operation of a history.
type call struct {
	op         string
	batch      store.Batch
	hashes     []blockhash.Hash
	generation uint64
	view       int // number of the view that is opened or closed
}

// answer is what an operation returned.
type answer struct {
	result store.PutResult
	rows   []byte
	n      int
	err    error
}

// historyClients and historyCalls are the size of a history, closing calls left
// aside. Checking takes time that grows fast with what overlaps.
const (
	historyClients = 3
	historyCalls   = 6
	histories      = 500
)

// checkHistories records what concurrent clients do and get, and looks for an order
// in which the model gives the same answers. Resets may come at any time; a quarter
// of the histories are crossed by a Close.
func checkHistories(t *testing.T, factory Factory) {
	rounds := histories
	if testing.Short() {
		rounds = histories / 10
	}
	if text := illegalHistory(t, factory, rounds); text != "" {
		t.Fatalf("no order of these operations explains their answers:\n%s", text)
	}
}

// historyTime is how long more histories are recorded on a busy machine, where few
// of their operations overlap.
const historyTime = 3 * time.Second

// illegalHistory is the first history found that no order explains, "" if there is
// none. It records more than the rounds asked for until in a fifth of them operations
// overlap.
func illegalHistory(t *testing.T, factory Factory, rounds int) string {
	overlaps, round := 0, 0
	began := time.Now()
	for ; round < rounds || overlaps < rounds/5 && time.Since(began) < historyTime; round++ {
		slots := 1 + round%5
		history := recordHistory(t, factory, slots, round)
		if overlapping(history) {
			overlaps++
		}
		switch porcupine.CheckOperationsTimeout(sequential(slots), history, 10*time.Second) {
		case porcupine.Unknown:
			t.Logf("LOUD: round %d took too long to check", round)
		case porcupine.Illegal:
			var b bytes.Buffer
			for _, op := range history {
				fmt.Fprintf(&b, "client %d [%d,%d] %s\n", op.ClientId, op.Call, op.Return, describe(op.Input, op.Output))
			}
			return b.String()
		}
	}
	if overlaps == 0 {
		t.Logf("LOUD: in none of %d histories operations overlapped: they prove little", round)
	}
	t.Logf("%d of %d histories had operations that overlap", overlaps, round)
	return ""
}

// overlapping reports whether an operation began before another one ended.
func overlapping(history []porcupine.Operation) bool {
	for _, op := range history {
		if op.Return > op.Call+1 { // the clock went on in between
			return true
		}
	}
	return false
}

// historyBlock is the size of a block in histories: large enough that copies
// overlap with other operations.
const historyBlock = 4096

// recordHistory records one history. The round decides what is drawn, and who closes
// the store, if anybody does.
func recordHistory(t require.TestingT, factory Factory, slots, round int) []porcupine.Operation {
	real, err := factory(slots, historyBlock)
	require.NoError(t, err)
	var clock atomic.Int64
	var mu sync.Mutex
	var history []porcupine.Operation
	var wg sync.WaitGroup
	var together meeting
	for client := range historyClients {
		c := &historyClient{real: real, r: rand.New(rand.NewPCG(uint64(round), uint64(client))), number: client}
		c.closes = round%4 == 3 && round/4%historyClients == client
		c.closeFrom = round / 4 / historyClients % historyCalls
		wg.Go(func() {
			record := func(input call) {
				called := clock.Add(1)
				output := c.do(input)
				returned := clock.Add(1)
				mu.Lock()
				defer mu.Unlock()
				history = append(history, porcupine.Operation{
					ClientId: client, Input: input, Output: output, Call: called, Return: returned,
				})
			}
			for i := range historyCalls {
				input := c.draw(i)
				together.wait(i)
				record(input)
			}
			for len(c.views) > 0 { // or Close would wait for ever
				record(c.closeView())
			}
			if c.closes {
				record(call{op: "close"})
			}
		})
	}
	wg.Wait()
	require.NoError(t, real.Close())
	return history
}

// meeting lets clients begin their calls together: a call is over so soon that they
// would hardly ever overlap otherwise.
type meeting struct{ here [historyCalls]atomic.Int32 }

// wait waits for the other clients, but not for long: one of them may be waiting for
// this one to close a view.
func (m *meeting) wait(i int) {
	m.here[i].Add(1)
	for range 1000 {
		if m.here[i].Load() == historyClients {
			return
		}
		runtime.Gosched()
	}
}

// historyClient draws operations and carries them out.
type historyClient struct {
	real       Store
	r          *rand.Rand
	number     int
	generation uint64
	views      map[int]View
	closes     bool // it is going to close the store
	closeFrom  int  // ... with this call, or as soon as it has no view open
}

func (c *historyClient) hashes(most int) []blockhash.Hash {
	var hashes []blockhash.Hash
	for range c.r.IntN(most + 1) {
		hashes = append(hashes, hashOf(c.r.IntN(6)))
	}
	return hashes
}

func (c *historyClient) draw(i int) call {
	in := call{op: "get", generation: c.generation, view: c.number*100 + i}
	if c.closes && i >= c.closeFrom {
		if len(c.views) > 0 {
			return c.closeView()
		}
		c.closes = false
		in.op = "close"
		return in
	}
	kinds := []string{"put", "put", "put", "get", "get", "prefix", "reset"}
	if _, ok := c.real.(PrefixRetainer); ok {
		kinds = append(kinds, "retain prefix")
	}
	if _, ok := c.real.(Remover); ok {
		kinds = append(kinds, "remove")
	}
	if _, ok := c.real.(Viewer); ok {
		kinds = append(kinds, "open view", "close view")
	}
	in.op = kinds[c.r.IntN(len(kinds))]
	switch in.op {
	case "put":
		in.batch = store.Batch{Generation: c.generation, Retain: c.hashes(1), Release: c.hashes(1), Partial: c.r.IntN(4) == 0}
		for _, hash := range c.hashes(3) {
			in.batch.Blocks = append(in.batch.Blocks, store.Block{Hash: hash, Rows: payload(hash, c.number*10+i, historyBlock)})
		}
	case "close view":
		return c.closeView()
	default:
		in.hashes = c.hashes(3)
	}
	return in
}

// closeView closes any of the client's views.
func (c *historyClient) closeView() call {
	for view := range c.views {
		return call{op: "close view", view: view}
	}
	return call{op: "get"}
}

func (c *historyClient) do(in call) answer {
	if c.views == nil {
		c.views = map[int]View{}
	}
	out, generation := in.on(c.real, c.views)
	if generation != 0 {
		c.generation = generation
	}
	return out
}

// on does the operation on a store or on the model, of which views are the open
// views by number. The generation is the new one of a reset, else 0.
func (in call) on(s Store, views map[int]View) (out answer, generation uint64) {
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
			views[in.view] = view
		}
	case "close view":
		// The rows that it showed to the end are part of the answer.
		var rows bytes.Buffer
		if _, out.err = views[in.view].WriteTo(&rows); out.err == nil {
			out.rows = rows.Bytes()
			out.err = views[in.view].Close()
		}
		delete(views, in.view)
	case "close":
		out.err = s.Close()
	}
	return out, generation
}

// sequentialState is the model between two operations.
type sequentialState struct {
	model *Model
	views map[int]View
}

// sequential is the model as porcupine wants it: without memory of its own.
func sequential(slots int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return sequentialState{NewModel(slots, historyBlock), map[int]View{}} },
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
	want, _ := in.on(s.model, s.views)
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
	views := map[int]View{}
	for _, view := range s.model.views {
		c := &modelView{}
		for _, block := range view.blocks {
			c.blocks = append(c.blocks, copyOf(block))
		}
		m.views = append(m.views, c)
		for number, open := range s.views {
			if open := open.(*openModelView); open.view == view {
				views[number] = &openModelView{&m, c, open.closed}
			}
		}
	}
	return sequentialState{&m, views}
}

// text is the state in a form that can be compared; why blocks are gone is left
// out, since stores may forget it.
func (s sequentialState) text() string {
	var b bytes.Buffer
	fmt.Fprintln(&b, s.model.generation, s.model.closed)
	for _, block := range s.model.order {
		fmt.Fprintln(&b, block.hash, block.rows[0], block.views, block.doomed)
	}
	for n := range universe {
		fmt.Fprintln(&b, s.model.refs[hashOf(n)])
	}
	numbers := make([]int, 0, len(s.views))
	for number := range s.views {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		fmt.Fprintln(&b, number)
		for _, block := range s.views[number].(*openModelView).view.blocks {
			fmt.Fprintln(&b, block.hash, block.rows[0])
		}
	}
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
		text += fmt.Sprintf(" %v view %d: n=%d, %d bytes", names(in.hashes), in.view, out.n, len(out.rows))
	}
	if out.err != nil {
		text += ": " + out.err.Error()
	}
	return text
}
