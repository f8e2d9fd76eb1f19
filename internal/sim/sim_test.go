package sim

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/test/await"
)

// startRack starts a rack for one test, in which nothing takes any time unless
// the test says so.
func startRack(t *testing.T, opts Options) *Rack {
	t.Helper()
	if opts.Servers == 0 {
		opts.Servers = 1
	}
	r, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *Rack) baseURL(i int) string { return r.opts.Scheme + "://" + r.bmcs[i].at.String() }

// httpClient trusts the rack's authority, and nobody else.
func (r *Rack) httpClient(t *testing.T) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(r.CABundle())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, MaxIdleConnsPerHost: 32}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

// eventually polls what another goroutine brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	await.True(t, what, ok)
}

// settled waits for the outcome of the newest boot.
func settled(t *testing.T, m *Machine) BootRecord {
	t.Helper()
	var last BootRecord
	eventually(t, "a boot settles", func() bool {
		records := m.Record()
		if len(records) == 0 {
			return false
		}
		last = records[len(records)-1]
		return last.Outcome != ""
	})
	return last
}

// bootSite is a boot server with just enough in it.
type bootSite struct {
	*httptest.Server
	kernel, initrd, squashfs []byte

	mu        sync.Mutex
	ignition  string
	order     string           // body of the answer to a registration
	answers   map[string][]int // statuses to give first, by path
	reports   []inspection.Registration
	states    []inspection.BootState
	addresses map[string]string // last client address, by path
}

func newBootSite(t *testing.T) *bootSite {
	t.Helper()
	s := &bootSite{
		kernel: []byte(strings.Repeat("kernel", 50_000)), initrd: []byte(strings.Repeat("initrd", 70_000)), squashfs: []byte("squashfs"),
		answers: map[string][]int{}, addresses: map[string]string{},
	}
	mux := http.NewServeMux()
	serve := func(path string, body func(r *http.Request) string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, body(r)) })
	}
	serve("GET /ipxe/{$}", func(r *http.Request) string {
		return "#!ipxe\nset ipxe-svc http://" + r.Host + "\nchain --replace --autofree ${ipxe-svc}/ipxe/${uuid}\n"
	})
	serve("GET /ipxe/{uuid}", func(r *http.Request) string {
		return "#!ipxe\nset svc http://" + r.Host + `
echo booting ${uuid}
:retry
kernel ${svc}/kernel initrd=initrd gl.ovl=/:tmpfs gl.url=${svc}/squashfs gl.live=1 ip=any ignition.firstboot=1 ignition.config.url=${svc}/ignition/${uuid}?token=t || goto retry
initrd --name initrd ${svc}/initrd || goto retry
boot || goto retry
`
	})
	serve("GET /kernel", func(*http.Request) string { return string(s.kernel) })
	serve("GET /initrd", func(*http.Request) string { return string(s.initrd) })
	serve("GET /squashfs", func(*http.Request) string { return string(s.squashfs) })
	serve("GET /ignition/{uuid}", func(*http.Request) string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.ignition
	})
	mux.HandleFunc("POST /probe/{token}/register", func(w http.ResponseWriter, r *http.Request) {
		reg, err := inspection.Decode(r.Body, 1<<20)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reports = append(s.reports, reg)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, s.order)
	})
	mux.HandleFunc("POST /probe/{token}/bootstate", func(w http.ResponseWriter, r *http.Request) {
		state, err := inspection.DecodeBootState(r.Body, 1<<20)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.states = append(s.states, state)
		w.WriteHeader(http.StatusCreated)
	})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := s.next(r); status != 0 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(status)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *bootSite) next(r *http.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses[r.URL.Path] = r.RemoteAddr
	list := s.answers[r.URL.Path]
	if len(list) == 0 {
		return 0
	}
	s.answers[r.URL.Path] = list[1:]
	return list[0]
}

func (s *bootSite) fail(path string, statuses ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = statuses
}

func (s *bootSite) setIgnition(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ignition = text
}

func (s *bootSite) registrations() []inspection.Registration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reports
}

func (s *bootSite) probeIgnition(uuid string) string {
	return fmt.Sprintf(`{"ignition":{"version":"3.4.0"},"systemd":{"units":[
	 {"name":"other.service","enabled":true,"contents":"[Service]\nExecStart=/bin/true\n"},
	 {"name":"metalprobe.service","enabled":true,"contents":"[Service]\nType=oneshot\nExecStart=/usr/local/bin/metalprobe \\\n  --registry-url=%s/probe/t --server-uuid %s --duration=10ms\n"}]}}`, s.URL, uuid)
}

const plainIgnition = `{"ignition":{"version":"3.4.0"},"passwd":{"users":[{"name":"core"}]}}`

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func mustPrefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }
