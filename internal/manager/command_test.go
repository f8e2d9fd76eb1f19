package manager

import (
	"os"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/program/configfile/configfiletest"
)

// TestAFileSetsEveryFlag: --config takes what the command line takes.
func TestAFileSetsEveryFlag(t *testing.T) { configfiletest.EveryFlag(t, Command) }

// TestTheDocumentedFile: the example of docs/manager.md is one that this command takes, and it sets what it says.
func TestTheDocumentedFile(t *testing.T) {
	page, err := os.ReadFile("../../docs/manager.md")
	if err != nil {
		t.Fatal(err)
	}
	_, from, found := strings.Cut(string(page), "```yaml\n# farrier-manager.yaml\n")
	file, _, closed := strings.Cut(from, "```")
	if !found || !closed {
		t.Fatal("docs/manager.md has no example of a file")
	}
	flags := configfiletest.Run(t, Command(), "--config", configfiletest.Write(t, []byte(file)))
	for line := range strings.Lines(file) {
		if key, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(key, "-") && !flags[key].Changed {
			t.Errorf("%q is not set", key)
		}
	}
	if got, want := flags["boot-url"].Value, "http://192.0.2.1:8082 hall-2=http://198.51.100.1:8082"; got != want {
		t.Errorf("boot-url is %q, want %q", got, want)
	}
}
