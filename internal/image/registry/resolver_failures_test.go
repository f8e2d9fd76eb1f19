package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
)

func TestResolverRefusesAtOnce(t *testing.T) {
	r := startResolver(t, Options{})
	for reference, want := range map[string]error{
		"ghcr.io/Org/os:v1":         ErrInvalidReference,
		"quay.io/org/os:v1":         ErrNotAllowed,
		"ghcr.io:5000/org/os:v1":    ErrNotAllowed,
		"ghcr.io.evil.example/os:1": ErrNotAllowed,
		"debian:13":                 ErrNotAllowed,
	} {
		result, ok := r.Lookup(Request{Reference: reference})
		if !ok || !errors.Is(result.Err, want) {
			t.Errorf("%s: %+v, %v; want %v at once", reference, result, ok, want)
		}
	}
	for _, o := range []Options{{AllowedRegistries: []string{"a b"}}, {PlainHTTP: []string{"x:y"}}} {
		if _, err := NewResolver(o); err == nil {
			t.Errorf("options %+v were accepted", o)
		}
	}
}

func TestResolverNamesMissingLayer(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	pushed := imagetest.Push(t, remote, "v1", localregistry.Image{Kernel: []byte("k")})
	r := startResolver(t, registryOptions(remote))
	req := Request{Reference: pushed.Reference}
	got := r.resolve(t, req)
	missing, ok := errors.AsType[ErrMissingLayer](got.Err)
	if !ok || missing.Layer != "initramfs" || missing.Image != pushed.Reference {
		t.Fatalf("error %v", got.Err)
	}
	// Somebody mends the image.
	imagetest.Push(t, remote, "v1", imagetest.Tiny("a"))
	r.advance(t, time.Second)
	if got := r.await(t, req); got.Err != nil || !got.Plan.Has(KernelSet) {
		t.Errorf("after the image was mended: %+v", got)
	}
}

func TestResolverKeepsTheLastGoodAnswer(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	pushed := imagetest.Push(t, remote, "v1", imagetest.Tiny("a"))
	r := startResolver(t, registryOptions(remote))
	req := Request{Reference: pushed.Reference}
	good := r.resolve(t, req)

	remote.SetAway(true)
	r.advance(t, r.opts.Refresh)
	got := r.await(t, req)
	if !errors.Is(got.Err, ErrUnreachable) {
		t.Errorf("error %v, want %v", got.Err, ErrUnreachable)
	}
	got.Err = nil
	if diff := cmp.Diff(good, got); diff != "" {
		t.Errorf("the last good answer (-want +got):\n%s", diff)
	}
	// More failures of the same kind are no news.
	for range 3 {
		r.advance(t, r.opts.MaxBackoff)
	}
	remote.SetAway(false)
	r.advance(t, r.opts.MaxBackoff)
	if got := r.await(t, req); got.Err != nil || got.Plan.Digest != pushed.Digest || !got.At.After(good.At) {
		t.Errorf("after the registry came back: %+v", got)
	}
	// Somebody withdraws the image.
	if err := remote.Withdraw(t.Context(), "org/os", "v1"); err != nil {
		t.Fatal(err)
	}
	r.advance(t, r.opts.Refresh)
	if got := r.await(t, req); !errors.Is(got.Err, ErrNotFound) || got.Plan.Digest != pushed.Digest {
		t.Errorf("after the image was withdrawn: %+v", got)
	}
}

func TestResolverRecoversFromTheStart(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	pushed := imagetest.Push(t, remote, "v1", imagetest.Tiny("a"))
	remote.SetAway(true)
	r := startResolver(t, registryOptions(remote))
	req := Request{Reference: pushed.Reference}
	if got := r.resolve(t, req); !errors.Is(got.Err, ErrUnreachable) || got.Plan != (Plan{}) || !got.At.IsZero() {
		t.Errorf("while the registry is away: %+v", got)
	}
	remote.SetAway(false)
	r.advance(t, r.opts.MinBackoff)
	if got := r.await(t, req); got.Err != nil || got.Plan.Digest != pushed.Digest {
		t.Errorf("after the registry came back: %+v", got)
	}
}

func TestResolverClassifiesFailures(t *testing.T) {
	answer := func(status int) func(http.Handler, http.ResponseWriter, *http.Request) {
		return func(_ http.Handler, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	for _, tt := range []struct {
		name   string
		handle func(http.Handler, http.ResponseWriter, *http.Request)
		want   error
	}{
		{"corrupt", imagetest.Corrupt, ErrCorrupt},
		{"denied", answer(http.StatusForbidden), ErrDenied},
		{"failing", answer(http.StatusInternalServerError), ErrUnreachable},
		{"not found", answer(http.StatusNotFound), ErrNotFound},
		{"moved without a place", answer(http.StatusFound), ErrUnreachable},
		{"HTML", func(_ http.Handler, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>welcome</html>") }, ErrInvalidManifest},
		{"too large", func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
			for range maxManifest/1024 + 1 {
				fmt.Fprint(w, strings.Repeat(" ", 1024))
			}
		}, ErrInvalidManifest},
		{"hanging", func(_ http.Handler, _ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, context.DeadlineExceeded},
		{"cut off", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "{")
		}, ErrUnreachable},
		{"redirect loop", func(_ http.Handler, w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, req.URL.Path, http.StatusTemporaryRedirect)
		}, ErrUnreachable},
		{"redirect to a neighbour", func(_ http.Handler, w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
		}, ErrUnreachable},
		{"redirect to this host", func(_ http.Handler, w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "http://localhost:1/", http.StatusTemporaryRedirect)
		}, ErrUnreachable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			remote := imagetest.StartRegistry(t, imagetest.OnPath("/manifests/", tt.handle))
			imagetest.Push(t, remote, "v1", imagetest.Tiny("a"))
			o := registryOptions(remote)
			if tt.name == "hanging" {
				o.Timeout = 50 * time.Millisecond
			}
			r := startResolver(t, o)
			got := r.resolve(t, Request{Reference: remote.Reference("org/os", "v1")})
			if !errors.Is(got.Err, tt.want) {
				t.Errorf("error %v, want %v", got.Err, tt.want)
			}
			if strings.HasPrefix(tt.name, "redirect to") && !strings.Contains(got.Err.Error(), "loopback or link-local") {
				t.Errorf("error %v does not say why", got.Err)
			}
		})
	}
}
