package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/farrier-dev/farrier/internal/cache/bounded"
	"github.com/farrier-dev/farrier/internal/image/signature"
)

const (
	// maxSignatures bounds how many signatures of an image are looked at. Whoever may push to its repository may add some.
	maxSignatures = 32
	// maxSignature bounds the payload or the bundle of one.
	maxSignature = 1 << 20
	// maxVerified bounds how many manifests are remembered as signed. One that is forgotten costs a few requests.
	maxVerified = 4096
)

// signers are who has to have signed images, and what they are known to have signed.
type signers struct {
	keys signature.Keys
	// verified has the digests of manifests. What a key has signed it has signed for good.
	verified *bounded.Cache[string, struct{}]
}

// newSigners returns nil where no signature is required.
func newSigners(keys signature.Keys) *signers {
	if keys.Empty() {
		return nil
	}
	return &signers{keys: keys, verified: bounded.NewCache[string, struct{}](maxVerified)}
}

// RequiresSignatures reports whether the client finds signed images only.
func (u *Client) RequiresSignatures() bool { return u.signers != nil }

// checkSigned refuses an image that is not signed as it has to be. Whoever signs an index signs the manifests that it names, by their digests.
func (u *Client) checkSigned(ctx context.Context, client *auth.Client, image Image) error {
	if u.signers == nil {
		return nil
	}
	digests := slices.DeleteFunc([]string{image.Index, image.Digest}, func(d string) bool { return d == "" })
	for _, digest := range digests {
		if _, ok := u.signers.verified.Get(digest); ok {
			return nil
		}
	}
	search := signatureSearch{Client: u, client: client, ref: image.Ref}
	for _, digest := range digests {
		if search.finds(ctx, digest) {
			u.signers.verified.Add(digest, struct{}{})
			return nil
		}
	}
	if search.failure != nil {
		return fmt.Errorf("signature of %s: %w", image.Ref, search.failure)
	}
	named := image.Ref.Name() + "@" + cmp.Or(image.Index, image.Digest)
	if search.refusal != nil {
		return fmt.Errorf("%w: signatures of %s: %d: %w", ErrUnsigned, named, search.found, search.refusal)
	}
	return fmt.Errorf("%w: %s has no signature", ErrUnsigned, named)
}

// signatureSearch looks for the signatures of manifests of a repository.
type signatureSearch struct {
	*Client
	client *auth.Client
	ref    Reference
	// found counts signatures, refusal says why the last of them does not count, failure what kept one from being read.
	found            int
	refusal, failure error
}

// finds reports whether a manifest has a signature that counts.
func (s *signatureSearch) finds(ctx context.Context, digest string) bool {
	return s.findsSimple(ctx, digest) || s.findsBundle(ctx, digest)
}

// findsSimple looks under the tag that cosign's first format has for signatures: sha256-<hex>.sig.
func (s *signatureSearch) findsSimple(ctx context.Context, digest string) bool {
	m, ok := s.read(ctx, signatureTag(digest)+".sig")
	if !ok {
		return false
	}
	for _, layer := range m.Layers {
		if layer.MediaType == signature.SimpleType && s.counts(ctx, layer, func(payload []byte) error {
			return s.signers.keys.Simple(payload, layer.Annotations[signature.SimpleAnnotation], digest)
		}) {
			return true
		}
	}
	return false
}

// findsBundle looks among the manifests that refer to this one (OCI distribution-spec v1.1 §"Listing Referrers").
func (s *signatureSearch) findsBundle(ctx context.Context, digest string) bool {
	referrers, ok := s.referrers(ctx, digest)
	if !ok {
		return false
	}
	for _, entry := range referrers.Manifests {
		if !strings.HasPrefix(entry.ArtifactType, signature.BundleType) || s.found >= maxSignatures {
			continue
		}
		m, ok := s.read(ctx, entry.Digest.String())
		if !ok {
			continue
		}
		for _, layer := range m.Layers {
			if strings.HasPrefix(layer.MediaType, signature.BundleType) && s.counts(ctx, layer, func(body []byte) error {
				return s.signers.keys.Bundle(body, digest)
			}) {
				return true
			}
		}
	}
	return false
}

// signatureTag is how tags begin that belong to a manifest: a tag has no colon.
func signatureTag(digest string) string { return strings.Replace(digest, ":", "-", 1) }

// counts reads a signature and reports whether it counts.
func (s *signatureSearch) counts(ctx context.Context, layer ocispec.Descriptor, verify func([]byte) error) bool {
	if s.found++; s.found > maxSignatures {
		s.refusal = fmt.Errorf("only %d are looked at", maxSignatures)
		return false
	}
	content, err := s.content(ctx, layer)
	if err != nil {
		s.failed(err)
		return false
	}
	if err := verify(content); err != nil {
		s.refusal = err
		return false
	}
	return true
}

// content reads a small blob and verifies it.
func (s *signatureSearch) content(ctx context.Context, layer ocispec.Descriptor) ([]byte, error) {
	opened, err := s.Blob(ctx, s.client, BlobPart{Ref: s.ref, Digest: layer.Digest.String()})
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	content, err := io.ReadAll(io.LimitReader(opened, maxSignature+1))
	switch {
	case err != nil:
		return nil, CallError(err)
	case len(content) > maxSignature:
		return nil, fmt.Errorf("%w: a signature of more than %d bytes", ErrInvalidManifest, maxSignature)
	case DigestOf(content) != layer.Digest.String():
		return nil, fmt.Errorf("%w: blob %s of %s", ErrCorrupt, layer.Digest, s.ref.Name())
	}
	return content, nil
}

// read fetches the manifest of a tag or a digest, if there is one.
func (s *signatureSearch) read(ctx context.Context, version string) (manifest, bool) {
	got, err := s.manifest(ctx, s.client, s.ref, version)
	if err != nil {
		s.failed(err)
		return manifest{}, false
	}
	return s.decoded(got)
}

func (s *signatureSearch) decoded(got fetched) (manifest, bool) {
	m, err := decodeManifest(got.mediaType, got.body)
	if err != nil {
		s.failed(err)
		return manifest{}, false
	}
	return m, true
}

// failed keeps the first failure that is not the absence of a signature.
func (s *signatureSearch) failed(err error) {
	if s.failure == nil && !errors.Is(err, ErrNotFound) {
		s.failure = err
	}
}

// referrers lists the manifests that refer to one. Where the registry has no list, clients keep one under a tag (§"Referrers Tag Schema").
func (s *signatureSearch) referrers(ctx context.Context, digest string) (manifest, bool) {
	var got fetched
	accept := func(resp *http.Response) (err error) {
		defer resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented:
			return ErrNotFound
		}
		got, err = readManifest(resp, "")
		return err
	}
	path := "referrers/" + digest + "?artifactType=" + url.QueryEscape(signature.BundleType+".v0.3+json")
	header := http.Header{"Accept": {ocispec.MediaTypeImageIndex}}
	_, err := s.get(ctx, s.client, s.ref, path, header, accept, false)
	switch {
	case errors.Is(err, ErrNotFound):
		return s.read(ctx, signatureTag(digest))
	case err != nil:
		s.failed(fmt.Errorf("referrers of %s: %w", digest, err))
		return manifest{}, false
	}
	return s.decoded(got)
}
