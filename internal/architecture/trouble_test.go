package architecture

import (
	"go/ast"
	"strings"
	"testing"
)

// TestNobodyDecidesByTrouble: condition Troubled repeats for people what other conditions say, so only the room that writes it names it. Controllers show
// it and hand it on; what they may know of it is in that room.
func TestNobodyDecidesByTrouble(t *testing.T) {
	const writes = "internal/controller/trouble/"
	seen := 0
	for _, s := range readSources(t) {
		if s.test() || strings.HasPrefix(s.path, "api/") {
			continue
		}
		_, file := s.parse(t)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if n.Sel.Name == "ConditionTroubled" {
					if seen++; !strings.HasPrefix(s.path, writes) {
						t.Errorf("%s names condition Troubled: decide by the condition that it repeats", s.path)
					}
				}
			case *ast.BasicLit:
				if n.Value == `"Troubled"` {
					t.Errorf("%s spells condition Troubled: decide by the condition that it repeats", s.path)
				}
			}
			return true
		})
	}
	if seen == 0 {
		t.Error("nobody names it")
	}
}
