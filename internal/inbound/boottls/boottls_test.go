package boottls

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/host/boundedfile"
	"github.com/farrier-dev/farrier/test/certificate"
)

var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// firstAuthority is made once: an RSA key takes a while.
var firstAuthority = sync.OnceValues(func() (*Authority, error) {
	cert, key, err := NewAuthority(start)
	if err != nil {
		return nil, err
	}
	return ReadAuthority(cert, key, start)
})

func anAuthority(t *testing.T) *Authority {
	t.Helper()
	a, err := firstAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// log collects what an Identity says.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) options(clock *clocktesting.FakeClock, names ...string) Options {
	return Options{Names: names, Clock: clock, Logger: funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.text.WriteString(args + "\n")
	}, funcr.Options{})}
}

func TestAuthorityIssues(t *testing.T) {
	a := anAuthority(t)
	names := []string{"192.0.2.1", "boot.example", "fd00::1"}
	i, err := FromAuthority(a, (&log{}).options(clocktesting.NewFakeClock(start), names...))
	if err != nil {
		t.Fatal(err)
	}
	leaf := i.Leaf().Leaf
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(i.CA()) {
		t.Fatal("no CA")
	}
	for _, name := range names {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: bracketed(name), CurrentTime: start}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := leaf.VerifyHostname("other.example"); err == nil {
		t.Error("good for a name that nobody asked for")
	}
	for _, c := range []*x509.Certificate{leaf, a.certificate} {
		if key, ok := c.PublicKey.(*rsa.PublicKey); !ok || key.N.BitLen() < 3072 || c.SignatureAlgorithm != x509.SHA256WithRSA {
			t.Errorf("%s is nothing that firmware verifies", c.Subject)
		}
		if !c.NotBefore.Before(start.Add(-24 * time.Hour)) {
			t.Errorf("%s begins on %s: a machine whose clock is a day late refuses it", c.Subject, c.NotBefore)
		}
	}
	if leaf.IsCA || !a.certificate.MaxPathLenZero {
		t.Error("whoever has the key of a boot server could sign others")
	}
}

func TestReadAuthorityRefuses(t *testing.T) {
	cert, key, err := NewAuthority(start)
	if err != nil {
		t.Fatal(err)
	}
	other := anAuthority(t)
	for name, c := range map[string]struct {
		cert, key []byte
		now       time.Time
		says      string
	}{
		"nothing":       {nil, nil, start, "PEM"},
		"another's key": {other.PEM(), key, start, "match"},
		"ended":         {cert, key, start.Add(authorityValidity + day), "ended"},
	} {
		if _, err := ReadAuthority(c.cert, c.key, c.now); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q in it", name, err, c.says)
		}
	}
}

// The leaf is made anew a month before it ends, and never outlives its authority.
func TestAuthorityRenews(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	i, err := FromAuthority(anAuthority(t), (&log{}).options(clock, "192.0.2.1"))
	if err != nil {
		t.Fatal(err)
	}
	first := i.Leaf()
	clock.SetTime(first.Leaf.NotAfter.Add(-renewBefore - time.Second))
	if err := i.update(); err != nil || i.Leaf() != first {
		t.Errorf("renewed early (%v)", err)
	}
	clock.SetTime(first.Leaf.NotAfter.Add(-renewBefore))
	if err := i.update(); err != nil || i.Leaf() == first {
		t.Errorf("not renewed (%v)", err)
	}
	clock.SetTime(i.ca509(t).NotAfter.Add(-day))
	if err := i.update(); err != nil || i.Leaf().Leaf.NotAfter.After(i.ca509(t).NotAfter) {
		t.Errorf("ends on %s (%v)", i.Leaf().Leaf.NotAfter, err)
	}
}

func (i *Identity) ca509(t *testing.T) *x509.Certificate {
	t.Helper()
	c, err := x509.ParseCertificate(i.Leaf().Certificate[1])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// userFiles are a certificate of the user's, signed by itself, ECDSA for it is quick.
type userFiles struct {
	t   *testing.T
	dir string
}

func (u userFiles) files() Files {
	return Files{Cert: filepath.Join(u.dir, "tls.crt"), Key: filepath.Join(u.dir, "tls.key")}
}

func (u userFiles) pair(notBefore, notAfter time.Time, names ...string) (cert, key []byte) {
	u.t.Helper()
	pair := certificate.SelfSigned(u.t, func(c *x509.Certificate) {
		c.Subject, c.NotBefore, c.NotAfter, c.KeyUsage = pkix.Name{CommonName: "user"}, notBefore, notAfter, 0
		for _, name := range names {
			if ip := net.ParseIP(name); ip != nil {
				c.IPAddresses = append(c.IPAddresses, ip)
			} else {
				c.DNSNames = append(c.DNSNames, name)
			}
		}
	})
	return pair.Cert, pair.Key
}

func (u userFiles) write(cert, key []byte) {
	u.t.Helper()
	f := u.files()
	for path, content := range map[string][]byte{f.Cert: cert, f.Key: key} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			u.t.Fatal(err)
		}
	}
}

func TestFilesRefused(t *testing.T) {
	u := userFiles{t, t.TempDir()}
	f := u.files()
	good, goodKey := u.pair(start, start.Add(day), "192.0.2.1", "fd00::1")
	_, otherKey := u.pair(start, start.Add(day))
	ended, endedKey := u.pair(start.Add(-2*day), start.Add(-day), "192.0.2.1", "fd00::1")
	later, laterKey := u.pair(start.Add(day), start.Add(2*day), "192.0.2.1", "fd00::1")
	elsewhere, elsewhereKey := u.pair(start, start.Add(day), "boot.example")
	ca := filepath.Join(u.dir, "ca.crt")
	if err := os.WriteFile(ca, elsewhere, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cert, key []byte
		change    func(*Files)
		says      []string // empty: it is taken
	}{
		"good":              {cert: good, key: goodKey},
		"no key flag":       {cert: good, key: goodKey, change: func(f *Files) { f.Key = "" }, says: []string{FlagKey, FlagCert}},
		"no such file":      {cert: good, key: goodKey, change: func(f *Files) { f.Cert += "x" }, says: []string{FlagCert, "tls.crtx"}},
		"another's key":     {cert: good, key: otherKey, says: []string{FlagCert, FlagKey, "match"}},
		"no PEM":            {cert: []byte("x"), key: goodKey, says: []string{FlagCert}},
		"ended":             {cert: ended, key: endedKey, says: []string{FlagCert, "ended"}},
		"begins later":      {cert: later, key: laterKey, says: []string{FlagCert, "begins"}},
		"other names":       {cert: elsewhere, key: elsewhereKey, says: []string{FlagCert, "192.0.2.1, fd00::1", FlagNames}},
		"another authority": {cert: good, key: goodKey, change: func(f *Files) { f.CA = ca }, says: []string{FlagCert, FlagCA}},
		"authority is none": {cert: good, key: goodKey, change: func(f *Files) { f.CA = f.Key }, says: []string{FlagCA, "PEM"}},
		"readable by all":   {cert: good, key: goodKey, change: func(f *Files) { mode(t, f.Key, 0o644) }, says: []string{FlagKey, "0644", "chmod"}},
		"too large":         {cert: make([]byte, boundedfile.Certificates+1), key: goodKey, says: []string{FlagCert, "larger"}},
	} {
		u.write(c.cert, c.key)
		used := f
		if c.change != nil {
			c.change(&used)
		}
		_, err := FromFiles(used, (&log{}).options(clocktesting.NewFakeClock(start.Add(time.Hour)), "192.0.2.1", "fd00::1"))
		mode(t, f.Key, 0o600)
		if (err == nil) != (len(c.says) == 0) {
			t.Errorf("%s: %v", name, err)
		}
		for _, text := range c.says {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %q in it", name, err, text)
			}
		}
	}
}

func mode(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// What replaces the files and cannot be used leaves the certificate as it was, and is said once; what can is shown.
func TestFilesReplaced(t *testing.T) {
	u := userFiles{t, t.TempDir()}
	clock, said := clocktesting.NewFakeClock(start.Add(time.Hour)), &log{}
	u.write(u.pair(start, start.Add(day), "192.0.2.1"))
	i, err := FromFiles(u.files(), said.options(clock, "192.0.2.1"))
	if err != nil {
		t.Fatal(err)
	}
	first := i.Leaf()
	good, goodKey := u.pair(start, start.Add(9*day), "192.0.2.1")
	broken := map[string]func(){
		"half of a pair": func() { _, key := u.pair(start, start.Add(day)); u.write(good, key) },
		"no PEM":         func() { u.write([]byte("x"), goodKey) },
		"gone":           func() { _ = os.Remove(u.files().Cert) },
		"other names":    func() { u.write(u.pair(start, start.Add(day), "boot.example")) },
		"in the future":  func() { u.write(u.pair(start.Add(3*day), start.Add(4*day), "192.0.2.1")) },
	}
	for name, breaks := range broken {
		breaks()
		if err := i.update(); err == nil || i.Leaf() != first {
			t.Errorf("%s: %v, the certificate is another: %v", name, err, i.Leaf() != first)
		}
		if err := i.update(); err != nil {
			t.Errorf("%s is said again: %v", name, err)
		}
	}
	u.write(good, goodKey)
	if err := i.update(); err != nil || !i.Leaf().Leaf.NotAfter.Equal(start.Add(9*day)) {
		t.Errorf("the new one is not shown: %v", err)
	}
	// One that is refused because it begins a moment from now is shown when it does.
	u.write(u.pair(clock.Now().Add(time.Minute).Truncate(time.Second), start.Add(20*day), "192.0.2.1"))
	if err := i.update(); err == nil {
		t.Error("one that has not begun is shown")
	}
	clock.Step(2 * time.Minute)
	if err := i.update(); err != nil || !i.Leaf().Leaf.NotAfter.Equal(start.Add(20*day)) {
		t.Errorf("it has begun and is not shown: %v", err)
	}
}

// Run looks again and again, logs what is wrong, and ends with its context.
func TestRun(t *testing.T) {
	u := userFiles{t, t.TempDir()}
	clock, said, made := clocktesting.NewFakeClock(start.Add(time.Hour)), &log{}, make(chan struct{}, 1)
	u.write(u.pair(start, start.Add(day), "192.0.2.1"))
	logged := make(chan struct{}, 8)
	o := said.options(clock, "192.0.2.1")
	o.Clock = tellingClock{clock, made}
	o.Logger = funcr.New(func(_, args string) { said.text.WriteString(args); logged <- struct{}{} }, funcr.Options{})
	i, err := FromFiles(u.files(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- i.Run(ctx) }()
	if err := os.Remove(u.files().Key); err != nil {
		t.Fatal(err)
	}
	<-made
	clock.Step(filesInterval)
	<-logged
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if text := said.text.String(); !strings.Contains(text, FlagKey) || !strings.Contains(text, "keeping the previous one") {
		t.Errorf("logged %s", text)
	}
}

// tellingClock tells when a ticker was made, which is when it can be stepped.
type tellingClock struct {
	*clocktesting.FakeClock
	made chan<- struct{}
}

func (c tellingClock) NewTicker(d time.Duration) clock.Ticker {
	ticker := c.FakeClock.NewTicker(d)
	c.made <- struct{}{}
	return ticker
}

// TestVersionsAndSuites: TLS 1.2 and later, with forward secrecy unless it is waived for old firmware.
func TestVersionsAndSuites(t *testing.T) {
	a := anAuthority(t)
	i, err := FromAuthority(a, (&log{}).options(clocktesting.NewFakeClock(start), "192.0.2.1"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.PEM())
	old := []uint16{tls.TLS_RSA_WITH_AES_256_CBC_SHA}
	for name, c := range map[string]struct {
		client  *tls.Config
		forward bool
		good    bool
	}{
		"TLS 1.3":                     {&tls.Config{}, true, true},
		"TLS 1.2":                     {&tls.Config{MaxVersion: tls.VersionTLS12}, true, true},
		"TLS 1.1":                     {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, false, false},
		"TLS 1.0":                     {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10}, false, false},
		"RSA key exchange":            {&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: old}, false, true},
		"RSA key exchange, ruled out": {&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: old}, true, false},
		"another name":                {&tls.Config{ServerName: "other.example"}, false, false},
		"no trust":                    {&tls.Config{RootCAs: x509.NewCertPool()}, false, false},
	} {
		config := c.client.Clone()
		if config.RootCAs == nil {
			config.RootCAs = roots
		}
		if config.ServerName == "" {
			config.ServerName = "192.0.2.1"
		}
		config.Time = func() time.Time { return start }
		if err := handshake(t, config, i.ServerConfig(c.forward)); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func handshake(t *testing.T, client, server *tls.Config) error {
	t.Helper()
	here, there := net.Pipe()
	defer here.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		defer there.Close()
		_ = tls.Server(there, server).Handshake()
	}()
	err := tls.Client(here, client).Handshake()
	_ = here.Close()
	<-served
	return err
}
