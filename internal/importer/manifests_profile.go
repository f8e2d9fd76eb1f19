package importer

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
)

// foreignProfile has the fields of a Profile in later spellings.
type foreignProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		IPXE              string            `json:"ipxe"`
		IPXETemplate      string            `json:"ipxeTemplate"`
		AdditionalConfig  map[string]string `json:"additionalConfig"`
		AdditionalContent []foreignContent  `json:"additionalContent"`
	} `json:"spec"`
	Status map[string]any `json:"status"`
}

type foreignContent struct {
	Name                string          `json:"name"`
	Exposed             bool            `json:"exposed"`
	PostTransformations []transformer   `json:"postTransformations"`
	ObjectRef           *objectRef      `json:"objectRef"`
	Inline              *string         `json:"inline"`
	Webhook             *foreignWebhook `json:"webhook"`
}

type transformer struct {
	ButaneToIgnition bool            `json:"butaneToIgnition"`
	Webhook          *foreignWebhook `json:"webhook"`
}

type resourceRef struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type objectRef struct {
	resourceRef `json:",inline"`
	JSONPath    string `json:"jsonpath"`
}

type foreignWebhook struct {
	URL     string `json:"url"`
	MTLSRef *struct {
		resourceRef           `json:",inline"`
		ClientKeyJSONPath     string `json:"clientKeyJSONPath"`
		ClientCertJSONPath    string `json:"clientCertJSONPath"`
		CABundleJSONPath      string `json:"caBundleJSONPath"`
		TLSInsecureSkipVerify bool   `json:"tlsInsecureSkipVerify"`
	} `json:"mTLSRef"`
	BasicAuthRef *struct {
		resourceRef      `json:",inline"`
		UsernameJSONPath string `json:"usernameJSONPath"`
		PasswordJSONPath string `json:"passwordJSONPath"`
	} `json:"basicAuthRef"`
}

func (r *Result) importProfile(where string, document []byte) error {
	var head metav1.TypeMeta
	if err := yaml.Unmarshal(document, &head); err != nil {
		return err
	}
	if ownGroup(head.APIVersion) {
		return r.ownProfile(where, document)
	}
	var f foreignProfile
	if err := yaml.UnmarshalStrict(document, &f); err != nil {
		return err
	}
	script := f.Spec.IPXETemplate
	switch {
	case script != "" && f.Spec.IPXE != "":
		return errors.New("spec: both ipxe and ipxeTemplate are set")
	case script == "":
		script = f.Spec.IPXE
	}
	spec := ipxev1.ProfileSpec{AdditionalConfig: f.Spec.AdditionalConfig}
	for i := range f.Spec.AdditionalContent {
		c, err := r.content(where, cmp.Or(f.Namespace, r.options.Namespace), &f.Spec.AdditionalContent[i])
		if err != nil {
			return fmt.Errorf("spec.additionalContent[%d] (%s): %w", i, f.Spec.AdditionalContent[i].Name, err)
		}
		if legal := identifierOf(c.Name); legal != c.Name {
			r.note(Changed, where, "content %q is named %q, which a template can say", c.Name, legal)
			script = strings.ReplaceAll(script, ".AdditionalContent."+c.Name, ".AdditionalContent."+legal)
			c.Name = legal
		}
		spec.AdditionalContent = append(spec.AdditionalContent, c)
	}
	spec.IPXE = script
	return r.keepProfile(where, f.ObjectMeta, spec)
}

func (r *Result) ownProfile(where string, document []byte) error {
	var p ipxev1.Profile
	if err := yaml.UnmarshalStrict(document, &p); err != nil {
		return err
	}
	return r.keepProfile(where, p.ObjectMeta, p.Spec)
}

func (r *Result) keepProfile(where string, from metav1.ObjectMeta, spec ipxev1.ProfileSpec) error {
	meta, err := r.meta("Profile", where, from)
	if err != nil {
		return err
	}
	r.addProfile(where, &ipxev1.Profile{
		TypeMeta: metav1.TypeMeta{APIVersion: ipxev1.GroupVersion.String(), Kind: "Profile"}, ObjectMeta: meta, Spec: spec,
	})
	return nil
}

func identifierOf(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '-' || c == '.' {
			return '_'
		}
		return c
	}, name)
}

// content translates one content; what cannot be is an error.
func (r *Result) content(where, namespace string, f *foreignContent) (ipxev1.AdditionalContent, error) {
	c := ipxev1.AdditionalContent{Name: f.Name, Exposed: f.Exposed, Inline: f.Inline}
	for _, t := range f.PostTransformations {
		if t.Webhook != nil {
			return c, errors.New("postTransformations: a webhook cannot transform content here")
		}
		if t.ButaneToIgnition {
			c.Transform = ipxev1.TransformButane
		}
	}
	if f.ObjectRef != nil {
		if err := refer(&c, namespace, f.ObjectRef); err != nil {
			return c, fmt.Errorf("objectRef: %w", err)
		}
	}
	if f.Webhook != nil {
		if err := r.webhook(where, namespace, &c, f.Webhook); err != nil {
			return c, fmt.Errorf("webhook: %w", err)
		}
	}
	if given := btoi(c.Inline != nil) + btoi(c.SecretRef != nil) + btoi(c.ConfigMapRef != nil) + btoi(c.Webhook != nil); given != 1 {
		return c, fmt.Errorf("it has %d sources, want exactly one", given)
	}
	return c, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// dataKey is the key of .data.key, .data.a\.b, .data.'a.b' and .data['a.b'], with or without braces around.
var dataKey = regexp.MustCompile(`^\{?\.data(?:\.([A-Za-z0-9_-]+(?:\\\.[A-Za-z0-9_-]+)*)|\.'([^']+)'|\['([^']+)'\])\}?$`)

func keyOf(jsonPath string) (string, error) {
	match := dataKey.FindStringSubmatch(jsonPath)
	if match == nil {
		return "", fmt.Errorf("jsonpath %q names no key of data", jsonPath)
	}
	return strings.ReplaceAll(match[1]+match[2]+match[3], `\.`, "."), nil
}

func refer(c *ipxev1.AdditionalContent, namespace string, ref *objectRef) error {
	key, err := keyOf(ref.JSONPath)
	if err != nil {
		return err
	}
	to := &ipxev1.KeyReference{Name: ref.Name, Key: key}
	if ref.Namespace != namespace {
		to.Namespace = ref.Namespace
	}
	switch kind := strings.TrimSuffix(strings.ToLower(ref.Resource), "s"); {
	case ref.Group == "" && kind == "secret":
		c.SecretRef = to
	case ref.Group == "" && kind == "configmap":
		c.ConfigMapRef = to
	default:
		return fmt.Errorf("%s of group %q: only Secrets and ConfigMaps can be referred to", ref.Resource, ref.Group)
	}
	return nil
}

// webhook names the Secrets of a webhook; which of their keys are read is fixed here.
func (r *Result) webhook(where, namespace string, c *ipxev1.AdditionalContent, f *foreignWebhook) error {
	c.Webhook = &ipxev1.Webhook{URL: f.URL}
	secret := func(ref resourceRef, keys map[string]string) (ipxev1.LocalObjectReference, error) {
		if ref.Namespace != "" && ref.Namespace != namespace {
			return ipxev1.LocalObjectReference{}, fmt.Errorf("Secret %s/%s is in another namespace", ref.Namespace, ref.Name)
		}
		for want, path := range keys {
			if got, err := keyOf(path); path != "" && (err != nil || got != want) {
				r.note(Changed, where, "Secret %s: copy %s to the key %s", ref.Name, path, want)
			}
		}
		return ipxev1.LocalObjectReference{Name: ref.Name}, nil
	}
	if m := f.MTLSRef; m != nil {
		if m.TLSInsecureSkipVerify {
			return errors.New("tlsInsecureSkipVerify: a server that nobody verifies is not asked here")
		}
		ref, err := secret(m.resourceRef, map[string]string{"tls.crt": m.ClientCertJSONPath, "tls.key": m.ClientKeyJSONPath, "ca.crt": m.CABundleJSONPath})
		if err != nil {
			return err
		}
		c.Webhook.MTLS = &ipxev1.WebhookMTLS{SecretRef: ref}
	}
	if b := f.BasicAuthRef; b != nil {
		ref, err := secret(b.resourceRef, map[string]string{"username": b.UsernameJSONPath, "password": b.PasswordJSONPath})
		if err != nil {
			return err
		}
		c.Webhook.BasicAuth = &ipxev1.WebhookBasicAuth{SecretRef: ref}
	}
	return nil
}
