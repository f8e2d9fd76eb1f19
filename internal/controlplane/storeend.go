package controlplane

import (
	"errors"
	"fmt"
	"sync"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// storeEnd takes the place of the exit, or the panic, with which etcd ends its process when it cannot go on. The process then ends in its order, and
// says why.
type storeEnd struct {
	once sync.Once
	done chan struct{}
	err  error // valid once done is closed
}

func newStoreEnd() *storeEnd { return &storeEnd{done: make(chan struct{})} }

// logger makes etcd's logger.
func (e *storeEnd) logger() *zap.Logger {
	return zap.New(zapCore{}, zap.WithFatalHook(e), zap.WithPanicHook(e))
}

// OnWrite implements zapcore.CheckWriteHook. It does not return: whoever called expects that nothing comes after it, and may hold locks.
func (e *storeEnd) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	e.once.Do(func() {
		e.err = errors.New(entry.Message)
		for _, field := range fields {
			if cause, ok := field.Interface.(error); ok && field.Type == zapcore.ErrorType {
				e.err = fmt.Errorf("%s: %w", entry.Message, cause)
			}
		}
		close(e.done)
	})
	select {}
}

// await does something with the store, and returns sooner when the store comes to its end meanwhile, or has.
func (e *storeEnd) await(do func() (*embed.Etcd, error)) (*embed.Etcd, error) {
	select {
	case <-e.done:
		return nil, e.err
	default:
	}
	type result struct {
		server *embed.Etcd
		err    error
	}
	results := make(chan result, 1)
	go func() {
		server, err := do()
		results <- result{server, err}
	}()
	select {
	case r := <-results:
		return r.server, r.err
	case <-e.done:
		return nil, e.err
	}
}
