package admission

import (
	"context"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
	"github.com/farrier-dev/farrier/internal/ipxeapi/spelling"
)

// profileScript refuses a script that cannot be rendered: one that iPXE would not know as such, that is no template, or that names what the
// profile does not have. The same code compiles it later.
func profileScript(_ context.Context, c *check, now, before *ipxev1.Profile) error {
	if reflect.DeepEqual(now.Spec, before.Spec) {
		return nil
	}
	spec, unsaid := spelling.Profile(&now.Spec)
	for _, problem := range unsaid {
		c.refuse(field.Invalid(field.NewPath("spec", "additionalContent").Index(problem.Content).Child(problem.Field), field.OmitValueType{}, problem.Reason+hintImport))
	}
	source := c.source(&spec)
	if _, err := profile.Compile(source, nil); err != nil && now.Spec.IPXETemplate != "" {
		c.refuse(field.Invalid(field.NewPath("spec", "ipxeTemplate"), field.OmitValueType{}, err.Error()+hintImport))
	} else if err != nil {
		c.refuse(field.Invalid(field.NewPath("spec", "ipxe"), field.OmitValueType{}, err.Error()))
	}
	return nil
}

// source is what a script is compiled with, of contents as far as they are known. It refuses what is too long, or misnamed.
func (c *check) source(spec *ipxev1.ProfileSpec) profile.Source {
	source := profile.Source{Namespace: c.Namespace, Name: c.Name, Script: spec.IPXE, Configs: map[string]profile.Content{}}
	total := 0
	for name, text := range spec.AdditionalConfig {
		path := field.NewPath("spec", "additionalConfig").Key(name)
		c.configName(path, name)
		if len(text) > profile.MaxConfig {
			c.refuse(field.TooLong(path, field.OmitValueType{}, profile.MaxConfig))
		}
		total += len(text)
		source.Configs[name] = profile.Content{}
	}
	for i, content := range spec.AdditionalContent {
		path := field.NewPath("spec", "additionalContent").Index(i)
		c.configName(path.Child("name"), content.Name)
		if _, twice := spec.AdditionalConfig[content.Name]; twice {
			c.refuse(field.Invalid(path.Child("name"), content.Name, "additionalConfig has a config of that name too"))
		}
		if content.Inline != nil {
			if total += len(*content.Inline); len(*content.Inline) > profile.MaxConfig {
				c.refuse(field.TooLong(path.Child("inline"), field.OmitValueType{}, profile.MaxConfig))
			}
		}
		known := profile.Content{Inserted: !content.Exposed}
		if content.Inline != nil && content.Transform == "" {
			known.Bytes = []byte(*content.Inline)
		}
		source.Configs[content.Name] = known
	}
	if total > profile.MaxConfigs {
		c.refuse(field.TooLong(field.NewPath("spec"), field.OmitValueType{}, profile.MaxConfigs))
	}
	return source
}

// hintImport is for manifests of later versions of the API that mean what cannot be said in these words as they stand.
const hintImport = " ('farrier import manifests' translates what it can and lists the rest)"

// configName refuses what could not be told from something else in a log or in a script.
func (c *check) configName(path *field.Path, name string) {
	if name == "" || len(name) > 253 || strings.ContainsFunc(name, unicode.IsControl) {
		c.refuse(field.Invalid(path, field.OmitValueType{}, "want a name of 1 to 253 bytes without control characters"))
	}
}

// profileWebhooks refuses URLs that nobody would be asked at, and warns of those that are asked only where the operator has named them.
func profileWebhooks(_ context.Context, c *check, now, before *ipxev1.Profile) error {
	known := map[string]bool{}
	for _, content := range before.Spec.AdditionalContent {
		if content.Webhook != nil {
			known[content.Webhook.URL] = true
		}
	}
	for i, content := range now.Spec.AdditionalContent {
		if content.Webhook == nil || known[content.Webhook.URL] {
			continue
		}
		path := field.NewPath("spec", "additionalContent").Index(i).Child("webhook", "url")
		u, err := url.Parse(content.Webhook.URL)
		switch {
		case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
			c.refuse(field.Invalid(path, field.OmitValueType{}, "must be an http or https URL with a host"))
		case u.User != nil:
			c.refuse(field.Invalid(path, field.OmitValueType{}, "must not contain credentials; name a Secret in basicAuth instead"))
		case u.Fragment != "":
			c.refuse(field.Invalid(path, field.OmitValueType{}, "a fragment is never sent (RFC 9110 §4.2.5)"))
		case ownHost(u.Hostname()):
			c.warn(path, "%s is on the manager's own host or link; Farrier requests it only if --webhook-hosts names it", u.Hostname())
		case u.Scheme == "http" && (content.Webhook.BasicAuth != nil || content.Webhook.BasicAuthRef != nil):
			c.warn(path, "the password of basicAuth is sent without TLS")
		case u.Scheme == "http" && (content.Webhook.MTLS != nil || content.Webhook.MTLSRef != nil):
			c.warn(path, "mTLS has no effect on http")
		}
	}
	return nil
}

// ownHost reports whether a host is loopback or link-local (RFC 6890) by its name alone.
func ownHost(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") { // RFC 6761 §6.3
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.Unmap().IsLoopback() || ip.Unmap().IsLinkLocalUnicast() || ip.IsUnspecified())
}

// profileReferences warns of a Secret or ConfigMap of another namespace that does not allow it. What it says is the same whether or not the
// object is there.
func profileReferences(ctx context.Context, c *check, now, before *ipxev1.Profile) error {
	if reflect.DeepEqual(now.Spec.AdditionalContent, before.Spec.AdditionalContent) {
		return nil
	}
	for i := range now.Spec.AdditionalContent {
		path := field.NewPath("spec", "additionalContent").Index(i)
		for _, ref := range elsewhere(&now.Spec.AdditionalContent[i], c.Namespace) {
			if !c.spare.TryAccept() {
				continue
			}
			exists, err := c.live(ctx, ref.name, ref.obj)
			if err != nil {
				return err
			}
			if !exists || !index.Readable(ref.obj, c.Namespace) {
				c.warn(path.Child(ref.field), "%v", index.ErrNotReadable)
			}
		}
	}
	return nil
}

// foreignRef is a reference to an object of another namespace.
type foreignRef struct {
	field string
	name  types.NamespacedName
	obj   client.Object
}

// elsewhere are what content refers to in other namespaces than the given one.
func elsewhere(content *ipxev1.AdditionalContent, namespace string) []foreignRef {
	var found []foreignRef
	add := func(fieldName, in, name string, obj client.Object) {
		if in != "" && in != namespace {
			found = append(found, foreignRef{fieldName, types.NamespacedName{Namespace: in, Name: name}, obj})
		}
	}
	if ref := content.SecretRef; ref != nil {
		add("secretRef", ref.Namespace, ref.Name, &corev1.Secret{})
	}
	if ref := content.ConfigMapRef; ref != nil {
		add("configMapRef", ref.Namespace, ref.Name, &corev1.ConfigMap{})
	}
	if ref := content.ObjectRef; ref != nil && strings.HasPrefix(strings.ToLower(ref.Resource), "secret") {
		add("objectRef", ref.Namespace, ref.Name, &corev1.Secret{})
	} else if ref != nil {
		add("objectRef", ref.Namespace, ref.Name, &corev1.ConfigMap{})
	}
	if w := content.Webhook; w != nil && w.MTLSRef != nil {
		add("webhook.mTLSRef", w.MTLSRef.Namespace, w.MTLSRef.Name, &corev1.Secret{})
	}
	if w := content.Webhook; w != nil && w.BasicAuthRef != nil {
		add("webhook.basicAuthRef", w.BasicAuthRef.Namespace, w.BasicAuthRef.Name, &corev1.Secret{})
	}
	return found
}
