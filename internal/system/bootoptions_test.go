package system

import (
	"crypto/x509"
	"strings"
	"testing"
)

func TestForwarderFlag(t *testing.T) {
	for _, c := range []struct {
		name         string
		given        []string
		trustPrivate bool
		prefixes     int
		err          string
	}{
		{name: "private networks by default", trustPrivate: true},
		{name: "nobody", given: []string{"none"}},
		{name: "named", given: []string{"10.0.0.1/32", "fd00::/8"}, prefixes: 2},
		{name: "no CIDR", given: []string{"10.0.0.1"}, err: "--trusted-forwarders"},
		{name: "nobody and somebody", given: []string{"none", "10.0.0.0/8"}, err: "--trusted-forwarders"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := DefaultOptions()
			o.TrustedForwarders = c.given
			s, err := o.check()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one about %s", err, c.err)
				}
				return
			}
			if err != nil || s.trustPrivate != c.trustPrivate || len(s.forwarders) != c.prefixes {
				t.Errorf("error %v, private %v, %v", err, s.trustPrivate, s.forwarders)
			}
		})
	}
}

func TestURLFlags(t *testing.T) {
	for _, c := range []struct{ boot, images, wantBoot, wantImages, err string }{
		{boot: "http://10.0.0.1:8082/", wantBoot: "http://10.0.0.1:8082"},
		{images: "http://10.0.0.1:8083/httpboot", wantImages: "http://10.0.0.1:8083"},
		{images: "http://10.0.0.1:8083/httpboot/", wantImages: "http://10.0.0.1:8083"},
		{images: "http://[fd00::1]:8083", wantImages: "http://[fd00::1]:8083"},
		{images: "10.0.0.1:8083", err: "--image-server-url"},
		{boot: "http://10.0.0.1/?a=b", err: "--boot-url"},
	} {
		o := DefaultOptions()
		o.ImageServerURL = c.images
		if c.boot != "" {
			o.BootURLs = []string{c.boot}
		}
		s, err := o.check()
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: error %v", c, err)
			}
			continue
		}
		if err != nil || s.sites.Of("").Object() != c.wantBoot || s.ImageServerURL != c.wantImages {
			t.Errorf("%+v: error %v, %+v %q", c, err, s.sites, s.ImageServerURL)
		}
	}
}

func TestOperatorCertificate(t *testing.T) {
	o := DefaultOptions()
	o.OperatorAddress = "127.0.0.1:0"
	for _, reached := range []string{"https://192.0.2.1:8443", "https://farrier.example:8443"} {
		pair, ca, err := o.operatorCertificate(reached)
		if err != nil {
			t.Fatalf("self-signed: %v", err)
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(ca)
		for _, host := range []string{hostOf(reached), "127.0.0.1", "localhost"} {
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
				t.Errorf("reached at %s, verified for %s: %v", reached, host, err)
			}
		}
	}
	o.OperatorCertFile = "/none.pem"
	if _, _, err := o.operatorCertificate("https://127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "--operator-cert-file") {
		t.Errorf("a file that is not there: %v", err)
	}
}
