package attacks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/certificate"
	"github.com/farrier-dev/farrier/test/lab"
	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

// Somebody who can read and change everything between a machine and the boot server sees no request of a whole life of a server,
// from discovery to a claim: there is no plain listener, and machines take nothing from him, for his certificate is another's. When
// he is gone the machine boots.
func TestSomebodyBetweenMachineAndBootServer(t *testing.T) {
	l := lab.New(t, 1)
	p := l.Up(t, "--boot-address=", "--boot-tls-address", "127.0.0.1:0", "--power-off-budget", "1s")
	if !strings.HasPrefix(p.Boot, "https://") {
		t.Fatalf("the boot URL is %s", p.Boot)
	}
	l.Discover(p)
	machine := l.Machine(0)
	tlsOnly(t, machine.Record())

	between := newTLSBetween(t, p.Boot)
	l.BootURL.Store(between.url)
	l.Ignition(p, "victim", "ignition")
	claim := l.Claim(p, "victim")
	p.Eventually("the machine meets somebody else", func(context.Context) error {
		records := machine.Record()
		for _, f := range records[len(records)-1].Fetches {
			if strings.HasPrefix(f.URL, between.url) && strings.Contains(f.Error, "certificate") {
				return nil
			}
		}
		return fmt.Errorf("its last boot: %+v", records[len(records)-1])
	})
	if n := between.requests.Load(); n > 0 {
		t.Errorf("he has read %d requests", n)
	}

	l.BootURL.Store(p.Boot)
	tlsSwitchTo(t, p, claim, metalv1.PowerOff)
	p.ServerIs(p.Bound("victim"), metalv1.ServerStateReserved, metalv1.PowerStateOff)
	tlsSwitchTo(t, p, claim, metalv1.PowerOn)
	p.Boots(machine, sim.OutcomeInstalled)
	tlsOnly(t, machine.Record()[len(machine.Record())-1:])
}

// tlsOnly fails where a machine has fetched or sent anything over plain HTTP.
func tlsOnly(t *testing.T, boots []sim.BootRecord) {
	t.Helper()
	n := 0
	for _, boot := range boots {
		for _, f := range boot.Fetches {
			if n++; !strings.HasPrefix(f.URL, "https://") {
				t.Errorf("boot %d: %s over %s", boot.Number, f.What, f.URL)
			}
		}
	}
	if n == 0 {
		t.Error("nothing was fetched")
	}
}

func tlsSwitchTo(t *testing.T, p *lab.Running, claim *metalv1.ServerClaim, power metalv1.Power) {
	t.Helper()
	before := claim.DeepCopy()
	claim.Spec.Power = power
	if err := p.Patch(t.Context(), claim, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// tlsBetween speaks TLS with a certificate for the same address that his own authority has signed, and would lead every request on.
type tlsBetween struct {
	url, caFile string
	requests    atomic.Int32
}

func newTLSBetween(t *testing.T, to string) *tlsBetween {
	t.Helper()
	b := &tlsBetween{caFile: filepath.Join(t.TempDir(), "evil.crt")}
	cert, key := tlsSelfSigned(t, "127.0.0.1")
	tlsWriteFile(t, b.caFile, cert, 0o644)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	onward := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.requests.Add(1)
		if r.Method != http.MethodGet || to == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		answer, err := onward.Get(to + r.URL.RequestURI())
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// The probe sends its report, and takes an order to wipe, from the boot server alone: also where its operating system trusts
// whoever stands in between.
func TestProbeTrustsTheBootAuthorityAlone(t *testing.T) {
	t.Parallel()
	p := product.Start(t, filepath.Join(t.TempDir(), "data"), "--boot-tls-address", "127.0.0.1:0")
	if p.BootCA == "" {
		t.Fatal("the authority of the boot server is not told")
	}
	between := newTLSBetween(t, "")
	agent := filepath.Join(t.TempDir(), "metalprobe")
	build := exec.Command("go", "build", "-trimpath", "-o", agent, "github.com/farrier-dev/farrier/cmd/metalprobe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build metalprobe: %v\n%s", err, out)
	}
	report := func(args ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), product.Patience)
		defer cancel()
		c := exec.CommandContext(ctx, agent, append([]string{
			"--server-uuid", "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0001", "--lldp-sync-duration", "0", "--duration", "100ms", "--timeout", "1s",
		}, args...)...)
		c.Env = append(os.Environ(), "SSL_CERT_FILE="+between.caFile, "SSL_CERT_DIR="+t.TempDir())
		out, _ := c.CombinedOutput() // nobody accepts a report of this machine, so it always ends with an error
		return string(out)
	}
	if out := report("--registry-url", between.url+"/probe/secret", "--registry-ca-file", p.BootCA); !strings.Contains(out, "certificate") || between.requests.Load() > 0 {
		t.Errorf("he has read %d reports; the probe says:\n%s", between.requests.Load(), out)
	}
	if out := report("--registry-url", "http://"+strings.TrimPrefix(between.url, "https://"), "--registry-ca-file", p.BootCA); !strings.Contains(out, "--registry-url") {
		t.Errorf("a URL without TLS is taken:\n%s", out)
	}
	// The boot server itself is believed: it is its answer that the probe then does not like.
	if out := report("--registry-url", p.Boot+"/probe/secret", "--registry-ca-file", p.BootCA); !strings.Contains(out, "401") {
		t.Errorf("the boot server was not asked:\n%s", out)
	}
	// What the test would see of a probe that believes whom its system trusts.
	if report("--registry-url", between.url+"/probe/secret"); between.requests.Load() == 0 {
		t.Error("nobody is trusted: the test proves nothing")
	}
}

// Who listens on the network learns no secret where that is asked for: what may hold one is refused over plain HTTP, while machines
// boot, from the chainload script over plain HTTP on.
func TestSecretsOverPlainHTTP(t *testing.T) {
	l := lab.New(t, 1)
	plain := "http://" + loopback.Free(t)
	p := l.Up(t, "--boot-address", strings.TrimPrefix(plain, "http://"), "--boot-tls-address", "127.0.0.1:0", "--boot-secrets-need-tls", "--metadata")
	l.BootURL.Store(plain)
	l.Discover(p)
	_, _, machine := l.Runs(p, "victim")
	for _, boot := range machine.Record() {
		for _, f := range boot.Fetches {
			if strings.HasPrefix(f.URL, "http://") && f.What != sim.WhatChainload {
				t.Errorf("%s over %s", f.What, f.URL)
			}
		}
	}

	uuid := l.BMCs()[0].UUID
	for _, c := range []struct {
		method, path string
		refused      bool
	}{
		{"GET", "/ipxe", false}, {"GET", "/boot.ipxe", false}, {"GET", "/healthz", false}, {"GET", "/httpboot", false},
		{"GET", "/ipxe/" + uuid, true}, {"GET", "/ipxe?uuid=" + uuid, true}, {"GET", "/ipxe/?serial=x", true}, {"HEAD", "/ipxe/" + uuid, true},
		{"GET", "/ignition/" + uuid, true}, {"GET", "/ignition/" + uuid + "?token=x", true}, {"GET", "/config/" + uuid, true}, {"GET", "/content/" + uuid, true},
		{"GET", "/probe/" + uuid, true}, {"POST", "/probe/x/register", true}, {"POST", "/probe/x/bootstate", true}, {"POST", "/register", true},
		{"POST", "/bootstate", true}, {"GET", "/v1", true}, {"GET", "/v1/user-data", true},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, plain+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-Proto", "https") // anybody can say that
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if (answer.StatusCode == http.StatusForbidden) != c.refused {
			t.Errorf("%s %s over plain HTTP: %s\n%s", c.method, c.path, answer.Status, body)
		}
		if c.path == "/ipxe" && !strings.Contains(string(body), "set ipxe-svc "+p.Boot+"\n") {
			t.Errorf("the chainload script does not lead to %s:\n%s", p.Boot, body)
		}
	}
}

// Versions of TLS that have been broken are not spoken.
func TestOldTLS(t *testing.T) {
	t.Parallel()
	p := product.Start(t, filepath.Join(t.TempDir(), "data"), "--boot-tls-address", "127.0.0.1:0", "--boot-tls-forward-secrecy")
	for version, good := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		err := tlsHandshake(t, p.Boot, p.BootCA, &tls.Config{MinVersion: version, MaxVersion: version})
		if (err == nil) != good {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
	kept := &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}}
	if err := tlsHandshake(t, p.Boot, p.BootCA, kept); err == nil {
		t.Error("what is recorded today can be read by whoever steals the key tomorrow, and that was ruled out")
	}
}

// A key that every user of the host can read, or that is another certificate's, is not used, and the error says by which flag it came.
func TestBootKeyOfEverybody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := tlsSelfSigned(t, "127.0.0.1")
	_, another := tlsSelfSigned(t, "127.0.0.1")
	elsewhere, elsewhereKey := tlsSelfSigned(t, "192.0.2.1")
	for name, c := range map[string]struct {
		cert, key []byte
		mode      os.FileMode
		says      []string
	}{
		"readable-by-all": {cert, key, 0o644, []string{"--boot-tls-key-file", "0644"}},
		"of-another":      {cert, another, 0o600, []string{"--boot-tls-cert-file and --boot-tls-key-file", "match"}},
		"for-others":      {elsewhere, elsewhereKey, 0o600, []string{"--boot-tls-cert-file", "127.0.0.1"}},
	} {
		certFile, keyFile := filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
		tlsWriteFile(t, certFile, c.cert, 0o644)
		tlsWriteFile(t, keyFile, c.key, c.mode)
		_, err := product.Launch(t, filepath.Join(dir, name), "--boot-tls-address", "127.0.0.1:0", "--boot-tls-cert-file", certFile, "--boot-tls-key-file", keyFile)
		if err == nil {
			t.Errorf("%s: it is used", name)
			continue
		}
		for _, text := range c.says {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q is not in: %v", name, text, err)
			}
		}
	}
}

// A renewal that has gone wrong does not end the boots of a site: the certificate before is shown, the log says what is wrong, and
// what is put right is shown without a restart.
func TestBrokenRenewal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	first, firstKey := tlsSelfSigned(t, "127.0.0.1")
	tlsWriteFile(t, certFile, first, 0o644)
	tlsWriteFile(t, keyFile, firstKey, 0o600)
	p := product.Start(t, filepath.Join(dir, "data"), "--boot-tls-address", "127.0.0.1:0", "--boot-tls-cert-file", certFile, "--boot-tls-key-file", keyFile)
	if err := tlsHandshake(t, p.Boot, certFile, &tls.Config{}); err != nil {
		t.Fatal(err)
	}
	trusted := filepath.Join(dir, "first.crt")
	tlsWriteFile(t, trusted, first, 0o644)

	second, secondKey := tlsSelfSigned(t, "127.0.0.1")
	tlsWriteFile(t, certFile, second, 0o644) // and the key is still the first one's
	p.Eventually("the log says so", func(context.Context) error {
		if log := p.Log(); !strings.Contains(log, "not renewed") || !strings.Contains(log, "--boot-tls-key-file") {
			return errors.New(log)
		}
		return nil
	})
	if err := tlsHandshake(t, p.Boot, trusted, &tls.Config{}); err != nil {
		t.Errorf("machines cannot boot any more: %v", err)
	}
	tlsWriteFile(t, keyFile, secondKey, 0o600)
	p.Eventually("the new certificate is shown", func(context.Context) error { return tlsHandshake(t, p.Boot, certFile, &tls.Config{}) })
}

// tlsHandshake connects to the boot server as a machine that trusts the authorities of a file.
func tlsHandshake(t *testing.T, url, caFile string, config *tls.Config) error {
	t.Helper()
	return tlsHandshakeFrom(t, "127.0.0.1", url, caFile, config)
}

// tlsHandshakeFrom is tlsHandshake from another address of this host.
func tlsHandshakeFrom(t *testing.T, from, url, caFile string, config *tls.Config) error {
	t.Helper()
	ca, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AppendCertsFromPEM(ca)
	dialer := tls.Dialer{NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: time.Minute}, Config: config}
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "https://"))
	if err != nil {
		return err
	}
	return conn.Close()
}

// tlsSelfSigned makes a certificate for an address that is its own authority.
func tlsSelfSigned(t *testing.T, ip string) (certPEM, keyPEM []byte) {
	t.Helper()
	pair := certificate.SelfSigned(t, func(c *x509.Certificate) {
		c.Subject, c.IPAddresses, c.NotAfter = pkix.Name{CommonName: ip}, []net.IP{net.ParseIP(ip)}, time.Now().Add(24*time.Hour)
	})
	return pair.Cert, pair.Key
}

func tlsWriteFile(t *testing.T, path string, content []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, content, mode); err != nil {
		t.Fatal(err)
	}
}
