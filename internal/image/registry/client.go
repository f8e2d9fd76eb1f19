package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"strings"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// What a registry's failure means for the caller.
var (
	// ErrNotAllowed reports a registry that is not one of the allowed ones.
	ErrNotAllowed = errors.New("registry is not allowed")
	// ErrNotFound reports that the registry does not have the manifest or blob.
	ErrNotFound = errors.New("not found in registry")
	// ErrDenied reports that the registry refuses access.
	ErrDenied = errors.New("registry denies access")
	// ErrUnreachable reports a registry that cannot be reached, or fails.
	ErrUnreachable = errors.New("registry unreachable")
	// ErrCorrupt reports content that does not match its digest.
	ErrCorrupt = errors.New("content does not match its digest")
	// ErrUnsigned reports an image that no trusted key has signed.
	ErrUnsigned = errors.New("image is not signed by a trusted key")
)

// Client is the client of all registries. It uses GET only (some registries
// refuse HEAD) and leaves repetition to its callers.
type Client struct {
	allowed map[string]bool
	plain   map[string]bool
	mirrors mirrors
	layouts layouts
	signers *signers
	client  *http.Client
	// Anonymous keeps tokens between calls.
	Anonymous *auth.Client
	// blameless: mirrors that fail are not left alone.
	blameless bool
}

// ForStrangers returns a client for blobs that no plan names. Their failures do not make mirrors rest for others, and few tokens are kept
// for them.
func (u *Client) ForStrangers() *Client {
	strangers := *u
	strangers.Anonymous = &auth.Client{Client: u.client, Cache: &fewTokens{Cache: auth.NewCache()}}
	strangers.blameless = true
	return &strangers
}

func NewClient(o Options) (*Client, error) {
	allowed, err := registrySet("--allowed-registries", o.AllowedRegistries)
	if err != nil {
		return nil, err
	}
	plain, err := registrySet("--plain-http-registries", o.PlainHTTP)
	if err != nil {
		return nil, err
	}
	mirrors := newMirrors(o)
	known := maps.Clone(allowed)
	maps.Copy(known, mirrors.hosts())
	client := newHTTPClient(known, o)
	for name := range o.Layouts {
		allowed[name] = true // who names a folder allows what is in it
	}
	return &Client{
		allowed:   allowed,
		plain:     plain,
		mirrors:   mirrors,
		layouts:   newLayouts(o.Layouts),
		signers:   newSigners(o.SignatureKeys),
		client:    client,
		Anonymous: &auth.Client{Client: client, Cache: auth.NewCache()},
	}, nil
}

// CloseIdleConnections closes the connections that no call uses.
func (u *Client) CloseIdleConnections() { u.client.CloseIdleConnections() }

// Check refuses registries that are not allowed. Nothing is ever asked of them.
func (u *Client) Check(ref Reference) error {
	if !u.allowed[ref.Registry] {
		return fmt.Errorf("%w: %s; add it with --allowed-registries=%s", ErrNotAllowed, ref.Registry, ref.Registry)
	}
	return nil
}

// fetched is a manifest as a registry sent it, verified.
type fetched struct {
	mediaType string
	body      []byte
}

// manifest fetches the manifest of a version (tag or digest) of the reference's
// repository.
func (u *Client) manifest(ctx context.Context, client *auth.Client, ref Reference, version string) (got fetched, err error) {
	if _, ok := u.layouts[ref.Registry]; ok {
		return u.layouts.manifest(ref, version)
	}
	header := http.Header{"Accept": {strings.Join(manifestTypes, ", ")}}
	read := func(resp *http.Response) error {
		defer resp.Body.Close()
		if got, err = readManifest(resp, version); err != nil {
			return fmt.Errorf("manifest %s of %s: %w", version, ref.Name(), err)
		}
		return nil
	}
	_, err = u.get(ctx, client, ref, "manifests/"+version, header, read, false)
	return got, err
}

// readManifest takes a manifest from an answer and verifies it.
func readManifest(resp *http.Response, version string) (fetched, error) {
	if err := statusError(resp); err != nil {
		return fetched{}, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxManifest+1))
	if err != nil {
		return fetched{}, CallError(err)
	}
	if len(body) > maxManifest {
		return fetched{}, fmt.Errorf("%w: it is larger than %d bytes", ErrInvalidManifest, maxManifest)
	}
	digest := DigestOf(body)
	for _, claimed := range []string{version, resp.Header.Get("Docker-Content-Digest")} {
		if digestText.MatchString(claimed) && claimed != digest {
			return fetched{}, fmt.Errorf("%w: %s has digest %s", ErrCorrupt, claimed, digest)
		}
	}
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		mediaType = "" // the document itself may still say
	}
	return fetched{mediaType: mediaType, body: body}, nil
}

// Image is an image found in its registry: its own manifest, for one
// architecture.
type Image struct {
	Ref    Reference
	Digest string
	// Index is the digest of the index that led to it; empty: none did.
	Index  string
	Layers []Layer
	// Discovery reports whether it is a discovery image of Farrier's.
	Discovery bool
}

// Resolve finds the image that a reference names for an architecture. Every
// manifest on the way is verified, and so is its signature where one is required.
func (u *Client) Resolve(ctx context.Context, client *auth.Client, ref Reference, architecture string) (Image, error) {
	if err := u.Check(ref); err != nil {
		return Image{}, err
	}
	image, err := ResolveFrom(ctx, ref, architecture, func(ctx context.Context, version string) (string, []byte, error) {
		got, err := u.manifest(ctx, client, ref, version)
		return got.mediaType, got.body, err
	})
	if err != nil {
		return Image{}, err
	}
	if _, ok := u.layouts[ref.Registry]; ok {
		return image, u.layouts.complete(ctx, image)
	}
	if err := u.checkSigned(ctx, client, image); err != nil {
		return Image{}, err
	}
	return image, nil
}

// ResolveFrom is Resolve where manifests come from elsewhere. fetch returns the type and the bytes of the manifest of a version (tag or digest), verified.
func ResolveFrom(ctx context.Context, ref Reference, architecture string, fetch func(ctx context.Context, version string) (mediaType string, body []byte, err error)) (Image, error) {
	m, digest, err := fetchManifest(ctx, ref, ref.Version(), fetch)
	if err != nil {
		return Image{}, err
	}
	index := ""
	if m.isIndex() {
		index = digest
		entry, err := m.forArchitecture(canonicalArchitecture(architecture))
		if err != nil {
			return Image{}, fmt.Errorf("%s: %w", ref, err)
		}
		if m, digest, err = fetchManifest(ctx, ref, entry.Digest.String(), fetch); err != nil {
			return Image{}, err
		}
		if m.isIndex() {
			return Image{}, fmt.Errorf("%s: %w: an index leads to another index", ref, ErrInvalidManifest)
		}
	}
	return Image{Ref: ref, Digest: digest, Index: index, Layers: m.layers(), Discovery: m.Annotations[AnnotationDiscovery] != ""}, nil
}

func fetchManifest(ctx context.Context, ref Reference, version string, fetch func(context.Context, string) (string, []byte, error)) (manifest, string, error) {
	mediaType, body, err := fetch(ctx, version)
	if err != nil {
		return manifest{}, "", err
	}
	m, err := decodeManifest(mediaType, body)
	if err != nil {
		return manifest{}, "", fmt.Errorf("%s: %w", ref, err)
	}
	return m, DigestOf(body), nil
}

// BlobPart is a blob from an offset on. To begin in the middle, the size of the
// whole must be known from an earlier call.
type BlobPart struct {
	Ref          Reference
	Digest       string
	Offset, Size int64
	Direct       bool // without mirrors
}

// OpenedBlob is the answer: its body begins skip bytes before the part.
type OpenedBlob struct {
	io.ReadCloser
	Size   int64 // of the whole blob
	Skip   int64
	Mirror *Mirror // that sends it, nil for the registry itself
}

func (u *Client) Blob(ctx context.Context, client *auth.Client, p BlobPart) (opened OpenedBlob, err error) {
	if _, ok := u.layouts[p.Ref.Registry]; ok {
		return u.layouts.blob(p)
	}
	header := http.Header{}
	if p.Offset > 0 {
		// A closed range: some registries do not understand an open one.
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", p.Offset, p.Size-1))
	}
	begin := func(resp *http.Response) error {
		size, skip, err := blobStart(resp, p.Offset)
		if err == nil {
			err = checkEmpty(p.Digest, size)
		}
		if err != nil {
			resp.Body.Close()
			return fmt.Errorf("blob %s of %s: %w", p.Digest, p.Ref.Name(), err)
		}
		opened = OpenedBlob{ReadCloser: resp.Body, Size: size, Skip: skip}
		return nil
	}
	opened.Mirror, err = u.get(ctx, client, p.Ref, "blobs/"+p.Digest, header, begin, p.Direct)
	return opened, err
}

// blobStart returns the size of the blob that an answer begins to send, and how
// far before the offset it begins.
func blobStart(resp *http.Response, offset int64) (size, skip int64, err error) {
	switch resp.StatusCode {
	case http.StatusPartialContent:
		first, total, err := contentRange(resp)
		if err == nil && first != offset {
			err = fmt.Errorf("%w: asked for bytes from %d on, got them from %d on", ErrUnreachable, offset, first)
		}
		return total, 0, err
	case http.StatusRequestedRangeNotSatisfiable:
		return 0, 0, fmt.Errorf("%w: it ends before byte %d", ErrCorrupt, offset)
	}
	if err := statusError(resp); err != nil {
		return 0, 0, err
	}
	if resp.ContentLength < 0 {
		return 0, 0, fmt.Errorf("%w: it does not say how large the blob is", ErrUnreachable)
	}
	return resp.ContentLength, offset, nil
}

// emptyDigest is that of no bytes at all.
var emptyDigest = DigestOf(nil)

// checkEmpty refuses an empty answer for what is not empty. It has no last byte that could be held back until the whole
// has been verified.
func checkEmpty(digest string, size int64) error {
	if size == 0 && digest != emptyDigest {
		return fmt.Errorf("%w: it is said to be empty", ErrCorrupt)
	}
	return nil
}

// BlobSize asks how large a blob is, by a range of one byte.
func (u *Client) BlobSize(ctx context.Context, client *auth.Client, ref Reference, digest string) (size int64, err error) {
	if _, ok := u.layouts[ref.Registry]; ok {
		return u.layouts.blobSize(ref, digest)
	}
	begin := func(resp *http.Response) error {
		defer resp.Body.Close()
		var err error
		size = 0
		if resp.StatusCode != http.StatusRequestedRangeNotSatisfiable { // an empty blob: RFC 9110 §14.1.2 leaves no other reason
			size, _, err = blobStart(resp, 0)
		}
		if err == nil {
			err = checkEmpty(digest, size)
		}
		if err != nil {
			return fmt.Errorf("blob %s of %s: %w", digest, ref.Name(), err)
		}
		return nil
	}
	_, err = u.get(ctx, client, ref, "blobs/"+digest, http.Header{"Range": {"bytes=0-0"}}, begin, false)
	return size, err
}

// contentRange reads "bytes first-last/total" (RFC 9110 §14.4).
func contentRange(resp *http.Response) (first, total int64, err error) {
	var last int64
	text := resp.Header.Get("Content-Range")
	if n, err := fmt.Sscanf(text, "bytes %d-%d/%d", &first, &last, &total); n != 3 || err != nil || first < 0 || total <= last {
		return 0, 0, fmt.Errorf("%w: Content-Range %q", ErrUnreachable, text)
	}
	return first, total, nil
}

// get sends one request for something of the reference's repository, to a mirror
// if one has an answer that accept finds good, else to the registry itself. It
// returns the mirror whose answer it is; accept closes the body, or keeps it.
func (u *Client) get(ctx context.Context, client *auth.Client, ref Reference, path string, header http.Header,
	accept func(*http.Response) error, direct bool,
) (*Mirror, error) {
	if err := u.Check(ref); err != nil {
		return nil, err
	}
	if !direct {
		for _, mirror := range u.mirrors.of(ref.Registry) {
			if mirror.try(ctx, !u.blameless, func(ctx context.Context) (*http.Response, error) {
				return u.send(ctx, client, Reference{Registry: mirror.registry, Repository: ref.Repository}, path, header)
			}, accept) {
				return mirror, nil
			}
		}
	}
	resp, err := u.send(ctx, client, ref, path, header) //nolint:bodyclose // accept closes it
	if err != nil {
		return nil, err
	}
	return nil, accept(resp)
}

func (u *Client) send(ctx context.Context, client *auth.Client, ref Reference, path string, header http.Header) (*http.Response, error) {
	scheme := "https"
	if u.plain[ref.Registry] {
		scheme = "http"
	}
	ctx = auth.AppendRepositoryScope(ctx, registry.Reference{Registry: ref.Registry, Repository: ref.Repository}, auth.ActionPull)
	address := fmt.Sprintf("%s://%s/v2/%s/%s", scheme, ref.host(), ref.Repository, path)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	req.Header = header.Clone()
	// Blobs are verified as they are stored, not as something encoded them.
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "farrier")
	resp, err := client.Do(req)
	if err != nil {
		return nil, CallError(err)
	}
	return resp, nil
}

// CallError classifies the failure of a call. Whatever ran out of time is a
// deadline, whoever set it.
func CallError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, auth.ErrBasicCredentialNotFound) {
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	var answer *errcode.ErrorResponse // of a token realm
	if errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden) {
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// statusError classifies a registry's answer. Its body is not repeated: it may
// be a page of HTML.
func statusError(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusNotFound:
		return ErrNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w: status %d", ErrDenied, resp.StatusCode)
	default:
		return fmt.Errorf("%w: status %d", ErrUnreachable, resp.StatusCode)
	}
}

func DigestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}
