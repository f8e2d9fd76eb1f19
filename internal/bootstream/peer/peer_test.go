package peer_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootstream/peer"
)

const (
	managerName = "manager.farrier.example"
	serverName  = "boot-1.site.example"
)

var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// ca is an authority that signs whatever a test needs, also what none of ours would.
type ca struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

func newCA(t *testing.T, name string) *ca {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: start.AddDate(-1, 0, 0), NotAfter: start.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &ca{cert: cert, key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func newKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// pair is PEM.
type pair struct{ cert, key []byte }

// leaf signs a certificate of a boot server, after edit has made of it what the test is about.
func (c *ca) leaf(t *testing.T, edit func(*x509.Certificate)) pair {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{serverName}, NotBefore: start.Add(-time.Hour), NotAfter: start.Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if edit != nil {
		edit(template)
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, key.Public(), c.key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})}
}

func (c *ca) manager(t *testing.T, edit func(*x509.Certificate)) pair {
	t.Helper()
	return c.leaf(t, func(template *x509.Certificate) {
		template.DNSNames, template.ExtKeyUsage = []string{managerName}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		if edit != nil {
			edit(template)
		}
	})
}

// mounted is a Secret as Kubernetes mounts it: the files are links into ..data, which is a link that is replaced.
type mounted struct {
	dir     string
	version int
}

func mount(t *testing.T, p pair, bundle ...[]byte) *mounted {
	t.Helper()
	m := &mounted{dir: t.TempDir()}
	for _, name := range []string{peer.CertFile, peer.KeyFile, peer.CAFile} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(m.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	m.swap(t, p, bundle...)
	return m
}

func (m *mounted) swap(t *testing.T, p pair, bundle ...[]byte) {
	t.Helper()
	m.version++
	folder := "..2026_" + strings.Repeat("v", m.version)
	if err := os.Mkdir(filepath.Join(m.dir, folder), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{peer.CertFile: p.cert, peer.KeyFile: p.key, peer.CAFile: slices.Concat(bundle...)} {
		if err := os.WriteFile(filepath.Join(m.dir, folder, name), content, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(folder, filepath.Join(m.dir, "..data_tmp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(m.dir, "..data_tmp"), filepath.Join(m.dir, "..data")); err != nil {
		t.Fatal(err)
	}
}

// log collects lines.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.text.WriteString(args + "\n")
	}, funcr.Options{})
}

func (l *log) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

func identity(t *testing.T, m *mounted, clock *clocktesting.FakeClock, l *log) *peer.Identity {
	t.Helper()
	i, err := peer.FromFiles(peer.In(m.dir), peer.Options{Clock: clock, Logger: l.logger()})
	if err != nil {
		t.Fatal(err)
	}
	return i
}
