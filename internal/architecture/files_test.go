package architecture

import (
	"bytes"
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
	"testing"
)

// fileOrders are the packages in which reading goes one way, with their files. A file uses only what files before it in its list
// declare.
var fileOrders = map[string][]string{
	"internal/controller/server": {
		// what is known
		"facts.go", "edit.go", "view.go", "states.go", "inventory.go",
		// plan
		"plan.go", "power.go", "firmware.go", "boot.go", "progress.go",
		// decide
		"decide_reserved.go", "decide_discovery.go", "decide_cleanup.go", "decide_probeboot.go", "decide_idle.go", "decide_maintenance.go", "decide_settings.go",
		"decide_operation.go", "decide.go",
		// read, act, report
		"memory.go", "metrics.go", "reconciler.go", "connect.go", "gather_maintenance.go", "gather.go", "act_probe.go", "act.go",
		"conditions.go", "says.go", "report.go", "reconcile.go", "setup.go",
		"doc.go",
	},
}

// arrow says that a file uses what another one declares.
type arrow struct{ from, to string }

func TestFilesUseOnlyFilesBeforeThem(t *testing.T) {
	for dir, order := range fileOrders {
		t.Run(dir, func(t *testing.T) {
			uses := arrows(t, dir)
			for _, problem := range backward(uses, order) {
				t.Error(problem)
			}
			t.Logf("%d arrows between %d files", len(uses), len(order))
		})
	}
}

// backward names the arrows that point to a later file, and the files that are not part of the order.
func backward(uses map[arrow][]string, order []string) []string {
	var problems []string
	at := func(file string) int {
		i := slices.Index(order, file)
		if i < 0 {
			problems = append(problems, file+" has no place in the order")
		}
		return i
	}
	for a, names := range uses {
		if from, to := at(a.from), at(a.to); from >= 0 && to >= 0 && from < to {
			slices.Sort(names)
			problems = append(problems, fmt.Sprintf("%s uses %v of %s, which comes after it", a.from, slices.Compact(names), a.to))
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}

// arrows are the references between the files of a package, tests apart, with the names that are used.
func arrows(t *testing.T, dir string) map[arrow][]string {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if (source{path: p}).test() {
			continue
		}
		file, err := parser.ParseFile(fset, p, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", exports(t, dir))}
	pkg, err := config.Check(module+"/"+dir, fset, files, info)
	if err != nil {
		t.Fatal(err)
	}
	fileOf := func(pos token.Pos) string { return filepath.Base(fset.Position(pos).Filename) }
	uses := map[arrow][]string{}
	for id, object := range info.Uses {
		if object.Pkg() != pkg || !declared(pkg, object) {
			continue
		}
		if a := (arrow{fileOf(id.Pos()), fileOf(object.Pos())}); a.from != a.to {
			uses[a] = append(uses[a], object.Name())
		}
	}
	return uses
}

// declared reports whether an object stands by itself: a package's name, or a method. Fields come with their type.
func declared(pkg *types.Package, object types.Object) bool {
	if f, ok := object.(*types.Func); ok {
		return f.Signature().Recv() != nil || object.Parent() == pkg.Scope()
	}
	return object.Parent() == pkg.Scope()
}

// exports finds what the compiler has written down of each package that one imports.
func exports(t *testing.T, dir string) importer.Lookup {
	t.Helper()
	out := goCommand(t, ".", "list", "-export", "-deps", "-json=ImportPath,Export", "./"+dir)
	byPath := map[string]string{}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		byPath[p.ImportPath] = p.Export
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(byPath[path]) }
}

func TestBackward(t *testing.T) {
	order := []string{"ground.go", "first.go", "roof.go"}
	for _, tc := range []struct {
		name string
		uses map[arrow][]string
		want []string
	}{
		{"earlier files", map[arrow][]string{{"roof.go", "ground.go"}: {"floor"}, {"first.go", "ground.go"}: {"floor"}}, nil},
		{"a later file", map[arrow][]string{{"ground.go", "first.go"}: {"stairs", "door", "stairs"}}, []string{"ground.go uses [door stairs] of first.go, which comes after it"}},
		{"an unknown file", map[arrow][]string{{"annex.go", "ground.go"}: {"floor"}}, []string{"annex.go has no place in the order"}},
	} {
		if got := backward(tc.uses, order); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
