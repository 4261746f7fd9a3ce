package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/auxoutput/auxoutput/bench/throughput"
)

// match is one setup's rounds and what they come to.
type match struct {
	Summary throughput.Summary `json:"summary"`
	Bouts   [][]throughput.Run `json:"bouts"` // a peer and the limit beside it
}

// compare runs the contestants one after the other, each beside the limit in a
// process of its own, round by round.
func compare(ctx context.Context, setup throughput.Setup, picked []string, rounds int, progress io.Writer) (match, error) {
	var m match
	for round := range rounds {
		for _, name := range picked {
			fmt.Fprintf(progress, "budget %s, blocks of %d bytes, round %d of %d: %s\n",
				throughput.FormatBytes(setup.BudgetBytes), setup.BlockBytes, round+1, rounds, name)
			if err := throughput.Warm(setup); err != nil {
				return m, err
			}
			bout, err := startChild(ctx, name, setup)
			if err != nil {
				return m, err
			}
			m.Bouts = append(m.Bouts, bout)
		}
	}
	m.Summary = throughput.Summarise(setup, m.Bouts)
	return m, nil
}

// startChild measures a contestant beside the limit in another process of this
// program.
func startChild(ctx context.Context, name string, setup throughput.Setup) (bout []throughput.Run, err error) {
	self, err := os.Executable()
	if err != nil {
		return bout, err
	}
	cmd := exec.CommandContext(ctx, self, "-child", name,
		"-budget", strconv.FormatInt(setup.BudgetBytes, 10),
		"-block", strconv.Itoa(setup.BlockBytes),
		"-source", strconv.FormatInt(setup.SourceBytes, 10))
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return bout, fmt.Errorf("%s in a process of its own: %w: %s", name, err, bytes.TrimSpace(complaints.Bytes()))
	}
	if err := json.Unmarshal(out.Bytes(), &bout); err != nil {
		return bout, fmt.Errorf("what %s printed: %w", name, err)
	}
	return bout, nil
}
