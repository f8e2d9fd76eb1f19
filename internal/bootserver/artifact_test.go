package bootserver

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
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

// readFromRecorder sees what reaches the writer that could use sendfile(2).
type readFromRecorder struct {
	*httptest.ResponseRecorder
	sources []io.Reader
}

func (w *readFromRecorder) ReadFrom(r io.Reader) (int64, error) {
	w.sources = append(w.sources, r)
	return io.Copy(w.ResponseRecorder, r)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("disk gone") }

func TestProgressWriter(t *testing.T) {
	content := bytes.Repeat([]byte("farrier!"), (2*chunk+24)/8)
	file := bytes.NewReader(content)
	under := &readFromRecorder{ResponseRecorder: httptest.NewRecorder()}
	w := &progressWriter{ResponseWriter: under}
	n, err := io.CopyN(w, struct{ io.Reader }{file}, int64(len(content))-8)
	if err != nil || n != int64(len(content))-8 {
		t.Fatalf("copied %d, %v", n, err)
	}
	if !bytes.Equal(under.Body.Bytes(), content[:n]) {
		t.Error("other bytes arrived")
	}
	if len(under.sources) != 3 {
		t.Errorf("%d parts, want 3", len(under.sources))
	}
	for _, source := range under.sources {
		limited, ok := source.(*io.LimitedReader)
		if !ok {
			t.Fatalf("part is a %T", source)
		}
		if _, nested := limited.R.(*io.LimitedReader); nested {
			t.Error("a limited reader in a limited reader hides the file")
		}
	}
	if n, err := w.ReadFrom(file); n != 8 || err != nil {
		t.Errorf("rest: %d, %v", n, err)
	}
	if _, err := w.ReadFrom(failing{}); err == nil {
		t.Error("the error of the source is lost")
	}
}
