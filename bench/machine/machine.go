// Package machine is what benchmarks need of the machine that they run on: its name,
// its memory, and regions of that memory outside the Go heap.
package machine

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Line says in a line what was measured on: figures without it say little.
func Line() string {
	return fmt.Sprintf("%s %s/%s, %d CPUs (%s)", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), cpuModel())
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return "model unknown"
}
