package cli

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/farrier-dev/farrier/internal/program/version"
)

// TestVersion: the command says what --version says, and its JSON has all of it.
func TestVersion(t *testing.T) {
	line := "farrier " + version.Of().String() + "\n"
	for _, args := range [][]string{{"version"}, {"--version"}, {"up", "--version"}} {
		var stdout, stderr bytes.Buffer
		if code := Main(args, &stdout, &stderr); code != 0 || stdout.String() != line {
			t.Errorf("farrier %v: exit code %d, prints %q, says %q", args, code, stdout.String(), stderr.String())
		}
	}
	var stdout, stderr bytes.Buffer
	var got version.Build
	if code := Main([]string{"version", "-o", "json"}, &stdout, &stderr); code != 0 {
		t.Fatalf("farrier version -o json: exit code %d, says %q", code, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil || got != version.Of() {
		t.Errorf("farrier version -o json: %+v, %v, want %+v", got, err, version.Of())
	}
	if code := Main([]string{"version", "-o", "yaml"}, &stdout, &stderr); code != 2 || stderr.String() != "farrier: --output: \"yaml\" is neither table nor json\nSee 'farrier version --help'.\n" {
		t.Errorf("farrier version -o yaml: exit code %d, says %q", code, stderr.String())
	}
}
