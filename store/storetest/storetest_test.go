package storetest_test

import (
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
	"github.com/auxoutput/auxoutput/store/storetest"
)

// TestMain keeps rapid from writing down the counterexamples of stores that are
// broken on purpose, and from trying them first the next time. No store, broken or
// not, may leave a goroutine behind.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err) // rapid has the flag
	}
	goleak.VerifyTestMain(m)
}

func TestTheModelIsAStore(t *testing.T) {
	storetest.SequentialRun(t, func(slots, blockBytes int) (storetest.Store, error) {
		return storetest.NewModel(slots, blockBytes), nil
	})
}

// The broken stores are models with one mistake each.

// headFirst touches lists from the head on, so that tails end newest.
type headFirst struct{ *storetest.Model }

func (s headFirst) Put(batch store.Batch) (store.PutResult, error) {
	batch.Blocks = reversed(batch.Blocks)
	batch.Release = reversed(batch.Release)
	return s.Model.Put(batch)
}

func reversed[T any](list []T) []T {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

// partialBatch stores what it can of a batch that it refuses.
type partialBatch struct{ *storetest.Model }

func (s partialBatch) Put(batch store.Batch) (store.PutResult, error) {
	result, err := s.Model.Put(batch)
	if errors.Is(err, auxerrors.ErrCannotFit) && len(batch.Blocks) > 1 {
		_, _ = s.Model.Put(store.Batch{Generation: batch.Generation, Blocks: batch.Blocks[:1]})
	}
	return result, err
}

// staleSlot finds an evicted block where another one is by now.
type staleSlot struct {
	*storetest.Model
	seen map[blockhash.Hash]bool
}

func (s staleSlot) Put(batch store.Batch) (store.PutResult, error) {
	result, err := s.Model.Put(batch)
	if err == nil {
		for _, block := range batch.Blocks {
			s.seen[block.Hash] = true
		}
	}
	return result, err
}

func (s staleSlot) Get(dst []byte, hashes []blockhash.Hash) ([]byte, error) {
	found := slices.Clone(hashes)
	for i, hash := range found {
		if there := s.Snapshot().Evictable; s.seen[hash] && s.Prefix(found[i:i+1]) == 0 && len(there) > 0 {
			found[i] = there[0]
		}
	}
	return s.Model.Get(dst, found)
}

// leakyRetain keeps the retains of a batch that it refuses, as the reference does.
type leakyRetain struct{ *storetest.Model }

func (s leakyRetain) Put(batch store.Batch) (store.PutResult, error) {
	result, err := s.Model.Put(batch)
	if errors.Is(err, auxerrors.ErrCannotFit) {
		_, _ = s.Model.Put(store.Batch{Generation: batch.Generation, Retain: batch.Retain})
	}
	return result, err
}

// touchOnPrefix counts a look as a use.
type touchOnPrefix struct{ *storetest.Model }

func (s touchOnPrefix) Prefix(hashes []blockhash.Hash) int {
	n := s.Model.Prefix(hashes)
	_, _ = s.Model.Get(nil, hashes[:n])
	return n
}

// shrinkTime is less than rapid takes at most to make a counterexample smaller.
const shrinkTime = 25 * time.Second

func TestBrokenStoresAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("LOUD: rapid draws too few cases under -short to promise anything")
	}
	for name, breakIt := range map[string]func(*storetest.Model) storetest.Store{
		"evicts heads first":           func(m *storetest.Model) storetest.Store { return headFirst{m} },
		"shows part of a batch":        func(m *storetest.Model) storetest.Store { return partialBatch{m} },
		"returns what took the slot":   func(m *storetest.Model) storetest.Store { return staleSlot{m, map[blockhash.Hash]bool{}} },
		"leaks retains when refusing":  func(m *storetest.Model) storetest.Store { return leakyRetain{m} },
		"takes a look for a use of it": func(m *storetest.Model) storetest.Store { return touchOnPrefix{m} },
	} {
		t.Run(name, func(t *testing.T) {
			property := storetest.Property(func(slots, blockBytes int) (storetest.Store, error) {
				return breakIt(storetest.NewModel(slots, blockBytes)), nil
			})
			began := time.Now()
			caught := check(t, property)
			require.NotEmpty(t, caught, "nothing was noticed")
			require.Contains(t, caught, "draw action", "a counterexample is told as a list of operations")
			if time.Since(began) > shrinkTime {
				t.Logf("LOUD: this machine was too busy to make the counterexample small:\n%s", caught)
				return
			}
			require.LessOrEqual(t, strings.Count(caught, "draw action"), 12, "the counterexample is not small:\n%s", caught)
		})
	}
}

// check runs a property as a test of its own and returns what that test said if it
// failed.
func check(t *testing.T, property func(*rapid.T)) string {
	inner := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		rapid.Check(inner, property)
	}()
	<-done
	if !inner.failed {
		return ""
	}
	return inner.text.String()
}

// recorder is a test that keeps to itself that it failed.
type recorder struct {
	testing.TB
	failed bool
	text   strings.Builder
}

func (r *recorder) Name() string                    { return "Broken" }
func (r *recorder) Logf(format string, args ...any) { fmt.Fprintf(&r.text, format+"\n", args...) }
func (r *recorder) Log(args ...any)                 { fmt.Fprintln(&r.text, args...) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	r.Logf(format, args...)
}
func (r *recorder) Error(args ...any) {
	r.failed = true
	r.Log(args...)
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}
func (r *recorder) FailNow() {
	r.failed = true
	runtime.Goexit()
}
func (r *recorder) Fail()        { r.failed = true }
func (r *recorder) Failed() bool { return r.failed }
