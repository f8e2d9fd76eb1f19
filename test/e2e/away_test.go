package e2e

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/test/loopback"
)

// front stands before the boot server and goes away when it is told to: connections to it are refused then, as while a manager is
// being replaced.
type front struct {
	t       *testing.T
	address string
	server  *http.Server

	mu       sync.Mutex
	listener net.Listener // nil while it is away
	last     string       // path after whose answer it goes away
}

func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{t: t, address: "127.0.0.1:" + loopback.Port(t)}
	t.Cleanup(func() {
		if f.server != nil {
			_ = f.server.Close()
		}
	})
	return f
}

// leads has the front open the way to a boot server.
func (f *front) leads(to string) {
	f.t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		f.t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	f.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		if r.URL.Path == f.last {
			f.last = ""
			_ = f.listener.Close() // this connection stays
			f.listener = nil
		}
		f.mu.Unlock()
		proxy.ServeHTTP(w, r)
	})}
	f.server.SetKeepAlivesEnabled(false) // the next request is a connection of its own
	f.isThere("")
}

// isThere has the front answer again, until it has answered a request for the path last; empty: for good.
func (f *front) isThere(last string) {
	f.t.Helper()
	l, err := net.Listen("tcp", f.address)
	if err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	f.listener, f.last = l, last
	f.mu.Unlock()
	go func() { _ = f.server.Serve(l) }()
}

// leavesAfter is how it goes away.
func (f *front) leavesAfter(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = path
}

// A boot server that goes away between two requests of one boot is waited for, by real iPXE.
func TestBootServerAway(t *testing.T) {
	f := newFront(t)
	l := newLabBehind(t, f.address)
	f.leads(l.local)
	linux := kernelImage(t)
	for _, m := range []struct {
		name string
		how  firmware
		uuid string
	}{
		{"away-bios", biosIPXE, "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0011"},
		{"away-uefi", uefiIPXE, "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0012"},
	} {
		t.Run(m.name, func(t *testing.T) {
			if m.how == uefiIPXE {
				inFullRuns(t) // the script is the same
			}
			ignition := l.ignition(m.name)
			plan := l.push(m.name, localregistry.Image{Kernel: linux, Initramfs: initramfs(t, m.name)})
			l.overIPXE(m.name, m.uuid, plan)

			f.leavesAfter("/ipxe/")
			machine := power(t, m.how, identity{m.uuid, m.name}, l.url+"/ipxe/")
			machine.prints("The boot server does not answer, asking again in 5 seconds")
			f.isThere("/ipxe/" + m.uuid)
			machine.prints("Could not load the operating system, next try in 2 seconds")
			f.isThere("")
			for key, want := range map[string]string{"uuid": m.uuid, "marker": m.name, "ignition": ignition} {
				if got := machine.says(key); got != want {
					t.Errorf("%s: the machine has %q, not %q", key, got, want)
				}
			}
			machine.goesOff()
		})
	}
	t.Run("unknown machine", func(t *testing.T) {
		// A boot server that is there and has no script for a machine is not waited for.
		machine := power(t, biosIPXE, identity{"6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0013", "nobody"}, l.url+"/ipxe/")
		machine.prints("No bootable device.")
		if strings.Contains(machine.printed(), "asking again") {
			t.Error("it waits for a boot server that has answered")
		}
	})
}
