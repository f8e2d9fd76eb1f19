package boottls

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/host/boundedfile"
)

// Flags of Files, as errors name them.
const (
	FlagCert  = "--boot-tls-cert-file"
	FlagKey   = "--boot-tls-key-file"
	FlagCA    = "--boot-tls-ca-file"
	FlagNames = "--boot-tls-names"
)

// Files are a certificate with its chain, its key, and where it is known the authority that machines verify it with.
type Files struct{ Cert, Key, CA string }

// ReadCA reads the authority; nil without a file.
func (f Files) ReadCA() ([]byte, error) {
	if f.CA == "" {
		return nil, nil
	}
	content, err := boundedfile.Read(f.CA, boundedfile.Certificates)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", FlagCA, err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s: %s holds no PEM certificate", FlagCA, f.CA)
	}
	return content, nil
}

// read reads the pair. Every error names the flag of the file that it is about.
func (f Files) read() (certPEM, keyPEM []byte, err error) {
	if f.Cert == "" || f.Key == "" {
		return nil, nil, fmt.Errorf("%s and %s: a certificate needs its key, and a key its certificate", FlagCert, FlagKey)
	}
	if certPEM, err = boundedfile.Read(f.Cert, boundedfile.Certificates); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", FlagCert, err)
	}
	if keyPEM, err = boundedfile.ReadKey(f.Key, boundedfile.Certificates); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", FlagKey, err)
	}
	return certPEM, keyPEM, nil
}

// check makes a certificate of the files' contents, and refuses one that machines would refuse.
func (f Files) check(certPEM, keyPEM, ca []byte, names []string, now time.Time) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", FlagCert, FlagKey, err)
	}
	leaf := pair.Leaf
	switch {
	case now.After(leaf.NotAfter):
		return nil, fmt.Errorf("%s: the certificate in %s ended on %s", FlagCert, f.Cert, leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return nil, fmt.Errorf("%s: the certificate in %s begins on %s", FlagCert, f.Cert, leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	var missing []string
	for _, name := range names {
		if leaf.VerifyHostname(bracketed(name)) != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s: the certificate in %s is not for %s, which --boot-url or %s names: machines would refuse it", FlagCert, f.Cert, strings.Join(missing, ", "), FlagNames)
	}
	if len(ca) > 0 {
		roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
		roots.AppendCertsFromPEM(ca)
		intermediates.AppendCertsFromPEM(certPEM)
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, CurrentTime: now}); err != nil {
			return nil, fmt.Errorf("%s: the certificate in %s is not signed by an authority of %s %s: %w", FlagCert, f.Cert, FlagCA, f.CA, err)
		}
	}
	return &pair, nil
}

// bracketed is a name as x509.Certificate.VerifyHostname wants it, which takes an IPv6 address for a DNS name otherwise.
func bracketed(name string) string {
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return name
}
