package authority

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

const (
	day = 24 * time.Hour

	// validity is long: a new authority has to be brought to every boot server.
	validity = 10 * 365 * day
	// DefaultLifetime is that of certificates nobody asks for another lifetime of.
	DefaultLifetime = 90 * day
	// backdate tolerates clocks that are a little behind.
	backdate = time.Hour
)

// Role is what a certificate is for.
type Role string

// Roles.
const (
	Manager    Role = "manager"
	BootServer Role = "boot server"
)

// usage is the extended key usage (RFC 5280 §4.2.1.12): a manager is a TLS server alone, a boot server a client alone.
func (r Role) usage() x509.ExtKeyUsage {
	if r == Manager {
		return x509.ExtKeyUsageServerAuth
	}
	return x509.ExtKeyUsageClientAuth
}

// RoleOf is what a certificate of ours is for.
func RoleOf(c *x509.Certificate) Role {
	for _, u := range c.ExtKeyUsage {
		if u == x509.ExtKeyUsageServerAuth {
			return Manager
		}
	}
	return BootServer
}

// RenewAt is when a certificate should be replaced: after two thirds of its lifetime.
func RenewAt(c *x509.Certificate) time.Time {
	return c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) * 2 / 3)
}

// Authority signs certificates. It does not change.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte
}

// New makes the authority of a boot stream, as PEM of its certificate and of its key. Whoever calls keeps both.
func New(now time.Time) (certPEM, keyPEM []byte, err error) {
	return NewOf("boot stream", now, validity)
}

// NewOf makes an authority for something else, whose name is part of its own.
func NewOf(what string, now time.Time, validity time.Duration) (certPEM, keyPEM []byte, err error) {
	key, keyPEM, err := NewKey()
	if err != nil {
		return nil, nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		// The serial number in the name tells two authorities apart while one replaces the other.
		Subject:      pkix.Name{Organization: []string{"Farrier"}, CommonName: fmt.Sprintf("Farrier %s %x", what, serial.Bytes()[:4])},
		SerialNumber: serial, NotBefore: now.Add(-backdate), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("authority: %w", err)
	}
	return encode("CERTIFICATE", der), keyPEM, nil
}

// Read reads an authority, whoever has made it.
func Read(certPEM, keyPEM []byte, now time.Time) (*Authority, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	switch leaf := pair.Leaf; {
	case !ok:
		return nil, errors.New("the key cannot sign")
	case !leaf.IsCA || !leaf.BasicConstraintsValid:
		return nil, errors.New("the certificate is not that of an authority")
	case now.After(leaf.NotAfter):
		return nil, fmt.Errorf("the certificate ended on %s", leaf.NotAfter.UTC().Format(time.DateOnly))
	case now.Before(leaf.NotBefore):
		return nil, fmt.Errorf("the certificate begins on %s", leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return &Authority{certificate: pair.Leaf, key: key, pem: encode("CERTIFICATE", pair.Certificate[0])}, nil
}

// PEM is the certificate that peers are to trust.
func (a *Authority) PEM() []byte { return a.pem }

// Certificate is the same.
func (a *Authority) Certificate() *x509.Certificate { return a.certificate }

// Issue makes a certificate for a public key, as PEM. It never lasts longer than the authority.
func (a *Authority) Issue(public crypto.PublicKey, name string, role Role, now time.Time, lifetime time.Duration) ([]byte, error) {
	if err := CheckKey(public); err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, NotBefore: now.Add(-backdate), NotAfter: now.Add(lifetime), DNSNames: []string{name},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{role.usage()}, BasicConstraintsValid: true,
	}
	if template.NotAfter.After(a.certificate.NotAfter) {
		template.NotAfter = a.certificate.NotAfter
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("certificate for %s: %w", name, err)
	}
	return encode("CERTIFICATE", der), nil
}

// CheckKey refuses keys that are weak, or so large that verifying by them would cost us.
func CheckKey(public crypto.PublicKey) error {
	switch key := public.(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() || key.Curve == elliptic.P384() {
			return nil
		}
	}
	return errors.New("the public key is neither ECDSA on P-256 or P-384, nor Ed25519")
}

// NewKey makes a private key, and its PEM.
func NewKey() (crypto.Signer, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("private key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("private key: %w", err)
	}
	return key, encode("PRIVATE KEY", der), nil
}

// ReadKey reads what NewKey has made.
func ReadKey(keyPEM []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(keyPEM)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("holds no PEM private key (PKCS #8)")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key cannot sign")
	}
	return signer, CheckKey(signer.Public())
}

// newSerial is a serial number (RFC 5280 §4.1.2.2: positive, at most 20 octets, unique for the issuer; 127 random bits are).
func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, fmt.Errorf("serial number: %w", err)
	}
	return serial.SetBit(serial, 126, 1), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
