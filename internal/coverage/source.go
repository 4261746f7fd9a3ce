package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// block is a block of statements together with what stands there.
type block struct {
	span
	path     string // of the file, from the root of the module
	function string // "name", "Type.name" or "(*Type).name"
	text     string // the source, in one line
	before   string // the line before it
}

// source reads the files of a module.
type source struct {
	root, module string
	files        map[string]*file
}

type file struct {
	lines []string
	decls []declared
}

// declared is where a function stands.
type declared struct {
	name     string
	from, to int // lines
}

func newSource(root, module string) *source {
	return &source{root: root, module: module, files: map[string]*file{}}
}

// block finds what a span of a profile stands for.
func (s *source) block(at span) (block, error) {
	path, inside := strings.CutPrefix(at.file, s.module+"/")
	if !inside {
		return block{}, fmt.Errorf("%s is not in module %s", at.file, s.module)
	}
	f, err := s.file(path)
	if err != nil {
		return block{}, err
	}
	if at.endLine > len(f.lines) {
		return block{}, fmt.Errorf("%s has %d lines and not %d: the profile is of another state of it", path, len(f.lines), at.endLine)
	}
	return block{
		span: at, path: path, function: f.functionAt(at.line),
		text: oneLine(f.lines[at.line-1 : at.endLine]), before: f.before(at.line),
	}, nil
}

func (s *source) file(path string) (*file, error) {
	if f := s.files[path]; f != nil {
		return f, nil
	}
	data, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(path)))
	if err != nil {
		return nil, err
	}
	f, err := parseFile(path, data)
	if err != nil {
		return nil, err
	}
	s.files[path] = f
	return f, nil
}

func parseFile(path string, data []byte) (*file, error) {
	positions := token.NewFileSet()
	tree, err := parser.ParseFile(positions, path, data, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &file{lines: strings.Split(string(data), "\n")}
	for _, decl := range tree.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			f.decls = append(f.decls, declared{nameOf(fn), positions.Position(fn.Pos()).Line, positions.Position(fn.End()).Line})
		}
	}
	return f, nil
}

// nameOf writes a method as the language does, without type parameters.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	receiver := fn.Recv.List[0].Type
	star, pointer := receiver.(*ast.StarExpr)
	if pointer {
		receiver = star.X
	}
	switch generic := receiver.(type) {
	case *ast.IndexExpr:
		receiver = generic.X
	case *ast.IndexListExpr:
		receiver = generic.X
	}
	name := "?"
	if identifier, ok := receiver.(*ast.Ident); ok {
		name = identifier.Name
	}
	if pointer {
		return "(*" + name + ")." + fn.Name.Name
	}
	return name + "." + fn.Name.Name
}

// functionAt is the function around a line. A function literal outside of all
// functions belongs to the package.
func (f *file) functionAt(line int) string {
	for _, d := range f.decls {
		if d.from <= line && line <= d.to {
			return d.name
		}
	}
	return "package"
}

// before is the last line with anything in it that stands above a line.
func (f *file) before(line int) string {
	for at := line - 2; at >= 0; at-- {
		if text := oneLine(f.lines[at : at+1]); text != "" {
			return text
		}
	}
	return ""
}

// oneLine joins lines of source without their comments.
func oneLine(lines []string) string {
	var parts []string
	for _, line := range lines {
		line, _, _ = strings.Cut(line, " // ")
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "//") {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, " ")
}
