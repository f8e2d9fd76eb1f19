package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
	"github.com/farrier-dev/farrier/internal/host/ownership"
)

const (
	year = 365 * 24 * time.Hour

	authorityValidity = 20 * year
	leafValidity      = 5 * year
	// renewBefore is longer than the three years after which the API server's own loopback certificate asks for a restart. Certificates of
	// servers are only looked at on a start, so none of ours runs out first.
	renewBefore = 3*year + 30*24*time.Hour
	// backdate tolerates machines whose clock is a little behind.
	backdate = time.Hour

	fileLimit = 64 << 10
)

// Pair is a certificate with its private key.
type Pair struct {
	Certificate *x509.Certificate
	Key         *ecdsa.PrivateKey
	CertPEM     []byte
	KeyPEM      []byte
	CertFile    string
	KeyFile     string
}

// Authority signs the other certificates.
type Authority struct {
	Pair
	dir string
	now time.Time
}

// FindAuthority loads the authority of the directory and makes nothing.
func FindAuthority(dir string) (*Authority, error) {
	pair, err := load(dir, "ca")
	if err != nil {
		return nil, ownership.Explain(dir, err)
	}
	if pair == nil || !pair.Certificate.IsCA {
		return nil, fmt.Errorf("%s has no authority (ca.crt and ca.key): farrier up has never run there", dir)
	}
	return &Authority{Pair: *pair, dir: dir}, nil
}

// OpenAuthority loads the authority of the directory, making directory and authority when they are missing.
func OpenAuthority(dir string, now time.Time) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	a := &Authority{dir: dir, now: now}
	pair, err := load(dir, "ca")
	if err != nil {
		return nil, err
	}
	if pair != nil && pair.Certificate.IsCA && pair.Certificate.NotAfter.After(now.Add(leafValidity)) {
		a.Pair = *pair
		return a, nil
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "farrier"},
		NotAfter:              now.Add(authorityValidity),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	pair, err = issue(dir, "ca", template, nil, now)
	if err != nil {
		return nil, err
	}
	a.Pair = *pair
	return a, nil
}

// Serving returns a certificate that serves under the addresses and names.
func (a *Authority) Serving(name string, ips []net.IP, dnsNames []string) (*Pair, error) {
	return a.leaf(name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		IPAddresses: ips,
		DNSNames:    dnsNames,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// Client returns a new certificate that proves the user and groups, as Kubernetes reads them from the subject, for that long from now on.
// It has a key of its own and is not written anywhere.
func (a *Authority) Client(now time.Time, validity time.Duration, user string, groups ...string) (*Pair, error) {
	return sign(user, &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		NotAfter:    now.Add(validity),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, &a.Pair, now)
}

// Lifetime is how long a certificate of ours is valid in all, from when it was made.
func Lifetime(cert *x509.Certificate) time.Duration {
	return cert.NotAfter.Sub(cert.NotBefore.Add(backdate))
}

// PEM is the certificate and its key in one file, so that no reader finds one of them without the other.
func (p *Pair) PEM() []byte { return slices.Concat(p.CertPEM, p.KeyPEM) }

// RemoveClient removes the files of a client certificate that former versions kept under a name.
func (a *Authority) RemoveClient(name string) error {
	cert, key := files(a.dir, name)
	for _, path := range []string{key, cert} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (a *Authority) leaf(name string, template *x509.Certificate) (*Pair, error) {
	pair, err := load(a.dir, name)
	if err != nil {
		return nil, err
	}
	if pair != nil && a.fits(pair.Certificate, template) {
		return pair, nil
	}
	template.NotAfter = a.now.Add(leafValidity)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	return issue(a.dir, name, template, &a.Pair, a.now)
}

// fits reports whether a certificate found on disk is still what the template asks for.
func (a *Authority) fits(cert, template *x509.Certificate) bool {
	return cert.CheckSignatureFrom(a.Certificate) == nil &&
		cert.NotAfter.After(a.now.Add(renewBefore)) && !cert.NotBefore.After(a.now) &&
		cert.Subject.CommonName == template.Subject.CommonName &&
		sameSet(cert.Subject.Organization, template.Subject.Organization) &&
		sameSet(cert.DNSNames, template.DNSNames) &&
		sameSet(texts(cert.IPAddresses), texts(template.IPAddresses)) &&
		slices.Equal(cert.ExtKeyUsage, template.ExtKeyUsage)
}

// SigningKey returns the path of a private key without certificate, made when it is missing.
func (a *Authority) SigningKey(name string) (string, error) {
	path := filepath.Join(a.dir, name+".key")
	content, err := read(path)
	if err != nil {
		return "", err
	}
	if content != nil {
		if _, err := parseKey(path, content); err != nil {
			return "", err
		}
		return path, nil
	}
	_, content, err = newKey()
	if err != nil {
		return "", err
	}
	return path, write(path, content)
}

// issue signs a certificate and keeps it in the directory under its name.
func issue(dir, name string, template *x509.Certificate, parent *Pair, now time.Time) (*Pair, error) {
	pair, err := sign(name, template, parent, now)
	if err != nil {
		return nil, err
	}
	pair.CertFile, pair.KeyFile = files(dir, name)
	// A crash between the two writes leaves a key that does not match its certificate; load sees that and a new pair is issued.
	return pair, errors.Join(write(pair.KeyFile, pair.KeyPEM), write(pair.CertFile, pair.CertPEM))
}

// sign makes a key and a certificate of it, by the parent or by itself.
func sign(name string, template *x509.Certificate, parent *Pair, now time.Time) (*Pair, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	// RFC 5280 §4.1.2.2: positive, at most 20 octets, unique for the issuer; 127 random bits are.
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", name, err)
	}
	template.NotBefore = now.Add(-backdate)
	issuer, signer := template, key
	if parent != nil {
		issuer, signer = parent.Certificate, parent.Key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", name, err)
	}
	pair := &Pair{Key: key, KeyPEM: keyPEM, CertPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	if pair.Certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("certificate %s: %w", name, err)
	}
	return pair, nil
}

// load returns nil when there is no usable pair: a missing file, or halves that do not belong together. A file that is not PEM is an error,
// because somebody else put it there.
func load(dir, name string) (*Pair, error) {
	pair := &Pair{}
	pair.CertFile, pair.KeyFile = files(dir, name)
	var err error
	if pair.CertPEM, err = read(pair.CertFile); err != nil || pair.CertPEM == nil {
		return nil, err
	}
	if pair.KeyPEM, err = read(pair.KeyFile); err != nil || pair.KeyPEM == nil {
		return nil, err
	}
	block, _ := pem.Decode(pair.CertPEM)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM certificate", pair.CertFile)
	}
	if pair.Certificate, err = x509.ParseCertificate(block.Bytes); err != nil {
		return nil, fmt.Errorf("%s: %w", pair.CertFile, err)
	}
	if pair.Key, err = parseKey(pair.KeyFile, pair.KeyPEM); err != nil {
		return nil, err
	}
	if !pair.Key.PublicKey.Equal(pair.Certificate.PublicKey) {
		return nil, nil
	}
	return pair, nil
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("private key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("private key: %w", err)
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func parseKey(path string, content []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM private key", path)
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

func files(dir, name string) (cert, key string) {
	return filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
}

func write(path string, content []byte) error {
	if err := datadir.WriteFile(path, content); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// read returns nil for a missing file.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, fileLimit))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return content, nil
}

func texts(ips []net.IP) []string {
	out := make([]string, 0, len(ips))
	for _, ip := range ips {
		out = append(out, ip.String())
	}
	return out
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}
