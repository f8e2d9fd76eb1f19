package architecture

import (
	"go/ast"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// bootConfigKind is the name of a kind of boot config, of which each boot method has one, or of a type of its.
var bootConfigKind = regexp.MustCompile(`^[A-Z]\w*BootConfig(List|Spec|Status)?$`)

// namesKinds are where kinds of boot configs are named: the table of boot methods, and the table of cases of their rules.
var namesKinds = []string{"internal/bootview/bootmethod", "internal/admission/admissiontest"}

// TestBootMethodsAreATable: nobody but the table names a kind of boot config, so that a method is added there.
func TestBootMethodsAreATable(t *testing.T) {
	inTable := 0
	for _, s := range readSources(t) {
		if s.test() || !within(s.path, "internal") && !within(s.path, "cmd") {
			continue
		}
		named := kindsNamed(t, s)
		if _, allowed := withinAny(s.path, namesKinds); allowed {
			inTable += len(named)
			continue
		}
		for _, name := range named {
			t.Errorf("%s names %s; ask internal/bootview/bootmethod", s.path, name)
		}
	}
	if inTable == 0 {
		t.Error("the table names no kind: this test looks for the wrong words")
	}
}

// kindsNamed are the kinds of boot configs in the code of a file, as types and as words.
func kindsNamed(t *testing.T, s source) (names []string) {
	if !strings.Contains(string(s.text), "BootConfig") {
		return nil
	}
	_, file := s.parse(t)
	ast.Inspect(file, func(n ast.Node) bool {
		name := ""
		switch n := n.(type) {
		case *ast.SelectorExpr:
			name = n.Sel.Name
		case *ast.BasicLit:
			name, _ = strconv.Unquote(n.Value)
		}
		if bootConfigKind.MatchString(name) {
			names = append(names, name)
		}
		return true
	})
	return names
}
