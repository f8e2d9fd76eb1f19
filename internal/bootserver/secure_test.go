package bootserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/test/certificate"
)

// TestSecretsNeedTLS goes through every route, so that one which is added is thought of: what gives nobody a secret and takes none is
// answered over plain HTTP, everything else is refused there and answered over TLS.
func TestSecretsNeedTLS(t *testing.T) {
	s := newSite(t, func(c *Config) { c.SecretsNeedTLS = true })
	free := map[string]bool{
		"/ipxe": true, "/ipxe/": true, "/boot.ipxe": true, "/boot.ipxe.0": true, "/httpboot": true, "/httpboot/x/sha256-0.efi": true,
		"/image": true, "/boot/x86_64/snponly.efi": true, "/healthz": true, "/readyz": true, "/nothing": true,
	}
	paths := []string{
		"/ipxe/" + uuidA, "/ipxe?uuid=" + uuidA, "/ipxe/?mac=x", "/ignition/" + uuidA + "?token=" + tokenA, "/config/" + uuidA, "/content/" + uuidA,
		"/v1/user-data", "/probe/" + uuidA, "/probe/" + tokenA + "/register", "/probe/" + tokenA + "/bootstate", "/httpboot/x/sha256-0.efi",
		"/boot/x86_64/snponly.efi", "/nothing",
	}
	for path := range exact {
		paths = append(paths, path)
	}
	for _, path := range paths {
		method := http.MethodGet
		if route, _ := find(strings.SplitN(path, "?", 2)[0]); route != nil && route.post {
			method = http.MethodPost
		}
		for _, secure := range []bool{false, true} {
			r := httptest.NewRequest(method, path, nil)
			if secure {
				r.TLS = &tls.ConnectionState{}
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			refused := w.Code == http.StatusForbidden && w.Body.String() == textNeedsTLS
			if want := !secure && !free[path]; refused != want {
				t.Errorf("%s %s, TLS %t: %d %s", method, path, secure, w.Code, w.Body)
			}
		}
	}
	if w := httptest.NewRecorder(); true {
		newSite(t, nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ipxe/"+uuidA, nil))
		if w.Code != http.StatusOK {
			t.Errorf("%d over plain HTTP, where nobody asked for TLS", w.Code)
		}
	}
}

// TestServeTLS: answers over TLS are those over plain HTTP, and whoever speaks no TLS there gets none.
func TestServeTLS(t *testing.T) {
	pair := certificate.SelfSigned(t, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(c *Config) { c.SecretsNeedTLS = true })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.ServeTLS(ctx, l, &tls.Config{Certificates: []tls.Certificate{pair.TLS(t)}})
	}()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pair.Pool()}}
	client := &http.Client{Transport: transport}
	answer, err := client.Get("https://" + l.Addr().String() + "/ipxe/" + uuidA)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("%s", answer.Status)
	}
	plain, err := http.Get("http://" + l.Addr().String() + "/ipxe")
	if err == nil {
		_ = plain.Body.Close()
		if plain.StatusCode != http.StatusBadRequest {
			t.Errorf("%s to one that speaks no TLS", plain.Status)
		}
	}
	transport.CloseIdleConnections()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
