package controlplane

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"

	_ "github.com/farrier-dev/farrier/internal/controlplane/etcdclientlog" // quietens what etcd's client says while packages are initialised
)

// The API server logs through klog, etcd through zap, their connection through grpclog; all three write to standard error when left alone,
// and a healthy start alone is some two hundred lines. What remains here are warnings and errors, handed to the logger given to Start.
//
// klog and grpclog are global and may be set only before they are used, so they are set once, to something that forwards to the logger of
// the latest Start. The API server's etcd clients are silenced by package etcdclientlog.

// Other people's code reports as an error what it then retries with success, and as a warning what is merely not to its taste. A person has
// to ask for either.
const (
	errorVerbosity   = 1
	warningVerbosity = 2
)

var (
	routeOnce sync.Once
	sink      atomic.Pointer[logr.Logger]
	quiet     atomic.Bool
)

func routeLogs(logger logr.Logger) {
	sink.Store(&logger)
	quiet.Store(false)
	captureLogs()
}

// captureLogs keeps what other people's code logs from standard error. Without routeLogs it is dropped.
func captureLogs() {
	routeOnce.Do(func() {
		klog.SetLoggerWithOptions(logr.New(klogSink{}), klog.WriteKlogBuffer(klogBuffer))
		grpclog.SetLoggerV2(grpcLogger{})
	})
}

// quietLogs silences everything, because an orderly end makes every watch and connection complain.
func quietLogs() { quiet.Store(true) }

func foreign(component string, verbosity int) logr.Logger {
	logger := sink.Load()
	if logger == nil || quiet.Load() {
		return logr.Discard()
	}
	return logger.WithName(component).V(verbosity)
}

// klogSink takes klog's structured records. Information is dropped, errors are kept.
type klogSink struct{ values []any }

func (klogSink) Init(logr.RuntimeInfo)          {}
func (klogSink) Enabled(int) bool               { return false }
func (klogSink) Info(int, string, ...any)       {}
func (s klogSink) WithName(string) logr.LogSink { return s }

func (s klogSink) Error(err error, msg string, keysAndValues ...any) {
	foreign("kubernetes", errorVerbosity).WithValues(s.values...).Info(msg, append(keysAndValues, "error", fmt.Sprint(err))...)
}

func (s klogSink) WithValues(keysAndValues ...any) logr.LogSink {
	return klogSink{values: append(append([]any{}, s.values...), keysAndValues...)}
}

// klogBuffer takes klog's formatted lines, such as "W0801 12:00:00.000000    1234 file.go:56] message".
func klogBuffer(line []byte) {
	if len(line) == 0 || line[0] == 'I' {
		return
	}
	_, message, found := bytes.Cut(line, []byte("] "))
	if !found {
		message = line
	}
	text := string(bytes.TrimSpace(message))
	switch line[0] {
	case 'F': // klog ends the process next
		if logger := sink.Load(); logger != nil {
			logger.WithName("kubernetes").Error(nil, text)
		}
	case 'W':
		foreign("kubernetes", warningVerbosity).Info(text)
	default:
		foreign("kubernetes", errorVerbosity).Info(text)
	}
}

// zapCore takes etcd's records from warnings upwards.
type zapCore struct{ fields []zapcore.Field }

func (zapCore) Enabled(level zapcore.Level) bool { return level >= zapcore.WarnLevel }
func (zapCore) Sync() error                      { return nil }

func (c zapCore) With(fields []zapcore.Field) zapcore.Core {
	return zapCore{fields: append(append([]zapcore.Field{}, c.fields...), fields...)}
}

func (c zapCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

func (c zapCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	encoder := zapcore.NewMapObjectEncoder()
	for _, field := range append(append([]zapcore.Field{}, c.fields...), fields...) {
		field.AddTo(encoder)
	}
	values := make([]any, 0, 2*len(encoder.Fields))
	for key, value := range encoder.Fields {
		values = append(values, key, value)
	}
	verbosity := errorVerbosity
	if entry.Level == zapcore.WarnLevel {
		verbosity = warningVerbosity
	}
	foreign("etcd", verbosity).Info(entry.Message, values...)
	return nil
}

// grpcLogger takes errors of connections only, as grpclog does by itself: every etcd client warns about the connection it closes unused.
type grpcLogger struct{}

func (grpcLogger) Info(...any)                      {}
func (grpcLogger) Infoln(...any)                    {}
func (grpcLogger) Infof(string, ...any)             {}
func (grpcLogger) Warning(...any)                   {}
func (grpcLogger) Warningln(...any)                 {}
func (grpcLogger) Warningf(string, ...any)          {}
func (grpcLogger) Error(args ...any)                { foreign("grpc", errorVerbosity).Info(fmt.Sprint(args...)) }
func (g grpcLogger) Errorln(args ...any)            { g.Error(args...) }
func (g grpcLogger) Errorf(format string, a ...any) { g.Error(fmt.Sprintf(format, a...)) }
func (g grpcLogger) Fatal(args ...any)              { g.Error(args...); os.Exit(1) } // what grpclog documents
func (g grpcLogger) Fatalln(args ...any)            { g.Fatal(args...) }
func (g grpcLogger) Fatalf(format string, a ...any) { g.Fatal(fmt.Sprintf(format, a...)) }
func (grpcLogger) V(int) bool                       { return false }
