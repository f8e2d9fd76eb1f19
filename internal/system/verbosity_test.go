package system

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/program/logging"
)

// TestLowerVerbosity: -v 1 shows what a reconcile says, and nothing of what libraries say about themselves.
func TestLowerVerbosity(t *testing.T) {
	for verbosity, want := range []string{"", "reconcile", "library reconcile"} {
		var out bytes.Buffer
		library := LowerVerbosity(logr.FromSlogHandler(logging.NewHandler(&out, slog.Level(-verbosity)))).WithName("controller")
		library.Info("library")
		library.WithValues("reconcileID", "1").Info("reconcile")
		var got []string
		for line := range strings.Lines(out.String()) {
			got = append(got, strings.Fields(line)[1])
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("-v %d shows %q, want %q", verbosity, text, want)
		}
	}
}
