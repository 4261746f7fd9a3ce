package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// status shows how far long work has got, if it is a terminal that would show it.
type status struct{ bar *progressbar.ProgressBar }

// newStatus starts a bar of so many steps on w; with inBytes they are shown as
// bytes, and a negative number gives a spinner.
func newStatus(w io.Writer, what string, steps int64, inBytes bool) *status {
	terminal, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		return &status{}
	}
	return &status{progressbar.NewOptions64(steps,
		progressbar.OptionSetWriter(terminal),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(inBytes),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

// Write moves the bar on by the bytes that pass.
func (s *status) Write(b []byte) (int, error) {
	if s.bar != nil {
		_ = s.bar.Add(len(b))
	}
	return len(b), nil
}

// step moves the bar on. A bar that cannot be drawn is no reason to fail.
func (s *status) step() {
	if s.bar != nil {
		_ = s.bar.Add(1)
	}
}

// done takes the bar off the screen.
func (s *status) done() {
	if s.bar != nil {
		_ = s.bar.Clear()
	}
}
