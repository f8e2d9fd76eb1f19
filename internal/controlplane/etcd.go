package controlplane

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"google.golang.org/grpc"

	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
	"github.com/farrier-dev/farrier/internal/controlplane/diskguard"
	"github.com/farrier-dev/farrier/internal/host/ownership"
)

const (
	etcdDir    = "etcd"
	etcdSocket = "client.sock"
	etcdName   = "farrier"

	// etcdQuota is what etcd's authors give as the upper bound for normal use. 10,000 servers of 8 kB with a minute of history need a tenth.
	etcdQuota = 8 << 30
	// etcdDefragMegabytes is how much a start must be able to free before it takes the time to.
	etcdDefragMegabytes = 64
	// etcdSnapshotCount and etcdCatchUp bound the log entries that a start reads again, and those kept in memory. There is no follower that would need
	// them. Etcd itself counts to etcdNoSnapshot: upkeep.go says why.
	etcdSnapshotCount = 1000
	etcdNoSnapshot    = math.MaxInt64
	etcdCatchUp       = 100
	// etcdTick and etcdElection are milliseconds. A member that is alone elects itself one to five ticks after its start, so they are kept short; but not
	// so short that a host that is busy lets the first one pass before the log has been read: raft ends in a panic then, because etcd has dropped entries
	// of the log that raft wants to look at (go.etcd.io/raft, hasUnappliedConfChanges: "error scanning unapplied entries").
	etcdTick     = 50
	etcdElection = 5 * etcdTick
	// etcdSlowApply keeps the log free of remarks about disks that are merely not the fastest.
	etcdSlowApply = time.Second

	// socketPathLimit is below sun_path of every system: 108 bytes on Linux, 104 on BSD and macOS (unix(7)).
	socketPathLimit = 100
)

// plainPath is a path that survives being an etcd endpoint, which is parsed as a URL.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9/._-]+$`)

// etcdServer is the store: one member, alone, reached through a unix socket only.
type etcdServer struct {
	*embed.Etcd
	endpoint string
	socket   socket
	failed   chan error // yields one value when the store ends, however it does
	end      *storeEnd
}

// interceptor stands before the store, and may refuse what it is asked.
type interceptor = grpc.UnaryServerInterceptor

// startEtcd returns when the store answers. The lock of the data directory must be held: etcd itself would wait for another holder without end.
func startEtcd(ctx context.Context, dir *datadir.Dir, quota int64, before interceptor) (*etcdServer, error) {
	// Before etcd does, because the socket goes there: whoever may connect to it reads everything, and this directory is always private.
	if _, err := dir.Private(etcdDir); err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	socket, err := openSocket(dir.Join(etcdDir, etcdSocket))
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	e := &etcdServer{endpoint: "unix://" + socket.path, socket: socket, failed: make(chan error, 1), end: newStoreEnd()}
	cfg := etcdConfig(dir.Join(etcdDir), socket.path)
	cfg.QuotaBackendBytes = quota
	cfg.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.ChainUnaryInterceptor(before)}
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(e.end.logger())
	wal.SegmentSizeBytes = diskguard.SegmentSize
	if e.Etcd, err = e.end.await(func() (*embed.Etcd, error) { return embed.StartEtcd(cfg) }); err != nil {
		return nil, errors.Join(fmt.Errorf("etcd in %s: %w", dir.Join(etcdDir), err), socket.close())
	}
	go e.watch()
	select {
	case <-e.Server.ReadyNotify():
		return e, nil
	case err = <-e.failed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, errors.Join(fmt.Errorf("etcd in %s did not become ready: %w", dir.Join(etcdDir), err), e.stop())
}

func etcdConfig(dir, socket string) *embed.Config {
	// A member has to advertise addresses of host and port. Nobody reads these, and nothing listens on them.
	nowhere := url.URL{Scheme: "http", Host: "127.0.0.1:1"}

	cfg := embed.NewConfig()
	cfg.Name = etcdName
	cfg.Dir = dir
	cfg.ListenClientUrls = []url.URL{{Scheme: "unix", Path: socket}}
	cfg.AdvertiseClientUrls = []url.URL{nowhere}
	cfg.ListenPeerUrls = nil
	cfg.AdvertisePeerUrls = []url.URL{nowhere}
	cfg.InitialCluster = etcdName + "=" + nowhere.String()
	cfg.TickMs = etcdTick
	cfg.ElectionMs = etcdElection
	cfg.SnapshotCount = etcdNoSnapshot
	cfg.SnapshotCatchUpEntries = etcdCatchUp
	cfg.BootstrapDefragThresholdMegabytes = etcdDefragMegabytes
	cfg.WarningApplyDuration = etcdSlowApply
	cfg.WarningUnaryRequestDuration = etcdSlowApply
	cfg.EnableGRPCGateway = false
	return cfg
}

func (e *etcdServer) watch() {
	select {
	case err, ok := <-e.Err():
		if !ok {
			err = errors.New("closed")
		}
		e.failed <- err
	case <-e.Server.StopNotify():
		e.failed <- errors.New("its server stopped")
	case <-e.end.done:
		e.failed <- e.end.err
	}
}

// stop closes the store, unless that has come to its end: what it holds then, it holds until the process ends.
func (e *etcdServer) stop() error {
	_, err := e.end.await(func() (*embed.Etcd, error) {
		e.Close()
		return nil, nil
	})
	return errors.Join(err, e.socket.close())
}

// socket is where etcd listens.
type socket struct {
	path string
	dir  string // made for the socket alone, or empty
}

// openSocket makes way for a socket.
func openSocket(wanted string) (socket, error) {
	s, err := socketOf(wanted)
	if err != nil {
		return s, err
	}
	// A process that was killed left its socket behind. Nobody listens on it, since we hold the lock of the data directory.
	if err := os.Remove(s.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return s, fmt.Errorf("remove the etcd socket of an earlier process: %w", err)
	}
	return s, nil
}

// socketOf chooses the wanted path when a unix socket can have it, and otherwise one below the system's directory for temporary files. That
// one is the same on every start, so a process that is killed leaves at most one behind.
func socketOf(wanted string) (socket, error) {
	s := socket{path: wanted}
	if len(wanted) > socketPathLimit || !plainPath.MatchString(wanted) {
		var err error
		if s.dir, err = privateTempDir(wanted); err != nil {
			return s, fmt.Errorf("create a directory for the etcd socket, because %s is too long or has characters that a socket path must not have: %w", wanted, err)
		}
		s.path = filepath.Join(s.dir, etcdSocket)
	}
	return s, nil
}

func (s socket) close() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

func privateTempDir(key string) (string, error) {
	base := os.TempDir()
	if len(base) > socketPathLimit/2 || !plainPath.MatchString(base) {
		base = "/tmp"
	}
	sum := sha256.Sum256([]byte(key))
	dir := filepath.Join(base, fmt.Sprintf("farrier-%d-%x", os.Geteuid(), sum[:8]))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	// Everybody may write to the directory above: what is already there must be ours, and closed to them.
	if err := ownership.Private(dir); err != nil {
		return "", err
	}
	return dir, nil
}
