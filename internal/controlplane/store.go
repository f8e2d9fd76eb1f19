package controlplane

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
	"github.com/farrier-dev/farrier/internal/controlplane/diskguard"
)

// Store is the store of a control plane, with what guards it and keeps it up. StartStore has it without an API server, for one that is started
// otherwise.
type Store struct {
	etcd  *etcdServer
	guard *diskguard.Guard
	rest  func() // ends the upkeep
}

// StartStore starts a store and returns when it answers. What it and the API server of the process log goes to the logger.
func StartStore(ctx context.Context, dir *datadir.Dir, logger logr.Logger) (*Store, error) {
	routeLogs(logger)
	return startStore(ctx, dir, Options{Logger: logger, Clock: clock.RealClock{}})
}

// startStore starts etcd with its guard before it, and its upkeep beside it.
func startStore(ctx context.Context, dir *datadir.Dir, opts Options) (*Store, error) {
	quota := cmp.Or(opts.StoreQuota, etcdQuota)
	s := &Store{rest: func() {}}
	reserve := &diskguard.Reserve{Dir: dir.Join(etcdDir), Size: func() int64 { return s.etcd.Server.Backend().Size() }}
	s.guard = diskguard.New(diskguard.Options{Dir: dir.Path(), Store: reserve, Logger: opts.Logger, Clock: opts.Clock})
	var err error
	if s.etcd, err = startEtcd(ctx, dir, quota, s.guard.Intercept); err != nil {
		return nil, err
	}
	if err := s.guard.Refresh(); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	care := &upkeep{server: s.etcd.Server, logger: opts.Logger, quota: quota, room: func() uint64 { return s.guard.Left().Bytes }}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.guard.Run(ctx, care.run) })
	s.rest = func() {
		cancel()
		running.Wait()
	}
	return s, nil
}

// Endpoint is where etcd's clients connect.
func (s *Store) Endpoint() string { return s.etcd.endpoint }

// Stop ends the store.
func (s *Store) Stop() error {
	s.rest()
	return s.etcd.stop()
}
