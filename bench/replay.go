package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/auxoutput/auxoutput/bench/engine"
	"github.com/auxoutput/auxoutput/bench/trace"
	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// replayFlags are the command's flags as they were written.
type replayFlags struct {
	trace       string
	block       int
	requests    int
	output      int
	concurrency int
	kvBlocks    int
	batch       int
	chunk       int
	lag         bool
	rows        rowsFlags
	runs        string
	json        bool
}

// replayProfile has small rows: what is checked does not depend on their size.
const replayProfile = "1,8,256"

// replayRun is one line of the table: a mode, and a store of a share of the KV
// cache's blocks.
type replayRun struct {
	Mode     connector.Mode
	Fraction float64
}

// newReplayCommand is the subcommand that serves a trace.
func newReplayCommand() *cobra.Command {
	var flags replayFlags
	cmd := &cobra.Command{
		Use:   "replay --trace FILE",
		Short: "Serve a request trace with the simulated engine, and check every row",
		Long: `Serves the requests of a trace with continuous batching, prefix hits, chunked prefill
and decoding, through the connector and the store, in several modes of coherence, and
checks every row that any request gets. Block ids become tokens; what is generated has
no ids in a trace and is made up.

A run is a mode and the size of the store as a share of the KV cache's blocks:
fail-closed fails a request whose rows are gone, row-gated and linked compute them
again. tokens/s are prompts and answers served a second, on the wall clock, with every row
checked and two runs at a time.`,
		Example: `  bench replay --trace miniswe.jsonl --concurrency 8 --kv-blocks 4000
  bench replay --trace conversation.jsonl --runs fail-closed:1,row-gated:0.5 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("replay takes no argument %q: name the file with --trace", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runReplay(cmd, flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.trace, "trace", "", "trace file (required)")
	f.IntVar(&flags.block, "block", 0, "tokens of a block, where the file leaves it open")
	f.IntVar(&flags.requests, "requests", 0, "most requests to serve (default all)")
	f.IntVar(&flags.output, "output", 0, "most tokens to generate for a request (default as in the trace)")
	f.IntVar(&flags.concurrency, "concurrency", 8, "requests in the engine at a time")
	f.IntVar(&flags.kvBlocks, "kv-blocks", 4000, "blocks of the KV cache, the null block included")
	f.IntVar(&flags.batch, "batch-tokens", 8192, "most tokens of a step")
	f.IntVar(&flags.chunk, "chunk-tokens", 0, "most tokens of one request in a step (default no limit)")
	f.BoolVar(&flags.lag, "lag", true, "schedule a step before the output of the previous one is known")
	f.StringVar(&flags.rows.profile, "profile", "", "layers,top-k,experts of the rows (default "+replayProfile+")")
	f.StringVar(&flags.rows.model, "model", "", "known model instead of a profile")
	f.StringVar(&flags.runs, "runs", "fail-closed:1,fail-closed:0.5,row-gated:0.5,linked:0.5", "mode:share of the KV cache's blocks, ...")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	return cmd
}

// replayReport is the outcome of one run.
type replayReport struct {
	Mode     string  `json:"mode"`
	Fraction float64 `json:"fraction"`
	HitRatio float64 `json:"hit_ratio"`
	Seconds  float64 `json:"seconds"` // of the run, with the check of every row
	engine.Report
}

// tokensPerSecond is how many tokens of prompts and answers the run took a second.
func (r replayReport) tokensPerSecond() float64 {
	if r.Seconds == 0 {
		return 0
	}
	return float64(r.ServedTokens) / r.Seconds
}

// runPerServed is the price of a run: tokens that went through the model for each
// token of a request that was answered, prompt and answer. Shortened hits, and KV blocks that were
// dropped with their rows, raise it.
func (r replayReport) runPerServed() float64 {
	if r.ServedTokens == 0 {
		return 0
	}
	return float64(r.ScheduledTokens) / float64(r.ServedTokens)
}

func runReplay(cmd *cobra.Command, flags replayFlags) error {
	runs, config, err := flags.check()
	if err != nil {
		return err
	}
	layout, requests, err := flags.layout()
	if err != nil {
		return err
	}
	config.HashTokens = layout.BlockTokens
	if _, err := config.Profile.BlockBytes(config.HashTokens); err != nil {
		return usageError{err}
	}
	bar := newStatus(cmd.ErrOrStderr(), "serving", int64(requests*len(runs)), false)
	reports, err := flags.serveAll(runs, config, bar)
	bar.done()
	var wrong *auxerrors.ConfigError
	if errors.As(err, &wrong) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if flags.json {
		encoder := json.NewEncoder(cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		err = encoder.Encode(reports)
	} else {
		err = writeReplay(cmd.OutOrStdout(), flags, config, reports)
	}
	if err != nil {
		return err
	}
	for _, r := range reports {
		if r.WrongRows > 0 {
			return fmt.Errorf("%s: %d of %d rows were wrong", r.Mode, r.WrongRows, r.RowsChecked)
		}
	}
	return nil
}

// check reads the flags that need no file.
func (f replayFlags) check() ([]replayRun, engine.Config, error) {
	config := engine.Config{
		KVBlocks: f.kvBlocks, Requests: f.concurrency, BatchTokens: f.batch, ChunkTokens: f.chunk, Lag: f.lag,
	}
	if f.trace == "" {
		return nil, config, usagef("replay needs a trace: give --trace FILE")
	}
	for _, size := range []struct {
		flag         string
		value, least int
	}{
		{"--block", f.block, 0}, {"--requests", f.requests, 0}, {"--output", f.output, 0}, {"--concurrency", f.concurrency, 1},
		{"--kv-blocks", f.kvBlocks, 2}, {"--batch-tokens", f.batch, 1}, {"--chunk-tokens", f.chunk, 0},
	} {
		if size.value < size.least || size.value > math.MaxInt32 {
			return nil, config, usagef("%s %d: want %d to %d", size.flag, size.value, size.least, math.MaxInt32)
		}
	}
	var err error
	if config.Profile, _, err = f.rows.resolve(replayProfile); err != nil {
		return nil, config, err
	}
	var runs []replayRun
	for _, field := range strings.Split(f.runs, ",") {
		name, share, ok := strings.Cut(strings.TrimSpace(field), ":")
		if !ok {
			share = "1"
		}
		mode, err := connector.ParseMode(name)
		if err != nil {
			return nil, config, usageError{err}
		}
		fraction, err := strconv.ParseFloat(share, 64)
		if err != nil || !(fraction > 0 && fraction <= 1000) {
			return nil, config, usagef("--runs: %q: want mode:share, the share above 0", field)
		}
		runs = append(runs, replayRun{mode, fraction})
	}
	return runs, config, nil
}

// layout reads the trace once to learn its block size, which single lines leave
// open, and its number of requests.
func (f replayFlags) layout() (layout trace.Layout, requests int, err error) {
	reader, err := trace.Open(f.trace, trace.Options{BlockTokens: f.block})
	if err != nil {
		return layout, 0, err
	}
	defer reader.Close() // opened for reading: nothing to lose
	for _, err := range reader.All() {
		if err != nil {
			return layout, 0, err
		}
		if requests++; requests == f.requests {
			break
		}
	}
	layout = reader.Layout()
	if layout.BlockTokens == 0 {
		return layout, 0, fmt.Errorf("%s: the block size does not follow from the lines: give --block", f.trace)
	}
	return layout, requests, nil
}

// serveAll serves the trace in every run, two at a time.
func (f replayFlags) serveAll(runs []replayRun, config engine.Config, bar *status) ([]replayReport, error) {
	reports, errs := make([]replayReport, len(runs)), make([]error, len(runs))
	var wg sync.WaitGroup
	var mu sync.Mutex
	tokens := make(chan struct{}, 2)
	for i, run := range runs {
		wg.Go(func() {
			tokens <- struct{}{}
			defer func() { <-tokens }()
			c := config
			c.Mode = run.Mode
			c.Slots = max(1, int(run.Fraction*float64(c.KVBlocks)))
			began := time.Now()
			report, err := f.serve(c, func() {
				mu.Lock()
				defer mu.Unlock()
				bar.step()
			})
			reports[i] = replayReport{run.Mode.String(), run.Fraction, report.HitRatio(), time.Since(began).Seconds(), report}
			errs[i] = err
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s with %g of the blocks: %w", runs[i].Mode, runs[i].Fraction, err)
		}
	}
	return reports, nil
}

// serve serves the trace in one run.
func (f replayFlags) serve(config engine.Config, submitted func()) (engine.Report, error) {
	reader, err := trace.Open(f.trace, trace.Options{BlockTokens: f.block})
	if err != nil {
		return engine.Report{}, err
	}
	defer reader.Close() // opened for reading: nothing to lose
	jobs := func(yield func(*engine.Job, error) bool) {
		number := 0
		for request, err := range reader.All() {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(engine.JobOf(number, request, config.HashTokens, f.output), nil) {
				return
			}
			if number++; number == f.requests {
				return
			}
		}
	}
	return engine.Serve(config, jobs, submitted)
}

func writeReplay(w io.Writer, f replayFlags, config engine.Config, reports []replayReport) error {
	fmt.Fprintf(w, "trace        %s: %d requests, %d prompt tokens\n", f.trace, reports[0].Requests, reports[0].PromptTokens)
	fmt.Fprintf(w, "engine       %d requests at a time, %d tokens a step, lag %v, KV cache of %d blocks of %d tokens\n",
		f.concurrency, f.batch, f.lag, f.kvBlocks-1, config.HashTokens)
	fmt.Fprintf(w, "rows         %d layers x top-%d of %d experts, %d bytes a token\n\n",
		config.Profile.Layers, config.Profile.TopK, config.Profile.Experts, config.Profile.RowBytes())
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "mode\tof KV\tmax_bytes\tserved\tlost rows\trejected\tpreempted\thit ratio\ttokens run\tper token served\trows checked\twrong\ttokens/s\t")
	for _, r := range reports {
		fmt.Fprintf(table, "%s\t%g\t%d\t%d\t%d\t%d\t%d\t%.4f\t%d\t%.4f\t%d\t%d\t%.0f\t\n",
			r.Mode, r.Fraction, r.MaxBytes, r.Finished, r.Lost, r.Rejected, r.Preemptions, r.HitRatio,
			r.ScheduledTokens, r.runPerServed(), r.RowsChecked, r.WrongRows, r.tokensPerSecond())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range reports {
		if r.LastLoss != "" {
			fmt.Fprintf(w, "\n%s with %g of the blocks, the last loss: %s\n", r.Mode, r.Fraction, r.LastLoss)
		}
		if r.LastRejection != "" {
			fmt.Fprintf(w, "\n%s with %g of the blocks, the last rejection: %s\n", r.Mode, r.Fraction, r.LastRejection)
		}
	}
	return nil
}
