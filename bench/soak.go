package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/auxoutput/auxoutput/bench/soak"
)

// newSoakCommand is the subcommand that runs everything together for long.
func newSoakCommand() *cobra.Command {
	var minutes, ceiling float64
	var seed uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Run engines, store, writer and readers together under random faults",
		Long: `Runs simulated engines in every default mode, and beside them one store that readers,
viewers, leases, a background writer, resets and misuse share, with every row checked and
a ceiling on resident memory. It ends with what was done; any violation is exit code 1.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("soak takes no argument %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(minutes > 0 && minutes <= 7*24*60) || !(ceiling >= 0 && ceiling < math.MaxInt64/(1<<20)) {
				return usagef("soak: --minutes is above 0 and at most a week, --max-rss-mib at least 0")
			}
			duration := time.Duration(minutes * float64(time.Minute))
			bar := newStatus(cmd.ErrOrStderr(), "soaking", int64(duration/time.Second), false)
			defer bar.done()
			summary, err := soak.Run(cmd.Context(), soak.Options{
				Duration: duration, Seed: seed, MaxResident: int64(ceiling * (1 << 20)),
			}, func(time.Duration) { bar.step() })
			if err != nil {
				return err
			}
			bar.done()
			return writeSoak(cmd.OutOrStdout(), summary, asJSON)
		},
	}
	f := cmd.Flags()
	f.Float64Var(&minutes, "minutes", 1, "how long")
	f.Float64Var(&ceiling, "max-rss-mib", 512, "resident memory that must not be passed, in MiB; 0 means no limit")
	f.Uint64Var(&seed, "seed", uint64(time.Now().UnixNano()), "seed of what is drawn (default from the clock)")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func writeSoak(w io.Writer, s soak.Summary, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(s); err != nil {
			return err
		}
	} else {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, line := range []struct {
			what string
			n    int64
		}{
			{"engine scenarios", s.Scenarios}, {"requests finished", s.Finished}, {"rows checked", s.RowsChecked},
			{"puts", s.Puts}, {"puts refused for room or generation", s.Refused}, {"misuses refused", s.Misused},
			{"reads", s.Reads}, {"reads of absent blocks", s.Absent}, {"views", s.Views}, {"consumers that panicked", s.Panicked},
			{"leases", s.Leases}, {"resets", s.Resets}, {"blocks checked", s.Blocks},
		} {
			fmt.Fprintf(table, "%s\t%d\n", line.what, line.n)
		}
		fmt.Fprintf(table, "peak resident\t%s\n", mebibytes(s.PeakResident))
		fmt.Fprintf(table, "seconds\t%.1f\n", s.Seconds)
		if err := table.Flush(); err != nil {
			return err
		}
		for _, violation := range s.Violations {
			fmt.Fprintln(w, "violation:", violation)
		}
		if _, err := fmt.Fprintf(w, "%d violations\n", len(s.Violations)); err != nil {
			return err
		}
	}
	if n := len(s.Violations); n > 0 {
		return fmt.Errorf("%d violations", n)
	}
	return nil
}
