package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Pair is a certificate and its key, in PEM. The key is an ECDSA one, which is quick to make.
type Pair struct{ Cert, Key []byte }

// SelfSigned makes a certificate that is its own authority, valid for an hour before and after now. change says what else it is.
func SelfSigned(t testing.TB, change func(*x509.Certificate)) Pair {
	t.Helper()
	return issue(t, nil, func(template *x509.Certificate) {
		template.IsCA, template.BasicConstraintsValid = true, true
		template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
		change(template)
	})
}

// Sign makes a certificate that p has signed.
func (p Pair) Sign(t testing.TB, change func(*x509.Certificate)) Pair {
	t.Helper()
	return issue(t, &p, change)
}

func issue(t testing.TB, authority *Pair, change func(*x509.Certificate)) Pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: serial, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature}
	change(template)
	parent, signer := template, any(key)
	if authority != nil {
		of := authority.TLS(t)
		parent, signer = of.Leaf, of.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})}
}

// TLS is the pair for package tls.
func (p Pair) TLS(t testing.TB) tls.Certificate {
	t.Helper()
	c, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Pool holds the certificate.
func (p Pair) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(p.Cert)
	return pool
}

// Write stores both as files in a folder.
func (p Pair) Write(t testing.TB, dir string) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for path, content := range map[string][]byte{certFile: p.Cert, keyFile: p.Key} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// Read reads a pair from files.
func Read(t testing.TB, certFile, keyFile string) Pair {
	t.Helper()
	cert, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{cert, key}
}
