package boottls

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"time"
)

const (
	day = 24 * time.Hour

	// keyBits is what firmware takes: iPXE verifies RSA signatures alone, and security level 3 of OpenSSL, which newer
	// UEFI firmware asks for, refuses RSA keys that are shorter.
	keyBits = 3072
	// backdate is more than a time zone: firmware may take a clock in local time for one in UTC.
	backdate = 2 * day

	// authorityValidity is long, for the authority is written into firmware by hand.
	authorityValidity = 20 * 365 * day
	leafValidity      = 90 * day
	// renewBefore leaves a month in which whatever goes wrong can be seen in the log.
	renewBefore = 30 * day

	// commonNameLimit is ub-common-name of RFC 5280, appendix A.1.
	commonNameLimit = 64
)

// Authority signs certificates of boot servers. It does not change.
type Authority struct {
	certificate *x509.Certificate
	key         *rsa.PrivateKey
	pem         []byte
}

// NewAuthority makes an authority, as PEM of its certificate and of its key. Whoever calls keeps both.
func NewAuthority(now time.Time) (certPEM, keyPEM []byte, err error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, nil, fmt.Errorf("boot authority: %w", err)
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{Organization: []string{"Farrier"}, CommonName: "Farrier boot authority"},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(authorityValidity),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	der, err := sign(template, template, key, key)
	if err != nil {
		return nil, nil, fmt.Errorf("boot authority: %w", err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("boot authority: %w", err)
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", pkcs8), nil
}

// ReadAuthority reads what NewAuthority has made. Its error says what is wrong with which half.
func ReadAuthority(certPEM, keyPEM []byte, now time.Time) (*Authority, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(*rsa.PrivateKey)
	switch {
	case !ok:
		return nil, errors.New("the key is not an RSA key, and iPXE verifies no other signatures")
	case !pair.Leaf.IsCA || !pair.Leaf.BasicConstraintsValid:
		return nil, errors.New("the certificate is not that of an authority")
	case now.After(pair.Leaf.NotAfter):
		return nil, fmt.Errorf("the certificate ended on %s", pair.Leaf.NotAfter.UTC().Format(time.DateOnly))
	}
	return &Authority{certificate: pair.Leaf, key: key, pem: encode("CERTIFICATE", pair.Certificate[0])}, nil
}

// PEM is the certificate that machines are to trust.
func (a *Authority) PEM() []byte { return a.pem }

// issue makes a certificate for the names, IP addresses or DNS names. It never lasts longer than the authority.
func (a *Authority) issue(names []string, now time.Time) (*tls.Certificate, error) {
	if len(names) == 0 {
		return nil, errors.New("certificate of the boot server: no name to make it for")
	}
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("certificate of the boot server: %w", err)
	}
	template := &x509.Certificate{
		NotBefore: now.Add(-backdate), NotAfter: now.Add(leafValidity),
		// Key exchange by RSA (ServerConfig) encrypts to this key.
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if template.NotAfter.After(a.certificate.NotAfter) {
		template.NotAfter = a.certificate.NotAfter
	}
	// Old firmware reads the common name alone.
	if len(names[0]) <= commonNameLimit {
		template.Subject.CommonName = names[0]
	}
	for _, name := range names {
		if ip, err := netip.ParseAddr(name); err == nil {
			template.IPAddresses = append(template.IPAddresses, ip.Unmap().AsSlice())
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := sign(template, a.certificate, key, a.key)
	if err != nil {
		return nil, fmt.Errorf("certificate of the boot server: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate of the boot server: %w", err)
	}
	// The authority goes with it: iPXE knows what it trusts by a fingerprint, and needs the certificate itself.
	return &tls.Certificate{Certificate: [][]byte{der, a.certificate.Raw}, PrivateKey: key, Leaf: leaf}, nil
}

// sign gives a template its serial number (RFC 5280 §4.1.2.2: positive, at most 20 octets, unique for the issuer; 127 random
// bits are) and has it signed with SHA-256.
func sign(template, issuer *x509.Certificate, key, signer *rsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial.Add(serial, big.NewInt(1))
	template.SignatureAlgorithm = x509.SHA256WithRSA
	return x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
