package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/auxoutput/auxoutput/bench/engine"
	"github.com/auxoutput/auxoutput/connector"
)

// searchFlags are the command's flags as they were written.
type searchFlags struct {
	seeds  int
	first  uint64
	modes  string
	out    string
	replay string
	shrink int
	most   int
}

// newSearchCommand is the subcommand that hunts for holes.
func newSearchCommand() *cobra.Command {
	var flags searchFlags
	cmd := &cobra.Command{
		Use:   "search",
		Short: "Look for an engine and a workload that lose rows",
		Long: `Makes up small engines and workloads that strain them, and runs them with every row
checked: a hit that finds its rows gone, a put that fails, a wrong row, a step that is
refused, anything that is left behind at the end is a counterexample. Each one is made
as small as possible and can be written to a file and replayed.

In the reference mode, which retains every known hash as vLLM does, the known holes of
the reference are expected: they are named and do not count.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("search takes no argument %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runSearch(cmd, flags) },
	}
	f := cmd.Flags()
	f.IntVar(&flags.seeds, "seeds", 2000, "scenarios to try in each mode")
	f.Uint64Var(&flags.first, "first", 0, "seed of the first one")
	f.StringVar(&flags.modes, "modes", "fail-closed,row-gated,linked", "modes to search: fail-closed, row-gated, linked, reference")
	f.StringVar(&flags.out, "out", "", "file for the smallest counterexample")
	f.StringVar(&flags.replay, "replay", "", "replay the counterexample in this file instead")
	f.IntVar(&flags.shrink, "shrink", 5000, "runs that making a counterexample smaller may take")
	f.IntVar(&flags.most, "most", 1, "counterexamples after which the search in a mode ends")
	return cmd
}

// errFound reports that the search was not in vain.
var errFound = errors.New("counterexamples were found")

func runSearch(cmd *cobra.Command, flags searchFlags) error {
	if flags.replay != "" {
		return replayScenario(cmd.OutOrStdout(), flags.replay)
	}
	if flags.seeds < 1 || flags.most < 1 || flags.shrink < 0 {
		return usagef("search: --seeds and --most are at least 1, --shrink at least 0")
	}
	var modes []connector.Mode
	for _, name := range strings.Split(flags.modes, ",") {
		mode, err := connector.ParseMode(strings.TrimSpace(name))
		if err != nil {
			return usageError{err}
		}
		modes = append(modes, mode)
	}
	bar := newStatus(cmd.ErrOrStderr(), "searching", int64(flags.seeds*len(modes)), false)
	defer bar.done()
	found := 0
	for _, mode := range modes {
		n, err := searchMode(cmd.OutOrStdout(), mode, flags, bar)
		if err != nil {
			return err
		}
		found += n
	}
	if found > 0 {
		return errFound
	}
	return nil
}

// searchMode tries the seeds in one mode and returns how many counterexamples
// there were. In the reference mode it goes on until the holes that lose rows or
// fail a put have all shown themselves.
func searchMode(w io.Writer, mode connector.Mode, flags searchFlags, bar *status) (int, error) {
	found, tried, rows := 0, 0, int64(0)
	var known []string // holes seen
	for tried < flags.seeds && found < flags.most {
		seed := flags.first + uint64(tried)
		scenario := engine.Draw(mode, seed)
		report, err := scenario.Run()
		tried++
		bar.step()
		rows += report.RowsChecked
		if err == nil {
			continue
		}
		if hole := engine.Hole(scenario, report, err); hole != "" {
			if slices.Contains(known, hole) {
				continue
			}
			known = append(known, hole)
			fmt.Fprintf(w, "%s: %s at seed %d: %v\n", mode, hole, seed, err)
			if slices.Contains(known, "H1") && slices.Contains(known, "H2") && slices.Contains(known, "H3") {
				break
			}
			continue
		}
		found++
		small := engine.Shrink(scenario, flags.shrink)
		fmt.Fprintf(w, "%s: seed %d: %v\n", mode, seed, err)
		if err := writeScenario(w, flags.out, small); err != nil {
			return found, err
		}
	}
	slices.Sort(known)
	_, err := fmt.Fprintf(w, "%s: %d scenarios, %d rows checked, %d counterexamples%s\n",
		mode, tried, rows, found, strings.Join(append([]string{""}, known...), " "))
	return found, err
}

// writeScenario writes a counterexample to a file, or in short to w.
func writeScenario(w io.Writer, path string, s engine.Scenario) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if path == "" {
		_, err = fmt.Fprintf(w, "%s\n", data)
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o666)
}

// replayScenario runs a counterexample again.
func replayScenario(w io.Writer, path string) error {
	data, err := readRecording(path)
	if err != nil {
		return err
	}
	scenario, err := engine.ParseScenario(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	report, err := scenario.Run()
	if err != nil {
		return fmt.Errorf("%s: after %d steps and %d rows: %w", path, report.Steps, report.RowsChecked, err)
	}
	_, err = fmt.Fprintf(w, "%s: %d steps, %d rows checked, nothing wrong\n", path, report.Steps, report.RowsChecked)
	return err
}
