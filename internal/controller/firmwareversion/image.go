package firmwareversion

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/firmwareimage"
)

const (
	// maxURI is how long the URI of an image may be.
	maxURI = 2048
	// digestPrefix begins the fragment of a URI that says what the image has to be.
	digestPrefix = "sha256="
)

// image is what an object asks for: its URI without a fragment, and the SHA-256 that the fragment named, or "".
type image struct{ uri, digest string }

// imageOf reads the image of a hop. Its error, a Terminal, names what is wrong.
func imageOf(h *hop) (image, error) {
	bad := func(format string, args ...any) (image, error) {
		return image{}, reconcileerror.Terminalf(reasonInvalidImage, "%s: %s", h.field("URI"), fmt.Sprintf(format, args...))
	}
	text := h.source.URI
	if len(text) > maxURI {
		return bad("it is longer than %d bytes", maxURI)
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil, strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return bad("it is no URI")
	case parsed.Scheme == "" || parsed.Host == "":
		return bad("it needs a scheme and a host")
	case parsed.User != nil:
		return bad("it has a user or a password, which everybody may read here; name a Secret in spec.image.secretRef")
	}
	uri, fragment, has := strings.Cut(text, "#")
	if !has {
		return image{uri: uri}, nil
	}
	digest, ok := strings.CutPrefix(strings.ToLower(fragment), digestPrefix)
	if raw, err := hex.DecodeString(digest); !ok || err != nil || len(raw) != sha256.Size {
		return bad("its fragment is not #sha256= and 64 hexadecimal digits")
	}
	if !firmwareimage.Fetchable(uri) {
		return bad("Farrier verifies digests of images that it fetches by HTTP or HTTPS, and not by %s", parsed.Scheme)
	}
	return image{uri: uri, digest: digest}, nil
}

// credentialsOf reads the credentials for the server of the image. Its error is a Terminal where there are none in what the hop names.
func credentialsOf(ctx context.Context, c client.Reader, h *hop, namespace string) (username string, password bmc.Secret, err error) {
	ref := h.source.SecretRef
	if ref == nil {
		return "", "", nil
	}
	key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	if key.Namespace == "" {
		key.Namespace = namespace
	}
	var secret corev1.Secret
	if err := c.Get(ctx, key, &secret); apierrors.IsNotFound(err) {
		return "", "", reconcileerror.Terminalf(reasonImageCredentials, "%s: Secret %s does not exist", h.field("secretRef"), key)
	} else if err != nil {
		return "", "", err
	}
	for _, name := range []string{corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey} {
		if len(secret.Data[name]) == 0 {
			return "", "", reconcileerror.Terminalf(reasonImageCredentials, "%s: Secret %s has no key %s", h.field("secretRef"), key, name)
		}
	}
	return string(secret.Data[corev1.BasicAuthUsernameKey]), bmc.Secret(secret.Data[corev1.BasicAuthPasswordKey]), nil
}

// protocols are the transfer protocols of UpdateService.SimpleUpdate (DSP0268).
var protocols = []string{"CIFS", "FTP", "SFTP", "HTTP", "HTTPS", "NSF", "SCP", "TFTP", "OEM", "NFS"}

// protocolOf is the transfer protocol that the BMC is told, in the standard's spelling: the one that is named, or that of the URI.
func protocolOf(named, uri string) string {
	scheme, _, _ := strings.Cut(uri, ":")
	for _, name := range []string{named, scheme} {
		if i := slices.IndexFunc(protocols, func(p string) bool { return strings.EqualFold(p, name) }); i >= 0 {
			return protocols[i]
		}
	}
	return named
}
