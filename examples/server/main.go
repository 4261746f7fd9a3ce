// Command server shows how a serving stack returns routing rows: a small HTTP
// server on a simulated engine, with the endpoints, fields and refusals of vLLM.
//
//	go run ./examples/server -listen 127.0.0.1:8000
//
// Nothing is computed: tokens and rows follow from the prompt, and the engine
// checks every row that it hands out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/auxoutput/auxoutput/bench/engine"
	"github.com/auxoutput/auxoutput/connector"
	"github.com/auxoutput/auxoutput/connector/guard"
	"github.com/auxoutput/auxoutput/routing/model"
)

// settings are the command line.
type settings struct {
	listen      string
	model       string
	allLayers   bool
	blockTokens int
	kvBlocks    int
	config      string
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		log.Fatal("server: ", err)
	}
}

func run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	return serve(ctx, s, listener)
}

// parse reads the flags. The start-up guards are flags too: what an engine of that
// set-up could not return is refused here, all reasons at once.
func parse(args []string) (settings, error) {
	s := settings{setup: guard.Setup{
		Capture: true, GPU: true, ModelRunner: 2, Runner: guard.Generate, MoE: true,
	}}
	f := flag.NewFlagSet("server", flag.ContinueOnError)
	f.StringVar(&s.listen, "listen", "127.0.0.1:8000", "address to listen on")
	f.StringVar(&s.model, "model", "Qwen3-30B-A3B", "known model whose rows are returned")
	f.BoolVar(&s.allLayers, "all-layers", false, "rows of all hidden layers, dense ones included")
	f.IntVar(&s.blockTokens, "block-size", 16, "tokens of a KV block")
	f.IntVar(&s.kvBlocks, "num-gpu-blocks", 4096, "blocks of the KV cache")
	f.StringVar(&s.config, "aux-output-config", `{"enable_return_routed_experts": true}`, "configuration of the connector, as vLLM's")
	f.StringVar(&s.mode, "mode", "fail-closed", "coherence: fail-closed, row-gated, linked")
	f.IntVar(&s.requests, "max-num-seqs", 32, "requests running at a time")
	f.Int64Var(&s.limits.bodyBytes, "max-body-bytes", 8<<20, "size of a request's body")
	f.IntVar(&s.limits.tokens, "max-model-len", 32<<10, "tokens of a request, prompt and output")
	f.DurationVar(&s.limits.timeout, "timeout", time.Minute, "time for a request and its answer")
	f.BoolVar(&s.setup.PrefixCaching, "enable-prefix-caching", true, "guard: prefix caching")
	f.IntVar(&s.setup.PipelineParallel, "pipeline-parallel-size", 1, "guard: pipeline stages")
	f.IntVar(&s.setup.DecodeContextParallel, "decode-context-parallel-size", 1, "guard: decode context parallelism")
	f.IntVar(&s.setup.PrefillContextParallel, "prefill-context-parallel-size", 1, "guard: prefill context parallelism")
	f.BoolVar(&s.setup.AdaptiveSpeculation, "adaptive-speculation", false, "guard: adaptive speculative verification")
	kvConnector := f.String("kv-connector", "", "guard: KV connector by name")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if *kvConnector != "" {
		s.setup.KVConnector = &guard.Connector{Name: *kvConnector}
	}
	if s.limits.bodyBytes < 1 || s.limits.tokens < 2 || s.limits.timeout <= 0 {
		return s, errors.New("limits must be positive")
	}
	return s, nil
}

// engineConfig checks everything that can keep an engine from starting.
func (s *settings) engineConfig() (engine.Config, error) {
	aux, err := connector.ParseConfig([]byte(s.config))
	if err != nil {
		return engine.Config{}, err
	}
	s.setup.Capture = aux.EnableReturnRoutedExperts
	if err := guard.Check(s.setup); err != nil {
		return engine.Config{}, err
	}
	mode, err := connector.ParseMode(s.mode)
	if err != nil {
		return engine.Config{}, err
	}
	m, err := model.Find(s.model)
	if err != nil {
		return engine.Config{}, err
	}
	profile, err := m.Profile(s.allLayers)
	if err != nil {
		return engine.Config{}, err
	}
	blockBytes, err := profile.BlockBytes(s.blockTokens)
	if err != nil {
		return engine.Config{}, err
	}
	budget, err := aux.Budget(s.kvBlocks, 1, blockBytes)
	if err != nil {
		return engine.Config{}, err
	}
	return engine.Config{
		Profile: profile, HashTokens: s.blockTokens, KVBlocks: s.kvBlocks, Mode: mode,
		Slots: int(budget / int64(blockBytes)), Requests: s.requests, BatchTokens: 2048, Lag: true,
	}, nil
}

// serve answers requests until ctx ends, and then finishes those it has.
func serve(ctx context.Context, s settings, listener net.Listener) error {
	config, err := s.engineConfig()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	b, err := startBackend(config)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{
		Handler:           newHandler(b, s),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       s.limits.timeout,
		WriteTimeout:      s.limits.timeout,
		IdleTimeout:       2 * time.Minute,
	}
	stopped := make(chan error, 1)
	go func() {
		select {
		case <-ctx.Done():
		case <-b.done:
		}
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.timeout)
		defer cancel()
		stopped <- server.Shutdown(patience)
	}()
	log.Printf("listening on http://%s", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(err, b.stop())
	}
	return errors.Join(<-stopped, b.stop())
}
