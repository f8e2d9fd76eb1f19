package logging

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Handler is a slog.Handler that writes one line for each record: the time of day, the message, then the attributes. Lines of
// warnings and errors carry the level.
type Handler struct {
	out    *output
	level  slog.Level
	prefix string // of attribute keys, from groups
	with   *with
}

// with holds attributes of every record, after those of before. They are formatted when a line is written: a controller makes a
// logger for each reconcile, and most log nothing.
type with struct {
	before *with
	prefix string
	attrs  []slog.Attr
}

func (w *with) appendTo(b *bytes.Buffer) {
	if w == nil {
		return
	}
	w.before.appendTo(b)
	for _, a := range w.attrs {
		a.Key = w.prefix + a.Key
		appendAttr(b, "", a)
	}
}

// output is shared by all handlers that were derived from one.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

// NewHandler writes records of at least that level to w.
func NewHandler(w io.Writer, level slog.Level) *Handler {
	return &Handler{out: &output{w: w}, level: level}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := *h
	n.with = &with{before: h.with, prefix: h.prefix, attrs: attrs}
	return &n
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	n := *h
	n.prefix += name + "."
	return &n
}

// Handle implements slog.Handler.
func (h *Handler) Handle(_ context.Context, r slog.Record) error {
	var b bytes.Buffer
	b.WriteString(r.Time.Format(time.TimeOnly))
	switch {
	case r.Level >= slog.LevelError:
		b.WriteString(" ERROR")
	case r.Level >= slog.LevelWarn:
		b.WriteString(" WARNING")
	}
	b.WriteByte(' ')
	b.WriteString(oneLine(r.Message))
	h.with.appendTo(&b)
	r.Attrs(func(a slog.Attr) bool {
		appendAttr(&b, h.prefix, a)
		return true
	})
	b.WriteByte('\n')
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	_, err := h.out.w.Write(b.Bytes())
	return err
}

// errorKey is the key of an error in every line; logr's own key for the error of Error is logrErrorKey.
const (
	errorKey     = "error"
	logrErrorKey = "err"
)

// noise holds the attributes of controller-runtime that repeat what other attributes say.
var noise = map[string]bool{
	"reconcileID": true, "controllerGroup": true, "controllerKind": true, "namespace": true, "name": true, "logger": true,
}

// kinds are the keys of objects that controller-runtime names by their kind.
var kinds = map[string]string{
	"Server": "server", "ServerClaim": "claim", "BMC": "bmc", "ServerBootConfiguration": "bootConfiguration", "Assignment": "assignment",
}

// objectName returns the name of an object from the attributes of a klog.ObjectRef.
func objectName(attrs []slog.Attr) (name string, ok bool) {
	if len(attrs) == 0 || len(attrs) > 2 || attrs[0].Key != "name" {
		return "", false
	}
	name = attrs[0].Value.String()
	if len(attrs) == 2 {
		name = attrs[1].Value.String() + "/" + name
	}
	return name, len(attrs) == 1 || attrs[1].Key == "namespace"
}

func appendAttr(b *bytes.Buffer, prefix string, a slog.Attr) {
	a.Value = a.Value.Resolve()
	if a.Equal(slog.Attr{}) || noise[a.Key] {
		return
	}
	if key, known := kinds[a.Key]; known {
		a.Key = key
	}
	if a.Value.Kind() == slog.KindGroup {
		if name, ok := objectName(a.Value.Group()); ok {
			a.Value = slog.StringValue(name)
		}
	}
	if a.Value.Kind() == slog.KindGroup {
		for _, inner := range a.Value.Group() {
			appendAttr(b, prefix+a.Key+".", inner)
		}
		return
	}
	if a.Key == logrErrorKey {
		a.Key = errorKey
	}
	b.WriteByte(' ')
	b.WriteString(prefix + a.Key)
	b.WriteByte('=')
	text := a.Value.String()
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || !unicode.IsPrint(r) }) {
		text = strconv.Quote(text)
	}
	b.WriteString(text)
}

// oneLine replaces line breaks and control characters, so that text from outside does not look like lines of its own.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || !unicode.IsPrint(r) && r != ' ' {
			return ' '
		}
		return r
	}, s)
}
