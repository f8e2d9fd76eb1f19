package rotation

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/farrier-dev/farrier/internal/bootstream/authority"
)

// The keys of the Secret, beside tls.crt and tls.key, which managers show.
const (
	// trustedKey has the authorities that API servers are to trust.
	trustedKey = "ca.crt"
	// authorityCert and authorityKey sign. nextCert and nextKey will, once API servers trust them.
	authorityCert, authorityKey = "authority.crt", "authority.key"
	nextCert, nextKey           = "next.crt", "next.key"
)

// material is what managers share.
type material struct {
	present *signer
	next    *signer // nil unless one is about to take over
	former  []*x509.Certificate
	serving *tls.Certificate // nil: there is none yet
}

// signer is an authority with the PEM of its key.
type signer struct {
	*authority.Authority
	key []byte
}

func newSigner(now time.Time) (*signer, error) {
	cert, key, err := authority.NewOf("webhooks", now, authorityValidity)
	if err != nil {
		return nil, err
	}
	return readSigner(cert, key)
}

// readSigner reads an authority that may have ended: what follows from that is decided elsewhere.
func readSigner(cert, key []byte) (*signer, error) {
	all := certificates(cert)
	if len(all) == 0 {
		return nil, errors.New("no PEM certificate")
	}
	a, err := authority.Read(cert, key, all[0].NotBefore)
	if err != nil {
		return nil, err
	}
	return &signer{Authority: a, key: key}, nil
}

// read reads the content of the Secret.
func read(data map[string][]byte) (*material, error) {
	m := &material{}
	var err error
	if m.present, err = readSigner(data[authorityCert], data[authorityKey]); err != nil {
		return nil, fmt.Errorf("%s, %s: %w", authorityCert, authorityKey, err)
	}
	// Everything else is made again if it is broken.
	if next, err := readSigner(data[nextCert], data[nextKey]); err == nil {
		m.next = next
	}
	if pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]); err == nil {
		m.serving = &pair
	}
	for _, c := range certificates(data[trustedKey]) {
		if !c.Equal(m.present.Certificate()) && (m.next == nil || !c.Equal(m.next.Certificate())) {
			m.former = append(m.former, c)
		}
	}
	return m, nil
}

// data is the content of the Secret. The material is complete: evolve makes what is missing.
func (m *material) data() (map[string][]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(m.serving.PrivateKey)
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{
		trustedKey: m.trusted(), authorityCert: m.present.PEM(), authorityKey: m.present.key,
		corev1.TLSCertKey: encode("CERTIFICATE", m.serving.Certificate[0]), corev1.TLSPrivateKeyKey: encode("PRIVATE KEY", key),
	}
	if m.next != nil {
		data[nextCert], data[nextKey] = m.next.PEM(), m.next.key
	}
	return data, nil
}

// trusted is what API servers verify the serving certificate with, now and after the next authority has taken over.
func (m *material) trusted() []byte {
	bundle := slices.Clone(m.present.PEM())
	if m.next != nil {
		bundle = append(bundle, m.next.PEM()...)
	}
	for _, c := range m.former {
		bundle = append(bundle, encode("CERTIFICATE", c.Raw)...)
	}
	return bundle
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// certificates reads a bundle, without what is none.
func certificates(bundle []byte) (found []*x509.Certificate) {
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			found = append(found, c)
		}
	}
	return found
}

// same reports whether two contents of the Secret are the same.
func same(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range a {
		if other, found := b[key]; !found || !bytes.Equal(value, other) {
			return false
		}
	}
	return true
}
