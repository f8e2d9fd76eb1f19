package authority

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestIssue(t *testing.T) {
	cert, key, err := New(start)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Read(cert, key, start)
	if err != nil {
		t.Fatal(err)
	}
	public, _, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.PEM())
	for role, want := range map[Role]x509.ExtKeyUsage{Manager: x509.ExtKeyUsageServerAuth, BootServer: x509.ExtKeyUsageClientAuth} {
		text, err := a.Issue(public.Public(), "a.example", role, start, 100*365*day)
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(text)
		leaf, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "a.example", CurrentTime: start, KeyUsages: []x509.ExtKeyUsage{want}}); err != nil {
			t.Errorf("%s: %v", role, err)
		}
		if len(leaf.ExtKeyUsage) != 1 || RoleOf(leaf) != role || leaf.IsCA || leaf.Subject.CommonName != "" {
			t.Errorf("%s: usages %v, role %s, CA %t, common name %q", role, leaf.ExtKeyUsage, RoleOf(leaf), leaf.IsCA, leaf.Subject.CommonName)
		}
		if !leaf.NotAfter.Equal(a.Certificate().NotAfter) {
			t.Errorf("%s: lasts until %s, longer than the authority", role, leaf.NotAfter)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	cert, key, err := New(start)
	if err != nil {
		t.Fatal(err)
	}
	other, otherKey, err := New(start)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Read(cert, key, start)
	if err != nil {
		t.Fatal(err)
	}
	signer, leafKey, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := a.Issue(signer.Public(), "a.example", Manager, start, day)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cert, key []byte
		now       time.Time
	}{
		"nothing": {nil, nil, start}, "another's key": {cert, otherKey, start}, "another's certificate": {other, key, start},
		"no authority": {leaf, leafKey, start}, "ended": {cert, key, start.Add(11 * 365 * day)}, "not begun": {cert, key, start.Add(-day)},
	} {
		if _, err := Read(c.cert, c.key, c.now); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCheckKey(t *testing.T) {
	edwards, _, _ := ed25519.GenerateKey(rand.Reader)
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve := func(c elliptic.Curve) crypto.PublicKey {
		key, err := ecdsa.GenerateKey(c, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key.Public()
	}
	for _, good := range []crypto.PublicKey{edwards, curve(elliptic.P256()), curve(elliptic.P384())} {
		if err := CheckKey(good); err != nil {
			t.Errorf("%T: %v", good, err)
		}
	}
	for _, bad := range []crypto.PublicKey{nil, weak.Public(), curve(elliptic.P224()), curve(elliptic.P521())} {
		if CheckKey(bad) == nil {
			t.Errorf("%T is taken", bad)
		}
	}
}
