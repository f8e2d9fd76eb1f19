package throttle

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOrdersHaveAnAccount: whoever gives the fleet an order says for which object it is, so that it is counted for that.
func TestOrdersHaveAnAccount(t *testing.T) {
	files, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	orders := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			text := string(source[set.Position(f.Pos()).Offset:set.Position(f.End()).Offset])
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && isOrder(call) {
					orders++
					if !strings.Contains(text, "Account") && !strings.Contains(text, "account(") {
						t.Errorf("%s: an order without Account: name the object that it is for, with throttle.Account", set.Position(call.Pos()))
					}
				}
				return true
			})
		}
	}
	if orders < 6 {
		t.Errorf("only %d orders were found: the test looks in the wrong place", orders)
	}
}

// isOrder recognises Fleet.Do and Fleet.Submit.
func isOrder(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Do" && f.Sel.Name != "Submit" || len(call.Args) != 2 {
		return false
	}
	switch x := f.X.(type) {
	case *ast.SelectorExpr:
		return x.Sel.Name == "Fleet"
	case *ast.Ident:
		return x.Name == "f"
	}
	return false
}
