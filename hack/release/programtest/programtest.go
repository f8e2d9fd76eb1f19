package programtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Build builds the program hack/release, which links libraries, for a test of a package right below that folder. It returns where the program is.
func Build(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "release")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", file, "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return file
}
