package sim

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// authority signs the certificates of the BMCs. They share one key, and each
// gets its certificate when it is asked for it: ten thousand that are kept
// would cost more than all the rest of a rack.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	server      *ecdsa.PrivateKey
	// foreign signs where a fault wants a certificate that nobody trusts.
	foreign *ecdsa.PrivateKey
}

func newAuthority(now func() time.Time) (*authority, error) {
	a := &authority{}
	for _, key := range []**ecdsa.PrivateKey{&a.key, &a.server, &a.foreign} {
		var err error
		if *key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return nil, fmt.Errorf("certificate authority: %w", err)
		}
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Simulated rack"},
		NotBefore: now().Add(-time.Hour), NotAfter: now().AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	return a, nil
}

// CABundle is the certificate, in PEM, that those of the BMCs are verified with;
// nil where the rack speaks http.
func (r *Rack) CABundle() []byte {
	if r.authority == nil {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.authority.certificate.Raw})
}

// issue makes the certificate of a BMC, spoilt in the way that a fault names. It is the same each time, as whoever remembers its
// fingerprint expects: signatures are made without randomness (RFC 6979).
func (a *authority) issue(b *bmc, spoilt string) (*tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(b.index) + 2), Subject: pkix.Name{CommonName: hostName(b)},
		DNSNames: []string{hostName(b)}, IPAddresses: []net.IP{b.at.Addr().AsSlice()},
		NotBefore: a.certificate.NotBefore, NotAfter: a.certificate.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signer, parent := a.key, *a.certificate
	switch spoilt {
	case "expired":
		template.NotAfter = template.NotBefore.Add(time.Minute)
	case "name":
		template.DNSNames, template.IPAddresses = []string{"another.example"}, nil
	case "authority":
		signer, parent.PublicKey = a.foreign, a.foreign.Public()
	case "self-signed": // as it comes from a factory, which knows no address
		template.DNSNames, template.IPAddresses = nil, nil
		signer, parent = a.server, *template
	}
	der, err := x509.CreateCertificate(nil, template, &parent, a.server.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("certificate of BMC %d: %w", b.index+1, err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.server}, nil
}

var errTLSFault = errors.New("the TLS handshake fails, as was asked for")

// tlsConfig finds the BMC by the local address of a connection. BMCs speak
// HTTP/1.1 only; so does what drops connections here.
func (r *Rack) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			b := r.byLocal[addrPort(hello.Conn.LocalAddr())]
			if b == nil {
				return nil, nil
			}
			if _, ok := b.struck(fault.TLSFailure, ""); ok {
				// A session that is resumed would show no certificate.
				config := r.secure.Clone()
				config.SessionTicketsDisabled = true
				config.GetConfigForClient = nil
				return config, nil
			}
			return nil, nil
		},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			b := r.byLocal[addrPort(hello.Conn.LocalAddr())]
			if b == nil {
				return nil, errors.New("no BMC has this address")
			}
			s, ok := b.struck(fault.TLSFailure, "")
			if ok && s.Value.Text == "alert" {
				return nil, errTLSFault
			}
			return r.authority.issue(b, s.Value.Text)
		},
	}
}

// trustsAnybody is how a BMC looks at the certificates of those it sends to:
// EventDestination.VerifyCertificate is false unless said otherwise, and there is
// nowhere to put an authority.
func (r *Rack) trustsAnybody() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // see above
}
