package system

import "github.com/go-logr/logr"

// quiet is a logger for what libraries say of themselves: one step less important than it thinks. A logger's own V
// would be lost, for both libraries keep its sink alone.
type quiet struct{ logr.LogSink }

// Quiet is the logger for libraries.
func Quiet(logger logr.Logger) logr.Logger {
	if logger.GetSink() == nil {
		return logger
	}
	return logr.New(quiet{logger.GetSink()})
}

// Enabled implements logr.LogSink.
func (q quiet) Enabled(level int) bool { return q.LogSink.Enabled(level + 1) }

// Info implements logr.LogSink.
func (q quiet) Info(level int, msg string, pairs ...any) { q.LogSink.Info(level+1, msg, pairs...) }

// WithValues implements logr.LogSink.
func (q quiet) WithValues(pairs ...any) logr.LogSink { return quiet{q.LogSink.WithValues(pairs...)} }

// WithName implements logr.LogSink.
func (q quiet) WithName(name string) logr.LogSink { return quiet{q.LogSink.WithName(name)} }
