// Command bench sizes, replays and checks stores of routing rows.
//
// Without arguments it does the main job: it replays a generated multi-turn
// trace through the prefix-cache model and the store, checks every row that
// comes back, and prints which max_bytes is safe. "bench -h" lists the rest.
//
// Exit codes: 0 all is well, 1 a check failed or the data is damaged, 2 usage.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// usageError is a mistake in how the command was called, as opposed to one in
// the data it was called on.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// usagef makes a usageError.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes the command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "bench:", err)
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintln(stderr, `see "bench -h"`)
		return 2
	}
	return 1
}
