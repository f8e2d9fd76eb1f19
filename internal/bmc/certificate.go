package bmc

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// AcceptedCertificate is the one certificate of a BMC that a person has accepted, by its fingerprint. It is trusted, whatever its name, dates and
// issuer are, and no other is, whoever signed it. The zero value is none: then authorities decide.
type AcceptedCertificate struct {
	given bool
	// fingerprint is zero where what was given is none: then no certificate is trusted.
	fingerprint [sha256.Size]byte
}

// AcceptCertificate reads a SHA-256 fingerprint: pairs of hexadecimal digits with or without colons, after "sha256 Fingerprint=", as
// openssl x509 -noout -fingerprint -sha256 prints it, after "SHA256:", or alone. Case does not matter. Of anything else it makes one that trusts no certificate.
func AcceptCertificate(text string) AcceptedCertificate {
	a := AcceptedCertificate{given: true}
	digits := strings.ToLower(strings.TrimSpace(text))
	for _, prefix := range []string{"sha256 fingerprint=", "sha256:"} {
		if rest, cut := strings.CutPrefix(digits, prefix); cut {
			digits = strings.TrimSpace(rest)
			break
		}
	}
	if strings.Contains(digits, ":") {
		pairs := strings.Split(digits, ":")
		for _, pair := range pairs {
			if len(pair) != 2 {
				return a
			}
		}
		digits = strings.Join(pairs, "")
	}
	if sum, err := hex.DecodeString(digits); err == nil && len(sum) == sha256.Size {
		a.fingerprint = [sha256.Size]byte(sum)
	}
	return a
}

// IsZero reports whether nobody has accepted a certificate.
func (a AcceptedCertificate) IsZero() bool { return !a.given }

// Malformed reports whether what was accepted is no fingerprint, so that no certificate is trusted.
func (a AcceptedCertificate) Malformed() bool {
	return a.given && a.fingerprint == [sha256.Size]byte{}
}

func (a AcceptedCertificate) String() string {
	switch {
	case a.IsZero():
		return "none"
	case a.Malformed():
		return "malformed"
	}
	return printFingerprint(a.fingerprint)
}

// Fingerprint is the SHA-256 fingerprint of a certificate, as openssl prints it: AA:BB:….
func Fingerprint(c *x509.Certificate) string { return printFingerprint(sha256.Sum256(c.Raw)) }

func printFingerprint(sum [sha256.Size]byte) string {
	return strings.ReplaceAll(strings.ToUpper(fmt.Sprintf("% x", sum)), " ", ":")
}

// transport is a shared transport that trusts the accepted certificate alone. Sessions that it resumes are its own: one that began under other rules,
// or with the certificate that a BMC had before, is not among them, nor are these for clients with other rules.
func (a AcceptedCertificate) transport(shared *http.Transport) *http.Transport {
	t := shared.Clone()
	if t.TLSClientConfig == nil {
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.TLSClientConfig.InsecureSkipVerify = true // of names, dates and issuers; VerifyConnection decides, also when a session is resumed
	t.TLSClientConfig.VerifyConnection = a.verify
	t.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	return t
}

func (a AcceptedCertificate) verify(s tls.ConnectionState) error {
	if len(s.PeerCertificates) == 0 {
		return &certificateError{accepted: a}
	}
	shown := s.PeerCertificates[0]
	if !a.Malformed() && sha256.Sum256(shown.Raw) == a.fingerprint {
		return nil
	}
	return &certificateError{accepted: a, shown: Fingerprint(shown)}
}

// certificateError ends a handshake with a certificate that is not the accepted one.
type certificateError struct {
	accepted AcceptedCertificate
	shown    string
}

func (e *certificateError) Error() string {
	if e.accepted.Malformed() {
		return "no certificate is trusted, because the accepted fingerprint is malformed"
	}
	return "the certificate is not the accepted one"
}

// shownCertificate is the fingerprint of the certificate that was refused, and the one that was accepted, if any.
func shownCertificate(err error) (shown string, accepted AcceptedCertificate) {
	if e, ok := errors.AsType[*certificateError](err); ok {
		return e.shown, e.accepted
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(e.UnverifiedCertificates) > 0 {
		return Fingerprint(e.UnverifiedCertificates[0]), AcceptedCertificate{}
	}
	return "", AcceptedCertificate{}
}
