package bmcevents

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/inbound"
)

// serve starts a receiver on a listener of its own, which ends with the test.
func (s *stand) serve() string {
	s.t.Helper()
	l, err := new(net.ListenConfig).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	if s.limits.Total > 0 {
		l = inbound.New("BMCs", s.limits, clock.RealClock{}, logr.Discard()).Listener(l)
	}
	if s.tls != nil {
		l = tls.NewListener(l, s.tls)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("Serve: %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

func TestServe(t *testing.T) {
	s := newStand(t, Options{})
	s.limits = inbound.Limits{Total: 2, PerAddress: 2, Waiting: 2}
	base := s.serve()
	for i := range 5 { // more than there may be connections: each message lets its own go
		destination := s.paths.Destination(base, Alerts, "uid-1").Reveal()
		resp, err := http.Post(destination, "application/json", strings.NewReader(event(fmt.Sprint(i), "A.1.0.B", "OK")))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusNoContent || !resp.Close {
			t.Errorf("answered %d, close %v", resp.StatusCode, resp.Close)
		}
	}
	if len(s.told) != 5 {
		t.Errorf("told %v", s.told)
	}
}

func TestWhoSendsNothingIsHungUpOn(t *testing.T) {
	s := newStand(t, Options{})
	s.timeouts.header, s.timeouts.message = 50*time.Millisecond, 100*time.Millisecond
	base := s.serve()
	for name, sent := range map[string]string{
		"nothing":       "",
		"half a header": "POST / HTTP/1.1\r\nHost: a\r\n",
		"half a body":   "POST " + s.path(Alerts, "uid-1") + " HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, sent); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = conn.Close()
	}
}

func TestServeOverTLS(t *testing.T) {
	s := newStand(t, Options{})
	borrowed := httptest.NewTLSServer(nil)
	defer borrowed.Close()
	s.tls = &tls.Config{Certificates: borrowed.TLS.Certificates, MinVersion: tls.VersionTLS12}
	base := strings.Replace(s.serve(), "http://", "https://", 1)
	destination := s.paths.Destination(base, Alerts, "uid-1").Reveal()
	resp, err := borrowed.Client().Post(destination, "application/json", strings.NewReader(event("1", "A.1.0.B", "OK")))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent || len(s.told) != 1 {
		t.Errorf("answered %d, told %v", resp.StatusCode, s.told)
	}
}

func TestWhoNeverShakesHandsIsHungUpOn(t *testing.T) {
	s := newStand(t, Options{})
	borrowed := httptest.NewTLSServer(nil)
	defer borrowed.Close()
	s.tls = &tls.Config{Certificates: borrowed.TLS.Certificates, MinVersion: tls.VersionTLS12}
	s.timeouts.header = 100 * time.Millisecond
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.serve(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("not hung up on: %v", err)
	}
}
