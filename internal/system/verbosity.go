package system

import (
	"context"
	"errors"
	"slices"

	"github.com/go-logr/logr"
)

const (
	// libraryLevels is how many levels lines of libraries are lowered, so that -v 1 shows why Farrier does something and not that
	// a library starts its parts.
	libraryLevels = 2
	// reconcileKey is the key by which controller-runtime marks the logger of a reconcile (pkg/internal/controller). Farrier logs with it.
	reconcileKey = "reconcileID"
)

// lowered is the log sink for libraries: it logs each line some levels lower than the library asks. logr's own V would not do,
// because the libraries keep only the sink of a logger.
type lowered struct {
	logr.LogSink
	by int
}

// LowerVerbosity returns a logger for libraries, whose lines are less important than those of Farrier.
func LowerVerbosity(logger logr.Logger) logr.Logger {
	if logger.GetSink() == nil {
		return logger
	}
	return logr.New(lowered{logger.GetSink(), libraryLevels})
}

// Enabled implements logr.LogSink.
func (l lowered) Enabled(level int) bool { return l.LogSink.Enabled(level + l.by) }

// Info implements logr.LogSink.
func (l lowered) Info(level int, msg string, pairs ...any) { l.LogSink.Info(level+l.by, msg, pairs...) }

// WithValues implements logr.LogSink.
func (l lowered) WithValues(pairs ...any) logr.LogSink {
	sink := l.LogSink.WithValues(pairs...)
	if slices.Contains(pairs, any(reconcileKey)) {
		return sink // Farrier's own lines, which have the levels of logging's rules
	}
	return lowered{sink, l.by}
}

// WithName implements logr.LogSink.
func (l lowered) WithName(name string) logr.LogSink { return lowered{l.LogSink.WithName(name), l.by} }

// explained is the log sink for reconciles: an error that follows from something said already, once for all of them, is logged as a detail.
type explained struct {
	logr.LogSink
	contact *contact
}

// explain returns a logger that does not repeat, for each object, that there is no contact with the API, or that a term ends.
func (c *contact) explain(logger logr.Logger) logr.Logger {
	if logger.GetSink() == nil {
		return logger
	}
	return logr.New(explained{logger.GetSink(), c})
}

// Error implements logr.LogSink.
func (e explained) Error(err error, msg string, pairs ...any) {
	if errors.Is(err, context.Canceled) || away(err) && e.contact.Err() != nil {
		if e.LogSink.Enabled(1) {
			e.LogSink.Info(1, msg, append(slices.Clone(pairs), "error", err)...)
		}
		return
	}
	e.LogSink.Error(err, msg, pairs...)
}

// WithValues implements logr.LogSink.
func (e explained) WithValues(pairs ...any) logr.LogSink {
	return explained{e.LogSink.WithValues(pairs...), e.contact}
}

// WithName implements logr.LogSink.
func (e explained) WithName(name string) logr.LogSink {
	return explained{e.LogSink.WithName(name), e.contact}
}
