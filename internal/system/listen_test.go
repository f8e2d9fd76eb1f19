package system

import (
	"net"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/test/loopback"
)

// TestListen: alone, a system listens at once and port 0 is any free one; taking turns, it listens later, and has to know
// where.
func TestListen(t *testing.T) {
	for name, tc := range map[string]struct {
		address  string
		elected  bool
		loopback bool
		secure   bool
		url      string // its beginning
		refused  string // what the error names
	}{
		"alone, any port":            {address: "127.0.0.1:0", url: "http://127.0.0.1:"},
		"alone, all addresses":       {address: ":0", loopback: true, url: "http://127.0.0.1:"},
		"alone, with TLS":            {address: "127.0.0.1:0", secure: true, url: "https://127.0.0.1:"},
		"alone, no address of ours":  {address: "192.0.2.1:0", refused: "--boot-address"},
		"taking turns":               {address: "192.0.2.1:8082", elected: true, url: "http://192.0.2.1:8082"},
		"taking turns, over loop":    {address: ":8082", elected: true, loopback: true, url: "http://127.0.0.1:8082"},
		"taking turns, any port":     {address: "127.0.0.1:0", elected: true, refused: "--boot-address"},
		"taking turns, no such port": {address: "127.0.0.1:http-no", elected: true, refused: "--boot-address"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &System{settings: &settings{Options: Options{LeaderElection: tc.elected, Loopback: tc.loopback}}}
			l, url, err := s.listen("boot-address", tc.address, tc.secure)
			if l != nil {
				defer l.Close()
			}
			if (err != nil) != (tc.refused != "") || err != nil && !strings.HasPrefix(err.Error(), tc.refused) {
				t.Fatalf("error %v, want one that names %q", err, tc.refused)
			}
			if !strings.HasPrefix(url, tc.url) || strings.HasSuffix(url, ":0") {
				t.Errorf("URL %q, want %q", url, tc.url)
			}
			if (l != nil) != (err == nil && !tc.elected) {
				t.Errorf("listener %v", l)
			}
		})
	}
}

// TestOpened: a listener is opened once, whenever that is.
func TestOpened(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got, err := opened(l, "boot-address", "127.0.0.1:1"); err != nil || got != l {
		t.Errorf("opened %v, %v, and there was one", got, err)
	}
	if _, err := opened(nil, "boot-address", l.Addr().String()); err == nil || !strings.HasPrefix(err.Error(), "--boot-address: ") {
		t.Errorf("an address that is taken: %v", err)
	}
}

// TestEachTermListens: the end of a term closes its listener, and the next term has the same address.
func TestEachTermListens(t *testing.T) {
	s := &System{settings: &settings{}}
	at := loopback.Free(t)
	l, _, err := s.listen("operator-address", at, true)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		got, err := s.openedForTerm(l, "operator-address", at)
		if err != nil || got.Addr().String() != l.Addr().String() {
			t.Fatalf("term %d: %v, %v", n, got, err)
		}
		if err := got.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
