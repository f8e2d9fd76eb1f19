package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed string
}

func (r *recorder) Errorf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }

// Fatalf ends the goroutine, as that of a test does.
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}

// failure is what a test says that got something.
func failure(t *testing.T, file, got string) string {
	t.Helper()
	r := &recorder{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(r) {
				panic(p)
			}
		}()
		Equal(r, file, got)
	}()
	return r.failed
}

// setUpdate has a test run with or without -update.
func setUpdate(t *testing.T, to bool) {
	t.Helper()
	before := *update
	*update = to
	t.Cleanup(func() { *update = before })
}

func TestEqual(t *testing.T) {
	setUpdate(t, false)
	file := filepath.Join(t.TempDir(), "new", "answer.golden")
	says := func(got string, want ...string) {
		t.Helper()
		said := failure(t, file, got)
		for _, part := range append(want, "go test -run '^TestEqual$' -update") {
			if !strings.Contains(said, part) {
				t.Errorf("%q says %q, which lacks %q", got, said, part)
			}
		}
	}
	says("one\n", file, "no such file")
	t.Run("update", func(t *testing.T) {
		setUpdate(t, true)
		Equal(t, file, []byte("one\ntwo\n"))
	})
	if content, err := os.ReadFile(file); err != nil || string(content) != "one\ntwo\n" {
		t.Fatalf("the file has %q: %v", content, err)
	}
	Equal(t, file, "one\ntwo\n")
	for _, got := range []string{"one\nthree\n", "one\ntwo", "one\ntwo\n\n", ""} {
		says(got, file, "-file +got")
	}
	if said := failure(t, file, "one\nthree\n"); !strings.Contains(said, "two") || !strings.Contains(said, "three") {
		t.Errorf("the failure does not show what differs: %s", said)
	}
}
