package architecture

import (
	"go/ast"
	"testing"
)

// TestOperationsAreReadByAllTheirNames wants the annotation of operations to be read by metalv1.OperationOf and metalv1.IsIgnored, which know the names that
// metal-operator had for them before: an object that its users told to be ignored must not be acted upon because Farrier knows another word.
func TestOperationsAreReadByAllTheirNames(t *testing.T) {
	read := 0
	for _, s := range readSources(t) {
		if s.test() || s.generated() {
			continue
		}
		set, file := s.parse(t)
		read += calls(file, "metalv1.OperationOf") + calls(file, "metalv1.IsIgnored")
		ast.Inspect(file, func(node ast.Node) bool {
			index, ok := node.(*ast.IndexExpr)
			if !ok {
				return true
			}
			if key, ok := index.Index.(*ast.SelectorExpr); ok && key.Sel.Name == "AnnotationOperation" {
				t.Errorf("%s reads the annotation itself: metalv1.OperationOf knows its values by all their names", set.Position(index.Pos()))
			}
			return true
		})
	}
	if read < 10 {
		t.Errorf("found %d places that ask for an operation: the test looks for the wrong names", read)
	}
}
