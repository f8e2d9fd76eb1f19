package system

import "github.com/go-logr/logr"

// lowered is the log sink for libraries: it logs each line one level lower than the library asks. logr's own V would not do,
// because both libraries keep only the sink of a logger.
type lowered struct{ logr.LogSink }

// LowerVerbosity returns a logger for libraries, whose lines are one level less important than those of Farrier.
func LowerVerbosity(logger logr.Logger) logr.Logger {
	if logger.GetSink() == nil {
		return logger
	}
	return logr.New(lowered{logger.GetSink()})
}

// Enabled implements logr.LogSink.
func (q lowered) Enabled(level int) bool { return q.LogSink.Enabled(level + 1) }

// Info implements logr.LogSink.
func (q lowered) Info(level int, msg string, pairs ...any) { q.LogSink.Info(level+1, msg, pairs...) }

// WithValues implements logr.LogSink.
func (q lowered) WithValues(pairs ...any) logr.LogSink {
	return lowered{q.LogSink.WithValues(pairs...)}
}

// WithName implements logr.LogSink.
func (q lowered) WithName(name string) logr.LogSink { return lowered{q.LogSink.WithName(name)} }
