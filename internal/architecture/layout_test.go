package architecture

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository, seen from this folder, where go test runs us.
const root = "../.."

// longest is how long a file may grow. Past it, it usually holds two ideas.
const longest = 450

// generated is the marker that the go command defines for generated files
// (go help generate).
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// vague names say that the author did not know what the thing is.
var vague = []string{"util", "utils", "helper", "helpers", "common", "misc"}

type source struct {
	path string // slashed, from the root
	text []byte
}

// parse is the syntax of the file, with identifiers resolved within it.
func (s source) parse(t *testing.T) (*token.FileSet, *ast.File) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, s.path, s.text, 0)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return fset, file
}

func (s source) test() bool      { return strings.HasSuffix(s.path, "_test.go") }
func (s source) generated() bool { return generated.Match(s.text) }
func (s source) lines() int      { return bytes.Count(s.text, []byte("\n")) }

// readSources returns every Go file of the repository.
func readSources(t *testing.T) []source {
	t.Helper()
	var sources []source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if hidden := strings.HasPrefix(d.Name(), ".") && rel != "."; hidden || rel == "bin" || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(rel) != ".go" {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		sources = append(sources, source{path: rel, text: text})
		return nil
	})
	if err != nil {
		t.Fatalf("read the sources: %v", err)
	}
	if len(sources) == 0 {
		t.Fatalf("no Go files below %s", root)
	}
	return sources
}

func TestFilesFitInAHead(t *testing.T) {
	for _, s := range readSources(t) {
		if n := s.lines(); n > longest && !s.test() && !s.generated() {
			t.Errorf("%s has %d lines, more than %d: cut it where the second idea begins", s.path, n, longest)
		}
	}
}

func TestNamesSaySomething(t *testing.T) {
	for _, s := range readSources(t) {
		for part := range strings.SplitSeq(strings.TrimSuffix(s.path, ".go"), "/") {
			words := strings.FieldsFunc(part, func(r rune) bool { return r == '_' || r == '-' })
			for _, word := range words {
				if slices.Contains(vague, word) || strings.HasSuffix(word, "util") || strings.HasSuffix(word, "utils") {
					t.Errorf("%s: %q does not say what is in it", s.path, part)
				}
			}
		}
	}
}

// TestPackagesIntroduceThemselves wants a package comment on every package and,
// where the package is there to be imported, wants it in doc.go.
func TestPackagesIntroduceThemselves(t *testing.T) {
	type introduction struct{ name, file string }
	packages := map[string]introduction{}
	for _, s := range readSources(t) {
		if s.test() {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), s.path, s.text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Errorf("parse: %v", err)
			continue
		}
		dir := path.Dir(s.path)
		in := packages[dir]
		in.name = file.Name.Name
		if introduces(file) {
			in.file = path.Base(s.path)
		}
		packages[dir] = in
	}
	for dir, in := range packages {
		switch {
		case in.file == "":
			t.Errorf("%s: package %s has no comment that introduces it", dir, in.name)
		case in.name != "main" && in.file != "doc.go":
			t.Errorf("%s: package %s is introduced in %s, not in doc.go", dir, in.name, in.file)
		}
	}
}

// introduces reports whether the file has a package comment in the form that
// go doc expects: "Package name …", or "Command …" or the program's name for main.
func introduces(file *ast.File) bool {
	if file.Doc == nil {
		return false
	}
	return file.Name.Name == "main" || strings.HasPrefix(file.Doc.Text(), "Package "+file.Name.Name+" ")
}
