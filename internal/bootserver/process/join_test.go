package process

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/internal/bootstream/enroll"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/test/await"
	"github.com/farrier-dev/farrier/test/loopback"
)

// registrations are what a manager keeps of boot servers that have joined.
type registrations struct {
	mu sync.Mutex
	by map[string]enroll.Registration
}

func (r *registrations) Read(_ context.Context, name string) (enroll.Registration, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.by[name]
	return found, ok, nil
}

func (r *registrations) Change(_ context.Context, name string, change func(*enroll.Registration) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.by[name]
	if err := change(&found); err != nil {
		return err
	}
	r.by[name] = found
	return nil
}

// startIssuer issues certificates at an address, which are good for a while.
func (p *pki) startIssuer(address string, store enroll.Store, lifetime time.Duration) (stop func()) {
	p.t.Helper()
	identity, err := peer.FromFiles(peer.In(p.folder(managerName, authority.Manager)), peer.Options{Logger: testr.New(p.t)})
	if err != nil {
		p.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		p.t.Fatal(err)
	}
	server := enroll.NewServer(enroll.Options{
		Store: store, Authority: p.dir.Authority(), Identity: identity, Lifetime: lifetime, Clock: clock.RealClock{}, Logger: testr.New(p.t),
	}).GRPC()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	stop = sync.OnceFunc(func() {
		server.Stop()
		<-served
	})
	p.t.Cleanup(stop)
	return stop
}

// TestJoining: a boot server that has a token and an authority gets its certificate as soon as somebody issues it, answers machines by it, and
// needs the token no more.
func TestJoining(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	m.view.Put(tenants(t, 7))
	store := &registrations{by: map[string]enroll.Registration{}}
	token, err := enroll.NewToken(t.Context(), store, "boot-1", "", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	o := p.options(m.address)
	o.CertificatesDir, o.JoinAddress = "", loopback.Free(t)
	o.JoinCAFile = filepath.Join(p.folder(managerName, authority.Manager), peer.CAFile)
	o.JoinTokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(o.JoinTokenFile, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.startIssuer(o.JoinAddress, store, time.Hour)
	b := startBootServer(t, o)
	await.True(t, "the boot of the machine", b.boots)
	await.True(t, "the manager hears when the certificate ends", func() bool {
		servers := m.server.BootServers()
		return len(servers) == 1 && servers[0].Health.GetCertificateExpires().AsTime().After(time.Now())
	})
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(o.JoinTokenFile); err != nil {
		t.Fatal(err)
	}
	b = startBootServer(t, o)
	await.True(t, "the boot without the token", b.boots)
	if files, err := os.ReadDir(filepath.Join(o.DataDir, certificatesDir)); err != nil || len(files) != 3 {
		t.Errorf("in the directory of certificates are %v, %v", files, err)
	}
}

// TestAnExpiredCertificate is renewed by its key, without a token, by whoever starts with it.
func TestAnExpiredCertificate(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	m.view.Put(tenants(t, 7))
	store := &registrations{by: map[string]enroll.Registration{}}
	o := p.options(m.address)
	o.JoinAddress = loopback.Free(t)
	if _, err := p.dir.Renew("boot-1", time.Now().Add(-2*time.Hour), time.Hour); err != nil {
		t.Fatal(err)
	}
	identity, err := peer.FromFiles(peer.In(o.CertificatesDir), peer.Options{Logger: testr.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	store.by["boot-1"] = enroll.Registration{Key: peer.KeyOf(identity.Leaf())}
	b := startBootServer(t, o)
	if b.boots() {
		t.Fatal("a manager talks to a boot server with an expired certificate")
	}
	p.startIssuer(o.JoinAddress, store, time.Hour)
	await.True(t, "the boot of the machine", b.boots)
}
