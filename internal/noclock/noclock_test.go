// Package noclock keeps clocks out of the packages whose answers must not depend
// on one: a clock that goes backwards, jumps or stands still cannot hurt them.
package noclock

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// clockless are the folders below which no code but tests may know the time. What
// waits there (the store's writer, its reads) waits for events, or for a context
// whose deadline is its owner's affair.
var clockless = []string{"errors", "blockhash", "routing", "prefixcache", "store", "connector"}

// conformance is the suite for other people's stores: tests that are imported. It
// bounds how long the check of a history may take.
const conformance = "storetest"

// clocks are imports that give access to a clock, and functions of other packages
// that read one.
var (
	clockImports   = []string{"time", "runtime/trace", "testing/synctest"}
	clockFunctions = []string{
		"Now", "Since", "Until", "Nanotime", "Gettimeofday", "ClockGettime", "Times", "Sleep", "Nanosleep",
		"WithTimeout", "WithDeadline", "WithTimeoutCause", "WithDeadlineCause", "SetDeadline",
	}
)

func TestNoCorePackageReadsAClock(t *testing.T) {
	found, files := clocksBelow(t, filepath.Join("..", ".."), clockless)
	require.Greater(t, files, 80, "the packages are not where they were")
	require.Empty(t, found)
}

// clocksBelow lists what is to do with clocks in the code below some folders.
func clocksBelow(t *testing.T, root string, folders []string) (found []string, files int) {
	for _, folder := range folders {
		require.NoError(t, fs.WalkDir(os.DirFS(root), folder, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == conformance:
				return fs.SkipDir
			case entry.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
				return nil
			}
			files++
			source, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				return err
			}
			clocks, err := clocksIn(path, source)
			found = append(found, clocks...)
			return err
		}))
	}
	return found, files
}

// clocksIn lists what is to do with clocks in a file.
func clocksIn(path string, source []byte) (found []string, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, imported := range file.Imports {
		name, err := strconv.Unquote(imported.Path.Value)
		if err != nil {
			return nil, err
		}
		if slices.Contains(clockImports, name) || strings.HasSuffix(name, "/expirable") {
			found = append(found, set.Position(imported.Pos()).String()+": imports "+name)
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok && slices.Contains(clockFunctions, selector.Sel.Name) {
			found = append(found, set.Position(selector.Pos()).String()+": uses "+selector.Sel.Name)
		}
		return true
	})
	for _, group := range file.Comments {
		for _, comment := range group.List { // a function of the runtime could be borrowed
			if strings.HasPrefix(comment.Text, "//go:linkname") {
				found = append(found, set.Position(comment.Pos()).String()+": links another package's name")
			}
		}
	}
	return found, nil
}

func TestAClockWouldBeNoticed(t *testing.T) {
	for name, source := range map[string]string{
		"an import":                 "package p\nimport \"time\"\nvar _ time.Time",
		"an import by another name": "package p\nimport clock \"time\"\nvar _ clock.Time",
		"a clock of the system":     "package p\nimport \"golang.org/x/sys/unix\"\nfunc f() { unix.ClockGettime(0, nil) }",
		"a deadline":                "package p\nimport \"context\"\nvar f = context.WithTimeout",
		"a cache that expires":      "package p\nimport _ \"github.com/hashicorp/golang-lru/v2/expirable\"",
		"a function of the runtime": "package p\nimport _ \"unsafe\"\n//go:linkname nanotime runtime.nanotime\nfunc nanotime() int64",
	} {
		found, err := clocksIn("p.go", []byte(source))
		require.NoError(t, err, name)
		require.NotEmpty(t, found, name)
	}
	found, err := clocksIn("p.go", []byte("package p\nimport \"context\"\nvar f = context.WithCancel"))
	require.NoError(t, err)
	require.Empty(t, found)
}
