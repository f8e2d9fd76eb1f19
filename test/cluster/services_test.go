package cluster

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// services leads the API server to what is behind a Service, in place of the network of a cluster: it asks a proxy for each connection to one (egress
// selector, HTTP CONNECT).
type services struct {
	config string // file for --egress-selector-config-file

	mu       sync.Mutex
	backends []string
	turn     int
}

func newServices(t *testing.T) *services {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "farrier-") //nolint:usetesting // the test's own is too long for a unix socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &services{config: filepath.Join(dir, "egress.yaml")}
	socket := filepath.Join(dir, "proxy.sock")
	text := fmt.Sprintf(`apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %s
`, socket)
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(s.connect), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return s
}

// leadTo has the pods of the Service farrier-webhook listen at addresses. The chart makes no other Service that the API server asks.
func (s *services) leadTo(addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backends = addresses
}

// next is the pod whose turn it is.
func (s *services) next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.backends) == 0 {
		return ""
	}
	s.turn++
	return s.backends[s.turn%len(s.backends)]
}

func (s *services) connect(w http.ResponseWriter, r *http.Request) {
	address := s.next()
	if r.Method != http.MethodConnect || address == "" {
		http.Error(w, "no pod is behind the Service", http.StatusBadGateway)
		return
	}
	to, err := new(net.Dialer).DialContext(r.Context(), "tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer to.Close()
	from, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer from.Close()
	if _, err := io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{to, from}, {from, to}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}
