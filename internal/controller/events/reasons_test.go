package events

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An event has the reason of the condition that says the same, or the type of one whose reasons mean nothing without it (Delivered), or tells of a
// moment that no condition tells of. docs/kubernetes-events.md lists all of them. This test reads the code of all controllers and compares.

const (
	page     = "../../../docs/kubernetes-events.md"
	unknown  = "?"      // a constant that is no text, or another one's
	fromElse = "*"      // the reason of a condition that is looked up
	lateIn   = "LateIn" // followed by a state
)

// TestReasons fails for an event whose reason is none of a condition and is not on the page, for one that is on the page and never sent, and for an event
// that is sent past this package.
func TestReasons(t *testing.T) {
	code := readCode(t)
	sent, said := code.find(t, code.sends), code.find(t, code.conditions)
	for _, found := range []map[string]bool{sent, said} {
		delete(found, fromElse)
	}
	for name, text := range code.consts { // those that a condition gets from an error, or from the allocator
		if strings.Contains(name, "Reason") || strings.HasPrefix(name, "reason") || code.types[text] {
			said[text] = true
		}
	}
	if len(sent) < 30 || len(said) < 80 {
		t.Fatalf("only %d reasons of events and %d of conditions were found", len(sent), len(said))
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	conditions, moments, found := strings.Cut(string(text), "## Moments")
	if !found {
		t.Fatalf("%s does not say which events tell of moments", page)
	}
	row := regexp.MustCompile(`(?m)^\|[^|]*\| ([^|]*) \|`)
	word := regexp.MustCompile("`([A-Za-z]+)`")
	for part, isMoment := range map[string]bool{conditions: false, moments: true} {
		for _, m := range row.FindAllStringSubmatch(part, -1) {
			for _, found := range word.FindAllStringSubmatch(m[1], -1) {
				reason := found[1]
				if strings.HasPrefix(reason, lateIn) {
					reason = lateIn
				}
				listed[reason] = true
				if !isMoment && !said[reason] {
					t.Errorf("%s: %s is no reason of a condition, nor its type", page, reason)
				}
			}
		}
	}
	for reason := range sent {
		if !listed[reason] {
			t.Errorf("%s lacks %s (a condition has it: %v)", page, reason, said[reason])
		}
	}
	for reason := range listed {
		if !sent[reason] && !said[reason] {
			t.Errorf("%s has %s, which no event has", page, reason)
		}
	}
}

// code is what controllers consist of.
type code struct {
	packages []*pack
	// consts are those of all packages by name, types the types of conditions.
	consts map[string]string
	types  map[string]bool
	files  *token.FileSet
}

type pack struct {
	dir    string
	funcs  []*ast.FuncDecl
	consts map[string]string
}

func readCode(t *testing.T) *code {
	t.Helper()
	c := &code{consts: map[string]string{}, types: map[string]bool{}, files: token.NewFileSet()}
	for _, root := range []string{"..", "../../../api/metal/v1alpha1", "../../../api/boot/v1alpha1", "../../../api/ipxe/v1alpha1"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(c.files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			c.add(filepath.Dir(path), file)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *code) add(dir string, file *ast.File) {
	i := slices.IndexFunc(c.packages, func(p *pack) bool { return p.dir == dir })
	if i < 0 {
		i = len(c.packages)
		c.packages = append(c.packages, &pack{dir: dir, consts: map[string]string{}})
	}
	p := c.packages[i]
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			p.funcs = append(p.funcs, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.CONST {
					c.addConsts(p, v)
				}
			}
		}
	}
}

func (c *code) addConsts(p *pack, v *ast.ValueSpec) {
	for i, name := range v.Names {
		if i >= len(v.Values) {
			return
		}
		text := unknown
		if literal, ok := v.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, _ = strconv.Unquote(literal.Value)
		} else if other, ok := v.Values[i].(*ast.SelectorExpr); ok {
			text = c.consts[other.Sel.Name] // api comes later than its users: resolved again by name
		}
		p.consts[name.Name], c.consts[name.Name] = text, text
		if strings.HasPrefix(strings.ToLower(name.Name), "condition") {
			c.types[text] = true
		}
	}
}

// sends is the reason of an event in a node; nil: there is none.
func (c *code) sends(p *pack, n ast.Node) ast.Expr {
	switch n := n.(type) {
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Send" && len(n.Args) == 6 {
			return n.Args[4]
		}
	case *ast.CompositeLit: // what a plan of the server controller tells
		if name, ok := n.Type.(*ast.Ident); ok && name.Name == "Event" && len(n.Elts) == 3 {
			return n.Elts[1]
		}
	}
	return nil
}

// conditions is the reason of a condition in a node: each that sets a field Reason.
func (c *code) conditions(_ *pack, n ast.Node) ast.Expr {
	if pair, ok := n.(*ast.KeyValueExpr); ok {
		if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Reason" {
			return pair.Value
		}
	}
	return nil
}

// find collects what a part of the code has at all places, also where a function hands on what it is given.
func (c *code) find(t *testing.T, at func(*pack, ast.Node) ast.Expr) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, p := range c.packages {
		s := &search{T: t, code: c, pack: p, found: all, handsOn: map[string]int{}}
		for before := -1; before != len(s.handsOn); { // until no other function is found that hands on a parameter
			before = len(s.handsOn)
			for _, f := range p.funcs {
				s.walk(f, at)
			}
		}
	}
	delete(all, unknown) // the constant of another one, which is in another file
	delete(all, "")
	return all
}

// search is find in one package. handsOn has functions that hand on one of their parameters.
type search struct {
	*testing.T
	*code
	*pack
	found   map[string]bool
	handsOn map[string]int
}

func (s *search) walk(f *ast.FuncDecl, at func(*pack, ast.Node) ast.Expr) {
	if f.Body == nil {
		return
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if n == nil {
			return false
		}
		if expr := at(s.pack, n); expr != nil {
			s.resolve(f, expr, 0)
		}
		switch n := n.(type) {
		case *ast.CallExpr:
			if i, ok := s.handsOn[called(n)]; ok && i < len(n.Args) {
				s.resolve(f, n.Args[i], 0)
			}
		case *ast.AssignStmt: // c.Status, c.Reason = …
			s.assigned(f, n, at)
		}
		return true
	})
}

// assigned reads what is assigned to a field Reason, where conditions are looked for.
func (s *search) assigned(f *ast.FuncDecl, n *ast.AssignStmt, at func(*pack, ast.Node) ast.Expr) {
	probe := &ast.KeyValueExpr{Key: ast.NewIdent("Reason"), Value: ast.NewIdent("x")}
	if at(s.pack, probe) == nil || len(n.Lhs) != len(n.Rhs) {
		return
	}
	for i, to := range n.Lhs {
		if field, ok := to.(*ast.SelectorExpr); ok && field.Sel.Name == "Reason" {
			s.resolve(f, n.Rhs[i], 0)
		}
	}
}

func called(n *ast.CallExpr) string {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// resolve finds the texts that an expression can be.
func (s *search) resolve(f *ast.FuncDecl, expr ast.Expr, depth int) {
	const deepest = 6
	if depth > deepest {
		return
	}
	switch e := expr.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		s.found[text] = true
	case *ast.SelectorExpr:
		if value, ok := s.code.consts[e.Sel.Name]; ok {
			s.found[value] = true
			return
		}
		s.found[fromElse] = true // a field: of a condition, or of what was made above
	case *ast.Ident:
		s.ident(f, e, depth)
	case *ast.CallExpr:
		s.results(called(e), depth)
	case *ast.BinaryExpr: // LateIn and a state
		s.resolve(f, e.X, depth+1)
	default:
		s.Errorf("%s: what reason this is cannot be read: keep it a constant, or the Reason of a condition", s.files.Position(e.Pos()))
	}
}

func (s *search) ident(f *ast.FuncDecl, e *ast.Ident, depth int) {
	if value, ok := s.pack.consts[e.Name]; ok {
		s.found[value] = true
		return
	}
	i := 0
	for _, field := range f.Type.Params.List {
		for _, name := range field.Names {
			if name.Name == e.Name {
				s.handsOn[f.Name.Name] = i
				return
			}
			i++
		}
	}
	known := false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				name, ok := to.(*ast.Ident)
				if ok && len(n.Lhs) == len(n.Rhs) && s.closure(f, name.Name, n.Rhs[i], e.Name, depth) {
					known = true
				}
				switch {
				case !ok || name.Name != e.Name:
				case len(n.Lhs) == len(n.Rhs):
					known = true
					s.resolve(f, n.Rhs[i], depth+1)
				default:
					known = true
					s.resolve(f, n.Rhs[0], depth+1) // one of several results
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if name.Name == e.Name && i < len(n.Values) {
					known = true
					s.resolve(f, n.Values[i], depth+1)
				}
			}
		}
		return true
	})
	if !known {
		s.Errorf("%s: what %s is cannot be read", s.files.Position(e.Pos()), e.Name)
	}
}

// closure finds what a function in a function is given, which hands on its parameter of that name, and reports whether it is such a function.
func (s *search) closure(f *ast.FuncDecl, name string, value ast.Expr, parameter string, depth int) bool {
	literal, ok := value.(*ast.FuncLit)
	if !ok {
		return false
	}
	i := -1
	n := 0
	for _, field := range literal.Type.Params.List {
		for _, p := range field.Names {
			if p.Name == parameter {
				i = n
			}
			n++
		}
	}
	if i < 0 {
		return false
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && called(call) == name && i < len(call.Args) {
			s.resolve(f, call.Args[i], depth+1)
		}
		return true
	})
	return true
}

// results finds the texts that a function of this package returns.
func (s *search) results(name string, depth int) {
	for _, f := range s.funcs {
		if f.Name.Name != name || f.Body == nil {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if r, ok := n.(*ast.ReturnStmt); ok {
				for _, result := range r.Results {
					switch result.(type) {
					case *ast.BasicLit, *ast.SelectorExpr, *ast.Ident:
						s.resolve(f, result, depth+1)
					}
				}
			}
			return true
		})
	}
}
