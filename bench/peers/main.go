// Command peers does the same work with the store, with other Go caches and with
// bare copies, and writes how they compare. README.md says what is measured and
// how.
//
// Exit codes: 0 all is well, 1 a cache failed or returned wrong rows, 2 usage.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/auxoutput/auxoutput/bench/machine"
	"github.com/auxoutput/auxoutput/bench/throughput"
)

// errUsage is a mistake in how the command was called.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(2)
	}
	fmt.Fprintln(os.Stderr, "peers:", err)
	os.Exit(1)
}

// options are the flags.
type options struct {
	budget, block, source string
	rounds                int
	peers                 string
	child                 string
	md, json, svg         string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.budget, "budget", "256MiB", "budgets, a,b,c")
	f.StringVar(&o.block, "block", "6KiB", "sizes of blocks, a,b,c")
	f.StringVar(&o.source, "source", "512MiB", "region that rows are put from: larger than the machine's caches")
	f.IntVar(&o.rounds, "rounds", 5, "rounds, each with one process for each peer")
	f.StringVar(&o.peers, "peers", "", "peers, a,b,c (default all)")
	f.StringVar(&o.child, "child", "", "measure this peer beside the limit, once, in this process, and print JSON")
	f.StringVar(&o.md, "md", "", "file for the Markdown tables (default standard output)")
	f.StringVar(&o.json, "json", "", "file for all figures of all rounds as JSON")
	f.StringVar(&o.svg, "svg", "", "file for the picture")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("%w: %w", errUsage, err)
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("%w: no argument %q is expected", errUsage, f.Arg(0))
	}
	if o.rounds < 1 || o.rounds > 1000 {
		return o, fmt.Errorf("%w: %d rounds: want 1 to 1000", errUsage, o.rounds)
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	setups, err := throughput.ParseSetups(o.budget, o.block, o.source)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if o.child != "" {
		return runChild(ctx, o.child, setups[0], stdout)
	}
	picked, err := chosen(o.peers)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	report := report{Machine: machine.Line()}
	for _, setup := range setups {
		matches, err := compare(ctx, setup, picked, o.rounds, stderr)
		if err != nil {
			return err
		}
		report.Matches = append(report.Matches, matches)
	}
	return report.write(o, stdout)
}

// runChild measures one contestant beside the limit in this process.
func runChild(ctx context.Context, name string, setup throughput.Setup, stdout io.Writer) error {
	var both []throughput.Contestant
	for _, name := range []string{throughput.LimitName, name} {
		contestant, err := find(name)
		if err != nil {
			return fmt.Errorf("%w: %w", errUsage, err)
		}
		both = append(both, contestant)
	}
	runs, err := throughput.Measure(ctx, setup, both...)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(runs)
}
