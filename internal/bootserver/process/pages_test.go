package process

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/test/await"
	"github.com/farrier-dev/farrier/test/loopback"
)

// TestPages: health is for everybody, metrics for those with a certificate of the authority that was named.
func TestPages(t *testing.T) {
	p := newPKI(t)
	o := p.options("127.0.0.1:1")
	o.HealthAddress, o.PprofAddress = "127.0.0.1:0", "127.0.0.1:0"
	o.measured(p.folder(managerName, authority.Manager))
	b := startBootServer(t, o)
	health, metrics, profiles := b.listeners[1].Addr().String(), b.listeners[2].Addr().String(), b.listeners[3].Addr().String()
	if a := ask(t, http.MethodGet, "http://"+health+"/healthz", ""); a.status != http.StatusOK {
		t.Errorf("/healthz: %+v", a)
	}
	if a := ask(t, http.MethodGet, "http://"+health+"/readyz", ""); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "no manager has sent the view") || a.header.Get("Retry-After") == "" {
		t.Errorf("/readyz: %+v", a)
	}
	if a := ask(t, http.MethodGet, "http://"+profiles+"/debug/pprof/cmdline", ""); a.status != http.StatusOK {
		t.Errorf("profiles: %+v", a)
	}
	pem, err := os.ReadFile(o.MetricsClientCAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := peer.In(p.folder("boot-1", authority.BootServer))
	pair, err := tls.LoadX509KeyPair(client.Cert, client.Key)
	if err != nil {
		t.Fatal(err)
	}
	other := peer.In(newPKI(t).folder("boot-1", authority.BootServer))
	foreign, err := tls.LoadX509KeyPair(other.Cert, other.Key)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		with  []tls.Certificate
		reads bool
	}{"a certificate": {[]tls.Certificate{pair}, true}, "none": {nil, false}, "that of another authority": {[]tls.Certificate{foreign}, false}} {
		body, err := scrape(t, "https://"+metrics+"/metrics", &tls.Config{RootCAs: roots, ServerName: managerName, Certificates: c.with})
		if (err == nil) != c.reads || c.reads && !strings.Contains(body, "farrier_boot_server_ready 0") {
			t.Errorf("metrics with %s: %v, %.200s", name, err, body)
		}
	}
}

func scrape(t *testing.T, url string, config *tls.Config) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// TestAnOldViewEnds: what is on disk is served until it is too old, and again when a manager has come.
func TestAnOldViewEnds(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	m.view.Put(tenants(t, 7))
	o := p.options(m.address)
	o.ViewKeyFile = keyFile(t, viewKey)
	b := startBootServer(t, o)
	await.True(t, "the boot of the machine", b.boots)
	await.True(t, "a heartbeat", func() bool { return !b.status.now.Load().Heard.IsZero() })
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	m.stop()
	o.ServeStale = 2 * time.Second
	b = startBootServer(t, o)
	await.True(t, "the end of the view", func() bool { return b.get("/ipxe/"+uuid).status == http.StatusServiceUnavailable })
	if a := b.get("/readyz"); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "--serve-stale") {
		t.Errorf("/readyz: %+v", a)
	}
	next := p.startManager(m.address, 7, time.Hour)
	next.view.Put(tenants(t, 7))
	await.True(t, "the boot with a manager", b.boots)
}
