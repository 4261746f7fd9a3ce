package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/auxoutput/auxoutput/bench/capacity"
	"github.com/auxoutput/auxoutput/bench/trace"
	"github.com/auxoutput/auxoutput/routing/model"
)

// maxStores bounds the stores of one run: each costs 16 bytes for every block of
// the trace.
const maxStores = 64

// capacityFlags are the command's flags as they were written.
type capacityFlags struct {
	trace      string
	capacities string
	block      int
	scope      string
	rows       rowsFlags
	kvBlocks   int
	fractions  string
	slots      string
	order      string
	touchOnHit bool
	onLoss     string
	json       bool
}

// newCapacityCommand is the subcommand that sizes a store for a trace.
func newCapacityCommand() *cobra.Command {
	var flags capacityFlags
	cmd := &cobra.Command{
		Use:   "capacity --trace FILE",
		Short: "Hit ratio of a trace by capacity, and the smallest safe store beside a KV cache",
		Long: `Replays a request trace serially and prints the prefix-hit ratio by LRU capacity.

For each request in the order of the file the leading blocks that are present are
its hit; then all its blocks become the most recent, last block first. Every
capacity is answered by one pass.

With --kv-blocks it also prints how many requests would hit the KV cache and find
their rows gone, for stores of several sizes beside it, and the smallest store that
never loses one. What a lost hit does to the store depends on the regime: "fail"
leaves the absent rows absent, "recompute" publishes them again.

Traces: Mooncake, Qwen-Bailian and run-length JSONL, WEKA sessions, Azure CSV (which
has no block ids: nothing hits). The format is recognised by the first line.`,
		Example: `  bench capacity --trace conversation.jsonl
  bench capacity --trace conversation.jsonl --capacities 16000,32000 --model Qwen3-30B-A3B
  bench capacity --trace sessions.jsonl --kv-blocks 4000 --store-fraction 1,0.9 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("capacity takes no argument %q: name the file with --trace", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runCapacity(cmd, flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.trace, "trace", "", "trace file (required)")
	f.StringVar(&flags.capacities, "capacities", "", "capacities in blocks, a,b,c (default powers of two up to the unique blocks)")
	f.IntVar(&flags.block, "block", 0, "tokens of a block, where the file leaves it open (default: found from the lines; Azure: 16)")
	f.StringVar(&flags.scope, "scope", "as-written", "reach of block ids: as-written, global, local to the session")
	f.StringVar(&flags.rows.profile, "profile", "", "layers,top-k,experts of the rows, for sizes in bytes")
	f.StringVar(&flags.rows.model, "model", "", "known model instead of a profile: "+modelNames())
	f.IntVar(&flags.kvBlocks, "kv-blocks", 0, "blocks of the KV cache, for the store beside it")
	f.StringVar(&flags.fractions, "store-fraction", "1,0.9,0.5", "sizes of the store as fractions of the KV cache's blocks")
	f.StringVar(&flags.slots, "store-slots", "", "sizes of the store in slots, a,b,c")
	f.StringVar(&flags.order, "order", "tail-first", "order in which the store touches a request's blocks: tail-first, head-first")
	f.BoolVar(&flags.touchOnHit, "touch-on-hit", true, "whether the store is told of hit blocks")
	f.StringVar(&flags.onLoss, "on-loss", "both", "regime when rows of a hit are absent: fail, recompute, both")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	return cmd
}

func modelNames() string {
	var names []string
	for _, p := range model.All() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// runCapacity checks the flags, and only then opens the file.
func runCapacity(cmd *cobra.Command, flags capacityFlags) error {
	settings, err := flags.settings(cmd.Flags().Changed)
	if err != nil {
		return err
	}
	options, err := flags.options()
	if err != nil {
		return err
	}
	report, err := measureFile(flags.trace, options, settings, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if flags.json {
		encoder := json.NewEncoder(cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		return encoder.Encode(struct {
			Trace string `json:"trace"`
			*capacity.Report
		}{flags.trace, report})
	}
	return report.WriteText(cmd.OutOrStdout(), flags.trace)
}

// measureFile replays the file, with a progress bar if stderr is a terminal.
func measureFile(path string, options trace.Options, settings capacity.Settings, stderr io.Writer) (*capacity.Report, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // opened for reading: nothing to lose
	bar := newStatus(stderr, "capacity", fileSize(file), true)
	defer bar.done()
	reader, err := trace.NewReader(io.TeeReader(file, bar), path, options)
	if err != nil {
		return nil, err
	}
	return capacity.Measure(reader, settings)
}

// fileSize is -1, a spinner instead of a bar, for what has no size.
func fileSize(file *os.File) int64 {
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		return info.Size()
	}
	return -1
}

// options checks what concerns the file.
func (f capacityFlags) options() (trace.Options, error) {
	options := trace.Options{BlockTokens: f.block}
	for _, scope := range []trace.Scope{trace.AsWritten, trace.Global, trace.Local} {
		if f.scope == scope.String() {
			options.Scope = scope
			return options, nil
		}
	}
	return options, usagef("--scope %q: want as-written, global or local", f.scope)
}

// settings checks what concerns the report.
func (f capacityFlags) settings(changed func(string) bool) (capacity.Settings, error) {
	var s capacity.Settings
	if f.trace == "" {
		return s, usagef("capacity needs a trace: give --trace FILE")
	}
	if changed("block") && !isSize(f.block) {
		return s, usagef("--block %d: want 1 to %d tokens", f.block, capacity.MaxSize)
	}
	var err error
	if changed("capacities") {
		if s.Capacities, err = parseSizes("--capacities", f.capacities); err != nil {
			return s, err
		}
	}
	if err := f.setProfile(&s); err != nil {
		return s, err
	}
	if s.Profile != nil && f.block > 0 {
		if _, err := s.Profile.BlockBytes(f.block); err != nil {
			return s, usageError{err}
		}
	}
	if !changed("kv-blocks") {
		for _, name := range []string{"store-fraction", "store-slots", "order", "touch-on-hit", "on-loss"} {
			if changed(name) {
				return s, usagef("--%s is about a store beside a KV cache: give --kv-blocks too", name)
			}
		}
		return s, nil
	}
	return s, f.setStores(&s, changed)
}

func (f capacityFlags) setProfile(s *capacity.Settings) error {
	if f.rows == (rowsFlags{}) {
		return nil // sizes in blocks and tokens only
	}
	profile, known, err := f.rows.resolve("")
	if err != nil {
		return err
	}
	s.Model, s.Profile = known, &profile
	return nil
}

func (f capacityFlags) setStores(s *capacity.Settings, changed func(string) bool) error {
	if !isSize(f.kvBlocks) {
		return usagef("--kv-blocks %d: want 1 to %d blocks", f.kvBlocks, capacity.MaxSize)
	}
	s.KVBlocks, s.IgnoreHits = f.kvBlocks, !f.touchOnHit
	var err error
	if changed("store-slots") {
		if s.Slots, err = parseSizes("--store-slots", f.slots); err != nil {
			return err
		}
	}
	if changed("store-fraction") || !changed("store-slots") {
		for _, field := range strings.Split(f.fractions, ",") {
			fraction, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
			if err != nil {
				return usagef("--store-fraction: %q is not a number", field)
			}
			slots, err := capacity.SlotsOf(f.kvBlocks, fraction)
			if err != nil {
				return usageError{fmt.Errorf("--store-fraction: %w", err)}
			}
			s.Slots = append(s.Slots, slots)
		}
	}
	if len(s.Slots) > maxStores {
		return usagef("%d stores: want at most %d", len(s.Slots), maxStores)
	}
	switch f.order {
	case capacity.TailFirst.String():
	case capacity.HeadFirst.String():
		s.Order = capacity.HeadFirst
	default:
		return usagef("--order %q: want tail-first or head-first", f.order)
	}
	switch f.onLoss {
	case "both":
		s.Regimes = []capacity.Regime{capacity.FailClosed, capacity.Recompute}
	case capacity.FailClosed.String():
		s.Regimes = []capacity.Regime{capacity.FailClosed}
	case capacity.Recompute.String():
		s.Regimes = []capacity.Regime{capacity.Recompute}
	default:
		return usagef("--on-loss %q: want fail, recompute or both", f.onLoss)
	}
	return nil
}

// parseSizes reads a list of numbers of blocks.
func parseSizes(flag, text string) ([]int, error) {
	var sizes []int
	for _, field := range strings.Split(text, ",") {
		size, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || !isSize(size) {
			return nil, usagef("%s: %q is not a number of blocks from 1 to %d", flag, field, capacity.MaxSize)
		}
		sizes = append(sizes, size)
	}
	return sizes, nil
}

// isSize reports whether n is a size that products of two of them cannot
// overflow.
func isSize(n int) bool { return n >= 1 && n <= capacity.MaxSize }
