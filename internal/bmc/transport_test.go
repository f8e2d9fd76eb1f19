package bmc_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
	"github.com/farrier-dev/farrier/test/await"
)

// short is long enough for a healthy loopback, and short enough to wait for.
const short = 300 * time.Millisecond

// What takes too long ends, wherever it hangs.
func TestDeadline(t *testing.T) {
	hang := func(t *testing.T) (bmc.Endpoint, func()) {
		t.Helper()
		s := bmctest.New(t)
		release := make(chan struct{})
		s.Handle(login, func(http.ResponseWriter, *http.Request) { <-release })
		return s.Endpoint(), func() { close(release) }
	}
	hangMidBody := func(t *testing.T) (bmc.Endpoint, func()) {
		t.Helper()
		s := bmctest.New(t)
		release := make(chan struct{})
		s.Handle(getSystem, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"PowerState":`)
			_ = http.NewResponseController(w).Flush()
			<-release
		})
		return s.Endpoint(), func() { close(release) }
	}
	silent := func(scheme string) func(*testing.T) (bmc.Endpoint, func()) {
		return func(t *testing.T) (bmc.Endpoint, func()) { // accepts connections and says nothing, TLS neither
			t.Helper()
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			return bmc.Endpoint{Scheme: scheme, Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}, func() { _ = l.Close() }
		}
	}
	for name, start := range map[string]func(*testing.T) (bmc.Endpoint, func()){
		"login": hang, "mid body": hangMidBody, "http": silent("http"), "tls": silent("https"),
	} {
		t.Run(name, func(t *testing.T) {
			endpoint, release := start(t)
			defer release()
			c := bmc.NewClient(endpoint, bmc.Credentials{Username: bmctest.Username, Password: bmctest.Password}, bmc.Options{RequestTimeout: short})
			started := time.Now()
			_, err := c.System(t.Context(), bmctest.System)
			if bmc.KindOf(err) != bmc.KindTimeout {
				t.Errorf("error %v", err)
			}
			if took := time.Since(started); took > 10*short {
				t.Errorf("took %s", took)
			}
			// And the next request does not wait for what the last one left behind.
			if _, err := c.System(t.Context(), bmctest.System); bmc.KindOf(err) != bmc.KindTimeout {
				t.Errorf("second error %v", err)
			}
		})
	}
}

func TestOneConnectionAndOneRequestAtATime(t *testing.T) {
	s := bmctest.New(t)
	c := client(t, s)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := c.System(t.Context(), bmctest.System); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if requests, connections := s.Peaks(); requests != 1 || connections != 1 {
		t.Errorf("%d requests and %d connections at a time", requests, connections)
	}
	if n := s.Count(login); n != 1 {
		t.Errorf("%d logins", n)
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	s := bmctest.New(t)
	c := bmc.NewClient(s.Endpoint(), s.Credentials(), bmc.Options{IdleTimeout: 10 * time.Millisecond})
	if _, err := c.System(t.Context(), bmctest.System); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the connection is closed", func() bool { return s.Connections() == 0 })
	if _, err := c.System(t.Context(), bmctest.System); err != nil {
		t.Fatal(err)
	}
	if n := s.Count(login); n != 1 {
		t.Errorf("%d logins: the session outlives the connection", n)
	}
}

func TestCertificates(t *testing.T) {
	s := bmctest.NewTLS(t)
	pool := x509.NewCertPool()
	pool.AddCert(s.HTTP.Certificate())
	for _, test := range []struct {
		name    string
		options bmc.Options
		ok      bool
	}{
		{"unknown authority", bmc.Options{}, false},
		{"authority given", bmc.Options{RootCAs: pool}, true},
		{"not verified", bmc.Options{InsecureSkipVerify: true}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := bmc.NewClient(s.Endpoint(), s.Credentials(), test.options)
			before := len(s.Requests())
			_, err := c.System(t.Context(), bmctest.System)
			if test.ok {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if bmc.KindOf(err) != bmc.KindUntrusted || !strings.Contains(err.Error(), "certificate") {
				t.Errorf("error %v", err)
			}
			if len(s.Requests()) != before {
				t.Error("credentials were sent to a BMC that was not verified")
			}
		})
	}
}

// TestHandshakes tells a handshake that one side refuses from one that the network breaks off.
func TestHandshakes(t *testing.T) {
	refuses := tls.NewListener(listen(t), &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, errors.New("no") }})
	for name, tc := range map[string]struct {
		listener net.Listener
		serve    func(net.Conn)
		refused  bool
	}{
		"an alert":            {refuses, func(c net.Conn) { _ = c.(*tls.Conn).Handshake() }, true},
		"a broken connection": {listen(t), func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var serving sync.WaitGroup
			defer serving.Wait()
			defer func() { _ = tc.listener.Close() }()
			serving.Go(func() {
				for {
					conn, err := tc.listener.Accept()
					if err != nil {
						return
					}
					tc.serve(conn)
					_ = conn.Close()
				}
			})
			at := tc.listener.Addr().(*net.TCPAddr)
			endpoint := bmc.Endpoint{Scheme: "https", Host: at.IP.String(), Port: at.Port}
			_, err := bmc.NewClient(endpoint, bmc.Credentials{}, bmc.Options{}).System(t.Context(), bmctest.System)
			e, ok := errors.AsType[*bmc.Error](err)
			if !ok || e.Kind != bmc.KindConnection || e.Handshake != tc.refused {
				t.Errorf("%#v", err)
			}
		})
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestHTTPSSpokenToHTTP(t *testing.T) {
	s := bmctest.New(t)
	e := s.Endpoint()
	e.Scheme = "https"
	_, err := bmc.NewClient(e, s.Credentials(), bmc.Options{}).System(t.Context(), bmctest.System)
	if bmc.KindOf(err) != bmc.KindUntrusted {
		t.Errorf("error %v", err)
	}
}

func TestBodyLimit(t *testing.T) {
	s := bmctest.New(t)
	s.Handle(getSystem, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"@odata.id":"`+strings.Repeat("x", 4096)+`"}`)
	})
	c := bmc.NewClient(s.Endpoint(), s.Credentials(), bmc.Options{BodyLimit: 4096})
	if _, err := c.System(t.Context(), bmctest.System); bmc.KindOf(err) != bmc.KindProtocol {
		t.Errorf("error %v", err)
	}
}

// A BMC may move a resource; it may not send our token elsewhere.
func TestRedirects(t *testing.T) {
	other := bmctest.New(t)
	for _, test := range []struct {
		name, to string
		kind     bmc.Kind
	}{
		{"same BMC", "/redfish/v1/Systems/moved", ""},
		{"other BMC", other.HTTP.URL + "/redfish/v1/Systems/1", bmc.KindProtocol},
		{"other BMC without scheme", "//" + strings.TrimPrefix(other.HTTP.URL, "http://") + "/", bmc.KindProtocol},
		{"round and round", bmctest.System, bmc.KindProtocol},
		{"nowhere", "", bmc.KindProtocol},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bmctest.New(t)
			s.Set("/redfish/v1/Systems/moved", bmctest.ComputerSystem(bmctest.System))
			s.Handle(getSystem, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", test.to)
				w.WriteHeader(http.StatusPermanentRedirect)
			})
			_, err := client(t, s).System(t.Context(), bmctest.System)
			if got := bmc.KindOf(err); got != test.kind {
				t.Errorf("error %v", err)
			}
			if n := len(other.Requests()); n != 0 {
				t.Errorf("%d requests to another BMC", n)
			}
		})
	}
}
