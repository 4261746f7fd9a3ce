package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/auxoutput/auxoutput/bench/engine"
	"github.com/auxoutput/auxoutput/connector"
	"github.com/auxoutput/auxoutput/connector/guard"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/routing/model"
	"github.com/auxoutput/auxoutput/store"
)

// settings are the command line.
type settings struct {
	listen      string
	model       string
	allLayers   bool
	blockTokens int
	kvBlocks    int
	config      string
	configGiven bool
	capture     *bool // --enable-return-routed-experts, if it was given
	mode        string
	requests    int
	setup       guard.Setup
	limits      limits
}

// limits bound what one request may ask for.
type limits struct {
	bodyBytes int64         // size of a request's body
	tokens    int           // prompt and output together
	timeout   time.Duration // from the first byte of a request to the last of its answer
}

// usageError is a command line that the user has to correct.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

const captureFlag = "enable-return-routed-experts"

// parse reads the flags. Help goes to out; then the error is flag.ErrHelp.
func parse(args []string, out io.Writer) (settings, error) {
	s := settings{setup: guard.Setup{ModelRunner: 2, Runner: guard.Generate, MoE: true}}
	f := flag.NewFlagSet("server", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&s.listen, "listen", "127.0.0.1:8000", "address to listen on")
	f.StringVar(&s.model, "model", "Qwen3-30B-A3B", "known model that is served; a request that names no model gets it")
	f.BoolVar(&s.allLayers, "all-layers", false, "rows as wide as all hidden layers, as vLLM's are, else as the MoE layers: docs/rl.md#how-many-layers-a-row-has")
	f.IntVar(&s.blockTokens, "block-size", 16, "tokens of a KV block")
	f.IntVar(&s.kvBlocks, "num-gpu-blocks", 4096, "blocks of the KV cache")
	f.StringVar(&s.config, "aux-output-config", "", `configuration of the connector, as vLLM's: {"enable_return_routed_experts": true, "max_bytes": N}; an absent field is off (default: on)`)
	onOrOff(f, captureFlag, "return routed experts: sets the field of --aux-output-config", func(on bool) { s.capture = &on })
	f.StringVar(&s.mode, "mode", "fail-closed", "coherence: fail-closed, row-gated, linked")
	f.IntVar(&s.requests, "max-num-seqs", 32, "requests running at a time")
	f.Int64Var(&s.limits.bodyBytes, "max-body-bytes", 8<<20, "size of a request's body")
	f.IntVar(&s.limits.tokens, "max-model-len", 32<<10, "tokens of a request, prompt and output")
	f.DurationVar(&s.limits.timeout, "timeout", time.Minute, "time for a request and its answer")
	s.setup.PrefixCaching = true
	onOrOff(f, "enable-prefix-caching", "guard: prefix caching (default: on)", func(on bool) { s.setup.PrefixCaching = on })
	f.IntVar(&s.setup.PipelineParallel, "pipeline-parallel-size", 1, "guard: pipeline stages")
	f.IntVar(&s.setup.DecodeContextParallel, "decode-context-parallel-size", 1, "guard: decode context parallelism")
	f.IntVar(&s.setup.PrefillContextParallel, "prefill-context-parallel-size", 1, "guard: prefill context parallelism")
	f.BoolVar(&s.setup.AdaptiveSpeculation, "adaptive-speculation", false, "guard: adaptive speculative verification")
	kvConnector := f.String("kv-connector", "", "guard: KV connector by name")
	kvRole := f.String("kv-role", string(guard.Both), "guard: its role, kv_producer, kv_consumer or kv_both")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(out)
			f.Usage()
			return s, err
		}
		return s, usageError{err}
	}
	f.Visit(func(given *flag.Flag) { s.configGiven = s.configGiven || given.Name == "aux-output-config" })
	if f.NArg() > 0 {
		return s, usageError{fmt.Errorf("unexpected argument %q", f.Arg(0))}
	}
	if *kvConnector != "" {
		s.setup.KVConnector = &guard.Connector{Name: *kvConnector, Role: guard.Role(*kvRole)}
	}
	if s.limits.bodyBytes < 1 || s.limits.tokens < 2 || s.limits.timeout <= 0 {
		return s, usageError{errors.New("limits must be positive, and -max-model-len at least 2")}
	}
	return s, nil
}

// onOrOff is a flag with a no- form, as vLLM has them.
func onOrOff(f *flag.FlagSet, name, usage string, set func(bool)) {
	for prefix, flips := range map[string]bool{"": false, "no-": true} {
		about := usage
		if flips {
			about = "the contrary of -" + name
		}
		f.BoolFunc(prefix+name, about, func(value string) error {
			on, err := strconv.ParseBool(value)
			if err == nil {
				set(on != flips)
			}
			return err
		})
	}
}

// aux is the configuration that the two flags come to, in either order. The flag wins
// if it turns capture on, as in vLLM. With neither flag this server captures, since
// rows are what it shows; vLLM does not.
func (s *settings) aux() (connector.Config, error) {
	config := connector.Config{EnableReturnRoutedExperts: true}
	if s.configGiven {
		var err error
		if config, err = connector.ParseConfig([]byte(s.config)); err != nil {
			return config, err
		}
	}
	if s.capture == nil {
		return config, nil
	}
	if !*s.capture && s.configGiven && config.EnableReturnRoutedExperts {
		return config, usageError{fmt.Errorf("--no-%s contradicts --aux-output-config %s: drop one of them", captureFlag, s.config)}
	}
	config.EnableReturnRoutedExperts = *s.capture
	return config, nil
}

// plan is what is to be started. Nothing starts from one whose set-up was not checked.
type plan struct {
	checked guard.Checked
	profile *routing.Profile // of the rows; nil if capture is off, and engine is empty then
	engine  engine.Config
}

// plan checks everything that can keep a server from starting. With capture off the
// budget and the rules of package guard do not matter.
func (s *settings) plan() (plan, error) {
	aux, err := s.aux()
	if err != nil {
		return plan{}, err
	}
	mode, err := connector.ParseMode(s.mode)
	if err != nil {
		return plan{}, err
	}
	m, err := model.Find(s.model)
	if err != nil {
		return plan{}, err
	}
	if s.kvBlocks < 2 || s.blockTokens < 1 || s.requests < 1 {
		return plan{}, usageError{errors.New("-num-gpu-blocks must be at least 2, -block-size and -max-num-seqs at least 1")}
	}
	s.setup.Capture = aux.EnableReturnRoutedExperts
	checked, err := guard.Check(s.setup)
	if err != nil {
		return plan{}, err
	}
	if errors.Is(checked.Ready(), guard.ErrCaptureOff) {
		return plan{checked: checked}, nil
	}
	profile, err := m.Profile(s.allLayers)
	if err != nil {
		return plan{}, err
	}
	blockBytes, err := profile.BlockBytes(s.blockTokens)
	if err != nil {
		return plan{}, err
	}
	budget, err := aux.Budget(s.kvBlocks, 1, blockBytes)
	if err != nil {
		return plan{}, err
	}
	slots := budget / int64(blockBytes)
	if slots > store.MaxSlots {
		return plan{}, &auxerrors.ConfigError{Field: "max_bytes", Value: budget, Want: fmt.Sprintf("at most %d blocks of %d bytes", store.MaxSlots, blockBytes), Reason: auxerrors.ErrTooLarge}
	}
	return plan{checked, &profile, engine.Config{
		Checked: checked, TokensOnly: true, // so that a client can check the rows it gets
		Profile: profile, HashTokens: s.blockTokens, KVBlocks: s.kvBlocks, Mode: mode,
		Slots: int(slots), Requests: s.requests, BatchTokens: 2048, Lag: true,
	}}, nil
}

// start starts what serves the plan.
func (p plan) start(s settings) (backend, error) {
	switch err := p.checked.Ready(); {
	case errors.Is(err, guard.ErrCaptureOff):
		return plain{kvTokens: (s.kvBlocks - 1) * s.blockTokens}, nil
	case err != nil:
		return nil, err
	}
	return startEngine(p.engine)
}
