package controlplane

import (
	"errors"
	"io"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// TestTheEndOfTheStoreIsAnError: whether it would exit or panic, the process goes on to say why, and nobody waits for what the store still holds.
func TestTheEndOfTheStoreIsAnError(t *testing.T) {
	for name, ends := range map[string]func(*zap.Logger){
		"exit": func(l *zap.Logger) {
			l.With(zap.Int("term", 1)).Fatal("failed to commit tx", zap.Error(io.ErrShortWrite))
		},
		"panic": func(l *zap.Logger) { l.Named("wal").Panic("failed to create WAL", zap.Error(io.ErrShortWrite)) },
	} {
		t.Run(name, func(t *testing.T) {
			end := newStoreEnd()
			_, err := end.await(func() (*embed.Etcd, error) {
				ends(end.logger())
				t.Error("the store went on")
				return nil, nil
			})
			if !errors.Is(err, io.ErrShortWrite) {
				t.Errorf("%v, want the cause", err)
			}
			_, err = end.await(func() (*embed.Etcd, error) {
				t.Error("a store that has ended was asked")
				return nil, nil
			})
			if !errors.Is(err, io.ErrShortWrite) {
				t.Errorf("%v, want the cause again", err)
			}
		})
	}
}

func TestAStoreThatGoesOn(t *testing.T) {
	want := &embed.Etcd{}
	if got, err := newStoreEnd().await(func() (*embed.Etcd, error) { return want, io.EOF }); got != want || !errors.Is(err, io.EOF) {
		t.Errorf("%v, %v", got, err)
	}
}
