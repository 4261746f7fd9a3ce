package errors_test

import (
	"errors"
	"fmt"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// readRows fails the way a store does when it had to evict the second block.
func readRows() error {
	return &auxerrors.BlockObjectStoreError{
		Op: "get", Reason: auxerrors.ErrEvicted, Hash: []byte{0x1e, 0xf0}, Index: 1,
		Used: 100, Limit: 100, Advice: "increase max_bytes",
	}
}

// errors.Is tells whether the rows are gone, and whether a larger budget would
// have kept them.
func Example_is() {
	err := readRows()
	fmt.Println(errors.Is(err, auxerrors.ErrAbsent))
	fmt.Println(errors.Is(err, auxerrors.ErrEvicted))
	fmt.Println(errors.Is(err, auxerrors.ErrClosed))
	// Output:
	// true
	// true
	// false
}

// errors.As reaches the numbers.
func Example_as() {
	var failed *auxerrors.BlockObjectStoreError
	if err := readRows(); errors.As(err, &failed) {
		fmt.Printf("block %d (%x) is missing, %d of %d slots in use\n",
			failed.Index, failed.Hash, failed.Used, failed.Limit)
	}
	// Output: block 1 (1ef0) is missing, 100 of 100 slots in use
}
