package peer_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/test/await"
)

// TestReloadWhileAConnectionIsOpen: cert-manager renews both sides by a swap of ..data, the open connection goes on, and a new one is shown
// the new certificate.
func TestReloadWhileAConnectionIsOpen(t *testing.T) {
	ours := newCA(t, "ours")
	clock, l := clocktesting.NewFakeClock(start), &log{}
	m := mount(t, ours.manager(t, nil), ours.pem)
	i := identity(t, m, clock, l)
	a := peer.NewAuthorizer(i, peer.Table{serverName: {}})
	address, answered := accept(t, a)
	conn, err := shake(t, address, lenient(t, ours.leaf(t, nil)))
	first := <-answered
	if err != nil || first.err != nil {
		t.Fatal(err, first.err)
	}
	before := i.Leaf()
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- i.Run(ctx) }()
	m.swap(t, ours.manager(t, func(c *x509.Certificate) { c.NotAfter = start.Add(48 * time.Hour) }), ours.pem)
	await.True(t, "the ticker", clock.HasWaiters)
	clock.Step(10 * time.Second) // once: a clock that runs on while a busy machine reads the files gets to the end of the certificate
	await.True(t, "the new certificate", func() bool { return !i.Leaf().Equal(before) })
	stop()
	<-ran
	if _, err := first.conn.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Errorf("the open connection has ended: %v", err)
	}
	address, answered = accept(t, a)
	conn, err = shake(t, address, lenient(t, ours.leaf(t, nil)))
	if got := <-answered; err != nil || got.err != nil {
		t.Fatal(err, got.err)
	}
	if shown := conn.ConnectionState().PeerCertificates[0]; !shown.Equal(i.Leaf()) || shown.Equal(before) {
		t.Error("a new connection is shown the old certificate")
	}
	want := `# HELP farrier_boot_stream_certificate_expiry_timestamp_seconds When the certificate that we show on the boot stream ends, in seconds since 1970.
# TYPE farrier_boot_stream_certificate_expiry_timestamp_seconds gauge
farrier_boot_stream_certificate_expiry_timestamp_seconds 1.7955216e+09
`
	if err := testutil.CollectAndCompare(i, strings.NewReader(want), "farrier_boot_stream_certificate_expiry_timestamp_seconds"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(a, "farrier_boot_stream_peer_certificate_expiry_timestamp_seconds"); n != 1 {
		t.Errorf("%d series of peers", n)
	}
}

// TestAuthorityRotation: with both in the bundle both are accepted.
func TestAuthorityRotation(t *testing.T) {
	old, next := newCA(t, "old"), newCA(t, "next")
	m := mount(t, old.manager(t, nil), old.pem)
	i := identity(t, m, clocktesting.NewFakeClock(start), &log{})
	a := peer.NewAuthorizer(i, peer.Table{serverName: {}})
	admitted := func(c *ca) bool {
		address, answered := accept(t, a)
		_, _ = shake(t, address, lenient(t, c.leaf(t, nil)))
		got := <-answered
		return got.err == nil
	}
	for step, s := range []struct {
		bundle    [][]byte
		old, next bool
	}{
		{[][]byte{old.pem}, true, false},
		{[][]byte{old.pem, next.pem}, true, true},
		{[][]byte{next.pem}, false, true},
	} {
		m.swap(t, old.manager(t, nil), s.bundle...)
		if err := i.Reload(); err != nil {
			t.Fatal(err)
		}
		if o, n := admitted(old), admitted(next); o != s.old || n != s.next {
			t.Errorf("step %d: old %t, next %t, want %t, %t", step, o, n, s.old, s.next)
		}
	}
}

func TestBadFilesKeepTheLast(t *testing.T) {
	ours := newCA(t, "ours")
	good := ours.manager(t, nil)
	for name, bad := range map[string]struct {
		pair   pair
		bundle []byte
		mode   os.FileMode
		says   string
	}{
		"nothing":             {pair{}, ours.pem, 0o400, peer.CertFile},
		"another's key":       {pair{good.cert, ours.manager(t, nil).key}, ours.pem, 0o400, peer.KeyFile},
		"expired":             {ours.manager(t, func(c *x509.Certificate) { c.NotAfter = start.Add(-time.Minute) }), ours.pem, 0o400, "ended on"},
		"not yet valid":       {ours.manager(t, func(c *x509.Certificate) { c.NotBefore = start.Add(time.Minute) }), ours.pem, 0o400, "begins on"},
		"no authority":        {ours.manager(t, nil), nil, 0o400, peer.CAFile},
		"leaf as authority":   {ours.manager(t, nil), good.cert, 0o400, "not that of an authority"},
		"key for all to read": {ours.manager(t, nil), ours.pem, 0o444, "defaultMode"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &log{}
			m := mount(t, good, ours.pem)
			i := identity(t, m, clocktesting.NewFakeClock(start), l)
			before := i.Leaf()
			m.swap(t, bad.pair, bad.bundle)
			if err := os.Chmod(filepath.Join(m.dir, peer.KeyFile), bad.mode); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := i.Reload(); err == nil || !strings.Contains(err.Error(), bad.says) {
					t.Errorf("%v, want %q", err, bad.says)
				}
			}
			if !i.Leaf().Equal(before) {
				t.Error("the last good certificate is gone")
			}
			if n := l.count("not reloaded"); n != 1 {
				t.Errorf("said %d times", n)
			}
			checkOneFailure(t, i)
			m.swap(t, ours.manager(t, nil), ours.pem)
			if err := i.Reload(); err != nil || i.Leaf().Equal(before) {
				t.Errorf("good files are not taken after bad ones: %v", err)
			}
		})
	}
}

func checkOneFailure(t *testing.T, i *peer.Identity) {
	t.Helper()
	text := `# HELP farrier_boot_stream_certificate_reload_failures_total New files of our certificate or of its authorities that could not be used, so that the previous ones stay.
# TYPE farrier_boot_stream_certificate_reload_failures_total counter
farrier_boot_stream_certificate_reload_failures_total 1
`
	if err := testutil.CollectAndCompare(i, strings.NewReader(text), "farrier_boot_stream_certificate_reload_failures_total"); err != nil {
		t.Error(err)
	}
}

// TestStartsWithAnExpiredCertificate: it may be all that a boot server has to renew with.
func TestStartsWithAnExpiredCertificate(t *testing.T) {
	ours, l := newCA(t, "ours"), &log{}
	m := mount(t, ours.leaf(t, func(c *x509.Certificate) { c.NotAfter = start.Add(-time.Minute) }), ours.pem)
	if identity(t, m, clocktesting.NewFakeClock(start), l).Leaf() == nil || l.count("not valid now") != 1 {
		t.Error("want an identity and a line in the log")
	}
	if err := os.Remove(filepath.Join(m.dir, peer.CAFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := peer.FromFiles(peer.In(m.dir), peer.Options{Clock: clocktesting.NewFakeClock(start), Logger: l.logger()}); err == nil || !strings.Contains(err.Error(), peer.CAFile) {
		t.Errorf("%v, want an error that names the file", err)
	}
}

func TestParseTable(t *testing.T) {
	got, err := peer.ParseTable([]string{"Boot-1.example=north", "boot-2.example"})
	if err != nil || len(got) != 2 || got["boot-1.example"].Site != "north" || got["boot-2.example"].Site != "" {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range [][]string{{""}, {"=north"}, {"*.example"}, {"a..b"}, {"a="}, {"a=b c"}, {"a", "A"}, {strings.Repeat("a.", 127) + "a"}} {
		if got, err := peer.ParseTable(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// TestOnlyTLS13: what the configurations say, for whoever uses them without Credentials.
func TestOnlyTLS13(t *testing.T) {
	ours := newCA(t, "ours")
	i := identity(t, mount(t, ours.manager(t, nil), ours.pem), clocktesting.NewFakeClock(start), &log{})
	for name, c := range map[string]*tls.Config{
		"server": peer.NewAuthorizer(i, nil).ServerConfig(), "client": i.ClientConfig(managerName), "enroll": i.EnrollConfig(),
	} {
		if c.MinVersion != tls.VersionTLS13 {
			t.Errorf("%s: %x", name, c.MinVersion)
		}
	}
}
