package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/go-logr/logr"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"

	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
	"github.com/farrier-dev/farrier/internal/controlplane/diskguard"
)

// restoredRevision is by how much the revision of a restored store is beyond that of the snapshot. Whoever watched the former store saw later ones, and must
// not take what is new for something that he has seen.
const restoredRevision = 1_000_000_000

// SnapshotStore hands out a consistent snapshot of the store in a data directory, whether its control plane runs or not. Who may read the directory may do
// this: the store listens in there.
func SnapshotStore(ctx context.Context, dataDir string, take func(io.Reader) error) (err error) {
	captureLogs()
	dir, err := datadir.Open(dataDir)
	if errors.Is(err, datadir.ErrInUse) {
		path, err := filepath.Abs(dataDir)
		if err != nil {
			return err
		}
		where, err := socketOf(filepath.Join(path, etcdDir, etcdSocket))
		if err != nil {
			return err
		}
		return takeSnapshot(ctx, "unix://"+where.path, take)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	store, err := StartStore(ctx, dir, logr.Discard())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Stop()) }()
	return takeSnapshot(ctx, store.Endpoint(), take)
}

func takeSnapshot(ctx context.Context, endpoint string, take func(io.Reader) error) error {
	connection, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop(), Context: ctx})
	if err != nil {
		return fmt.Errorf("snapshot of the store: %w", err)
	}
	response, err := connection.SnapshotWithVersion(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("snapshot of the store: %w", err), connection.Close())
	}
	return errors.Join(take(response.Snapshot), response.Snapshot.Close(), connection.Close())
}

// RestoreStore makes the store of a data directory, which has none, of a file with a snapshot.
func RestoreStore(file, dataDir string) error {
	captureLogs()
	wal.SegmentSizeBytes = diskguard.SegmentSize
	dir := filepath.Join(dataDir, etcdDir)
	cfg := etcdConfig(dir, filepath.Join(dir, etcdSocket))
	end := newStoreEnd()
	_, err := end.await(func() (*embed.Etcd, error) {
		return nil, snapshot.NewV3(end.logger()).Restore(snapshot.RestoreConfig{
			SnapshotPath: file, Name: cfg.Name, OutputDataDir: dir, PeerURLs: []string{cfg.AdvertisePeerUrls[0].String()},
			InitialCluster: cfg.InitialCluster, InitialClusterToken: cfg.InitialClusterToken, RevisionBump: restoredRevision, MarkCompacted: true,
		})
	})
	if err != nil {
		return fmt.Errorf("store in %s: %w", dir, err)
	}
	return nil
}
