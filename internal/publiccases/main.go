// Command publiccases writes docs/public-cases.md: the bugs that people met in public
// projects around routing rows and block-hash caches, what this library does about each,
// and the tests that show it.
//
//	go run ./internal/publiccases
//
// The table is data of this package, so that its own tests can hold it against the tests
// that there are: a case without a test, a test without a case, and a page that is out of
// date are failures.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// page is where the table goes, from the root of the module.
const page = "docs/public-cases.md"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "publiccases:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("finding the module: %w", err)
	}
	return os.WriteFile(filepath.Join(strings.TrimSpace(string(root)), page), []byte(render(publicCases())), 0o666)
}
