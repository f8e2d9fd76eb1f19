package registry

import (
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/signature"
)

const signPredicate = "https://sigstore.dev/cosign/sign/v1"

// signing is a registry with an image, a client that wants it signed, and who may sign it.
type signing struct {
	*localregistry.Registry
	signer     *imagetest.Signer
	client     *Client
	repository string
	pushed     localregistry.Pushed
}

func newSigning(t *testing.T, middleware ...localregistry.Middleware) signing {
	t.Helper()
	s := signing{Registry: imagetest.StartRegistry(t, middleware...), signer: imagetest.NewSigner(t)}
	s.repository = s.Address() + "/org/os"
	s.pushed = imagetest.Push(t, s.Registry, "v1", imagetest.Tiny("a"))
	o := registryOptions(s.Registry)
	o.SignatureKeys = s.signer.Keys(t)
	s.client = signedClient(t, o)
	return s
}

func signedClient(t *testing.T, o Options) *Client {
	t.Helper()
	client, err := NewClient(o.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (s signing) resolve(t *testing.T, reference string) error {
	t.Helper()
	ref, err := ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.client.Resolve(t.Context(), s.client.Anonymous, ref, "amd64")
	return err
}

func TestSignedImages(t *testing.T) {
	for name, sign := range map[string]func(*testing.T, signing){
		"simple signing": func(t *testing.T, s signing) {
			imagetest.PushSimple(t, s.repository, s.pushed.Digest, s.signer.SimpleLayer(t, s.pushed.Digest))
		},
		"simple signing, after a stranger's": func(t *testing.T, s signing) {
			imagetest.PushSimple(t, s.repository, s.pushed.Digest, imagetest.NewSigner(t).SimpleLayer(t, s.pushed.Digest), s.signer.SimpleLayer(t, s.pushed.Digest))
		},
		"bundle": func(t *testing.T, s signing) {
			imagetest.PushBundle(t, s.repository, s.pushed.Digest, s.signer.Bundle(t, s.pushed.Digest, signPredicate))
		},
		"bundle, after a bill of materials": func(t *testing.T, s signing) {
			imagetest.PushBundle(t, s.repository, s.pushed.Digest, s.signer.Bundle(t, s.pushed.Digest, "https://spdx.dev/Document"))
			imagetest.PushBundle(t, s.repository, s.pushed.Digest, s.signer.Bundle(t, s.pushed.Digest, signPredicate))
		},
		"simple signing that is broken, and a bundle": func(t *testing.T, s signing) {
			imagetest.PushSimple(t, s.repository, s.pushed.Digest)
			imagetest.PushBundle(t, s.repository, s.pushed.Digest, s.signer.Bundle(t, s.pushed.Digest, signPredicate))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigning(t)
			if err := s.resolve(t, s.pushed.Reference); !errors.Is(err, ErrUnsigned) || !strings.Contains(err.Error(), "has no signature") {
				t.Fatalf("before it is signed: %v", err)
			}
			sign(t, s)
			if err := s.resolve(t, s.pushed.Reference); err != nil {
				t.Errorf("signed: %v", err)
			}
			// What is known to be signed needs no further request.
			asked := s.Counts().Manifests
			if err := s.resolve(t, s.repository+"@"+s.pushed.Digest); err != nil {
				t.Errorf("again, by digest: %v", err)
			}
			if n := s.Counts().Manifests - asked; n != 1 {
				t.Errorf("%d manifests fetched, want that of the image alone", n)
			}
		})
	}
}

func TestUnsignedImages(t *testing.T) {
	for name, tt := range map[string]struct {
		sign func(*testing.T, signing)
		says string
	}{
		"another key": {func(t *testing.T, s signing) {
			imagetest.PushSimple(t, s.repository, s.pushed.Digest, imagetest.NewSigner(t).SimpleLayer(t, s.pushed.Digest))
		}, signature.ErrUntrusted.Error()},
		"a bundle of another key": {func(t *testing.T, s signing) {
			imagetest.PushBundle(t, s.repository, s.pushed.Digest, imagetest.NewSigner(t).Bundle(t, s.pushed.Digest, signPredicate))
		}, signature.ErrUntrusted.Error()},
		"the signature of another image": {func(t *testing.T, s signing) {
			other := imagetest.Push(t, s.Registry, "v2", imagetest.Tiny("b"))
			imagetest.PushSimple(t, s.repository, s.pushed.Digest, s.signer.SimpleLayer(t, other.Digest))
		}, signature.ErrOtherImage.Error()},
		"the bundle of another image": {func(t *testing.T, s signing) {
			other := imagetest.Push(t, s.Registry, "v2", imagetest.Tiny("b"))
			imagetest.PushBundle(t, s.repository, s.pushed.Digest, s.signer.Bundle(t, other.Digest, signPredicate))
		}, "other images"},
		"a bill of materials": {func(t *testing.T, s signing) {
			imagetest.PushBundle(t, s.repository, s.pushed.Digest, s.signer.Bundle(t, s.pushed.Digest, "https://spdx.dev/Document"))
		}, "https://spdx.dev/Document"},
		"a signature that is not base64": {func(t *testing.T, s signing) {
			layer := s.signer.SimpleLayer(t, s.pushed.Digest)
			layer.Annotations = map[string]string{signature.SimpleAnnotation: "?"}
			imagetest.PushSimple(t, s.repository, s.pushed.Digest, layer)
		}, signature.SimpleAnnotation},
		"a payload of megabytes": {func(t *testing.T, s signing) {
			payload := []byte(strings.Repeat(" ", maxSignature+1))
			imagetest.PushSimple(t, s.repository, s.pushed.Digest, mutate.Addendum{
				Layer: static.NewLayer(payload, signature.SimpleType), MediaType: signature.SimpleType,
				Annotations: map[string]string{signature.SimpleAnnotation: base64.StdEncoding.EncodeToString(s.signer.Sign(t, payload))},
			})
		}, "more than"},
		"too many signatures": {func(t *testing.T, s signing) {
			stranger := imagetest.NewSigner(t)
			var layers []mutate.Addendum
			for range maxSignatures {
				layers = append(layers, stranger.SimpleLayer(t, s.pushed.Digest))
			}
			imagetest.PushSimple(t, s.repository, s.pushed.Digest, append(layers, s.signer.SimpleLayer(t, s.pushed.Digest))...)
		}, "only 32 are looked at"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigning(t)
			tt.sign(t, s)
			err := s.resolve(t, s.pushed.Reference)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("error %v, want one with %q", err, tt.says)
			}
			if name != "a payload of megabytes" && (!errors.Is(err, ErrUnsigned) || !strings.Contains(err.Error(), s.pushed.Digest)) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestSignedIndexes: who signs an index signs its images, and an image of it may be signed by itself.
func TestSignedIndexes(t *testing.T) {
	s := newSigning(t)
	entries, index, err := s.PushIndex(t.Context(), "org/os", "all", false,
		localregistry.Entry{Image: imagetest.Tiny("x"), Architecture: "amd64"}, localregistry.Entry{Image: imagetest.Tiny("y"), Architecture: "arm64"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.resolve(t, s.repository+":all"); !errors.Is(err, ErrUnsigned) || !strings.Contains(err.Error(), index) {
		t.Fatalf("unsigned: %v, want an error that names the index", err)
	}
	imagetest.PushSimple(t, s.repository, entries[1].Digest, s.signer.SimpleLayer(t, entries[1].Digest))
	if err := s.resolve(t, s.repository+":all"); !errors.Is(err, ErrUnsigned) {
		t.Errorf("with another architecture signed: %v", err)
	}
	imagetest.PushSimple(t, s.repository, entries[0].Digest, s.signer.SimpleLayer(t, entries[0].Digest))
	if err := s.resolve(t, s.repository+":all"); err != nil {
		t.Errorf("with its architecture signed: %v", err)
	}

	s.client = signedClient(t, Options{AllowedRegistries: []string{s.Address()}, PlainHTTP: []string{s.Address()}, SignatureKeys: s.signer.Keys(t)})
	imagetest.PushSimple(t, s.repository, entries[0].Digest)
	imagetest.PushSimple(t, s.repository, index, s.signer.SimpleLayer(t, index))
	if err := s.resolve(t, s.repository+":all"); err != nil {
		t.Errorf("with the index signed: %v", err)
	}
}

// TestReferrersOfARegistry: a registry that lists referrers is asked for them.
func TestReferrersOfARegistry(t *testing.T) {
	var asked []string
	handler := registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/referrers/") {
			asked = append(asked, r.URL.Query().Get("artifactType"))
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	source := newSigning(t)
	address := strings.TrimPrefix(server.URL, "http://")
	imagetest.Copy(t, source.pushed.Reference, address+"/org/os:v1")
	repository := address + "/org/os"
	imagetest.PushBundle(t, repository, source.pushed.Digest, source.signer.Bundle(t, source.pushed.Digest, signPredicate))
	source.client = signedClient(t, Options{AllowedRegistries: []string{address}, PlainHTTP: []string{address}, SignatureKeys: source.signer.Keys(t)})
	if err := source.resolve(t, repository+":v1"); err != nil {
		t.Error(err)
	}
	if !slices.Contains(asked, imagetest.BundleType) {
		t.Errorf("referrers asked for: %q", asked)
	}
}

// TestARegistryThatFailsIsNoMissingSignature: nobody is told to sign an image because a registry is away.
func TestARegistryThatFailsIsNoMissingSignature(t *testing.T) {
	for _, path := range []string{".sig", "/referrers/"} {
		s := newSigning(t, imagetest.OnPath(path, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}))
		if err := s.resolve(t, s.pushed.Reference); !errors.Is(err, ErrUnreachable) || errors.Is(err, ErrUnsigned) {
			t.Errorf("%s fails: %v", path, err)
		}
	}
}

// TestAResolverTriesAgainOnceAnImageIsSigned: signing comes after pushing.
func TestAResolverTriesAgainOnceAnImageIsSigned(t *testing.T) {
	s := newSigning(t)
	o := registryOptions(s.Registry)
	o.SignatureKeys = s.signer.Keys(t)
	r := startResolver(t, o)
	request := Request{Reference: s.pushed.Reference}
	if got := r.resolve(t, request); !errors.Is(got.Err, ErrUnsigned) || got.Plan != (Plan{}) {
		t.Fatalf("before it is signed: %+v", got)
	}
	imagetest.PushSimple(t, s.repository, s.pushed.Digest, s.signer.SimpleLayer(t, s.pushed.Digest))
	r.advance(t, time.Second)
	if got := r.await(t, request); got.Err != nil || got.Plan.Digest != s.pushed.Digest {
		t.Errorf("signed: %+v", got)
	}
}
