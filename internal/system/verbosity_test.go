package system

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// TestErrorsThatAreExplained: that the API is away is said once, and not by each reconcile that it stops.
func TestErrorsThatAreExplained(t *testing.T) {
	var c contact
	var out bytes.Buffer
	logger := c.explain(LowerVerbosity(logr.FromSlogHandler(logging.NewHandler(&out, slog.LevelInfo)))).WithName("controller").WithValues("reconcileID", "1")
	refused := errors.New("the BMC refuses")
	logger.Error(gone, "first") // not noted yet
	c.note("Lease", gone)
	logger.Error(fmt.Errorf("write status: %w", gone), "repeated")
	logger.Error(refused, "second")
	logger.Error(fmt.Errorf("poll: %w", context.Canceled), "ended")
	c.note("Lease", nil)
	logger.Error(gone, "third")
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Fields(line)[2])
	}
	if text := strings.Join(got, " "); text != "first second third" {
		t.Errorf("logged %q:\n%s", text, out.String())
	}
}
