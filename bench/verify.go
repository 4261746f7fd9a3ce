package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/auxoutput/auxoutput/internal/golden"
)

// maxRecording is the largest file that verify reads: the recordings are of one
// or two megabytes.
const maxRecording = 256 << 20

// newVerifyCommand is the subcommand that holds this library against recorded
// results of the reference implementations.
func newVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE...",
		Short: "Replay recorded results of the reference implementations",
		Long: `Replays recordings of the reference implementations and compares everything they
recorded: block hashes, the KV prefix cache, the store, the tail buffer, both halves of
the connector step by step. The kind of a file is recognised from its content. Every difference is printed with the trace, the
number of the operation, what was expected and what came; the last line counts.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("verify: name at least one file")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runVerify(cmd.OutOrStdout(), args) },
	}
}

func runVerify(w io.Writer, paths []string) error {
	passed, deviate, failed := 0, 0, 0
	for _, path := range paths {
		data, err := readRecording(path)
		if err != nil {
			return err
		}
		kind, report, err := golden.File(data)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, failure := range report.Failures {
			fmt.Fprintf(w, "%s: %s\n", path, failure)
		}
		fmt.Fprintf(w, "%s: %s: %d passed, %d failed", path, kind, report.Passed, report.Failed)
		if report.Deviates > 0 {
			fmt.Fprintf(w, ", %d deviates (as documented)", report.Deviates)
		}
		fmt.Fprintln(w)
		passed += report.Passed
		deviate += report.Deviates
		failed += report.Failed
	}
	if deviate > 0 {
		fmt.Fprintf(w, "%d deviates (as documented): where this library does better than the reference, and was checked for that\n", deviate)
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return fmt.Errorf("%d of %d recorded results differ", failed, passed+deviate+failed)
	}
	return nil
}

// readRecording reads a whole file, unless it is larger than any recording.
func readRecording(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // opened for reading: nothing to lose
	data, err := io.ReadAll(io.LimitReader(file, maxRecording+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxRecording {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxRecording)
	}
	return data, nil
}
