package diagnosis

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// reasonsOf are the reasons that the code of some folders can write, each with a place that does: constants whose names begin with Reason, words that are
// given to a field, a variable or a parameter of the name reason, and all words in functions that are spelled as reasons are.
func reasonsOf(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	r := reader{set: token.NewFileSet(), reasons: map[string]string{}, takes: map[string]map[int]bool{}}
	var files []*ast.File
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(names), err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(r.set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, parsed)
		}
	}
	for _, file := range files {
		r.parameters(file)
	}
	for _, file := range files {
		r.read(file)
	}
	return r.reasons
}

type reader struct {
	set     *token.FileSet
	reasons map[string]string
	// takes has the positions of the parameter reason of the functions of a name.
	takes map[string]map[int]bool
}

// parameters notes which functions of a file take a reason.
func (r *reader) parameters(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			r.takesReason(n.Name.Name, n.Type)
		case *ast.AssignStmt:
			if f, ok := n.Rhs[0].(*ast.FuncLit); ok {
				r.takesReason(nameOf(n.Lhs[0]), f.Type)
			}
		}
		return true
	})
}

func (r *reader) takesReason(function string, f *ast.FuncType) {
	at := 0
	for _, field := range f.Params.List {
		for _, name := range field.Names {
			if name.Name == "reason" {
				if r.takes[function] == nil {
					r.takes[function] = map[int]bool{}
				}
				r.takes[function][at] = true
			}
			at++
		}
	}
}

func (r *reader) read(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, value := range n.Values {
				r.given(n.Names[i], value)
			}
		case *ast.KeyValueExpr:
			r.given(n.Key, n.Value)
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if len(n.Lhs) == len(n.Rhs) {
					r.given(to, n.Rhs[i])
				}
			}
		case *ast.CallExpr:
			for at, argument := range n.Args {
				if r.takes[nameOf(n.Fun)][at] {
					r.found(argument, word)
				}
			}
		case *ast.FuncDecl:
			if n.Body != nil {
				ast.Inspect(n.Body, func(n ast.Node) bool {
					if value, ok := n.(ast.Expr); ok {
						r.found(value, words)
					}
					return true
				})
			}
		}
		return true
	})
}

// given notes a value that something gets which is named reason, or begins so.
func (r *reader) given(to ast.Node, value ast.Expr) {
	if strings.HasPrefix(strings.ToLower(nameOf(to)), "reason") {
		r.found(value, word)
	}
}

var (
	word = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)
	// words are several.
	words = regexp.MustCompile(`^[A-Z]+[a-z]+[A-Z][A-Za-z]*$`)
)

func (r *reader) found(value ast.Expr, spelled *regexp.Regexp) {
	if sum, ok := value.(*ast.BinaryExpr); ok {
		value = sum.X // a reason that ends with a state
	}
	literal, ok := value.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return
	}
	if text, err := strconv.Unquote(literal.Value); err == nil && spelled.MatchString(text) {
		r.reasons[text] = r.set.Position(literal.Pos()).String()
	}
}

// nameOf is the name of a variable, a field or a function; empty: it has none.
func nameOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Ident:
		return n.Name
	case *ast.SelectorExpr:
		return n.Sel.Name
	}
	return ""
}
