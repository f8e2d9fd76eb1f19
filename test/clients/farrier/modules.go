package farrier

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Build compiles a program of a module that the calling module requires, with the flags of the Makefile.
func Build(t *testing.T, program string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", file, program)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", program, err, output)
	}
	return file
}

// Module is the folder of a module that the calling module requires.
func Module(t *testing.T, path string) string {
	t.Helper()
	return goList(t, "-m", "-f", "{{.Dir}}", path)
}

// AsPublished fails the test if a client is compiled with another version of a module than its own go.mod names.
func AsPublished(t *testing.T, path string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", filepath.Join(Module(t, path), "go.mod")).Output()
	if err != nil {
		t.Fatalf("the go.mod of %s: %v", path, err)
	}
	var named struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(output, &named); err != nil {
		t.Fatal(err)
	}
	if len(named.Require) == 0 {
		t.Fatalf("%s requires nothing", path)
	}
	compiled := map[string]string{}
	for _, line := range strings.Split(goList(t, "-deps", "-test", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", "./..."), "\n") {
		module, version, _ := strings.Cut(line, " ")
		compiled[module] = version
	}
	if compiled[path] == "" {
		t.Fatalf("nothing of %s is tested", path)
	}
	for _, module := range named.Require {
		if version, used := compiled[module.Path]; used && version != module.Version {
			t.Errorf("%s was published with %s %s, and is tested with %s", path, module.Path, module.Version, version)
		}
	}
}

func goList(t *testing.T, args ...string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(output))
}
