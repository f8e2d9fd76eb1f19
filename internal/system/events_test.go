package system

import (
	"crypto/x509"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/test/certificate"
)

func TestWhatIsSaidOfEvents(t *testing.T) {
	cert, key := certificate.SelfSigned(t, func(*x509.Certificate) {}).Write(t, t.TempDir())
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
