package system

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsSaidOfEvents(t *testing.T) {
	cert, key := pair(t)
	for name, tc := range map[string]struct {
		address, url, cert, key string
		refused                 string // the flag that the error names
	}{
		"nothing":               {},
		"an address":            {address: ":0"},
		"with a URL":            {address: ":0", url: "https://events.example.org/farrier/"},
		"with a certificate":    {address: ":0", cert: cert, key: key},
		"no address":            {address: "events", refused: "--bmc-events-address"},
		"a URL alone":           {url: "http://192.0.2.1", refused: "--bmc-events-address"},
		"a certificate alone":   {cert: cert, key: key, refused: "--bmc-events-address"},
		"no key":                {address: ":0", cert: cert, refused: "--bmc-events-cert-file"},
		"no certificate":        {address: ":0", key: key, refused: "--bmc-events-cert-file"},
		"a file that is none":   {address: ":0", cert: key, key: key, refused: "--bmc-events-cert-file"},
		"another scheme":        {address: ":0", url: "ftp://192.0.2.1", refused: "--bmc-events-url"},
		"a URL without a host":  {address: ":0", url: "http:///x", refused: "--bmc-events-url"},
		"a URL with a query":    {address: ":0", url: "http://a/?b", refused: "--bmc-events-url"},
		"a URL with a password": {address: ":0", url: "http://a:b@c", refused: "--bmc-events-url"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &settings{Options: Options{BMCEventsAddress: tc.address, BMCEventsURL: tc.url, BMCEventsCertFile: tc.cert, BMCEventsKeyFile: tc.key}}
			err := s.checkEvents()
			if (err != nil) != (tc.refused != "") || err != nil && !strings.HasPrefix(err.Error(), tc.refused+": ") {
				t.Errorf("error %v, want one about %q", err, tc.refused)
			}
			if strings.HasSuffix(s.BMCEventsURL, "/") && err == nil || (s.eventsTLS != nil) != (tc.cert == cert && tc.key == key) {
				t.Errorf("URL %s, TLS %v", s.BMCEventsURL, s.eventsTLS != nil)
			}
		})
	}
}

// pair writes a certificate and its key.
func pair(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, data []byte) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return write("tls.crt", "CERTIFICATE", der), write("tls.key", "PRIVATE KEY", private)
}
