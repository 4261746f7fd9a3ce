// Command server shows how a serving stack returns routing rows: a small HTTP
// server on a simulated engine, with the endpoints, fields and refusals of vLLM.
//
//	go run ./examples/server -listen 127.0.0.1:8000
//
// Nothing is computed: tokens and rows follow from the prompt, and the engine
// checks every row that it hands out.
//
// Rows are returned unless they are turned off, and then nothing is started for them:
//
//	go run ./examples/server --aux-output-config '{"enable_return_routed_experts": false}'
//
// It ends with status 0 when it is interrupted, 2 if the command line has to be
// corrected, which includes a set-up that could not return rows, and 1 for all else.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/auxoutput/auxoutput/connector/guard"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	status := exitStatus(err)
	if status != 0 {
		fmt.Fprintln(os.Stderr, "server:", err)
	}
	if status == 2 {
		fmt.Fprintln(os.Stderr, "server -h lists the flags")
	}
	os.Exit(status)
}

// exitStatus is 0 if all went well or help was asked for, 2 if the command line is to
// be corrected, else 1.
func exitStatus(err error) int {
	var (
		usage   usageError
		config  *auxerrors.ConfigError
		refusal *guard.Refusal
	)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usage), errors.As(err, &config), errors.As(err, &refusal):
		return 2
	}
	return 1
}

func run(ctx context.Context, args []string, out io.Writer) error {
	s, err := parse(args, out)
	if err != nil {
		return err
	}
	p, err := s.plan()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	return serve(ctx, s, p, listener)
}

// serve answers requests until ctx ends, and then finishes those it has.
func serve(ctx context.Context, s settings, p plan, listener net.Listener) error {
	b, err := p.start(s)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{
		Handler:           newHandler(b, p.profile, s),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       s.limits.timeout,
		WriteTimeout:      s.limits.timeout,
		IdleTimeout:       2 * time.Minute,
	}
	stopped := make(chan error, 1)
	go func() {
		select {
		case <-ctx.Done():
		case <-b.ended():
		}
		// Running requests get the time of one request to finish.
		finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.timeout)
		defer cancel()
		stopped <- server.Shutdown(finish)
	}()
	rows := "with rows"
	if p.profile == nil {
		rows = "without rows"
	}
	log.Printf("serving %s %s on http://%s", s.model, rows, listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(err, b.stop())
	}
	return errors.Join(<-stopped, b.stop())
}
