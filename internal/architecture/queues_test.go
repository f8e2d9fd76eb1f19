package architecture

import (
	"go/ast"
	"testing"
)

// TestControllersHaveQueuesThatEnd wants every controller to have its options from internal/controller/objectqueue: the queue that controller-runtime
// makes by itself may keep a worker when it is shut down, and whoever waits for the controller's end waits for ever.
func TestControllersHaveQueuesThatEnd(t *testing.T) {
	found := 0
	for _, s := range readSources(t) {
		if s.test() || s.generated() {
			continue
		}
		_, file := s.parse(t)
		made, options := calls(file, "NewControllerManagedBy"), calls(file, "objectqueue.Options")
		if found += made; made != options {
			t.Errorf("%s makes %d controllers, and asks for objectqueue.Options %d times", s.path, made, options)
		}
	}
	if found < 10 {
		t.Errorf("found %d controllers: the test looks for the wrong name", found)
	}
}

// calls counts the calls in a file of a function of another package: by its name alone, or with that of its package.
func calls(file *ast.File, function string) (n int) {
	ast.Inspect(file, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		if selected, ok := call.Fun.(*ast.SelectorExpr); ok {
			from, _ := selected.X.(*ast.Ident)
			if selected.Sel.Name == function || from != nil && from.Name+"."+selected.Sel.Name == function {
				n++
			}
		}
		return true
	})
	return n
}
