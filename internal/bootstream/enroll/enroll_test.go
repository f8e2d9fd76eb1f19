package enroll_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/internal/bootstream/enroll"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/test/await"
)

const (
	manager = "manager.farrier.example"
	name    = "boot-1.site.example"
	day     = 24 * time.Hour
)

var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// memory is a Store. It calls change twice, as one with optimistic locks may.
type memory struct {
	mu      sync.Mutex
	entries map[string]enroll.Registration
	err     error
}

func (m *memory) Read(_ context.Context, name string) (enroll.Registration, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.entries[name]
	return r, ok, m.err
}

func (m *memory) Change(_ context.Context, name string, change func(*enroll.Registration) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	lost := m.entries[name]
	if err := change(&lost); err != nil {
		return err
	}
	r := m.entries[name]
	if err := change(&r); err != nil {
		return err
	}
	m.entries[name] = r
	return nil
}

// installation is a manager that issues certificates.
type installation struct {
	store   *memory
	clock   *clocktesting.FakeClock
	ca      *authority.Authority
	address string
}

func install(t *testing.T) *installation {
	t.Helper()
	n := &installation{store: &memory{entries: map[string]enroll.Registration{}}, clock: clocktesting.NewFakeClock(start)}
	cert, key, err := authority.New(start)
	if err != nil {
		t.Fatal(err)
	}
	if n.ca, err = authority.Read(cert, key, start); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	n.files(t, dir, n.ca, manager, authority.Manager, 1000*day)
	identity, err := peer.FromFiles(peer.In(dir), peer.Options{Clock: n.clock, Logger: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	server := enroll.NewServer(enroll.Options{Store: n.store, Authority: n.ca, Identity: identity, Clock: n.clock, Logger: logr.Discard()}).GRPC()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-served })
	n.address = listener.Addr().String()
	return n
}

// files writes a directory with a certificate and a new key.
func (n *installation) files(t *testing.T, dir string, ca *authority.Authority, name string, role authority.Role, lifetime time.Duration) {
	t.Helper()
	key, keyPEM, err := authority.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(key.Public(), name, role, n.clock.Now(), lifetime)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, peer.KeyFile), keyPEM)
	write(t, filepath.Join(dir, peer.CertFile), cert)
	write(t, filepath.Join(dir, peer.CAFile), n.ca.PEM())
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// bootServer is one with nothing but the authority's certificate.
func (n *installation) bootServer(t *testing.T, token string) *enroll.Renewer {
	t.Helper()
	r := &enroll.Renewer{Dir: t.TempDir(), Address: n.address, Manager: manager, Token: token, Clock: n.clock, Logger: logr.Discard()}
	write(t, filepath.Join(r.Dir, peer.CAFile), n.ca.PEM())
	return r
}

func (n *installation) token(t *testing.T, site string) string {
	t.Helper()
	token, err := enroll.NewToken(t.Context(), n.store, name, site, n.clock.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func leaf(t *testing.T, r *enroll.Renewer) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(r.Dir, peer.CertFile), filepath.Join(r.Dir, peer.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

func TestJoin(t *testing.T) {
	n := install(t)
	token := n.token(t, "north")
	if stored, _, _ := n.store.Read(t.Context(), name); strings.Contains(token, stored.Token.Hash) || stored.Token.Hash == "" {
		t.Error("the token is not kept hashed")
	}
	r := n.bootServer(t, token)
	if err := r.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := leaf(t, r)
	if len(got.DNSNames) != 1 || got.DNSNames[0] != name || authority.RoleOf(got) != authority.BootServer {
		t.Errorf("%v for %s", got.DNSNames, authority.RoleOf(got))
	}
	stored, _, _ := n.store.Read(t.Context(), name)
	if entry, ok := stored.Entry(); !ok || entry.Site != "north" || entry.Key != peer.KeyOf(got) {
		t.Errorf("%v, %t", entry, ok)
	}
	for _, file := range []string{peer.KeyFile, peer.CertFile} {
		if info, err := os.Stat(filepath.Join(r.Dir, file)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
	if _, err := peer.FromFiles(peer.In(r.Dir), peer.Options{Clock: n.clock, Logger: logr.Discard()}); err != nil {
		t.Error(err)
	}
	// The answer was lost: the same key gets it again.
	if err := os.Remove(filepath.Join(r.Dir, peer.CertFile)); err != nil {
		t.Fatal(err)
	}
	if err := r.Ensure(t.Context()); err != nil {
		t.Errorf("the same token and key again: %v", err)
	}
}

func TestJoinRefusals(t *testing.T) {
	for title, c := range map[string]struct {
		token func(*testing.T, *installation) string
		code  codes.Code
		says  enroll.Reason
	}{
		"used": {func(t *testing.T, n *installation) string {
			token := n.token(t, "")
			if err := n.bootServer(t, token).Ensure(t.Context()); err != nil {
				t.Fatal(err)
			}
			return token
		}, codes.Unauthenticated, enroll.TokenUsed},
		"expired": {func(t *testing.T, n *installation) string {
			token := n.token(t, "")
			n.clock.Step(time.Hour + time.Second)
			return token
		}, codes.Unauthenticated, enroll.TokenExpired},
		"replaced by another": {func(t *testing.T, n *installation) string {
			token := n.token(t, "")
			n.token(t, "")
			return token
		}, codes.Unauthenticated, enroll.InvalidToken},
		"for another name": {func(t *testing.T, n *installation) string {
			return strings.Replace(n.token(t, ""), name, "boot-2.site.example", 1)
		}, codes.Unauthenticated, enroll.InvalidToken},
		"the store is away": {func(t *testing.T, n *installation) string {
			token := n.token(t, "")
			n.store.err = errors.New("secret words of the API")
			return token
		}, codes.Unavailable, ""},
	} {
		t.Run(title, func(t *testing.T) {
			n := install(t)
			token := c.token(t, n)
			before := n.store.entries[name]
			r := n.bootServer(t, token)
			err := r.Ensure(t.Context())
			if status.Code(err) != c.code || !strings.Contains(err.Error(), string(c.says)) || strings.Contains(err.Error(), "secret words") {
				t.Errorf("%v, want %s, %s", err, c.code, c.says)
			}
			if after := n.store.entries[name]; after.Key != before.Key {
				t.Error("the name is bound to another key")
			}
			if _, err := os.Stat(filepath.Join(r.Dir, peer.CertFile)); err == nil {
				t.Error("there is a certificate")
			}
		})
	}
}

// TestANewTokenTakesTheNameAway from the key that had it, once it is used.
func TestANewTokenTakesTheNameAway(t *testing.T) {
	n := install(t)
	old := n.bootServer(t, n.token(t, "north"))
	if err := old.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	token := n.token(t, "south")
	if _, err := n.renew(t, old.Dir, nil); err != nil {
		t.Errorf("a token that nobody has used: %v", err)
	}
	if err := n.bootServer(t, token).Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.renew(t, old.Dir, nil); status.Code(err) != codes.PermissionDenied {
		t.Errorf("the old key: %v", err)
	}
	if got := n.store.entries[name].Site; got != "south" {
		t.Errorf("site %q", got)
	}
}

// renew asks with the certificate of a directory for one for a key; nil: that of the directory.
func (n *installation) renew(t *testing.T, dir string, key crypto.Signer) (*streampb.RenewResponse, error) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, peer.CertFile), filepath.Join(dir, peer.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	if key == nil {
		key = pair.PrivateKey.(crypto.Signer)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{"somebody.else.example"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return streampb.NewBootServerCertificatesClient(n.dial(t, &pair)).Renew(t.Context(), &streampb.RenewRequest{CertificateRequest: der})
}

func (n *installation) dial(t *testing.T, shown *tls.Certificate) *grpc.ClientConn {
	t.Helper()
	config, err := peer.AnonymousConfig(n.ca.PEM(), manager, n.clock)
	if err != nil {
		t.Fatal(err)
	}
	if shown != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return shown, nil }
	}
	conn, err := grpc.NewClient("passthrough:///"+n.address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestRenewRefusals(t *testing.T) {
	for title, c := range map[string]struct {
		change func(*testing.T, *installation, *enroll.Renewer) (dir string, key crypto.Signer)
		code   codes.Code
		says   string
	}{
		"another key with the same name": {func(t *testing.T, n *installation, _ *enroll.Renewer) (string, crypto.Signer) {
			dir := t.TempDir()
			n.files(t, dir, n.ca, name, authority.BootServer, day)
			return dir, nil
		}, codes.PermissionDenied, "another key"},
		"the bound key with another name": {func(t *testing.T, n *installation, r *enroll.Renewer) (string, crypto.Signer) {
			dir := t.TempDir()
			content, err := os.ReadFile(filepath.Join(r.Dir, peer.KeyFile))
			if err != nil {
				t.Fatal(err)
			}
			key, err := authority.ReadKey(content)
			if err != nil {
				t.Fatal(err)
			}
			cert, err := n.ca.Issue(key.Public(), "boot-2.site.example", authority.BootServer, start, day)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, peer.KeyFile), content)
			write(t, filepath.Join(dir, peer.CertFile), cert)
			return dir, nil
		}, codes.PermissionDenied, "no key is bound"},
		"a request for another key": {func(t *testing.T, _ *installation, r *enroll.Renewer) (string, crypto.Signer) {
			key, _, err := authority.NewKey()
			if err != nil {
				t.Fatal(err)
			}
			return r.Dir, key
		}, codes.PermissionDenied, "another key"},
		"another authority": {func(t *testing.T, n *installation, _ *enroll.Renewer) (string, crypto.Signer) {
			cert, key, err := authority.New(start)
			if err != nil {
				t.Fatal(err)
			}
			other, err := authority.Read(cert, key, start)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			n.files(t, dir, other, name, authority.BootServer, day)
			return dir, nil
		}, codes.Unauthenticated, "UnknownAuthority"},
		"a manager's certificate": {func(t *testing.T, n *installation, _ *enroll.Renewer) (string, crypto.Signer) {
			dir := t.TempDir()
			n.files(t, dir, n.ca, name, authority.Manager, day)
			return dir, nil
		}, codes.Unauthenticated, "WrongUsage"},
		"registration removed": {func(_ *testing.T, n *installation, r *enroll.Renewer) (string, crypto.Signer) {
			n.store.mu.Lock()
			defer n.store.mu.Unlock()
			delete(n.store.entries, name)
			return r.Dir, nil
		}, codes.PermissionDenied, "no key is bound"},
		"an RSA key": {func(t *testing.T, _ *installation, r *enroll.Renewer) (string, crypto.Signer) {
			key, err := rsa.GenerateKey(rand.Reader, 2048)
			if err != nil {
				t.Fatal(err)
			}
			return r.Dir, key
		}, codes.InvalidArgument, "neither ECDSA"},
	} {
		t.Run(title, func(t *testing.T) {
			n := install(t)
			r := n.bootServer(t, n.token(t, ""))
			if err := r.Ensure(t.Context()); err != nil {
				t.Fatal(err)
			}
			dir, key := c.change(t, n, r)
			_, err := n.renew(t, dir, key)
			if status.Code(err) != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %s, %q", err, c.code, c.says)
			}
		})
	}
}

// TestExpired: after an outage that was longer than its certificate lived, a boot server gets the next one by its key, and nothing else.
func TestExpired(t *testing.T) {
	n := install(t)
	r := n.bootServer(t, n.token(t, "north"))
	if err := r.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := leaf(t, r)
	n.clock.Step(200 * day)
	pair, err := tls.LoadX509KeyPair(filepath.Join(r.Dir, peer.CertFile), filepath.Join(r.Dir, peer.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	conn := n.dial(t, &pair)
	if _, err := streampb.NewBootStreamClient(conn).Tell(t.Context(), &streampb.TellRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("the boot stream on a connection for certificates: %v", err)
	}
	// The key in the handshake has to be that of the certificate.
	stolen := pair
	stolen.PrivateKey, _, err = authority.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := streampb.NewBootServerCertificatesClient(n.dial(t, &stolen)).Renew(t.Context(), &streampb.RenewRequest{}); err == nil || status.Code(err) != codes.Unavailable {
		t.Errorf("a certificate without its key: %v", err)
	}
	renewed := make(chan struct{}, 1)
	r.Renewed, r.Token = func() { renewed <- struct{}{} }, ""
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	ran := make(chan error, 1)
	go func() { ran <- r.Run(ctx) }()
	select {
	case <-renewed:
	case <-ctx.Done():
		t.Fatal("not renewed")
	}
	stop()
	<-ran
	after := leaf(t, r)
	if peer.KeyOf(after) != peer.KeyOf(before) || !after.NotAfter.Equal(n.clock.Now().Add(enroll.DefaultLifetime)) || after.DNSNames[0] != name {
		t.Errorf("%v until %s", after.DNSNames, after.NotAfter)
	}
}

// TestRunRenewsAtTwoThirds and not before.
func TestRunRenewsAtTwoThirds(t *testing.T) {
	n := install(t)
	r := n.bootServer(t, n.token(t, ""))
	if err := r.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := leaf(t, r)
	renewed := make(chan time.Time, 10)
	r.Renewed = func() { renewed <- n.clock.Now() }
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- r.Run(ctx) }()
	due := authority.RenewAt(first)
	for n.clock.Now().Before(due) {
		if n.clock.HasWaiters() {
			n.clock.Step(time.Hour)
		}
		runtime.Gosched()
	}
	var at time.Time
	// From here on a step at a time: a clock that runs away reaches the end of the certificate before the manager has answered.
	await.True(t, "a renewed certificate", func() bool {
		n.clock.Step(time.Hour)
		select {
		case at = <-renewed:
		default:
		}
		return !at.IsZero()
	})
	stop()
	<-ran
	if at.Before(due) || at.After(first.NotAfter) {
		t.Errorf("renewed at %s, due at %s", at, due)
	}
	if first.Equal(leaf(t, r)) {
		t.Error("the certificate is the same")
	}
}

// TestRunJoins: a boot server that starts while the manager is away joins later.
func TestRunJoins(t *testing.T) {
	n := install(t)
	n.store.err = errors.New("away")
	r := n.bootServer(t, n.tokenLater(t))
	if err := r.Ensure(t.Context()); status.Code(err) != codes.Unavailable {
		t.Fatal(err)
	}
	renewed := make(chan struct{}, 10)
	r.Renewed = func() { renewed <- struct{}{} }
	n.store.mu.Lock()
	n.store.err = nil
	n.store.mu.Unlock()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- r.Run(ctx) }()
	select {
	case <-renewed:
	case <-ctx.Done():
		t.Fatal("not joined")
	}
	stop()
	<-ran
	if got := leaf(t, r).DNSNames; len(got) != 1 || got[0] != name {
		t.Errorf("%v", got)
	}
}

// tokenLater makes a token although the store is away.
func (n *installation) tokenLater(t *testing.T) string {
	t.Helper()
	away := n.store.err
	n.store.err = nil
	defer func() { n.store.err = away }()
	return n.token(t, "")
}

func TestAuthoritiesComeWithTheCertificate(t *testing.T) {
	n := install(t)
	r := n.bootServer(t, n.token(t, ""))
	if err := r.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(r.Dir, peer.CAFile))
	if err != nil || !bytes.Equal(got, n.ca.PEM()) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestJoinNeedsTheRightManager: a token is not told to whoever answers.
func TestJoinNeedsTheRightManager(t *testing.T) {
	n := install(t)
	r := n.bootServer(t, n.token(t, ""))
	r.Manager = "other.farrier.example"
	if err := r.Ensure(t.Context()); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), string(peer.WrongName)) {
		t.Errorf("%v (%s), want %s", err, status.Code(err), peer.WrongName)
	}
	if n.store.entries[name].Token.Used {
		t.Error("the token was told")
	}
}

func TestTokenName(t *testing.T) {
	n := install(t)
	good := n.token(t, "")
	if got, err := enroll.TokenName(good); err != nil || got != name {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"", "a/b", good + "x", good[:len(good)-1], strings.Replace(good, name, "*.x", 1), strings.ToUpper(good), good + "/"} {
		if got, err := enroll.TokenName(bad); err == nil {
			t.Errorf("%q: %q", bad, got)
		}
	}
}
