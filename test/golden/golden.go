package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Equal fails the test where it got something else than the file has.
func Equal[T ~string | ~[]byte](t testing.TB, file string, got T) {
	t.Helper()
	if *update {
		write(t, file, []byte(got))
		return
	}
	test, _, _ := strings.Cut(t.Name(), "/")
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v\nIf the file is new, write it: go test -run '^%s$' -update", err, test)
	}
	if diff := cmp.Diff(lines(string(want)), lines(string(got))); diff != "" {
		t.Errorf("%s differs (-file +got):\n%s\nIf that is meant, write the file anew: go test -run '^%s$' -update", file, diff, test)
	}
}

// lines are what a difference is shown by; as one string it would be cut anywhere.
func lines(text string) []string { return strings.SplitAfter(text, "\n") }

func write(t testing.TB, file string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
