package system

import (
	"crypto/x509"
	"strings"
	"testing"
)

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
