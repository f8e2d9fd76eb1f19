package bootserver

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArtifacts(t *testing.T) {
	s := newSite(t, nil)
	s.run(t, []exchange{
		{name: "layer", path: "/image?imageName=x", status: 200, headers: map[string]string{"Accept-Ranges": "bytes"}, want: "imageName=x"},
		{name: "range", path: "/image?imageName=x", header: http.Header{"Range": {"bytes=0-4"}}, status: 206,
			headers: map[string]string{"Content-Range": "bytes 0-4/11"}, want: "image"},
		{name: "UKI", path: "/httpboot/host/repo/sha256-aa.efi", status: 200, headers: map[string]string{"Content-Type": "application/efi"},
			want: "/httpboot/host/repo/sha256-aa.efi"},
	})
	newSite(t, func(c *Config) { c.Blobs = nil }).run(t, []exchange{
		{name: "no blobs, layer", path: "/image?imageName=x", status: 404, want: textNotFound},
		{name: "no blobs, UKI", path: "/httpboot/x.efi", status: 404, want: textNotFound},
	})
}

func TestArtifactDeliveries(t *testing.T) {
	s := newSite(t, nil)
	s.do("GET", exchange{path: "/ipxe/" + uuidA, from: addrA})
	s.takeDelivered()
	var sizes []int64
	for _, e := range []exchange{
		{path: "/image?x", from: addrA},
		{path: "/image", from: addrA},
		{path: "/httpboot/x.efi", from: addrA, header: http.Header{"Range": {"bytes=0-1"}}},
		{path: "/image?x", from: stranger},
	} {
		sizes = append(sizes, int64(s.do("GET", e).Body.Len()))
		s.do("HEAD", e)
	}
	a := Delivery{Kind: Artifact, Entry: "IPXEBootConfig/ns/a", UUID: uuidA, Attempt: "attempt-a", Addr: addrA, Time: now, Status: 200}
	missing, uki := a, a
	missing.Status = 404
	uki.Kind, uki.Entry, uki.Status = UKI, "HTTPBootConfig/ns/a", 206
	want := []Delivery{a, missing, uki, {Kind: Artifact, Addr: stranger, Time: now, Status: 200}}
	for i := range want {
		want[i].Bytes = sizes[i]
	}
	if diff := cmp.Diff(want, s.takeDelivered()); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}
