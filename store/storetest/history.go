package storetest

import (
	"bytes"
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
	"github.com/auxoutput/auxoutput/store"
)

// call is one operation of a history.
type call struct {
	op         string
	batch      store.Batch
	hashes     []blockhash.Hash
	generation uint64
	number     int // of the view or lease that is made or used
	write      int // of the writing of a view that is begun or ended
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
	shared := newHandles()
	for client := range historyClients {
		c := &historyClient{real: real, shared: shared, r: rand.New(rand.NewPCG(uint64(round), uint64(client))), number: client}
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
			for c.holds() { // or Close would wait for ever
				record(c.letGo())
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
	shared     *handles // of all clients
	views      []int    // those it opened and has not closed: others may have
	writes     []int    // those it began and has not ended
	closes     bool     // it is going to close the store
	closeFrom  int      // ... with this call, or as soon as it has no view open
}

func (c *historyClient) hashes(most int) []blockhash.Hash {
	var hashes []blockhash.Hash
	for range c.r.IntN(most + 1) {
		hashes = append(hashes, hashOf(c.r.IntN(6)))
	}
	return hashes
}

func (c *historyClient) draw(i int) call {
	in := call{op: "get", generation: c.generation, number: c.number*100 + i, write: c.number*100 + i}
	if c.closes && i >= c.closeFrom {
		if c.holds() {
			return c.letGo()
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
		kinds = append(kinds, "open view", "open view", "close view", "begin write", "begin write", "end write")
	}
	if _, ok := c.real.(Leaser); ok {
		kinds = append(kinds, "take lease", "retain by lease", "release by lease", "close lease")
	}
	in.op = kinds[c.r.IntN(len(kinds))]
	switch in.op {
	case "put":
		in.batch = store.Batch{Generation: c.generation, Retain: c.hashes(1), Release: c.hashes(1), Partial: c.r.IntN(4) == 0}
		for _, hash := range c.hashes(3) {
			in.batch.Blocks = append(in.batch.Blocks, store.Block{Hash: hash, Rows: payload(hash, c.number*10+i, historyBlock)})
		}
	case "close view", "begin write":
		return c.on(in, c.shared.viewNumbers())
	case "retain by lease", "release by lease", "close lease":
		in.hashes = c.hashes(3)
		return c.on(in, c.shared.leaseNumbers())
	case "end write":
		if len(c.writes) > 0 {
			return c.endWrite()
		}
		in.op = "get"
	default:
		in.hashes = c.hashes(3)
	}
	return in
}

// on is a call on one of the views or leases, whoever has made it; or a read, if there
// is none.
func (c *historyClient) on(in call, numbers []int) call {
	if len(numbers) == 0 {
		in.op = "get"
		return in
	}
	in.number = numbers[c.r.IntN(len(numbers))]
	return in
}

// holds reports whether the client keeps others from closing the store.
func (c *historyClient) holds() bool { return len(c.views)+len(c.writes) > 0 }

// letGo ends something that the client has begun.
func (c *historyClient) letGo() call {
	if len(c.writes) > 0 {
		return c.endWrite()
	}
	return call{op: "close view", number: c.views[0]}
}

func (c *historyClient) endWrite() call { return call{op: "end write", write: c.writes[0]} }

func (c *historyClient) do(in call) answer {
	out, generation := in.on(c.real, c.shared)
	switch {
	case in.op == "open view" && out.err == nil:
		c.views = append(c.views, in.number)
	case in.op == "close view":
		c.views = slices.DeleteFunc(c.views, func(n int) bool { return n == in.number })
	case in.op == "begin write" && out.err == nil:
		c.writes = append(c.writes, in.write)
	case in.op == "end write":
		c.writes = slices.DeleteFunc(c.writes, func(n int) bool { return n == in.write })
	}
	if generation != 0 {
		c.generation = generation
	}
	return out
}
