package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/auxoutput/auxoutput/bench/engine"
	"github.com/auxoutput/auxoutput/bench/trace"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// mainFlags are the flags of the command without a subcommand.
type mainFlags struct {
	rows     rowsFlags
	block    int
	kvBlocks int
	sessions int
	live     int
	seed     uint64
	json     bool
}

// mainReport is what the main job finds out.
type mainReport struct {
	Model        string          `json:"model,omitempty"`
	Profile      routing.Profile `json:"profile"`
	BlockTokens  int             `json:"block_tokens"`
	BlockBytes   int             `json:"block_bytes"`
	KVBlocks     int             `json:"kv_blocks"`
	LiveRequests int             `json:"live_requests"`
	Sessions     int             `json:"sessions"`
	Runs         []engine.Report `json:"runs"`
	SafeSlots    int             `json:"smallest_safe_slots"`
	SafeBytes    int64           `json:"smallest_safe_max_bytes"`
}

// mainModel is the model of the main job, unless another one is named.
const mainModel = "Qwen3-30B-A3B"

// stepTokens is the token budget of a step: vLLM's default for online serving on
// smaller machines.
const stepTokens = 2048

// storeFractions are the sizes of the store that are tried, as shares of the KV
// cache's blocks.
var storeFractions = []float64{1, 0.9, 0.75, 0.5}

// addMainJob makes the main job what the command does without a subcommand.
func addMainJob(root *cobra.Command) {
	flags := mainFlags{}
	root.Long = `Without a subcommand: the main job. It generates conversations (the same ones for
the same seed), serves them with a simulated engine through prefix cache, connector
and store with real rows, checks every row that comes back, and prints which max_bytes is safe.

Exit codes: 0 all is well, 1 a check failed or the data is damaged, 2 usage.`
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("unknown command %q", args[0])
		}
		return nil
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error { return runMainJob(cmd, flags) }
	f := root.Flags()
	f.StringVar(&flags.rows.model, "model", "", "known model whose rows are stored (default "+mainModel+")")
	f.StringVar(&flags.rows.profile, "profile", "", "layers,top-k,experts of the rows, instead of a model")
	f.IntVar(&flags.block, "block", 16, "tokens of a KV block")
	f.IntVar(&flags.kvBlocks, "kv-blocks", 4000, "blocks of the KV cache, the null block included")
	f.IntVar(&flags.sessions, "sessions", 48, "conversations to generate")
	f.IntVar(&flags.live, "live", 8, "requests that hold their blocks at a time")
	f.Uint64Var(&flags.seed, "seed", 1, "seed of the conversations")
	f.BoolVar(&flags.json, "json", false, "print JSON")
}

func runMainJob(cmd *cobra.Command, flags mainFlags) error {
	report, err := flags.report()
	if err != nil {
		return err
	}
	turns, err := trace.Generate(trace.GenerateOptions{
		Seed: flags.seed, Sessions: flags.sessions,
		Turns: trace.Range{Min: 3, Max: 10}, SystemPrompts: 4, SystemTokens: trace.Range{Min: 400, Max: 1600},
		UserTokens: trace.Range{Min: 50, Max: 600}, OutputTokens: trace.Range{Min: 50, Max: 400},
	})
	if err != nil {
		return usageError{err}
	}
	status := newStatus(cmd.ErrOrStderr(), "replaying", int64(len(storeFractions)+2), false)
	defer status.done()
	if err := report.measure(turns, status); err != nil {
		var config *auxerrors.ConfigError
		if errors.As(err, &config) {
			return usageError{err}
		}
		return err
	}
	status.done()
	if flags.json {
		encoder := json.NewEncoder(cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		err = report.writeText(cmd.OutOrStdout())
	}
	if err != nil {
		return err
	}
	for _, run := range report.Runs {
		if run.WrongRows > 0 {
			return fmt.Errorf("%d of %d rows were wrong with %d slots", run.WrongRows, run.RowsChecked, run.Slots)
		}
	}
	return nil
}

// report checks the flags.
func (f mainFlags) report() (*mainReport, error) {
	r := &mainReport{BlockTokens: f.block, KVBlocks: f.kvBlocks, LiveRequests: f.live, Sessions: f.sessions}
	if f.rows == (rowsFlags{}) {
		f.rows.model = mainModel
	}
	profile, known, err := f.rows.resolve("")
	if err != nil {
		return nil, err
	}
	r.Profile = profile
	if known != nil {
		r.Model = known.Name
	}
	if r.BlockBytes, err = r.Profile.BlockBytes(f.block); err != nil {
		return nil, usageError{err}
	}
	if f.kvBlocks < 2 {
		return nil, usagef("--kv-blocks %d: want at least 2, one of them is the null block", f.kvBlocks)
	}
	return r, nil
}

// measure replays the turns with stores of several sizes, and looks for the
// smallest that is safe.
func (r *mainReport) measure(turns []trace.Turn, status *status) error {
	config := engine.Config{
		Profile: r.Profile, HashTokens: r.BlockTokens, KVBlocks: r.KVBlocks,
		Requests: r.LiveRequests, BatchTokens: stepTokens, Lag: true,
	}
	jobs := func(yield func(*engine.Job, error) bool) {
		for i := range turns {
			if !yield(engine.JobOfTurn(i, &turns[i]), nil) {
				return
			}
		}
	}
	var err error
	r.SafeSlots, err = engine.SmallestSafe(config, jobs, r.KVBlocks)
	if err != nil {
		return err
	}
	status.step()
	sizes := []int{r.SafeSlots}
	for _, fraction := range storeFractions {
		sizes = append(sizes, max(1, int(fraction*float64(r.KVBlocks))))
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	for _, slots := range slices.Compact(sizes) {
		config.Slots = slots
		report, err := engine.Serve(config, jobs, func() {})
		if err != nil {
			return err
		}
		r.Runs = append(r.Runs, report)
		status.step()
	}
	r.SafeBytes = int64(r.SafeSlots) * int64(r.BlockBytes)
	return nil
}

func (r *mainReport) writeText(w io.Writer) error {
	first := r.Runs[0]
	fmt.Fprintf(w, "conversations  %d sessions, %d requests, %d prompt tokens\n", r.Sessions, first.Requests, first.PromptTokens)
	fmt.Fprintf(w, "rows           %s: %d layers x top-%d of %d experts, %d bytes a token, %d a block of %d tokens\n",
		r.name(), r.Profile.Layers, r.Profile.TopK, r.Profile.Experts, r.Profile.RowBytes(), r.BlockBytes, r.BlockTokens)
	fmt.Fprintf(w, "KV capacity    %d blocks = %d tokens, %d live requests, %.4f of prompt tokens hit\n\n",
		r.KVBlocks-1, (r.KVBlocks-1)*r.BlockTokens, r.LiveRequests, first.HitRatio())

	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "of KV\tslots\tmax_bytes\tresident\tserved\tlost rows\thit ratio\trows checked\twrong\t")
	for _, run := range r.Runs {
		fmt.Fprintf(table, "%.3f\t%d\t%d\t%s\t%d\t%d\t%.4f\t%d\t%d\t\n",
			float64(run.Slots)/float64(r.KVBlocks), run.Slots, run.MaxBytes, mebibytes(run.ResidentBytes),
			run.Finished, run.Lost, run.HitRatio(), run.RowsChecked, run.WrongRows)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if !r.safe() {
		_, err := fmt.Fprintf(w, "\nNo budget up to one slot for each of the %d KV blocks is safe for this traffic.\n", r.KVBlocks)
		return err
	}
	_, err := fmt.Fprintf(w, `
Smallest safe max_bytes for this traffic: %d (%d slots, %s).
The default, one slot for each KV block: %d (%s).
`, r.SafeBytes, r.SafeSlots, mebibytes(r.SafeBytes),
		int64(r.KVBlocks)*int64(r.BlockBytes), mebibytes(int64(r.KVBlocks)*int64(r.BlockBytes)))
	return err
}

// safe reports whether the smallest safe size really is one.
func (r *mainReport) safe() bool {
	for _, run := range r.Runs {
		if run.Slots == r.SafeSlots {
			return run.Safe()
		}
	}
	return false
}

func (r *mainReport) name() string {
	if r.Model == "" {
		return "profile " + r.Profile.String()
	}
	return r.Model
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
