package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	now      = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	loopback = []net.IP{net.IPv4(127, 0, 0, 1)}
)

func open(t *testing.T, dir string, at time.Time) *Authority {
	t.Helper()
	authority, err := OpenAuthority(dir, at)
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

func serving(t *testing.T, authority *Authority, ips []net.IP, names ...string) *Pair {
	t.Helper()
	pair, err := authority.Serving("apiserver", ips, names)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestServingCertificateIsTrustedUnderItsNames(t *testing.T) {
	authority := open(t, t.TempDir(), now)
	pair := serving(t, authority, append(loopback, net.ParseIP("192.0.2.7")), "localhost")
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority.CertPEM) {
		t.Fatal("authority is no PEM certificate")
	}
	for name, want := range map[string]bool{"127.0.0.1": true, "192.0.2.7": true, "localhost": true, "192.0.2.8": false, "example.org": false} {
		_, err := pair.Certificate.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: now})
		if (err == nil) != want {
			t.Errorf("verified as %s: %v, want %t", name, err, want)
		}
	}
	if _, err := pair.Certificate.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err == nil {
		t.Error("the serving certificate proves a client")
	}
}

func TestClientCertificateNamesUserAndGroups(t *testing.T) {
	dir := t.TempDir()
	pair, err := open(t, dir, now).Client(now, time.Hour, "someone", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	if !pair.Certificate.NotAfter.Equal(now.Add(time.Hour)) || Lifetime(pair.Certificate) != time.Hour {
		t.Errorf("valid until %s, want an hour", pair.Certificate.NotAfter)
	}
	if _, err := tls.X509KeyPair(pair.PEM(), pair.PEM()); err != nil {
		t.Errorf("both in one file: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("%v, want nothing but the authority", entries)
	}
	subject := pair.Certificate.Subject
	if subject.CommonName != "someone" || len(subject.Organization) != 1 || subject.Organization[0] != "system:masters" {
		t.Errorf("subject %s", subject)
	}
}

func TestCertificatesAreKeptWhileTheyFit(t *testing.T) {
	dir := t.TempDir()
	first := serving(t, open(t, dir, now), loopback, "localhost")
	for name, c := range map[string]struct {
		at    time.Time
		ips   []net.IP
		names []string
		kept  bool
	}{
		"same":             {at: now, ips: loopback, names: []string{"localhost"}, kept: true},
		"a year later":     {at: now.Add(year), ips: loopback, names: []string{"localhost"}, kept: true},
		"listed twice":     {at: now, ips: append(loopback, loopback...), names: []string{"localhost"}, kept: true},
		"near its end":     {at: now.Add(leafValidity - renewBefore + time.Hour), ips: loopback, names: []string{"localhost"}},
		"clock set back":   {at: now.Add(-year), ips: loopback, names: []string{"localhost"}},
		"other address":    {at: now, ips: []net.IP{net.ParseIP("192.0.2.1")}, names: []string{"localhost"}},
		"other name":       {at: now, ips: loopback, names: []string{"rack"}},
		"one address more": {at: now, ips: append(loopback, net.ParseIP("192.0.2.1")), names: []string{"localhost"}},
	} {
		t.Run(name, func(t *testing.T) {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			again := serving(t, open(t, copied, c.at), c.ips, c.names...)
			if kept := again.Certificate.Equal(first.Certificate); kept != c.kept {
				t.Errorf("kept: %t, want %t", kept, c.kept)
			}
		})
	}
}

func TestNewAuthorityReplacesWhatTheOldOneSigned(t *testing.T) {
	dir := t.TempDir()
	authority := open(t, dir, now)
	first := serving(t, authority, loopback)
	later := now.Add(authorityValidity - leafValidity)
	renewed := open(t, dir, later)
	if renewed.Certificate.Equal(authority.Certificate) {
		t.Fatal("an authority that ends before what it would sign was kept")
	}
	if again := serving(t, renewed, loopback); again.Certificate.CheckSignatureFrom(renewed.Certificate) != nil || again.Certificate.Equal(first.Certificate) {
		t.Error("the serving certificate is not from the new authority")
	}
}

func TestHalfWrittenPairIsReplaced(t *testing.T) {
	dir := t.TempDir()
	first := serving(t, open(t, dir, now), loopback)
	_, otherKey, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(first.KeyFile, otherKey, 0o600); err != nil {
		t.Fatal(err)
	}
	if again := serving(t, open(t, dir, now), loopback); again.Certificate.Equal(first.Certificate) {
		t.Error("a certificate was kept with the key of another")
	}
}

func TestForeignFileIsNotOverwritten(t *testing.T) {
	for _, name := range []string{"ca.crt", "ca.key", "apiserver.crt", "service-account.key"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			authority := open(t, dir, now)
			serving(t, authority, loopback)
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte("a shopping list"), 0o600); err != nil {
				t.Fatal(err)
			}
			authority, err := OpenAuthority(dir, now)
			if err == nil {
				_, err = authority.Serving("apiserver", loopback, nil)
			}
			if err == nil {
				_, err = authority.SigningKey("service-account")
			}
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%v, want an error that names %s", err, path)
			}
			if content, _ := os.ReadFile(path); string(content) != "a shopping list" {
				t.Errorf("%s was overwritten", path)
			}
		})
	}
}

func TestSigningKeyIsKept(t *testing.T) {
	dir := t.TempDir()
	read := func() string {
		t.Helper()
		path, err := open(t, dir, now).SigningKey("service-account")
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	if first, again := read(), read(); first != again {
		t.Error("the second call made another key")
	}
}

func TestFindAuthorityMakesNothing(t *testing.T) {
	dir := t.TempDir()
	if _, err := FindAuthority(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v, want an error that names %s", err, dir)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("it made %v", entries)
	}
	made := open(t, dir, now)
	found, err := FindAuthority(dir)
	if err != nil || !found.Certificate.Equal(made.Certificate) {
		t.Errorf("not the authority of the directory (%v)", err)
	}
}

func TestFilesOfFormerVersionsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	authority := open(t, dir, now)
	for _, name := range []string{"admin.crt", "admin.key"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time there is nothing left
		if err := authority.RemoveClient("admin"); err != nil {
			t.Fatal(err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("%v, want nothing but the authority", entries)
	}
}
