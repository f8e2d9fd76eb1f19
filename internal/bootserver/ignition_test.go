package bootserver

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bootview"
)

func TestIgnition(t *testing.T) {
	json := map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"}
	s := newSite(t, nil)
	s.run(t, []exchange{
		{name: "with token", path: "/ignition/" + uuidA + "?token=" + tokenA, status: 200, headers: json, want: `{"ignition":{"version":"3.4.0"}}`},
		{name: "upper case", path: "/ignition/4C4C4544-0043-3510-8052-B7C04F4E4D32?token=" + tokenA, status: 200, headers: json, want: `{"ignition":{"version":"3.4.0"}}`},
		{name: "token of a machine without UUID", path: "/ignition/?token=" + tokenA, status: 200, headers: json, want: `{"ignition":{"version":"3.4.0"}}`},
		{name: "bytes as they are", path: "/ignition/" + uuidD, status: 200,
			headers: map[string]string{"Content-Type": "text/cloud-config"}, want: "#cloud-config"},
		{name: "unknown", path: "/ignition/" + uuidX, status: 404, want: textNotFound},
		{name: "no UUID", path: "/ignition/", status: 404, want: textNotFound},
		{name: "none referenced", path: "/ignition/" + uuidE, status: 404, want: textNotFound},
		{name: "conflict", path: "/ignition/" + uuidC, status: 409, want: textConflict},
	})
	for _, err := range []error{fmt.Errorf("secret x: %w", bootview.ErrIgnitionMissing), bootview.ErrIgnitionWithheld, errors.New("line 3: password: hunter2")} {
		s.view.Put(bootview.Entry{Name: "IPXEBootConfig/ns/d", UUID: uuidD, Rank: bootview.HandWritten, Ignition: &bootview.Ignition{Err: err}})
		want := exchange{name: "cannot be translated", path: "/ignition/" + uuidD, status: 500, want: textBadIgnition}
		if errors.Is(err, bootview.ErrIgnitionMissing) {
			want = exchange{name: "missing", path: "/ignition/" + uuidD, status: 404, want: textNotFound}
		}
		if errors.Is(err, bootview.ErrIgnitionWithheld) {
			want = exchange{name: "withheld", path: "/ignition/" + uuidD, status: 503, want: textWithheld}
		}
		s.run(t, []exchange{want})
	}
}

// TestWhoMayReadIgnition: each reader comes to a site of its own, some after a machine has fetched its script from an address.
func TestWhoMayReadIgnition(t *testing.T) {
	readers := []struct{ name, uuid, token, from, script string }{
		{"token", uuidA, tokenA, addrA, addrA},
		{"token, after a restart", uuidA, tokenA, stranger, ""},
		{"token, from another address", uuidA, tokenA, stranger, addrA},
		{"token, from another machine's address", uuidA, tokenA, addrB, ""},
		{"no token, nobody has the script", uuidA, "", stranger, ""},
		{"no token, own address, nobody has the script", uuidA, "", addrA, ""},
		{"no token", uuidA, "", addrA, addrA},
		{"no token, where a machine boots that nobody has seen before", uuidA, "", stranger, stranger},
		{"no token, another address", uuidA, "", stranger, addrA},
		{"no token, another machine's address", uuidA, "", addrB, addrA},
		{"wrong token", uuidA, "token-of-an-earlier-attempt", addrA, addrA},
		{"attempt closed, token", uuidB, "token-of-b", addrB, addrB},
		{"attempt closed, no token", uuidB, "", addrB, addrB},
		{"no attempt of ours", uuidD, "", stranger, ""},
		{"no attempt of ours, another machine's address", uuidD, "", addrA, ""},
		{"no attempt of ours, some token", uuidD, "x", stranger, ""},
	}
	for access, allowed := range map[Access][]int{
		AccessToken:    {200, 200, 403, 403, 403, 403, 403, 403, 403, 403, 403, 403, 403, 403, 403, 403},
		AccessExpected: {200, 200, 403, 403, 403, 403, 200, 200, 403, 403, 403, 403, 403, 200, 403, 200},
		AccessOpen:     {200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200},
	} {
		for i, r := range readers {
			t.Run(string(access)+"/"+r.name, func(t *testing.T) {
				s := newSite(t, func(c *Config) { c.IgnitionAccess = access })
				if r.script != "" {
					s.do("GET", exchange{path: "/ipxe/" + r.uuid, from: r.script})
				}
				path := "/ignition/" + r.uuid
				if r.token != "" {
					path += "?token=" + r.token
				}
				if got := s.do("GET", exchange{path: path, from: r.from}); got.Code != allowed[i] {
					t.Errorf("status %d, want %d", got.Code, allowed[i])
				}
			})
		}
	}
}

func TestIgnitionDeliveries(t *testing.T) {
	s := newSite(t, nil)
	s.boots(uuidA, stranger)
	s.takeDelivered()
	sizes := map[string]int64{}
	for _, path := range []string{"/ignition/" + uuidA, "/ignition/" + uuidB, "/ignition/" + uuidX} {
		sizes[path] = int64(s.do("GET", exchange{path: path}).Body.Len())
		s.do("HEAD", exchange{path: path})
	}
	want := []Delivery{
		{Kind: Ignition, Entry: "IPXEBootConfig/ns/a", UUID: uuidA, Attempt: "attempt-a", Addr: stranger, Time: now, Status: 200, Bytes: sizes["/ignition/"+uuidA]},
		{Kind: Ignition, Entry: "IPXEBootConfig/ns/b", UUID: uuidB, Attempt: "attempt-b", Addr: stranger, Time: now, Status: 403},
	}
	if diff := cmp.Diff(want, s.takeDelivered()); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

// TestHeaderNeverOpensIgnition: what a forwarder says about whom it asks for is not
// believed here.
func TestHeaderNeverOpensIgnition(t *testing.T) {
	s := newSite(t, nil)
	s.boots(uuidA, dhcpServer)
	for _, from := range []string{dhcpServer, addrB, stranger} {
		want := map[string]int{dhcpServer: 200, addrB: 403, stranger: 403}[from]
		got := s.do("GET", exchange{path: "/ignition/" + uuidA, from: from, header: map[string][]string{"X-Forwarded-For": {addrA}}})
		if got.Code != want {
			t.Errorf("from %s: status %d, want %d", from, got.Code, want)
		}
	}
}
