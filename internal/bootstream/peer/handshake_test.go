package peer_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootstream/peer"
)

// answer is what a server's handshake has come to.
type answer struct {
	conn net.Conn
	err  error
}

// accept serves one connection.
func accept(t *testing.T, a *peer.Authorizer) (address string, answered <-chan answer) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	done := make(chan answer, 1)
	go func() {
		raw, err := listener.Accept()
		if err != nil {
			done <- answer{err: err}
			return
		}
		_ = raw.SetDeadline(time.Now().Add(30 * time.Second))
		conn, _, err := a.Credentials().ServerHandshake(raw)
		if err != nil {
			_ = raw.Close()
		}
		done <- answer{conn, err}
	}()
	return listener.Addr().String(), done
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	return conn
}

// shake is a client's handshake, to the end: the server refuses a client of TLS 1.3 after the client has finished.
func shake(t *testing.T, address string, config *tls.Config) (*tls.Conn, error) {
	t.Helper()
	config.NextProtos = []string{"h2"}
	conn := tls.Client(dial(t, address), config)
	return conn, conn.HandshakeContext(t.Context())
}

// lenient is a client that shows a certificate and believes everything.
func lenient(t *testing.T, p pair) *tls.Config {
	t.Helper()
	config := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}
	if p.cert != nil {
		c, err := tls.X509KeyPair(p.cert, p.key)
		if err != nil {
			t.Fatal(err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c, nil }
	}
	return config
}

func TestServerRefusals(t *testing.T) {
	ours, other := newCA(t, "ours"), newCA(t, "other")
	named := func(names ...string) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.DNSNames = names }
	}
	for name, c := range map[string]struct {
		client pair
		edit   func(*tls.Config)
		want   peer.Reason // empty: admitted
	}{
		"good":              {client: ours.leaf(t, nil)},
		"in capitals":       {client: ours.leaf(t, named("BOOT-1.Site.Example"))},
		"a name beside":     {client: ours.leaf(t, named(serverName, "unrelated.example"))},
		"no certificate":    {want: peer.NoCertificate},
		"wrong CA":          {client: other.leaf(t, nil), want: peer.UnknownAuthority},
		"wrong name":        {client: ours.leaf(t, named("boot-9.site.example")), want: peer.WrongName},
		"part of the name":  {client: ours.leaf(t, named("site.example")), want: peer.WrongName},
		"wildcard":          {client: ours.leaf(t, named("*.site.example")), want: peer.WrongName},
		"wildcard beside":   {client: ours.leaf(t, named(serverName, "*.site.example")), want: peer.WrongName},
		"several of ours":   {client: ours.leaf(t, named(serverName, "boot-2.site.example")), want: peer.WrongName},
		"common name alone": {client: ours.leaf(t, func(c *x509.Certificate) { c.DNSNames, c.Subject = nil, pkix.Name{CommonName: serverName} }), want: peer.WrongName},
		"expired": {client: ours.leaf(t, func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = start.Add(-48*time.Hour), start.Add(-time.Second)
		}), want: peer.Expired},
		"not yet valid": {client: ours.leaf(t, func(c *x509.Certificate) { c.NotBefore = start.Add(time.Hour) }), want: peer.NotYetValid},
		"expired, of another": {client: other.leaf(t, func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = start.Add(-48*time.Hour), start.Add(-time.Second)
		}), want: peer.UnknownAuthority},
		"a manager's":   {client: ours.manager(t, named(serverName)), want: peer.WrongUsage},
		"TLS 1.2":       {client: ours.leaf(t, nil), edit: func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 }, want: peer.OldTLS},
		"bound key":     {client: ours.leaf(t, named("bound.example")), want: peer.WrongKey},
		"hello and bye": {edit: func(c *tls.Config) { c.VerifyConnection = func(tls.ConnectionState) error { return errors.New("no") } }, want: peer.HandshakeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			clock, l := clocktesting.NewFakeClock(start), &log{}
			i := identity(t, mount(t, ours.manager(t, nil), ours.pem), clock, l)
			a := peer.NewAuthorizer(i, peer.Table{serverName: {Site: "north"}, "boot-2.site.example": {}, "bound.example": {Key: "another"}})
			address, answered := accept(t, a)
			config := lenient(t, c.client)
			if c.edit != nil {
				c.edit(config)
			}
			_, _ = shake(t, address, config)
			checkAnswer(t, a, l, <-answered, c.want)
		})
	}
	t.Run("plaintext", func(t *testing.T) {
		l := &log{}
		i := identity(t, mount(t, ours.manager(t, nil), ours.pem), clocktesting.NewFakeClock(start), l)
		a := peer.NewAuthorizer(i, peer.Table{serverName: {}})
		address, answered := accept(t, a)
		if _, err := dial(t, address).Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		checkAnswer(t, a, l, <-answered, peer.Plaintext)
	})
}

func checkAnswer(t *testing.T, a *peer.Authorizer, l *log, got answer, want peer.Reason) {
	t.Helper()
	if want == "" {
		if got.err != nil {
			t.Fatal(got.err)
		}
		_ = got.conn.Close()
		return
	}
	r, ok := errors.AsType[*peer.Refusal](got.err)
	if !ok || r.Reason != want {
		t.Fatalf("%v, want reason %s", got.err, want)
	}
	for _, reason := range peer.Reasons {
		counted := 0
		if reason == want {
			counted = 1
		}
		if n := l.count(`"reason"="` + string(reason) + `"`); n != counted {
			t.Errorf("%d lines in the log with reason %s, want %d", n, reason, counted)
		}
	}
	if n := testutil.CollectAndCount(a, "farrier_boot_stream_refusals_total"); n != len(peer.Reasons) {
		t.Errorf("%d series of refusals", n)
	}
}

func TestClientRefusals(t *testing.T) {
	ours, other := newCA(t, "ours"), newCA(t, "other")
	for name, c := range map[string]struct {
		manager pair
		want    peer.Reason
	}{
		"good":        {manager: ours.manager(t, nil)},
		"wrong CA":    {other.manager(t, nil), peer.UnknownAuthority},
		"wrong name":  {ours.manager(t, func(c *x509.Certificate) { c.DNSNames = []string{"localhost"} }), peer.WrongName},
		"wildcard":    {ours.manager(t, func(c *x509.Certificate) { c.DNSNames = []string{"*.farrier.example"} }), peer.WrongName},
		"CN alone":    {ours.manager(t, func(c *x509.Certificate) { c.DNSNames, c.Subject.CommonName = nil, managerName }), peer.WrongName},
		"address":     {ours.manager(t, func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = nil, []net.IP{net.IPv4(127, 0, 0, 1)} }), peer.WrongName},
		"boot server": {ours.leaf(t, func(c *x509.Certificate) { c.DNSNames = []string{managerName} }), peer.WrongUsage},
		"expired":     {ours.manager(t, func(c *x509.Certificate) { c.NotAfter = start.Add(-time.Second) }), peer.Expired},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(start)
			i := identity(t, mount(t, c.manager, ours.pem), clock, &log{})
			address, answered := accept(t, peer.NewAuthorizer(i, peer.Table{serverName: {}}))
			client := identity(t, mount(t, ours.leaf(t, nil), ours.pem), clock, &log{})
			_, err := shake(t, address, client.ClientConfig(managerName))
			if c.want == "" {
				if got := <-answered; err != nil || got.err != nil {
					t.Fatal(err, got.err)
				}
				return
			}
			if r, ok := errors.AsType[*peer.Refusal](err); !ok || r.Reason != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestRightsEnd: a connection ends with what it was opened for.
func TestRightsEnd(t *testing.T) {
	ours := newCA(t, "ours")
	next := newCA(t, "next")
	table := peer.Table{serverName: {Site: "north"}}
	for name, end := range map[string]func(*testing.T, *peer.Authorizer, *peer.Identity, *mounted, *clocktesting.FakeClock){
		"name removed": func(_ *testing.T, a *peer.Authorizer, _ *peer.Identity, _ *mounted, _ *clocktesting.FakeClock) {
			a.SetTable(peer.Table{})
		},
		"other site": func(_ *testing.T, a *peer.Authorizer, _ *peer.Identity, _ *mounted, _ *clocktesting.FakeClock) {
			a.SetTable(peer.Table{serverName: {Site: "south"}})
		},
		"expired": func(_ *testing.T, _ *peer.Authorizer, _ *peer.Identity, _ *mounted, clock *clocktesting.FakeClock) {
			clock.Step(25 * time.Hour)
		},
		"authority removed": func(t *testing.T, _ *peer.Authorizer, i *peer.Identity, m *mounted, clock *clocktesting.FakeClock) {
			m.swap(t, next.manager(t, nil), next.pem)
			if err := i.Reload(); err != nil {
				t.Error(err)
			}
			clock.Step(11 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(start)
			m := mount(t, ours.manager(t, nil), ours.pem)
			i := identity(t, m, clock, &log{})
			a := peer.NewAuthorizer(i, table)
			ctx, stop := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			go func() { ran <- a.Run(ctx) }()
			defer func() { stop(); <-ran }()
			for !clock.HasWaiters() {
				select {
				case <-t.Context().Done():
					t.Fatal("Run has not begun")
				default:
				}
			}
			address, answered := accept(t, a)
			conn, err := shake(t, address, lenient(t, ours.leaf(t, nil)))
			if got := <-answered; err != nil || got.err != nil {
				t.Fatal(err, got.err)
			}
			a.SetTable(table) // nothing has changed, so nothing happens
			end(t, a, i, m, clock)
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Error("the connection goes on")
			}
			if n, isTimeout := errors.AsType[net.Error](err); isTimeout && n.Timeout() {
				t.Error("the connection was not closed")
			}
		})
	}
}
