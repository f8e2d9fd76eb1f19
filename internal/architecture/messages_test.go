package architecture

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Sentences are for people. No code decides by the message of a condition, the note of an event or the text of an error: it may write them,
// print them and quote them in other sentences, and it may ask whether there is one at all. A fact that another place needs has a type: a
// reason, a status field, an annotation, an error that errors.As finds.

// TestNoDecisionReadsASentence follows such texts from where they are read through local variables and the results of functions, not
// through fields.
func TestNoDecisionReadsASentence(t *testing.T) {
	readSources(t)
	c := &sentences{functions: map[string]bool{}}
	packages := c.load(t)
	for before := -1; before != len(c.functions); { // until no further function is found to return one
		before = len(c.functions)
		c.found = nil
		for _, p := range packages {
			c.check(p)
		}
	}
	used := map[string]bool{}
	for _, f := range c.found {
		if _, fine := mayReadSentences[f.where]; fine {
			used[f.where] = true
			continue
		}
		t.Errorf("%s: %s %s: give the fact a type, or say in mayReadSentences why this is no decision", f.position, f.where, f.what)
	}
	for where := range mayReadSentences {
		if !used[where] {
			t.Errorf("%s is in mayReadSentences and reads none", where)
		}
	}
}

// sentences finds the places that decide by a text.
type sentences struct {
	// functions that return such a text, by full name.
	functions map[string]bool
	found     []finding
}

type finding struct{ position, where, what string }

// checked is a type-checked package.
type checked struct {
	path  string
	files []*ast.File
	fset  *token.FileSet
	info  *types.Info
}

func (c *sentences) load(t *testing.T) []checked {
	t.Helper()
	type listed struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
	}
	exports := map[string]string{}
	var own []listed
	t.Setenv("CGO_ENABLED", "0")
	out := goCommand(t, ".", "list", "-export", "-deps", "-trimpath", "-buildvcs=false", "-json=ImportPath,Export,Dir,GoFiles", "./internal/...", "./cmd/...")
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		exports[p.ImportPath] = p.Export
		if ours(p.ImportPath) && !within(p.ImportPath, module+"/api") {
			own = append(own, p)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var packages []checked
	for _, p := range own {
		s := checked{path: p.ImportPath, fset: fset, info: &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		}}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			s.files = append(s.files, file)
		}
		if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, s.files, s.info); err != nil {
			t.Fatalf("%s: %v", p.ImportPath, err)
		}
		packages = append(packages, s)
	}
	return packages
}

func (c *sentences) check(p checked) {
	for _, file := range p.files {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				c.function(p, f)
			}
		}
	}
}

// body is a function that is looked at.
type body struct {
	*sentences
	checked
	declared *types.Func
	tainted  map[types.Object]bool
}

func (c *sentences) function(p checked, f *ast.FuncDecl) {
	declared, _ := p.info.Defs[f.Name].(*types.Func)
	b := &body{sentences: c, checked: p, declared: declared, tainted: map[types.Object]bool{}}
	for before := -1; before != len(b.tainted); {
		before = len(b.tainted)
		ast.Inspect(f.Body, b.spread)
	}
	b.returns(f.Body)
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if what := b.decides(n); what != "" {
			where := strings.TrimPrefix(p.path, module+"/") + "." + f.Name.Name
			position := p.fset.Position(n.Pos())
			c.found = append(c.found, finding{fmt.Sprintf("%s:%d", filepath.Base(position.Filename), position.Line), where, what})
		}
		return true
	})
}

// spread marks the variables that are given such a text.
func (b *body) spread(n ast.Node) bool {
	mark := func(to ast.Expr) {
		if id, ok := to.(*ast.Ident); ok {
			if obj := b.object(id); obj != nil && isString(obj.Type()) {
				b.tainted[obj] = true
			}
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if from := n.Rhs[min(i, len(n.Rhs)-1)]; b.isText(from) {
				mark(to)
			}
		}
	case *ast.ValueSpec:
		for i, value := range n.Values {
			if b.isText(value) {
				mark(n.Names[i])
			}
		}
	}
	return true
}

// returns marks the function when it returns such a text itself, not a function within it.
func (b *body) returns(block *ast.BlockStmt) {
	ast.Inspect(block, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if b.declared != nil && slices.ContainsFunc(n.Results, b.isText) {
				b.functions[b.declared.FullName()] = true
			}
		}
		return true
	})
}

func (b *body) object(id *ast.Ident) types.Object {
	if obj := b.info.Defs[id]; obj != nil {
		return obj
	}
	return b.info.Uses[id]
}

// isText reports whether an expression is such a text, or holds one.
func (b *body) isText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return b.isText(e.X)
	case *ast.SliceExpr:
		return b.isText(e.X)
	case *ast.Ident:
		return b.tainted[b.object(e)]
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (b.isText(e.X) || b.isText(e.Y))
	case *ast.SelectorExpr:
		s := b.info.Selections[e]
		return s != nil && s.Kind() == types.FieldVal && slices.Contains(textFields, named(s.Recv())+"."+e.Sel.Name)
	case *ast.CallExpr:
		if s, ok := e.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Error" && len(e.Args) == 0 && isError(b.info.TypeOf(s.X)) {
			return true
		}
		switch f := b.callee(e); {
		case f == nil:
			return false
		case b.functions[f.FullName()]:
			return true
		case f.Pkg() != nil && slices.Contains([]string{"fmt", "strings", "cmp"}, f.Pkg().Path()) && f.Name() != "Errorf":
			return isString(b.info.TypeOf(e)) && slices.ContainsFunc(e.Args, b.isText)
		}
	}
	return false
}

// textFields hold sentences.
var textFields = []string{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Condition.Message", "k8s.io/apimachinery/pkg/apis/meta/v1.Status.Message",
	"k8s.io/api/core/v1.Event.Message", "k8s.io/api/events/v1.Event.Note", module + "/internal/bmc.Error.Message",
}

func (b *body) callee(call *ast.CallExpr) *types.Func {
	var id *ast.Ident
	switch f := call.Fun.(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return nil
	}
	f, _ := b.info.Uses[id].(*types.Func)
	return f
}

// decides says how a node decides by such a text; empty: it does not.
func (b *body) decides(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		compares := slices.Contains([]token.Token{token.EQL, token.NEQ, token.LSS, token.GTR, token.LEQ, token.GEQ}, n.Op)
		if compares && !b.isEmpty(n.X) && !b.isEmpty(n.Y) && (b.isText(n.X) || b.isText(n.Y)) {
			return "compares a sentence"
		}
	case *ast.SwitchStmt:
		if n.Tag != nil && b.isText(n.Tag) {
			return "switches over a sentence"
		}
	case *ast.IndexExpr:
		if _, isMap := types.Unalias(b.info.TypeOf(n.X)).Underlying().(*types.Map); isMap && b.isText(n.Index) {
			return "looks a sentence up"
		}
	case *ast.CallExpr:
		f := b.callee(n)
		if f == nil || f.Pkg() == nil || !slices.ContainsFunc(n.Args, b.isText) {
			return ""
		}
		switch path := f.Pkg().Path(); {
		case path == "strings" && slices.Contains(quotes, f.Name()), path == "strings" && strings.HasPrefix(f.FullName(), "(*strings.Builder)"),
			path == "regexp" && strings.HasPrefix(f.Name(), "ReplaceAll"):
		case slices.Contains([]string{"strings", "regexp", "slices", "strconv", "encoding/json"}, path) && !strings.HasPrefix(f.Name(), "Quote") && f.Name() != "Marshal":
			return "reads a sentence with " + f.FullName()
		}
	}
	return ""
}

// quotes are the functions of package strings that make one text of others.
var quotes = []string{"ToValidUTF8", "ReplaceAll", "Map", "Join", "Repeat", "NewReader"}

func (b *body) isEmpty(e ast.Expr) bool {
	v := b.info.Types[e].Value
	return v != nil && v.ExactString() == `""`
}

func isString(t types.Type) bool {
	if t == nil {
		return false
	}
	basic, ok := types.Unalias(t).Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

func isError(t types.Type) bool {
	e := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	return t != nil && (types.Implements(t, e) || types.Implements(types.NewPointer(t), e))
}

// named is the package and the name of a type, or of what it points to.
func named(t types.Type) string {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return ""
	}
	return n.Obj().Pkg().Path() + "." + n.Obj().Name()
}

// mayReadSentences are the functions that read a sentence without deciding by it what happens to a machine.
var mayReadSentences = map[string]string{
	"internal/controller/events.Differ":        "an event is sent once: the one place that compares what a condition says with what it said",
	"internal/controller/controllertest.Says":  "a test's expectation",
	"internal/inbound/boottls.FromFiles":       "what is wrong with a file is logged once",
	"internal/admission/webhook/rotation.look": "what keeps a certificate from being renewed is logged once",
	"internal/ipxeapi/profile.readable":        "an error of text/template has no fields; its text is shortened for people",
	"internal/diagnosis.names":                 "a sentence for people ends with one full stop",
	"internal/timeline.conditions":             "a line for people does not repeat the reason",
	"internal/sim.bootInOrder":                 "the simulator compares outcomes, which are typed; the sentence beside them comes from the same call",
}
