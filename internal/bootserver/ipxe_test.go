package bootserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIPXE(t *testing.T) {
	script := map[string]string{"Content-Type": "text/plain", "Cache-Control": "no-store"}
	plain := map[string]string{"Content-Type": "text/plain; charset=utf-8", "Retry-After": ""}
	s := newSite(t, nil)
	s.run(t, []exchange{
		{name: "chainload", path: "/ipxe", status: 200, headers: script, want: "golden:chainload.ipxe"},
		{name: "chainload with slash", path: "/ipxe/", status: 200, headers: script, want: "golden:chainload.ipxe"},
		{name: "labels of a machine with a boot configuration", path: "/ipxe?uuid=" + uuidA, status: 200, headers: script, want: "golden:script-a.ipxe"},
		{name: "script", path: "/ipxe/" + uuidA, status: 200, headers: script, want: "golden:script-a.ipxe"},
		{name: "upper case", path: "/ipxe/4C4C4544-0043-3510-8052-B7C04F4E4D32", status: 200, headers: script, want: "golden:script-a.ipxe"},
		{name: "what the chainload script asks", path: "/ipxe/" + uuidA + "?mac=02-fa-44-00-00-0a&serial=SN-A", status: 200, headers: script, want: "golden:script-a.ipxe"},
		{name: "by MAC", path: "/ipxe/" + uuidX + "?mac=02-fa-44-00-00-0a&serial=", status: 200, headers: script, want: "golden:script-a.ipxe"},
		{name: "by serial", path: "/ipxe/?mac=02-fa-44-00-00-ff&serial=sn%2da", status: 200, headers: script, want: "golden:script-a.ipxe"},
		{name: "exit", path: "/ipxe/" + uuidB, status: 200, headers: script, want: "golden:exit.ipxe"},
		{name: "custom", path: "/ipxe/" + uuidD, status: 200, headers: script, want: customText},
		{name: "unknown", path: "/ipxe/" + uuidX, status: 404, headers: plain, want: textNotFound},
		{name: "unknown by everything", path: "/ipxe/?mac=%zz&serial=To+Be+Filled+By+O.E.M.", status: 404, headers: plain, want: textNotFound},
		{name: "no UUID", path: "/ipxe/nonsense", status: 404, headers: plain, want: textNotFound},
		{name: "machine without script", path: "/ipxe/" + uuidE, status: 404, headers: plain, want: textNotFound},
		{name: "conflict", path: "/ipxe/" + uuidC, status: 409, headers: plain, want: textConflict},
	})
}

func TestIPXEDisabled(t *testing.T) {
	newSite(t, func(c *Config) { c.BootURL = "" }).run(t, []exchange{
		{name: "chainload", path: "/ipxe", status: 503, want: textIPXEDisabled},
		{name: "script with holes", path: "/ipxe/" + uuidA, status: 503, want: textIPXEDisabled},
		{name: "script without", path: "/ipxe/" + uuidD, status: 200, want: customText},
	})
}

func TestScriptDeliveries(t *testing.T) {
	s := newSite(t, nil)
	sizes := map[string]int64{}
	for _, path := range []string{"/ipxe", "/ipxe/" + uuidA, "/ipxe/" + uuidX, "/ipxe/" + uuidC, "/ipxe/" + uuidE} {
		sizes[path] = int64(s.do("GET", exchange{path: path, from: "2001:db8::7"}).Body.Len())
		s.do("HEAD", exchange{path: path})
	}
	nobodys := Delivery{Kind: Chainload, Addr: "2001:db8::7", Time: now, Status: 200, Bytes: sizes["/ipxe"]}
	its := nobodys // once it has asked for its script
	its.UUID, its.Attempt = uuidA, "attempt-a"
	want := []Delivery{
		nobodys, its,
		{Kind: Script, Entry: "IPXEBootConfig/ns/a", UUID: uuidA, Attempt: "attempt-a", Addr: "2001:db8::7", Time: now, Status: 200, Bytes: sizes["/ipxe/"+uuidA]},
		{Kind: Script, UUID: uuidC, Addr: "2001:db8::7", Time: now, Status: 409},
		{Kind: Script, UUID: uuidE, Addr: "2001:db8::7", Time: now, Status: 404},
	}
	if diff := cmp.Diff(want, s.takeDelivered()); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}
