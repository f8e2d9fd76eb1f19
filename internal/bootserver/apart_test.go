package bootserver

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// What a boot server adds that stands apart from its manager.

// TestSecretsExpire: who has heard no manager for too long goes on with all that is no secret.
func TestSecretsExpire(t *testing.T) {
	instances := &bootview.Instances{}
	instances.Put(bootview.Instance{Name: "a", IPs: []string{addrA}, Fields: map[string]string{"server-name": "a"}})
	instances.SetSynced(true)
	expired := false
	s := newSite(t, func(c *Config) {
		c.Profiles, c.Instances, c.SecretsExpired = profiles(t, nil), instances, func() bool { return expired }
	})
	// None of them binds the boot of the machine, which whoever comes first would do.
	exchanges := []struct {
		path, from string
		secret     bool
	}{
		{"/ipxe/" + uuidA, addrA, true},
		{"/ignition/" + uuidA + "?token=" + tokenA, addrA, true},
		{"/ignition/" + uuidD, addrB, true},
		{"/ipxe/" + uuidD, addrB, true}, // somebody wrote it, and nobody knows what is in it
		{"/probe/" + uuidA, addrA, true},
		{"/config/" + configID("notes"), addrA, true},
		{"/v1/server-name", addrA, true},
		{"/ipxe/" + uuidB, addrB, false},
		{"/ipxe", addrA, false},
		{"/ipxe?uuid=" + uuidS, addrA, false},
		{"/httpboot", addrA, false},
		{"/image?x", addrA, false},
		{"/healthz", addrA, false},
	}
	for _, at := range []bool{false, true} {
		expired = at
		for _, e := range exchanges {
			w := s.do("GET", exchange{path: e.path, from: e.from, header: http.Header{metadataFlavor: {metadataMetal}}})
			switch refused := w.Code == http.StatusServiceUnavailable; {
			case refused != (e.secret && expired):
				t.Errorf("%s, expired %v: %d %s", e.path, expired, w.Code, w.Body)
			case refused && w.Header().Get("Retry-After") == "":
				t.Errorf("%s: the machine is not told to come back", e.path)
			}
		}
	}
}

func TestReadinessAndRevision(t *testing.T) {
	var down error
	revision := []string{"epoch/7"}
	s := newSite(t, func(c *Config) {
		c.Ready, c.Revision = func() error { return down }, func() []string { return revision }
	})
	s.view.SetSynced(false) // what Ready says counts
	for _, down = range []error{nil, errors.New("no manager is there")} {
		want, text := http.StatusOK, "ok\n"
		if down != nil {
			want, text = http.StatusServiceUnavailable, down.Error()+"\n"
		}
		w := s.do("GET", exchange{path: "/readyz"})
		if w.Code != want || w.Body.String() != text || w.Header().Get("Farrier-View-Revision") != "epoch/7" {
			t.Errorf("%v: %d %q %v", down, w.Code, w.Body, w.Header())
		}
	}
	for _, path := range []string{"/ipxe/" + uuidA, "/nothing", "/healthz"} {
		if w := s.do("GET", exchange{path: path}); w.Header().Get("Farrier-View-Revision") != "epoch/7" {
			t.Errorf("%s: no revision in %v", path, w.Header())
		}
	}
	s.view.SetSynced(true)
	r := httptest.NewRequest(http.MethodGet, "/ipxe", nil)
	r.RemoteAddr = stranger + ":50000"
	w := &reused{header: http.Header{}}
	if got := testing.AllocsPerRun(200, func() { s.ServeHTTP(w, r) }); got > 3 { // two, and what the test itself keeps of deliveries
		t.Errorf("%v allocations with a revision", got)
	}
}

// bound is what Config.Bound was told of.
type bound struct {
	Entry, Attempt, From string
	Proven               bool
}

// TestWhoBootsIsTold: when the boot is bound, and when the machine comes from elsewhere; not at every request.
func TestWhoBootsIsTold(t *testing.T) {
	var told []bound
	var sighted []string
	s := newSite(t, func(c *Config) {
		c.Neighbour = func(netip.Addr) string { return macA }
		c.Bound = func(entry, attempt string, by bootview.Caller, proven bool) {
			told = append(told, bound{entry, attempt, by.Addr.String(), proven})
		}
		c.Sighted = func(u bootview.UnknownMachine) { sighted = append(sighted, u.UUID) }
	})
	for _, from := range []string{addrA, addrA, "10.0.0.20", "10.0.0.20"} {
		s.do("GET", exchange{path: "/ipxe/" + uuidA, from: from})
	}
	want := []bound{{"IPXEBootConfig/ns/a", "attempt-a", addrA, false}, {"IPXEBootConfig/ns/a", "attempt-a", "10.0.0.20", false}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told of bindings (-want +got):\n%s", diff)
	}
	s.do("GET", exchange{path: "/ipxe/" + uuidX})
	s.do("GET", exchange{path: "/ipxe/" + uuidX})
	if diff := cmp.Diff([]string{uuidX, uuidX}, sighted); diff != "" {
		t.Errorf("told of unknown machines (-want +got):\n%s", diff)
	}
}
