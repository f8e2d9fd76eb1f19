package system

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/program/logging"
)

// TestLowerVerbosity: a reconcile logs at the level that it names, and libraries two levels lower.
func TestLowerVerbosity(t *testing.T) {
	for verbosity, want := range []string{"reconcile", "reconcile why", "library reconcile why"} {
		var out bytes.Buffer
		library := LowerVerbosity(logr.FromSlogHandler(logging.NewHandler(&out, slog.Level(-verbosity)))).WithName("controller")
		library.Info("library")
		library.WithValues("reconcileID", "1").Info("reconcile")
		library.WithValues("reconcileID", "1").V(1).Info("why")
		var got []string
		for line := range strings.Lines(out.String()) {
			got = append(got, strings.Fields(line)[1])
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("-v %d shows %q, want %q", verbosity, text, want)
		}
	}
}
