package main

import (
	"encoding/json"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/auxoutput/auxoutput/bench/scale"
	"github.com/auxoutput/auxoutput/bench/throughput"
)

// scaleFlags are the command's flags as they were written.
type scaleFlags struct {
	slots, block, gc, paper string
	rounds, goroutines      int
	json                    bool
}

// newScaleCommand is the subcommand that measures what growth costs.
func newScaleCommand() *cobra.Command {
	var flags scaleFlags
	cmd := &cobra.Command{
		Use:   "scale",
		Short: "Measure what changes as a store grows to millions of blocks",
		Long: `Measures what each block costs an operation in a small store and in a large one, what
hundreds of goroutines get out of one store, what the garbage collector notices of a full
one, and what a budget larger than the machine costs before it is used.

5 million blocks of 6 KiB are 30 GiB. The blocks here are smaller, so that a store of as many
fits a machine of 16 GiB: the book-keeping, which is what grows, does not depend on the size
of blocks. All rows read are checked.`,
		Example: `  bench scale
  bench scale --slots 50000,1000000 --block 6KiB --gc 4GiB`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("scale takes no argument %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runScale(cmd, flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.slots, "slots", "50000,5000000", "sizes of the stores in blocks, a,b,c")
	f.StringVar(&flags.block, "block", "2KiB", "size of their blocks")
	f.IntVar(&flags.rounds, "rounds", 5, "rounds")
	f.IntVar(&flags.goroutines, "goroutines", 256, "most goroutines that share a store")
	f.StringVar(&flags.gc, "gc", "10GiB", "store that garbage is collected beside")
	f.StringVar(&flags.paper, "paper", "1024GiB", "budget that is only reserved")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	return cmd
}

func (f scaleFlags) options() (o scale.Options, err error) {
	o.Rounds, o.Goroutines = f.rounds, f.goroutines
	for _, text := range strings.Split(f.slots, ",") {
		slots, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return o, usagef("--slots %q: want numbers of blocks", f.slots)
		}
		o.Slots = append(o.Slots, slots)
	}
	block, err := throughput.ParseBytes(f.block)
	if err == nil {
		o.GCBytes, err = throughput.ParseBytes(f.gc)
	}
	if err == nil {
		o.PaperBytes, err = throughput.ParseBytes(f.paper)
	}
	if err != nil {
		return o, usageError{err}
	}
	o.BlockBytes = int(min(block, 1<<30))
	if err := o.Check(); err != nil {
		return o, usageError{err}
	}
	return o, nil
}

func runScale(cmd *cobra.Command, flags scaleFlags) error {
	options, err := flags.options()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	bar := newStatus(cmd.ErrOrStderr(), "scale", int64(options.Ticks()), false)
	defer bar.done()
	report, err := scale.Measure(ctx, options, bar.step)
	if err != nil {
		return err
	}
	bar.done()
	if flags.json {
		encoder := json.NewEncoder(cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return report.WriteText(cmd.OutOrStdout())
}
