// Package storetest checks that a store of blocks behaves as package store
// promises: [Run] puts any implementation through the same tests that the
// library's own store passes.
//
// The specification is a program. [Model] is a literal, slow store: one list, full
// scans, a copy of everything before each batch. It is meant to be read. The first
// test draws sequences of operations and compares every answer, and the state as
// far as it can be seen, with the model's; a counterexample is made as small as
// possible. The others record histories of concurrent operations, Close and Reset
// among them, and ask whether the model could have given the same answers in some
// order; commit faults, after which a store has to answer like a twin on which none
// was committed; close views in use and release what leases hold, as others do; let
// operations race with Close; and watch limits: slots under many goroutines, memory
// under many hashes, and what a slot showed before.
//
//	func TestMyStore(t *testing.T) {
//		storetest.Run(t, func(slots, blockBytes int) (storetest.Store, error) {
//			return NewMyStore(slots, blockBytes)
//		})
//	}
//
// More cases are drawn with -rapid.checks, as for any test with rapid.
package storetest
