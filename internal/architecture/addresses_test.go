package architecture

import (
	"go/ast"
	"strings"
	"testing"
)

// TestNoPortIsGivenUp: no test and no benchmark asks the kernel for a port, gives it up, and expects to get it a second time; somebody else may have it by then.
// Such addresses are from test/loopback.
func TestNoPortIsGivenUp(t *testing.T) {
	found := 0
	for _, s := range readSources(t) {
		if !s.test() && !strings.HasPrefix(s.path, "bench/") || strings.HasPrefix(s.path, "test/loopback/") {
			continue
		}
		_, file := s.parse(t)
		found += calls(file, "loopback.Free") + calls(file, "loopback.Choose")
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && givesUpPort(f) {
				t.Errorf("%s: %s returns the address of a listener that it closes: ask test/loopback for one", s.path, f.Name.Name)
			}
		}
	}
	if found < 10 {
		t.Errorf("found %d calls of loopback.Free: the test looks for the wrong name", found)
	}
}

// givesUpPort reports whether a function listens, closes what listens, and returns its address as a text.
func givesUpPort(f *ast.FuncDecl) bool {
	if f.Body == nil || !returnsText(f.Type.Results) || calls(&ast.File{Name: f.Name, Decls: []ast.Decl{f}}, "Listen") == 0 {
		return false
	}
	addresses, closes := map[string]bool{}, map[string]bool{}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if _, later := n.(*ast.FuncLit); later {
			return false
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		selected, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := selected.X.(*ast.Ident); ok {
			switch selected.Sel.Name {
			case "Addr":
				addresses[of.Name] = true
			case "Close":
				closes[of.Name] = true
			}
		}
		return true
	})
	for name := range closes {
		if addresses[name] {
			return true
		}
	}
	return false
}

func returnsText(results *ast.FieldList) bool {
	if results == nil {
		return false
	}
	for _, r := range results.List {
		if kind, ok := r.Type.(*ast.Ident); ok && kind.Name == "string" {
			return true
		}
	}
	return false
}
