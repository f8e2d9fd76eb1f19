package firmwareversion

import (
	"context"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// maxURI is how long the URI of an image may be.
const maxURI = 2048

// image is what an object asks for.
type image struct {
	uri string
}

// imageOf reads the image of a spec. Its error, a Terminal, names what is wrong.
func imageOf(spec *metalv1.VersionTemplate) (image, error) {
	bad := func(format string, args ...any) (image, error) {
		return image{}, reconcileerror.Terminalf(reasonInvalidImage, "spec.image.URI: "+format, args...)
	}
	text := spec.Image.URI
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
	case parsed.Fragment != "":
		return bad("it has a fragment, of which the BMC would not be told")
	}
	return image{uri: text}, nil
}

// credentialsOf reads the credentials for the server of the image. Its error is a Terminal where there are none in what the spec names.
func credentialsOf(ctx context.Context, c client.Reader, spec *metalv1.VersionTemplate, namespace string) (username string, password bmc.Secret, err error) {
	ref := spec.Image.SecretRef
	if ref == nil {
		return "", "", nil
	}
	key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	if key.Namespace == "" {
		key.Namespace = namespace
	}
	var secret corev1.Secret
	if err := c.Get(ctx, key, &secret); apierrors.IsNotFound(err) {
		return "", "", reconcileerror.Terminalf(reasonImageCredentials, "spec.image.secretRef: Secret %s does not exist", key)
	} else if err != nil {
		return "", "", err
	}
	for _, name := range []string{corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey} {
		if len(secret.Data[name]) == 0 {
			return "", "", reconcileerror.Terminalf(reasonImageCredentials, "spec.image.secretRef: Secret %s has no key %s", key, name)
		}
	}
	return string(secret.Data[corev1.BasicAuthUsernameKey]), bmc.Secret(secret.Data[corev1.BasicAuthPasswordKey]), nil
}

// protocols are the transfer protocols of UpdateService.SimpleUpdate (DSP0268).
var protocols = []string{"CIFS", "FTP", "SFTP", "HTTP", "HTTPS", "NSF", "SCP", "TFTP", "OEM", "NFS"}

// protocolOf is the transfer protocol that the BMC is told, in the standard's spelling: that of the spec, or that of the URI.
func protocolOf(spec *metalv1.VersionTemplate, uri string) string {
	scheme, _, _ := strings.Cut(uri, ":")
	for _, name := range []string{spec.Image.TransferProtocol, scheme} {
		if i := slices.IndexFunc(protocols, func(p string) bool { return strings.EqualFold(p, name) }); i >= 0 {
			return protocols[i]
		}
	}
	return spec.Image.TransferProtocol
}
