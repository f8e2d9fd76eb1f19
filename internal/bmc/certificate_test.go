package bmc_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
	"github.com/farrier-dev/farrier/test/certificate"
)

// atLoopback is a certificate for the address of a bmctest.Server.
func atLoopback(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }

// showing starts a BMC that shows a certificate.
func showing(t *testing.T, pair certificate.Pair) *bmctest.Server {
	t.Helper()
	return bmctest.NewTLSWith(t, &tls.Config{Certificates: []tls.Certificate{pair.TLS(t)}})
}

// printed is the fingerprint of a certificate as openssl x509 -noout -fingerprint -sha256 prints it, after the equals sign.
func printed(c *x509.Certificate) string {
	var pairs []string
	for _, b := range sha256.Sum256(c.Raw) {
		pairs = append(pairs, fmt.Sprintf("%02X", b))
	}
	return strings.Join(pairs, ":")
}

func reads(t *testing.T, s *bmctest.Server, options bmc.Options) error {
	t.Helper()
	c := bmc.NewClient(s.Endpoint(), s.Credentials(), options)
	defer func() { _ = c.Close(t.Context()) }()
	_, err := c.System(t.Context(), bmctest.System)
	return err
}

// refused checks that an error tells of a certificate that is not trusted, and which one, and that the BMC was asked nothing.
func refused(t *testing.T, s *bmctest.Server, options bmc.Options) *bmc.Error {
	t.Helper()
	before := len(s.Requests())
	err := reads(t, s, options)
	e, ok := errors.AsType[*bmc.Error](err)
	if !ok || e.Kind != bmc.KindUntrusted || e.Certificate != printed(s.HTTP.Certificate()) || e.Accepted != options.Certificate {
		t.Errorf("error %#v", err)
		return &bmc.Error{}
	}
	if len(s.Requests()) != before {
		t.Error("somebody who is not trusted was asked something")
	}
	return e
}

// TestACertificateThatAPersonAccepts: whatever an authority would have against it, and only that one.
func TestACertificateThatAPersonAccepts(t *testing.T) {
	authority := certificate.SelfSigned(t, func(*x509.Certificate) {})
	known := bmc.Options{RootCAs: authority.Pool()}
	other := bmc.AcceptCertificate(strings.Repeat("AB", sha256.Size))
	for name, pair := range map[string]certificate.Pair{
		"no name":        certificate.SelfSigned(t, func(*x509.Certificate) {}),
		"another's name": authority.Sign(t, func(c *x509.Certificate) { c.DNSNames = []string{"another.example"} }),
		"expired": authority.Sign(t, func(c *x509.Certificate) {
			atLoopback(c)
			c.NotAfter = time.Now().Add(-time.Minute)
		}),
		"not valid yet": authority.Sign(t, func(c *x509.Certificate) {
			atLoopback(c)
			c.NotBefore = time.Now().Add(time.Minute)
		}),
		"unknown issuer": certificate.SelfSigned(t, func(*x509.Certificate) {}).Sign(t, atLoopback),
		"of no server": authority.Sign(t, func(c *x509.Certificate) {
			atLoopback(c)
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			s := showing(t, pair)
			e := refused(t, s, known)
			if !strings.Contains(e.Error(), "certificate") {
				t.Errorf("error %v", e)
			}
			if got := bmc.Fingerprint(s.HTTP.Certificate()); got != e.Certificate {
				t.Errorf("fingerprint %s, refused %s", got, e.Certificate)
			}
			for _, options := range []bmc.Options{known, {}, {InsecureSkipVerify: true}} {
				options.Certificate = bmc.AcceptCertificate(e.Certificate)
				if err := reads(t, s, options); err != nil {
					t.Error(err)
				}
				options.Certificate = other
				_ = refused(t, s, options)
			}
		})
	}
	t.Run("a good one is another", func(t *testing.T) {
		s := showing(t, authority.Sign(t, atLoopback))
		if err := reads(t, s, known); err != nil {
			t.Fatal(err)
		}
		for _, options := range []bmc.Options{known, {InsecureSkipVerify: true}} {
			options.Certificate = other
			if e := refused(t, s, options); e.Message != "the certificate is not the accepted one" {
				t.Errorf("message %q", e.Message)
			}
		}
	})
}

// TestTheLeafIsAccepted: a fingerprint of the authority that the BMC sends along is none of the BMC's certificate.
func TestTheLeafIsAccepted(t *testing.T) {
	authority := certificate.SelfSigned(t, func(*x509.Certificate) {})
	leaf := authority.Sign(t, atLoopback).TLS(t)
	root := authority.TLS(t).Leaf
	leaf.Certificate = append(leaf.Certificate, root.Raw)
	s := bmctest.NewTLSWith(t, &tls.Config{Certificates: []tls.Certificate{leaf}})
	_ = refused(t, s, bmc.Options{RootCAs: authority.Pool(), Certificate: bmc.AcceptCertificate(bmc.Fingerprint(root))})
}

func TestSpellingsOfAFingerprint(t *testing.T) {
	const plain = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	const colons = "01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF"
	want := bmc.AcceptCertificate(plain)
	if got := want.String(); got != colons || want.IsZero() || want.Malformed() {
		t.Fatalf("printed %s", got)
	}
	for _, text := range []string{
		colons, strings.ToLower(colons), strings.ToUpper(plain), " " + colons + "\n",
		"sha256 Fingerprint=" + colons, "SHA256 Fingerprint=" + colons, "SHA256:" + colons, "sha256:" + plain, "SHA256: " + plain,
	} {
		if got := bmc.AcceptCertificate(text); got != want {
			t.Errorf("%q is read as %s", text, got)
		}
	}
	for _, text := range []string{
		"", " ", "true", "SHA256:", colons[:len(colons)-3], colons + ":00", plain + "00", strings.Replace(colons, "EF", "EG", 1), strings.Repeat("0", 64),
		strings.Replace(colons, "01:23", "0123", 1), strings.Replace(colons, "01:23", "012:3", 1), "SHA1 Fingerprint=" + colons,
		"SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU", "sha256 Fingerprint=SHA256:" + plain,
	} {
		if got := bmc.AcceptCertificate(text); !got.Malformed() || got.IsZero() {
			t.Errorf("%q is read as %s", text, got)
		}
	}
	if none := (bmc.AcceptedCertificate{}); !none.IsZero() || none.Malformed() {
		t.Error("nothing was accepted, and that is malformed")
	}
}

func FuzzAcceptCertificate(f *testing.F) {
	f.Add("sha256 Fingerprint=" + strings.Repeat("AB:", 31) + "AB")
	f.Add("SHA256:" + strings.Repeat("0f", 32))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		a := bmc.AcceptCertificate(text)
		if a.IsZero() {
			t.Fatalf("%q is taken for none", text)
		}
		if a.Malformed() {
			return
		}
		if again := bmc.AcceptCertificate(a.String()); again != a {
			t.Errorf("%q is %s, and that is %s", text, a, again)
		}
		if digits := strings.ReplaceAll(a.String(), ":", ""); !strings.Contains(strings.ToUpper(strings.ReplaceAll(text, ":", "")), digits) {
			t.Errorf("%q has no digits %s", text, digits)
		}
	})
}

// TestWhatIsNoFingerprintTrustsNobody: neither authorities nor the opt-out count.
func TestWhatIsNoFingerprintTrustsNobody(t *testing.T) {
	authority := certificate.SelfSigned(t, func(*x509.Certificate) {})
	s := showing(t, authority.Sign(t, atLoopback))
	for _, options := range []bmc.Options{{RootCAs: authority.Pool()}, {InsecureSkipVerify: true}} {
		if err := reads(t, s, options); err != nil {
			t.Fatal(err)
		}
		options.Certificate = bmc.AcceptCertificate("yes, please")
		if e := refused(t, s, options); !strings.Contains(e.Message, "malformed") {
			t.Errorf("message %q", e.Message)
		}
	}
}

// TestWhichTLSSessionsAreResumed: clients that share a transport resume no session that began by other rules than theirs.
func TestWhichTLSSessionsAreResumed(t *testing.T) {
	authority := certificate.SelfSigned(t, func(*x509.Certificate) {})
	var resumed atomic.Int32
	config := &tls.Config{Certificates: []tls.Certificate{authority.Sign(t, atLoopback).TLS(t)}}
	config.VerifyConnection = func(c tls.ConnectionState) error {
		if c.DidResume {
			resumed.Add(1)
		}
		return nil
	}
	s := bmctest.NewTLSWith(t, config)
	mine, other := bmc.AcceptCertificate(printed(s.HTTP.Certificate())), bmc.AcceptCertificate(strings.Repeat("AB", sha256.Size))
	// resumes has a client connect anew, and reports whether it resumed a session.
	resumes := func(c *bmc.Client) bool {
		t.Helper()
		before := resumed.Load()
		if _, err := c.System(t.Context(), bmctest.System); err != nil {
			t.Fatal(err)
		}
		if err := c.Disconnect(t.Context()); err != nil {
			t.Fatal(err)
		}
		return resumed.Load() > before
	}
	for name, tc := range map[string]struct {
		options bmc.Options
		trusts  bool
	}{
		"authorities that know it":   {bmc.Options{RootCAs: authority.Pool()}, true},
		"authorities that do not":    {bmc.Options{RootCAs: x509.NewCertPool()}, false},
		"a fleet that trusts anyone": {bmc.Options{InsecureSkipVerify: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			tc.options.Transport = bmc.NewTransport(tc.options)
			with := func(accepted bmc.AcceptedCertificate) bmc.Options {
				o := tc.options
				o.Certificate = accepted
				return o
			}
			start := func(accepted bmc.AcceptedCertificate) *bmc.Client {
				return bmc.NewClient(s.Endpoint(), s.Credentials(), with(accepted))
			}
			accepting := start(mine)
			if resumes(accepting) || !resumes(accepting) {
				t.Error("the session of the accepted certificate is not resumed, or was another's")
			}
			if tc.trusts {
				without := start(bmc.AcceptedCertificate{})
				if resumes(without) || !resumes(without) {
					t.Error("without an accepted certificate no session is resumed, or that of one")
				}
			} else {
				_ = refused(t, s, with(bmc.AcceptedCertificate{}))
			}
			_ = refused(t, s, with(other))
			if resumes(start(mine)) {
				t.Error("a session of another client is resumed")
			}
		})
	}
}
