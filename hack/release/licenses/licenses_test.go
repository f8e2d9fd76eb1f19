package licenses

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/hack/release/programtest"
)

// TestOf: the licenses of the modules of a program are there, once each.
func TestOf(t *testing.T) {
	built := programtest.Build(t)
	text, err := Of(t.Context(), "../../..", []string{built, built})
	if err != nil {
		t.Fatal(err)
	}
	for _, heading := range []string{"Farrier\n=======\n", "\nGo\n==\n", "\ngolang.org/x/mod@v"} {
		if n := strings.Count(string(text), heading); n != 1 {
			t.Errorf("%q is there %d times", heading, n)
		}
	}
}

// TestAdd: files that go with a program are found by their names; a folder without any is an error, because somebody has to look.
func TestAdd(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if err := add(&out, "x", dir); err == nil {
		t.Error("a folder without a license is fine")
	}
	for _, name := range []string{"LICENSE", "LICENCE.md", "COPYING", "NOTICE.txt", "license.go", "licensed", "README"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text of "+name+"\n\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out.Reset()
	if err := add(&out, "x", dir); err != nil {
		t.Fatal(err)
	}
	if want := "x\n=\n\ntext of COPYING\n\ntext of LICENCE.md\n\ntext of LICENSE\n\ntext of NOTICE.txt\n\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
