package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

func TestThePageIsWhatTheTableSays(t *testing.T) {
	written, err := os.ReadFile(filepath.Join(root, page))
	require.NoError(t, err)
	require.Equal(t, render(publicCases()), string(written), "run go run ./internal/publiccases")
}

func TestEveryCaseIsToldOnceAndHasATestOrAReason(t *testing.T) {
	number := regexp.MustCompile(`^PC-\d{3}$`)
	told := map[string]bool{}
	for _, c := range publicCases() {
		require.Regexp(t, number, c.id)
		require.False(t, told[c.id], "%s is told twice", c.id)
		told[c.id] = true
		require.Equal(t, len(c.tests) == 0, c.reason != "", "%s needs tests or a reason, and not both", c.id)
		require.NotEmpty(t, c.sources, c.id)
		for _, source := range c.sources {
			require.True(t, strings.HasPrefix(source, "https://"), "%s: %s", c.id, source)
		}
		for _, sentence := range []string{c.met, c.answer, c.reason} {
			require.NotContains(t, sentence, "|", "%s: it would end the cell", c.id)
			require.NotContains(t, sentence, "\n", c.id)
		}
		require.True(t, strings.HasSuffix(c.met, ".") && strings.HasSuffix(c.answer, "."), "%s: sentences", c.id)
	}
}

func TestTheTableAndTheTestsNameEachOther(t *testing.T) {
	there := testsOf(t, root)
	named := map[test]bool{}
	for _, c := range publicCases() {
		for _, of := range c.tests {
			full := test{of.folder, c.nameOf(of)}
			require.True(t, there[full], "%s: %s has no %s", c.id, full.folder, full.name)
			require.False(t, named[full], "%s: %s is named twice", c.id, full.name)
			named[full] = true
		}
	}
	for of := range there {
		if strings.HasPrefix(of.name, "TestPublicCase") {
			require.True(t, named[of], "no case names %s of %s", of.name, of.folder)
		}
	}
}

// testsOf finds the tests of a module by parsing its test files. Modules inside it and
// folders that the go command passes over are left out.
func testsOf(t *testing.T, root string) map[test]bool {
	t.Helper()
	found := map[test]bool{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return passOver(root, name, entry.Name())
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				found[test{filepath.ToSlash(folder), f.Name.Name}] = true
			}
		}
		return nil
	})
	require.NoError(t, err)
	return found
}

// passOver skips the folders that do not belong to the module.
func passOver(root, name, base string) error {
	if name == root {
		return nil
	}
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func TestASourceIsCalledByItsRepositoryAndNumber(t *testing.T) {
	for source, want := range map[string]string{
		"https://github.com/vllm-project/vllm/pull/39568":               "vllm#39568",
		"https://github.com/sgl-project/sglang/issues/26975":            "sglang#26975",
		"https://github.com/THUDM/slime/blob/main/slime/utils/types.py": "slime/types.py",
		"https://docs.vllm.ai/en/v0.21.0/training/":                     "docs.vllm.ai",
		"https://github.com/":                                           "github.com",
		"https://%":                                                     "https://%",
	} {
		require.Equal(t, want, label(source))
	}
}

func TestACaseThatCannotApplySaysWhy(t *testing.T) {
	text := render([]publicCase{{id: "PC-001", met: "It broke.", answer: "It cannot.", sources: []string{"https://example.org/1"}, reason: "there is none"}})
	require.Contains(t, text, "| PC-001 | It broke ([example.org](https://example.org/1)) | It cannot. | cannot apply: there is none |")
	require.Contains(t, text, "1 cases, 0 tests; 1 cases cannot apply here.")
}
