package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// Rows of two blocks are published, and read back as one piece.
func Example() {
	s, err := store.New(store.Options{MaxBytes: 1 << 20, BlockBytes: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()

	chain := hashesOf(1, 2) // from blockhash.Chain, head first
	_, err = s.Put(store.Batch{Blocks: []store.Block{
		{Hash: chain[0], Rows: []byte("abcd")},
		{Hash: chain[1], Rows: []byte("efgh")},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := s.Get(nil, chain)
	fmt.Printf("%s %v\n", rows, err)
	// Output: abcdefgh <nil>
}

// A store of three slots: the tail of the older chain gives way first, and a
// read that needs it fails as a whole.
func Example_eviction() {
	s, _ := store.New(store.Options{MaxBytes: 12, BlockBytes: 4})
	defer s.Close()
	older, newer := hashesOf(1, 2), hashesOf(3, 4)
	for _, chain := range [][]store.Block{
		{{Hash: older[0], Rows: []byte("abcd")}, {Hash: older[1], Rows: []byte("efgh")}},
		{{Hash: newer[0], Rows: []byte("ijkl")}, {Hash: newer[1], Rows: []byte("mnop")}},
	} {
		s.Put(store.Batch{Blocks: chain})
	}
	_, err := s.Get(nil, older)
	var absent *auxerrors.BlockObjectStoreError
	if errors.As(err, &absent) {
		fmt.Println(errors.Is(err, auxerrors.ErrEvicted), "index", absent.Index)
	}
	fmt.Println("prefix", s.Prefix(older))
	// Output:
	// true index 1
	// prefix 1
}

// A request holds the blocks it may still need, and gives them back whatever
// happens to it.
func ExampleLease() {
	s, _ := store.New(store.Options{MaxBytes: 12, BlockBytes: 4})
	defer s.Close()
	lease := s.Lease()
	chain := hashesOf(1, 2)
	lease.Publish([]store.Block{{Hash: chain[0], Rows: []byte("abcd")}, {Hash: chain[1], Rows: []byte("efgh")}})
	fmt.Println("retained", s.Stats().Retained)

	other := s.Lease()
	n, _ := other.RetainPrefix(hashesOf(1, 2, 3))
	fmt.Println("hit", n)

	lease.Close()
	other.Close()
	fmt.Println("retained", s.Stats().Retained)
	// Output:
	// retained 2
	// hit 2
	// retained 0
}

// A view writes rows to where they are needed without copying them first.
func ExampleView() {
	s, _ := store.New(store.Options{MaxBytes: 12, BlockBytes: 4})
	defer s.Close()
	chain := hashesOf(1, 2)
	s.Put(store.Batch{Blocks: []store.Block{{Hash: chain[0], Rows: []byte("abcd")}, {Hash: chain[1], Rows: []byte("efgh")}}})

	v, err := s.View(chain)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer v.Close()
	v.WriteTo(os.Stdout)
	// Output: abcdefgh
}

// Rows are published in the background; a read waits for what was put before it.
func ExampleWriter() {
	s, _ := store.New(store.Options{MaxBytes: 12, BlockBytes: 4})
	defer s.Close()
	w, err := store.NewWriter(s, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	ctx := context.Background()
	w.Put(ctx, store.Batch{Blocks: []store.Block{{Hash: hashOf(1), Rows: bytes.Repeat([]byte("x"), 4)}}})
	rows, err := w.Get(ctx, nil, hashesOf(1))
	fmt.Printf("%s %v\n", rows, err)
	// Output: xxxx <nil>
}

// The budget that holds a row block for every hash block of a KV pool.
func ExampleBudget() {
	const rowBytes = 48 * 8 // Qwen3-30B-A3B: 48 layers, top-8, ids in one byte
	budget, err := store.Budget(27_306, 1, 16*rowBytes)
	fmt.Println(budget, err)
	// Output: 167768064 <nil>
}
