package logging

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// TestAttributes: those of a logger come first, in their order, with the groups that it was in when it was given them; what is
// derived from one logger has nothing of its siblings.
func TestAttributes(t *testing.T) {
	var out bytes.Buffer
	base := slog.New(NewHandler(&out, slog.LevelInfo)).With("a", 1)
	group := base.WithGroup("g").With("b", "two words")
	for _, tc := range []struct {
		logger *slog.Logger
		want   string
	}{
		{base, ` said a=1 last=true`},
		{group, ` said a=1 g.b="two words" g.last=true`},
		{group.With("c", 3), ` said a=1 g.b="two words" g.c=3 g.last=true`},
		{group.With("d", 4), ` said a=1 g.b="two words" g.d=4 g.last=true`},
		{base.With("name", "noise"), ` said a=1 last=true`},
	} {
		out.Reset()
		tc.logger.Info("said", "last", true)
		if _, got, _ := strings.Cut(strings.TrimSpace(out.String()), " "); " "+got != tc.want {
			t.Errorf("got  %s\nwant%s", out.String(), tc.want)
		}
	}
}

// TestObjects: the object of a reconcile has the key of its kind, and one value.
func TestObjects(t *testing.T) {
	var out bytes.Buffer
	logger := logr.FromSlogHandler(NewHandler(&out, slog.LevelInfo)).WithValues("controller", "c", "controllerKind", "noise")
	logger.WithValues("ServerClaim", klog.KRef("default", "web"), "namespace", "default", "name", "web").Info("said")
	logger.WithValues("Server", klog.KRef("", "node-7")).Info("said")
	logger.WithValues("BIOSSettings", klog.KRef("", "s")).Info("said")
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{" said controller=c claim=default/web", " said controller=c server=node-7", " said controller=c BIOSSettings=s"} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("got %q, want it to end with %q", lines[i], want)
		}
	}
}

// TestErrors: an error has one key, whether it is given to Error of logr or as a value.
func TestErrors(t *testing.T) {
	var out bytes.Buffer
	logger := logr.FromSlogHandler(NewHandler(&out, slog.LevelInfo))
	logger.Error(io.EOF, "listener ended")
	logger.Info("request failed", "error", io.EOF)
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{" ERROR listener ended error=EOF", " request failed error=EOF"} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("got %q, want it to end with %q", lines[i], want)
		}
	}
}
