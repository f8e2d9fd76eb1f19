package process

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/test/await"
	"github.com/farrier-dev/farrier/test/certificate"
	"github.com/farrier-dev/farrier/test/loopback"
)

// client asks every 10 ms, each time over a new connection, and counts.
type client struct {
	asked, failed atomic.Int64
	last          atomic.Pointer[string]
	// serial is that of the certificate that was shown last.
	serial atomic.Pointer[string]
	stop   func()
}

func startClient(t *testing.T, url string, roots *x509.CertPool) *client {
	t.Helper()
	c := &client{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			if err := c.ask(url, roots); err != nil {
				text := err.Error()
				c.last.Store(&text)
				c.failed.Add(1)
			}
			c.asked.Add(1)
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	c.stop = func() {
		cancel()
		<-done
		if n := c.failed.Load(); n > 0 {
			t.Errorf("%d of %d requests to %s failed, the last one: %s", n, c.asked.Load(), url, *c.last.Load())
		}
	}
	return c
}

func (c *client) ask(url string, roots *x509.CertPool) error {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "boot.example"}}}).Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.TLS != nil {
		serial := response.TLS.PeerCertificates[0].SerialNumber.String()
		c.serial.Store(&serial)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return nil
}

// TestCertificatesAreReplaced while machines ask: the one that they are shown, and the one by which we speak to managers. No answer is dropped.
func TestCertificatesAreReplaced(t *testing.T) {
	t.Parallel() // files are looked at every 10 s
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	m.view.Put(tenants(t, 7))
	o := p.options(m.address)
	ca := certificate.SelfSigned(t, func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	})
	dir := t.TempDir()
	leaf := func(c *x509.Certificate) { c.DNSNames = []string{"boot.example"} }
	o.BootTLSAddress, o.BootTLSNames = "127.0.0.1:0", []string{"boot.example"}
	o.BootTLSCertFile, o.BootTLSKeyFile = ca.Sign(t, leaf).Write(t, dir)
	b := startBootServer(t, o)
	await.True(t, "the boot of the machine", b.boots)
	before := *b.certificates.identity.Load().Leaf().SerialNumber
	plain := startClient(t, b.base+"/ipxe/"+uuid, nil)
	secure := startClient(t, "https://"+b.listeners[1].Addr().String()+"/ipxe/"+uuid, ca.Pool())
	await.True(t, "an answer over TLS", func() bool { return secure.serial.Load() != nil })
	first := *secure.serial.Load()

	if _, err := p.dir.Renew("boot-1", time.Now(), 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	next := t.TempDir()
	cert, key := ca.Sign(t, leaf).Write(t, next)
	for from, to := range map[string]string{key: o.BootTLSKeyFile, cert: o.BootTLSCertFile} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	await.True(t, "the next certificate for machines", func() bool { return *secure.serial.Load() != first })
	await.True(t, "the next certificate for managers", func() bool { return b.certificates.identity.Load().Leaf().SerialNumber.Cmp(&before) != 0 })
	// The next connection is by it.
	m.stop()
	// It knows the machine before anybody follows it, under the name by which the boot server knows it: nothing is missing meanwhile, or there twice.
	again := p.startManager(m.address, 8, time.Hour, tenants(t, 8))
	await.True(t, "the view of the next manager", func() bool { return b.status.now.Load().Manager != "" && len(again.server.BootServers()) == 1 })
	plain.stop()
	secure.stop()
	t.Logf("%d plain and %d secure requests", plain.asked.Load(), secure.asked.Load())
}
