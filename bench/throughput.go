package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/auxoutput/auxoutput/bench/machine"
	"github.com/auxoutput/auxoutput/bench/throughput"
)

// throughputFlags are the command's flags as they were written.
type throughputFlags struct {
	budget string
	block  string
	source string
	rounds int
	json   bool
}

// newThroughputCommand is the subcommand that measures the store beside bare
// copies.
func newThroughputCommand() *cobra.Command {
	var flags throughputFlags
	cmd := &cobra.Command{
		Use:   "throughput",
		Short: "Measure puts and reads of the store as shares of bare copies",
		Long: `Measures the store beside bare copies of the same bytes into and out of a region
of the same size, turn by turn in the same process.

Ratios are medians over the rounds, with the worst and the best round beside
them; 1.00 is as fast as the copies alone. Absolute figures say more about the
machine, and about what else runs on it. All rows read are checked.

bench/peers, a module of its own, does the same work with other Go caches.`,
		Example: `  bench throughput
  bench throughput --budget 1GiB --block 6KiB,58KiB --rounds 3 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("throughput takes no argument %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runThroughput(cmd, flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.budget, "budget", "256MiB", "budgets, a,b,c")
	f.StringVar(&flags.block, "block", "6KiB,58KiB", "sizes of blocks, a,b,c")
	f.StringVar(&flags.source, "source", "512MiB", "region that rows are put from: larger than the machine's caches")
	f.IntVar(&flags.rounds, "rounds", 5, "rounds")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	return cmd
}

func runThroughput(cmd *cobra.Command, flags throughputFlags) error {
	setups, err := throughput.ParseSetups(flags.budget, flags.block, flags.source)
	if err != nil {
		return usageError{err}
	}
	if flags.rounds < 1 || flags.rounds > 1000 {
		return usagef("--rounds %d: want 1 to 1000", flags.rounds)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	bar := newStatus(cmd.ErrOrStderr(), "throughput", int64(len(setups)*flags.rounds), false)
	defer bar.done()
	report := throughputReport{Machine: machine.Line()}
	for _, setup := range setups {
		setup.Retained, setup.Allocations = []int{0, 50, 99}, true
		summary, err := measureOwn(ctx, setup, flags.rounds, bar)
		if err != nil {
			return err
		}
		report.Summaries = append(report.Summaries, summary)
	}
	bar.done()
	if flags.json {
		encoder := json.NewEncoder(cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return report.print(cmd.OutOrStdout())
}

// measureOwn measures the store beside the limit that has the same kind of
// memory.
func measureOwn(ctx context.Context, setup throughput.Setup, rounds int, bar *status) (throughput.Summary, error) {
	var contestants []throughput.Contestant
	for _, c := range throughput.Own() {
		if c.Name != throughput.SmallPageName {
			contestants = append(contestants, c)
		}
	}
	var bouts [][]throughput.Run
	for range rounds {
		runs, err := throughput.Measure(ctx, setup, contestants...)
		if err != nil {
			return throughput.Summary{}, err
		}
		bouts = append(bouts, runs)
		bar.step()
	}
	return throughput.Summarise(setup, bouts), nil
}

// throughputReport is what the command prints.
type throughputReport struct {
	Machine   string               `json:"machine"`
	Summaries []throughput.Summary `json:"summaries"`
}

func (r throughputReport) print(w io.Writer) error {
	fmt.Fprintln(w, r.Machine)
	for _, summary := range r.Summaries {
		fmt.Fprintln(w)
		if err := summary.WriteText(w, throughput.StoreName); err != nil {
			return err
		}
	}
	return nil
}
