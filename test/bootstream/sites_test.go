package bootstream

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/bootstream/records"
	"github.com/farrier-dev/farrier/internal/bootstream/sealed"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootstream/viewfile"
	"github.com/farrier-dev/farrier/internal/bootview"
)

const (
	managerName = "manager.farrier.example"
	bootURL     = "http://127.0.0.1:8082"
	// quick is a heartbeat for tests: three of them may pass in silence, also on a busy machine.
	quick = 500 * time.Millisecond
)

// pki is an authority and what it has issued.
type pki struct {
	t   *testing.T
	dir *authority.Dir
}

func newPKI(t *testing.T) *pki {
	t.Helper()
	dir, err := authority.Init(t.TempDir()+"/pki", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &pki{t, dir}
}

// identity is that of a name, for which a certificate is issued where there is none.
func (p *pki) identity(name, site string, role authority.Role) *peer.Identity {
	p.t.Helper()
	if _, err := p.dir.Issue(name, site, role, time.Now(), time.Hour); err != nil && !errors.Is(err, authority.ErrExists) {
		p.t.Fatal(err)
	}
	i, err := peer.FromFiles(peer.In(p.dir.Folder(name)), peer.Options{Logger: testr.New(p.t)})
	if err != nil {
		p.t.Fatal(err)
	}
	return i
}

// manager is the part of a manager that serves the boot stream: a boot view, and everything between it and the network.
type manager struct {
	view    *bootview.View
	server  *bootstream.Server
	address string
	stop    func()
	journal *bootstream.Journal
	// authorizer decides who may speak.
	authorizer *peer.Authorizer
	// asked counts the calls of boot servers that may speak.
	asked atomic.Int32
	// gaps counts boot servers that were told that they have fallen behind.
	gaps atomic.Int32
	// observed is the resource version up to which it has seen objects: no entry of its view is of a newer one.
	observed atomic.Uint64
}

// nobody takes what boot servers tell.
type nobody struct{}

func (nobody) Tell(context.Context, bootstream.Peer, *streampb.TellRequest) error { return nil }

func (nobody) Store(context.Context, bootstream.Peer, *streampb.StoreRequest) (streampb.StoreResponse_Outcome, error) {
	return 0, errors.New("the Kubernetes API does not answer")
}

// startManager starts one whose view was made of objects up to a resource version, and that serves the boot servers of a table, NAME or NAME=SITE each.
func (p *pki) startManager(observed uint64, table ...string) *manager {
	p.t.Helper()
	return p.startManagerWith(managerOptions{observed: observed, heartbeat: quick}, table...)
}

// managerOptions are what a manager may have otherwise.
type managerOptions struct {
	observed  uint64
	heartbeat time.Duration
	// shown is its certificate; nil: one that is issued for it.
	shown *peer.Identity
	// through is what its streams pass through; nil: nothing.
	through func(grpc.ServerStream) grpc.ServerStream
}

func (p *pki) startManagerWith(o managerOptions, table ...string) *manager {
	p.t.Helper()
	if o.shown == nil {
		o.shown = p.identity(managerName, "", authority.Manager)
	}
	names, err := peer.ParseTable(table)
	if err != nil {
		p.t.Fatal(err)
	}
	authorizer := peer.NewAuthorizer(o.shown, names)
	m := &manager{view: bootview.New(), journal: bootstream.NewJournal(), authorizer: authorizer}
	m.observed.Store(o.observed)
	records.NewSource(m.journal).ObserveView(m.view)
	m.server = bootstream.NewServer(bootstream.ServerOptions{
		Journal: m.journal, Receiver: nobody{}, Heartbeat: o.heartbeat, Logger: testr.New(p.t),
		Identify: func(ctx context.Context) (bootstream.Peer, error) {
			who, err := authorizer.Peer(ctx)
			m.asked.Add(1)
			return bootstream.Peer{Name: who.Name, Site: who.Site}, err
		},
		Observed: func() map[string]uint64 { return map[string]uint64{"IPXEBootConfig": m.observed.Load()} },
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	m.address = listener.Addr().String()
	serving := grpc.NewServer(grpc.Creds(authorizer.Credentials()), grpc.StreamInterceptor(
		func(handler any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			stream = &counted{stream, &m.gaps}
			if o.through != nil {
				stream = o.through(stream)
			}
			return handle(handler, stream)
		}))
	streampb.RegisterBootStreamServer(serving, m.server)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = serving.Serve(listener)
	}()
	m.stop = sync.OnceFunc(func() {
		serving.Stop()
		<-served
	})
	p.t.Cleanup(m.stop)
	return m
}

// counted counts gaps.
type counted struct {
	grpc.ServerStream
	gaps *atomic.Int32
}

func (c *counted) SendMsg(m any) error {
	if response, ok := m.(*streampb.FollowResponse); ok && response.GetGap() != nil {
		c.gaps.Add(1)
	}
	return c.ServerStream.SendMsg(m)
}

// bootServer is a boot server that follows managers.
type bootServer struct {
	t        *testing.T
	follower *bootstream.Follower
	handler  http.Handler
	stop     func()
	// close gives its disk back.
	close func()
}

// disk is where a boot server keeps its view.
type disk struct {
	path string
	key  sealed.Key
	// full has every write fail.
	full atomic.Bool
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	key, err := sealed.ParseKey([]byte("7d1f0c2b9a8e4d6f5c3b2a19080706f5e4d3c2b1a0f9e8d7c6b5a4938271605f"))
	if err != nil {
		t.Fatal(err)
	}
	return &disk{path: t.TempDir() + "/view", key: key}
}

// open returns the view of the last run.
func (d *disk) open(t *testing.T) (*viewfile.File, bootstream.Kept, func()) {
	t.Helper()
	dir, err := sealed.OpenDir(d.path)
	if err != nil {
		t.Fatal(err)
	}
	dir.Wrap = func(f sealed.File) sealed.File { return &fullFile{f, d} }
	file, kept, err := viewfile.Open(dir, d.key, logr.Discard())
	if errors.Is(err, fs.ErrNotExist) {
		file, err = viewfile.Create(dir, d.key, logr.Discard())
	}
	if err != nil {
		t.Fatal(err)
	}
	return file, kept, sync.OnceFunc(func() {
		_ = file.Close()
		_ = dir.Close()
	})
}

// fullFile is on a disk that can be full.
type fullFile struct {
	sealed.File
	disk *disk
}

func (f *fullFile) WriteAt(b []byte, at int64) (int, error) {
	if f.disk.full.Load() {
		n, _ := f.File.WriteAt(b[:len(b)/2], at) // what still fits
		return n, syscall.ENOSPC
	}
	return f.File.WriteAt(b, at)
}

// startBootServer starts one by the name of its certificate. With a disk it begins with what is there, and serves it.
func (p *pki) startBootServer(name string, d *disk, managers ...string) *bootServer {
	p.t.Helper()
	return p.startBootServerWith(credentials.NewTLS(p.identity(name, "", authority.BootServer).ClientConfig(managerName)), d, managers...)
}

func (p *pki) startBootServerWith(c credentials.TransportCredentials, d *disk, managers ...string) *bootServer {
	p.t.Helper()
	view := bootview.New()
	server, err := bootserver.New(bootserver.Config{View: view, BootURL: bootURL, Logger: logr.Discard()})
	if err != nil {
		p.t.Fatal(err)
	}
	o := bootstream.FollowerOptions{
		Managers: managers, Credentials: c, Instance: "one", Applier: records.NewViews(view, nil, nil, nil), Logger: testr.New(p.t),
	}
	var kept bootstream.Kept
	release := func() {}
	if d != nil {
		o.Keeper, kept, release = d.open(p.t)
	}
	b := &bootServer{t: p.t, follower: bootstream.NewFollower(o), handler: server.Handler(), close: release}
	p.t.Cleanup(release)
	b.follower.Load(kept)
	if kept.Progress != nil {
		view.SetSynced(true)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.follower.Run(ctx)
	}()
	b.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	p.t.Cleanup(b.stop)
	return b
}

// get asks as a machine would.
func (b *bootServer) get(path string) (status int, body string) {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), http.MethodGet, path, nil)
	r.RemoteAddr = "192.0.2.7:1024"
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	answer := w.Result()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// identityOfAnother is a certificate of the right name by somebody else.
func (p *pki) identityOfAnother(name string) *tls.Config {
	return newPKI(p.t).identity(name, "", authority.BootServer).ClientConfig(managerName)
}
