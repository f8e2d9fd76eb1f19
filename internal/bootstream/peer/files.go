package peer

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/farrier-dev/farrier/internal/host/boundedfile"
)

// Names of the files in a Secret of cert-manager, and in a directory of ours.
const (
	CertFile = "tls.crt"
	KeyFile  = "tls.key"
	CAFile   = "ca.crt"
)

// readAttempts bounds how often files that change while they are read are read again.
const readAttempts = 5

// Files are a certificate with its chain, its key, and the authorities that sign the certificates of peers.
type Files struct{ Cert, Key, CA string }

// In names the files in a directory, by the names that cert-manager gives them.
func In(dir string) Files {
	return Files{Cert: filepath.Join(dir, CertFile), Key: filepath.Join(dir, KeyFile), CA: filepath.Join(dir, CAFile)}
}

// contents are those of the files at one moment.
type contents struct{ cert, key, ca []byte }

func (c contents) equal(d contents) bool {
	return bytes.Equal(c.cert, d.cert) && bytes.Equal(c.key, d.key) && bytes.Equal(c.ca, d.ca)
}

// read reads the files until two reads agree: a Secret is replaced by a change of one symbolic link, between two files as well.
func (f Files) read() (contents, error) {
	before, err := f.readOnce()
	for range readAttempts {
		if err != nil {
			return contents{}, err
		}
		var now contents
		if now, err = f.readOnce(); err == nil && now.equal(before) {
			return now, nil
		}
		before = now
	}
	if err == nil {
		err = fmt.Errorf("%s, %s and %s change while they are read", f.Cert, f.Key, f.CA)
	}
	return contents{}, err
}

func (f Files) readOnce() (c contents, err error) {
	if c.cert, err = boundedfile.Read(f.Cert, boundedfile.Certificates); err != nil {
		return contents{}, err
	}
	if c.ca, err = boundedfile.Read(f.CA, boundedfile.Certificates); err != nil {
		return contents{}, err
	}
	c.key, err = boundedfile.ReadKey(f.Key, boundedfile.Certificates)
	return c, err
}

// material is what an Identity speaks with at a time.
type material struct {
	certificate *tls.Certificate
	trust
	contents contents
}

// parse makes material of the files' contents. Its errors name the file.
func (f Files) parse(c contents) (*material, error) {
	pair, err := tls.X509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", f.Cert, f.Key, err)
	}
	trust, err := readTrust(c.ca)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.CA, err)
	}
	return &material{certificate: &pair, trust: trust, contents: c}, nil
}

// current refuses a certificate that peers would refuse now.
func (m *material) current(f Files, now time.Time) error {
	switch leaf := m.certificate.Leaf; {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("%s: the certificate ended on %s", f.Cert, leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("%s: the certificate begins on %s", f.Cert, leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// trust is a bundle of authorities.
type trust struct {
	roots *x509.CertPool
	pem   []byte
}

// readTrust reads a bundle, of which every part has to be a certificate: half a bundle would refuse half of the peers.
func readTrust(bundle []byte) (trust, error) {
	t := trust{roots: x509.NewCertPool(), pem: bundle}
	found := 0
	for rest := bundle; ; found++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return trust{}, fmt.Errorf("holds a PEM block %q among the certificates of authorities", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return trust{}, fmt.Errorf("certificate %d: %w", found+1, err)
		}
		if !c.BasicConstraintsValid || !c.IsCA {
			return trust{}, fmt.Errorf("certificate %d (%s) is not that of an authority", found+1, c.Subject)
		}
		t.roots.AddCert(c)
	}
	if found == 0 {
		return trust{}, errors.New("holds no PEM certificate")
	}
	return t, nil
}

// KeyOf names the public key of a certificate: the SHA-256 of its SubjectPublicKeyInfo (RFC 5280 §4.1.2.7).
func KeyOf(c *x509.Certificate) string { return hashKey(c.RawSubjectPublicKeyInfo) }

// KeyOfRequest names the public key of a certificate request in the same way.
func KeyOfRequest(r *x509.CertificateRequest) string { return hashKey(r.RawSubjectPublicKeyInfo) }

func hashKey(spki []byte) string {
	sum := sha256.Sum256(spki)
	return hex.EncodeToString(sum[:])
}
