package acceptance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	testlab "github.com/farrier-dev/farrier/test/lab"
)

const contestedUUID = "5e1f0000-0000-4000-8000-00000000d0d0"

func handWritten(name, kernel string) *bootv1.IPXEBootConfig {
	c := &bootv1.IPXEBootConfig{ObjectMeta: objectMeta("default", name)}
	c.Spec.SystemUUID, c.Spec.KernelURL, c.Spec.InitrdURL = contestedUUID, kernel, "http://192.0.2.1/initrd"
	return c
}

// TestTwoConfigsOfOneMachine: neither is picked; both say so, and whichever goes, the other is served and says that.
func TestTwoConfigsOfOneMachine(t *testing.T) {
	p := newLab(t, 1).up(t)
	for _, kernel := range []string{"http://192.0.2.1/kernel\nshell", "http://192.0.2.1/kernel\x00", "http://192.0.2.1/\x7f"} {
		if err := p.Create(t.Context(), handWritten("evil", kernel)); err == nil || !strings.Contains(err.Error(), "spec.kernelURL") {
			t.Errorf("%q: %v", kernel, err)
		}
	}
	answers := func(status int, part string) {
		t.Helper()
		p.Eventually(fmt.Sprintf("the machine is answered %d", status), func(ctx context.Context) error {
			response, body, err := ask(ctx, http.MethodGet, p.Boot+"/ipxe/"+contestedUUID, nil)
			if err == nil && (response.StatusCode != status || !strings.Contains(body, part)) {
				err = fmt.Errorf("%s: %s", response.Status, body)
			}
			return err
		})
	}
	says := func(name string, state bootv1.IPXEBootConfigState, part string) {
		t.Helper()
		p.Eventually(name+" is "+string(state), func(ctx context.Context) error {
			var c bootv1.IPXEBootConfig
			if err := p.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, &c); err != nil {
				return err
			}
			ready := apimeta.FindStatusCondition(c.Status.Conditions, metalv1.ConditionReady)
			if c.Status.State != state || ready == nil || !strings.Contains(ready.Message, part) ||
				(ready.Status == metav1.ConditionTrue) != (state == bootv1.IPXEBootConfigStateReady) {
				return fmt.Errorf("%s: %s", c.Status.State, testlab.ConditionsText(c.Status.Conditions))
			}
			return nil
		})
	}
	answers(http.StatusNotFound, "Resource Not Found")
	create := func(name string) {
		t.Helper()
		if err := p.Create(t.Context(), handWritten(name, "http://192.0.2.1/kernel-of-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	create("one")
	says("one", bootv1.IPXEBootConfigStateReady, "")
	answers(http.StatusOK, "kernel-of-one")
	other := map[string]string{"one": "two", "two": "one"}
	create("two")
	for _, gone := range []string{"one", "two"} {
		answers(http.StatusConflict, "Conflict")
		for name := range other {
			says(name, bootv1.IPXEBootConfigStateError, "IPXEBootConfig/default/"+other[name])
		}
		if err := p.Delete(t.Context(), handWritten(gone, "")); err != nil {
			t.Fatal(err)
		}
		says(other[gone], bootv1.IPXEBootConfigStateReady, "")
		answers(http.StatusOK, "kernel-of-"+other[gone])
		if gone == "one" {
			create("one")
		}
	}
}

// TestPinnedImagesAreKept: they are fetched before anybody asks, and their registry is asked once.
func TestPinnedImagesAreKept(t *testing.T) {
	l := newLab(t, 1)
	pushed, err := l.Registry.Push(t.Context(), "org/pinned", "1", localregistry.SmallImage(11))
	if err != nil {
		t.Fatal(err)
	}
	p := l.up(t, "--pinned-images", l.Registry.Reference("org/pinned", "1"))
	p.Eventually("the layers are fetched", func(context.Context) error {
		if got := l.Registry.Counts(); got.Blobs < 3 {
			return fmt.Errorf("%d of 3 downloads", got.Blobs)
		}
		return nil
	})
	// Each is joined while it comes, and the registry is not asked again.
	for _, digest := range []string{pushed.Squashfs, pushed.Kernel, pushed.Initramfs} {
		path := "/image?" + url.Values{"imageName": {l.Registry.Address() + "/org/pinned"}, "layerDigest": {digest}, "version": {"1"}}.Encode()
		p.Eventually("a pinned layer", func(ctx context.Context) error {
			response, _, err := ask(ctx, http.MethodGet, p.Boot+path, nil)
			if err == nil && response.StatusCode != http.StatusOK {
				err = errors.New(response.Status)
			}
			return err
		})
	}
	if got := l.Registry.Counts(); got.Blobs != 3 {
		t.Errorf("%d downloads of three layers", got.Blobs)
	}
}

// TestWhatTheProductAnswers: statuses, lengths and types over a real listener, by GET and HEAD, with a real registry
// behind it. Bodies and the rest are in internal/bootserver.
func TestWhatTheProductAnswers(t *testing.T) {
	l := newLab(t, 1)
	pushed, err := l.Registry.Push(t.Context(), "org/uki", "1", localregistry.SmallUKI(9))
	if err != nil {
		t.Fatal(err)
	}
	p := l.up(t, "--default-httpboot-oci-image", l.Registry.Reference("org/uki", "1"))
	uki := "/httpboot/" + l.Registry.Address() + "/org/uki/sha256-" + strings.TrimPrefix(pushed.UKI, "sha256:") + ".efi"
	image := func(name, digest string) string {
		return "/image?" + url.Values{"imageName": {name}, "layerDigest": {digest}, "version": {pushed.Digest}}.Encode()
	}
	ours := l.Registry.Address() + "/org/uki"
	p.Eventually("the default UKI is resolved", func(ctx context.Context) error {
		response, body, err := ask(ctx, http.MethodGet, p.Boot+"/httpboot", nil)
		if err == nil && (response.StatusCode != http.StatusOK || !strings.Contains(body, uki)) {
			err = fmt.Errorf("%s: %s", response.Status, body)
		}
		return err
	})
	const text, binary, size = "text/plain; charset=utf-8", "application/octet-stream", -1
	for _, c := range []struct {
		path        string
		status      int
		contentType string
		length      int // -1: any
	}{
		{"/ipxe", 200, "text/plain", size},
		{"/ipxe/", 200, "text/plain", size},
		{"/ipxe/" + contestedUUID, 404, text, len("Resource Not Found\n")},
		{"/ipxe/%2e%2e/%2e%2e/etc/passwd", 404, text, len("Resource Not Found\n")},
		{"/boot.ipxe", 200, "text/plain", size},
		{"/ipxe?mac=02-00-00-00-00-01", 503, "application/json", size},
		{"/ignition/" + contestedUUID, 404, text, len("Resource Not Found\n")},
		{"/httpboot", 200, "application/json", size},
		{uki, 200, "application/efi", len(localregistry.SmallUKI(9).UKI)},
		{image(ours, pushed.UKI), 200, binary, len(localregistry.SmallUKI(9).UKI)},
		{"/image?" + url.Values{"imageName": {ours}, "layerName": {"uki"}, "version": {"1"}}.Encode(), 200, binary, len(localregistry.SmallUKI(9).UKI)},
		{"/image", 404, text, size},
		{image(ours, "sha256:"+strings.Repeat("0", 64)), 404, text, size},
		{image(ours, "sha256:../../../../etc/passwd"), 400, text, size},
		{image(ours, "md5:00"), 400, text, size},
		{image("elsewhere.example/os", pushed.UKI), 403, text, size},
		{"/httpboot/elsewhere.example/os/sha256-" + strings.Repeat("0", 64) + ".efi", 403, text, size},
		{"/config/5e1f0000-0000-4000-8000-00000000d0d1", 404, "application/json", size},
		{"/probe/" + contestedUUID, 404, text, size},
		{"/boot/x86_64/snponly.efi", 404, text, size},
		{"/v1/", 404, text, size},
		{"/healthz", 200, text, len("ok\n")},
		{"/readyz", 200, text, len("ok\n")},
		{"/", 404, text, size},
	} {
		lengths := map[string]string{}
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			response, body, err := ask(t.Context(), method, p.Boot+c.path, nil)
			if err != nil {
				t.Errorf("%s %s: %v", method, c.path, err)
				continue
			}
			length := response.Header.Get("Content-Length")
			if method == http.MethodGet && strconv.Itoa(len(body)) != length || method == http.MethodHead && body != "" {
				t.Errorf("%s %s: %d bytes, Content-Length %q", method, c.path, len(body), length)
			}
			if response.StatusCode != c.status || response.Header.Get("Content-Type") != c.contentType || response.Header.Get("Location") != "" ||
				c.length >= 0 && length != strconv.Itoa(c.length) {
				t.Errorf("%s %s: %s %v %q", method, c.path, response.Status, response.Header, body[:min(len(body), 200)])
			}
			lengths[method] = length
		}
		if lengths[http.MethodGet] != lengths[http.MethodHead] {
			t.Errorf("%s: lengths %v", c.path, lengths)
		}
		if response, _, err := ask(t.Context(), http.MethodDelete, p.Boot+c.path, nil); err != nil || response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("DELETE %s: %+v, %v", c.path, response, err)
		}
	}
}
