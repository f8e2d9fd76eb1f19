package controlplane

import (
	"context"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
)

// Store is the store of a control plane without an API server, for one that is started otherwise.
type Store struct{ etcd *etcdServer }

// StartStore starts a store and returns when it answers. What it and the API server of the process log goes to the logger.
func StartStore(ctx context.Context, dir *datadir.Dir, logger logr.Logger) (*Store, error) {
	routeLogs(logger)
	etcd, err := startEtcd(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Store{etcd: etcd}, nil
}

// Endpoint is where etcd's clients connect.
func (s *Store) Endpoint() string { return s.etcd.endpoint }

// Stop ends the store.
func (s *Store) Stop() error { return s.etcd.stop() }
