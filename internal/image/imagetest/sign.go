package imagetest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/farrier-dev/farrier/internal/image/signature"
)

// BundleType is the media type of the bundles that a Signer makes.
const BundleType = signature.BundleType + ".v0.3+json"

// Signer signs images as cosign does.
type Signer struct {
	key *ecdsa.PrivateKey
	// Public is its public key in PEM.
	Public []byte
}

// NewSigner makes a key.
func NewSigner(t testing.TB) *Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return &Signer{key: key, Public: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})}
}

// Keys are those that trust the signer.
func (s *Signer) Keys(t testing.TB) signature.Keys {
	t.Helper()
	keys, err := signature.ParseKeys(s.Public)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// Sign returns the signature of a message.
func (s *Signer) Sign(t testing.TB, message []byte) []byte {
	t.Helper()
	sum := sha256.Sum256(message)
	signed, err := s.key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// SimplePayload is what simple signing signs of a manifest.
func SimplePayload(digest string) []byte {
	return fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, digest)
}

// Bundle is a Sigstore bundle with a statement about a manifest.
func (s *Signer) Bundle(t testing.TB, digest, predicate string) []byte {
	t.Helper()
	const payloadType = "application/vnd.in-toto+json"
	hex := strings.TrimPrefix(digest, "sha256:")
	payload := fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":%q,"predicate":{}}`, hex, predicate)
	signed := s.Sign(t, fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload))
	body, err := json.Marshal(map[string]any{
		"mediaType":            BundleType,
		"verificationMaterial": map[string]any{"publicKey": map[string]any{"hint": "test"}},
		"dsseEnvelope": map[string]any{
			"payload": payload, "payloadType": payloadType, "signatures": []map[string]any{{"sig": signed}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// SimpleLayer is a signature as a layer of simple signing.
func (s *Signer) SimpleLayer(t testing.TB, digest string) mutate.Addendum {
	t.Helper()
	payload := SimplePayload(digest)
	return mutate.Addendum{
		Layer: static.NewLayer(payload, signature.SimpleType), MediaType: signature.SimpleType,
		Annotations: map[string]string{signature.SimpleAnnotation: base64.StdEncoding.EncodeToString(s.Sign(t, payload))},
	}
}

// PushSimple stores signatures of simple signing for a manifest of a repository, in place of those that it has.
func PushSimple(t testing.TB, repository, digest string, layers ...mutate.Addendum) {
	t.Helper()
	img, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layers...)
	if err != nil {
		t.Fatal(err)
	}
	push(t, repository+":"+strings.Replace(digest, ":", "-", 1)+".sig", img)
}

// PushBundle stores a bundle that refers to the manifest of a reference.
func PushBundle(t testing.TB, repository, digest string, body []byte) {
	t.Helper()
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), BundleType)
	img, err := mutate.Append(img, mutate.Addendum{Layer: static.NewLayer(body, BundleType), MediaType: BundleType})
	if err != nil {
		t.Fatal(err)
	}
	subject, err := remote.Head(parse(t, repository+"@"+digest))
	if err != nil {
		t.Fatal(err)
	}
	referring := mutate.Subject(img, *subject).(v1.Image)
	own, err := referring.Digest()
	if err != nil {
		t.Fatal(err)
	}
	push(t, repository+"@"+own.String(), referring)
}

func push(t testing.TB, reference string, img v1.Image) {
	t.Helper()
	if err := remote.Write(parse(t, reference), img); err != nil {
		t.Fatal(err)
	}
}

func parse(t testing.TB, reference string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// Copy copies an image from one registry to another.
func Copy(t testing.TB, from, to string) {
	t.Helper()
	img, err := remote.Image(parse(t, from))
	if err != nil {
		t.Fatal(err)
	}
	push(t, to, img)
}
