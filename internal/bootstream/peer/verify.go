package peer

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// namesInErrors is how many names of a certificate an error repeats.
const namesInErrors = 4

// verify checks that a chain comes from an authority that is trusted and is for that use, and that its certificate is valid now.
func (t trust) verify(certs []*x509.Certificate, usage x509.ExtKeyUsage, now time.Time) error {
	if err := t.former(certs, usage, now); err != nil {
		return err
	}
	if leaf := certs[0]; now.After(leaf.NotAfter) {
		return refuse(Expired, leaf, fmt.Errorf("the certificate ended on %s", leaf.NotAfter.UTC().Format(time.RFC3339)))
	}
	return nil
}

// former is verify for a certificate that may have ended: its chain counts as of its own lifetime.
func (t trust) former(certs []*x509.Certificate, usage x509.ExtKeyUsage, now time.Time) error {
	if len(certs) == 0 {
		return &Refusal{Reason: NoCertificate, Err: errors.New("the peer shows no certificate")}
	}
	leaf, intermediates := certs[0], x509.NewCertPool()
	for _, c := range certs[1:] {
		intermediates.AddCert(c)
	}
	at := now
	switch {
	case now.After(leaf.NotAfter):
		at = leaf.NotAfter
	case now.Before(leaf.NotBefore):
		at = leaf.NotBefore
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: t.roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{usage}, CurrentTime: at})
	if err != nil {
		invalid, _ := errors.AsType[x509.CertificateInvalidError](err)
		switch {
		case invalid.Cert == nil:
			return refuse(UnknownAuthority, leaf, err)
		case invalid.Reason == x509.Expired:
			return refuse(Expired, leaf, err) // an authority above it
		case invalid.Reason == x509.IncompatibleUsage:
			return refuse(WrongUsage, leaf, err)
		}
		return refuse(UnknownAuthority, leaf, err)
	}
	if now.Before(leaf.NotBefore) {
		return refuse(NotYetValid, leaf, fmt.Errorf("the certificate begins on %s", leaf.NotBefore.UTC().Format(time.RFC3339)))
	}
	return nil
}

// dnsNames are the names that a certificate is for, in lower case (RFC 4343). A wildcard is for everybody, hence for nobody here.
func dnsNames(leaf *x509.Certificate) ([]string, error) {
	if len(leaf.DNSNames) == 0 {
		return nil, refuse(WrongName, leaf, errors.New("the certificate has no DNS name among its subject alternative names; its common name does not count"))
	}
	var names []string
	for _, name := range leaf.DNSNames {
		if strings.Contains(name, "*") {
			return nil, refuse(WrongName, leaf, errors.New("the certificate has a wildcard name"))
		}
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// named checks that a certificate is for exactly that DNS name, among others.
func named(leaf *x509.Certificate, want string) error {
	names, err := dnsNames(leaf)
	if err != nil {
		return err
	}
	if !slices.Contains(names, strings.ToLower(want)) {
		return refuse(WrongName, leaf, fmt.Errorf("the certificate is not for %s", want))
	}
	return nil
}

func refuse(reason Reason, leaf *x509.Certificate, err error) *Refusal {
	return &Refusal{Reason: reason, Names: slices.Clone(leaf.DNSNames[:min(len(leaf.DNSNames), namesInErrors)]), Err: err}
}
