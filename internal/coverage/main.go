// Command coverage measures how much of the library its tests run, and wants a
// reason for everything that they do not.
//
//	go run ./internal/coverage
//	go run ./internal/coverage -floors
//
// Each package is measured by its own tests. The result goes to docs/coverage.md and
// to the terminal. With -floors the packages' shares are all that is judged, and no
// page is written: which lines are reached by luck alone differs between machines. Exit code 1 means that the tests of a package fail or cover too
// little of it, that an uncovered block of statements has no reason in the list, or
// that a reason in the list has no uncovered block.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// target is a package that is measured.
type target struct {
	path  string
	floor float64 // percent of its statements that have to be covered
	rapid bool    // its tests draw cases, and take a seed
}

var targets = []target{
	{"store", 90, true},
	{"store/internal/arena", 0, false}, // the store's tests are those of the arena as well
	{"connector", 90, true},
	{"connector/guard", 90, false},
	{"prefixcache", 90, true},
	{"blockhash", 90, true},
	{"routing", 90, true},
	{"routing/model", 90, false},
}

func main() {
	floors := flag.Bool("floors", false, "judge the packages' shares only, and write no page")
	flag.Parse()
	faults, err := run(*floors)
	if err != nil {
		faults = append(faults, err.Error())
	}
	for _, fault := range faults {
		fmt.Fprintln(os.Stderr, "coverage:", fault)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}

func run(floorsOnly bool) (faults []string, err error) {
	if platform := runtime.GOOS + "/" + runtime.GOARCH; platform != "linux/amd64" {
		return nil, fmt.Errorf("the list of reasons is that of linux/amd64, and this is %s", platform)
	}
	output, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}\n{{.Path}}").Output()
	if err != nil {
		return nil, err
	}
	root, module, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	spans, err := measure(root)
	if err != nil {
		return nil, err
	}
	read := newSource(root, module)
	var blocks []block
	for _, s := range spans {
		b, err := read.block(s)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	shares := count(targets, blocks)
	if floorsOnly {
		show(os.Stdout, shares, nil)
		return judge(targets, shares), nil
	}
	gaps, faults := explain(blocks, reasons)
	faults = append(faults, judge(targets, shares)...)
	show(os.Stdout, shares, gaps)
	var text bytes.Buffer
	page(&text, shares, gaps)
	return faults, os.WriteFile(filepath.Join(root, "docs", "coverage.md"), text.Bytes(), 0o666)
}

// measure runs the tests of all packages. Those that draw cases draw the same ones
// each time: coverage is to be a fact and no matter of luck.
func measure(root string) (spans []span, err error) {
	folder, err := os.MkdirTemp("", "coverage")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	var profiles bytes.Buffer
	for _, t := range targets {
		profile := filepath.Join(folder, "profile")
		arguments := []string{"test", "./" + t.path, "-count=1", "-covermode=set", "-coverprofile=" + profile}
		if t.rapid {
			arguments = append(arguments, "-rapid.seed=1")
		}
		test := exec.Command("go", arguments...)
		test.Dir = root
		if output, err := test.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", t.path, err, output)
		}
		data, err := os.ReadFile(profile)
		if err != nil {
			return nil, err
		}
		profiles.Write(data)
	}
	return parseProfile(&profiles)
}
