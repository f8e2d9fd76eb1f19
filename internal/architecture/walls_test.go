package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A graph is who imports whom, without test files. The standard library is
// left out: no wall is about it.
type graph map[string][]string

func TestWalls(t *testing.T) {
	// The go command's reads are invisible to the cache of test results. Reading
	// the sources here makes a changed import a reason to run again.
	readSources(t)

	imports := load(t, ".")
	for importPath, to := range load(t, "api") {
		imports[importPath] = to
	}
	for _, v := range violations(imports, rooms) {
		t.Error(v)
	}

	inhabited := map[string]bool{}
	for importPath := range imports {
		if r, ok := roomOf(rooms, importPath); ok && ours(importPath) {
			inhabited[r.path] = true
		}
	}
	for _, r := range rooms {
		if !inhabited[r.path] {
			t.Errorf("%s has a row in rooms_test.go and no package", r.path)
		}
	}
}

// TestAPIModuleRequires looks at what the module itself asks for, because that
// is what lands in the go.sum of everybody who imports a type from it.
func TestAPIModuleRequires(t *testing.T) {
	out := goCommand(t, "api", "mod", "edit", "-json")
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatalf("api/go.mod: %v", err)
	}
	for _, r := range mod.Require {
		if !r.Indirect && r.Path != "k8s.io/apimachinery" {
			t.Errorf("api/go.mod requires %s: the API module requires k8s.io/apimachinery and nothing else", r.Path)
		}
	}
}

// violations holds the graph against the table and describes each crossing of
// a wall in one line, in a stable order.
func violations(imports graph, rooms []room) []string {
	var found []string
	for importPath, to := range imports {
		if !ours(importPath) {
			continue
		}
		r, ok := roomOf(rooms, importPath)
		if !ok {
			found = append(found, fmt.Sprintf("%s belongs to no room: give it a row in rooms_test.go", importPath))
			continue
		}
		for _, dep := range to {
			if reason := direct(rooms, r, dep); reason != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s; %s", importPath, dep, reason, r.because))
			}
		}
		for _, banned := range r.never {
			if chain := imports.chain(importPath, banned); chain != nil {
				found = append(found, fmt.Sprintf("%s must never reach %s: %s", strings.Join(chain, " → "), banned, r.because))
			}
		}
	}
	slices.Sort(found)
	return found
}

// direct says what is wrong with a package of room r importing dep, if anything.
func direct(rooms []room, r room, dep string) string {
	if !ours(dep) {
		if _, ok := withinAny(dep, r.only); r.only != nil && !ok {
			return fmt.Sprintf("%s may import only the standard library and %v of others", r.path, r.only)
		}
		return ""
	}
	target, ok := roomOf(rooms, dep)
	if !ok || target.path == r.path || slices.ContainsFunc(r.may, func(entry string) bool { return allows(entry, target.path) }) {
		return "" // a package without a room is reported once, on its own
	}
	return fmt.Sprintf("%s may import only %v of ours", r.path, r.may)
}

// allows reports whether an entry of a row's may names the room at path.
func allows(entry, path string) bool {
	folder, all := strings.CutSuffix(entry, "/...")
	return entry == path || all && within(path, folder)
}

// chain returns a shortest chain of imports from a package to anything at or
// below the banned path, or nil.
func (g graph) chain(from, banned string) []string {
	cameFrom := map[string]string{from: ""}
	queue := []string{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if _, allowed := withinAny(at, plumbing); within(at, banned) && at != from && !allowed {
			var chain []string
			for p := at; p != ""; p = cameFrom[p] {
				chain = append(chain, p)
			}
			slices.Reverse(chain)
			return chain
		}
		for _, next := range g[at] {
			if _, seen := cameFrom[next]; !seen {
				cameFrom[next] = at
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// load asks the go command for the imports of every package of the module in
// dir and of everything they lead to.
func load(t *testing.T, dir string) graph {
	t.Helper()
	out := goCommand(t, dir, "list", "-deps", "-json=ImportPath,Imports,Standard", "./...")
	imports := graph{}
	standard := map[string]bool{"C": true, "unsafe": true}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
			Standard   bool
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list in %s: %v", dir, err)
		}
		if p.Standard {
			standard[p.ImportPath] = true
			continue
		}
		imports[p.ImportPath] = p.Imports
	}
	for p, to := range imports {
		imports[p] = slices.DeleteFunc(to, func(dep string) bool { return standard[dep] })
	}
	return imports
}

// goCommand runs the go command in a folder of the repository.
func goCommand(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root + "/" + dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s in %s: %v\n%s", strings.Join(args, " "), dir, err, stderr.String())
	}
	return out
}

func TestViolations(t *testing.T) {
	plan := []room{
		{path: "api", only: []string{"k8s.io/apimachinery"}, because: "lean"},
		{path: "internal/leaf", only: stdlib, because: "pure"},
		{path: "internal/server", may: []string{"internal/leaf"}, never: []string{"k8s.io/client-go"}, because: "no client"},
		{path: "internal/server/fake", may: []string{"internal/server"}, because: "for tests"},
		{path: "internal/all", may: []string{"internal/server/..."}, because: "wiring"},
	}
	tests := []struct {
		name    string
		imports graph
		want    []string
	}{
		{
			name: "as planned",
			imports: graph{
				module + "/api/metal":             {"k8s.io/apimachinery/pkg/runtime"},
				module + "/internal/leaf":         nil,
				module + "/internal/server":       {module + "/internal/leaf", module + "/internal/server/tls", "example.org/x"},
				module + "/internal/server/tls":   nil,
				module + "/internal/server/fake":  {module + "/internal/server"},
				"k8s.io/apimachinery/pkg/runtime": {"k8s.io/klog/v2"},
				"example.org/x":                   {"k8s.io/client-gopher"},
			},
		},
		{
			name:    "up instead of down",
			imports: graph{module + "/internal/leaf": {module + "/internal/server"}},
			want: []string{
				module + "/internal/leaf imports " + module + "/internal/server: internal/leaf may import only [] of ours; pure",
			},
		},
		{
			name:    "a row of its own is not open to its parent",
			imports: graph{module + "/internal/server": {module + "/internal/server/fake"}},
			want: []string{
				module + "/internal/server imports " + module + "/internal/server/fake: internal/server may import only [internal/leaf] of ours; no client",
			},
		},
		{
			name:    "third party where only some is allowed",
			imports: graph{module + "/api/metal": {"k8s.io/api/core/v1", "k8s.io/apimachinery"}},
			want: []string{
				module + "/api/metal imports k8s.io/api/core/v1: api may import only the standard library and [k8s.io/apimachinery] of others; lean",
			},
		},
		{
			name:    "all rooms of a folder, and no other",
			imports: graph{module + "/internal/all": {module + "/internal/server", module + "/internal/server/fake", module + "/internal/leaf"}},
			want: []string{
				module + "/internal/all imports " + module + "/internal/leaf: internal/all may import only [internal/server/...] of ours; wiring",
			},
		},
		{
			name: "a client behind a chain",
			imports: graph{
				module + "/internal/server": {"example.org/a", "example.org/b"},
				"example.org/a":             {"example.org/b", "example.org/c"},
				"example.org/b":             {"example.org/a"},
				"example.org/c":             {"k8s.io/client-go/rest"},
			},
			want: []string{
				module + "/internal/server → example.org/a → example.org/c → k8s.io/client-go/rest must never reach k8s.io/client-go: no client",
			},
		},
		{
			name: "a queue is no client, and what is behind it is looked at",
			imports: graph{
				module + "/internal/server":       {"k8s.io/client-go/util/workqueue"},
				"k8s.io/client-go/util/workqueue": {"k8s.io/client-go/rest"},
			},
			want: []string{
				module + "/internal/server → k8s.io/client-go/util/workqueue → k8s.io/client-go/rest must never reach k8s.io/client-go: no client",
			},
		},
		{
			name:    "no room",
			imports: graph{module + "/internal/shed": nil},
			want:    []string{module + "/internal/shed belongs to no room: give it a row in rooms_test.go"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := violations(tt.imports, plan); !slices.Equal(got, tt.want) {
				t.Errorf("violations:\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestTable finds rows that name rooms which do not exist.
func TestTable(t *testing.T) {
	known := map[string]bool{}
	for _, r := range rooms {
		if known[r.path] {
			t.Errorf("%s has two rows", r.path)
		}
		if r.because == "" {
			t.Errorf("%s has no reason: a wall that nobody can explain will be torn down", r.path)
		}
		known[r.path] = true
	}
	for _, r := range rooms {
		for _, m := range r.may {
			if !slices.ContainsFunc(rooms, func(r room) bool { return allows(m, r.path) }) {
				t.Errorf("%s may import %s, which has no row", r.path, m)
			}
		}
	}
}
