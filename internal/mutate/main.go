// Command mutate breaks the store on purpose, in one small way after the other, and
// runs its tests: every break has to be noticed.
//
//	go run ./internal/mutate
//
// It works on a copy of the module in a temporary folder. Exit code 1 means that a
// mutation survived, or no longer applies because the code has changed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// mutation replaces one piece of code by another.
type mutation struct {
	file, old, new string
	what           string
}

func main() {
	survivors, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	if err != nil || survivors > 0 {
		os.Exit(1)
	}
}

func run() (survivors int, err error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return 0, err
	}
	work, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work) // a leftover in the temporary folder harms nobody
	if err := copyModule(strings.TrimSpace(string(root)), work); err != nil {
		return 0, err
	}
	if output, ok := test(work); !ok {
		return 0, fmt.Errorf("the tests fail without any mutation:\n%s", output)
	}
	for _, m := range mutations {
		path := filepath.Join(work, "store", m.file)
		source, err := os.ReadFile(path)
		if err != nil {
			return survivors, err
		}
		if strings.Count(string(source), m.old) != 1 {
			return survivors, fmt.Errorf("%s: %q stands %d times in %s, want once", m.what, m.old, strings.Count(string(source), m.old), m.file)
		}
		broken := strings.Replace(string(source), m.old, m.new, 1)
		if err := os.WriteFile(path, []byte(broken), 0o666); err != nil {
			return survivors, err
		}
		began := time.Now()
		verdict := "killed"
		if _, ok := test(work); ok {
			verdict = "SURVIVED"
			survivors++
		}
		fmt.Printf("%-8s  %5.1fs  %-14s %s\n", verdict, time.Since(began).Seconds(), m.file, m.what)
		if err := os.WriteFile(path, source, 0o666); err != nil {
			return survivors, err
		}
	}
	fmt.Printf("%d mutations, %d survived\n", len(mutations), survivors)
	return survivors, nil
}

// copyModule copies what the tests of the store need.
func copyModule(from, to string) error {
	for _, name := range []string{"go.mod", "go.sum", "store", "blockhash", "errors", "internal/golden", "prefixcache", "connector", "routing", "testdata"} {
		source, target := filepath.Join(from, name), filepath.Join(to, name)
		info, err := os.Stat(source)
		if err != nil {
			return err
		}
		if info.IsDir() {
			if err := os.CopyFS(target, os.DirFS(source)); err != nil {
				return err
			}
			continue
		}
		data, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		if err := os.WriteFile(target, data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// test runs the tests. A mutation that makes them hang is noticed too.
func test(dir string) (output string, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "go", "test", "./store", "-short", "-failfast", "-timeout", "60s", "-rapid.checks=300", "-rapid.nofailfile")
	command.Dir = dir
	text, err := command.CombinedOutput()
	return string(text), err == nil
}
