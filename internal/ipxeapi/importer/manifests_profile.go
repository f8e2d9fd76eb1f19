package importer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/ipxeapi/spelling"
)

// foreignProfile is a Profile of any version, whose status nobody needs.
type foreignProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ipxev1.ProfileSpec `json:"spec"`
	Status            map[string]any     `json:"status"`
}

func (r *Result) importProfile(where string, document []byte) error {
	var f foreignProfile
	if err := decode(document, &f); err != nil {
		return err
	}
	switch {
	case f.Spec.IPXE != "" && f.Spec.IPXETemplate != "":
		return errors.New("spec: both ipxe and ipxeTemplate are set")
	case f.Spec.IPXE+f.Spec.IPXETemplate == "":
		return errors.New("spec.ipxe: required")
	}
	spec, problems := spelling.Profile(&f.Spec)
	for _, p := range problems {
		return fmt.Errorf("spec.additionalContent[%d] (%s): %w", p.Content, spec.AdditionalContent[p.Content].Name, p)
	}
	namespace := cmp.Or(f.Namespace, r.options.Namespace)
	for i := range spec.AdditionalContent {
		c := &spec.AdditionalContent[i]
		if given := sources(c); given != 1 {
			return fmt.Errorf("spec.additionalContent[%d] (%s): it has %d sources, want exactly one", i, c.Name, given)
		}
		atHome(c, namespace)
		if legal := identifierOf(c.Name); legal != c.Name && strings.Contains(spec.IPXE, ".AdditionalContent."+c.Name) {
			r.note(Changed, where, "content %q is named %q, which a template can say", c.Name, legal)
			spec.IPXE = strings.ReplaceAll(spec.IPXE, ".AdditionalContent."+c.Name, ".AdditionalContent."+legal)
			c.Name = legal
		}
	}
	meta, err := r.meta("Profile", where, f.ObjectMeta)
	if err != nil {
		return err
	}
	if r.addProfile(where, &ipxev1.Profile{
		TypeMeta: metav1.TypeMeta{APIVersion: ipxev1.GroupVersion.String(), Kind: "Profile"}, ObjectMeta: meta, Spec: spec,
	}) {
		r.told(where, f.TypeMeta, "Profile", meta, profileSpellings(&f.Spec))
	}
	return nil
}

// profileSpellings are the words of a Profile that this version has not.
func profileSpellings(spec *ipxev1.ProfileSpec) []string {
	var found []string
	add := func(word string, said bool) {
		if said && !slices.Contains(found, word) {
			found = append(found, word)
		}
	}
	add("ipxeTemplate", spec.IPXETemplate != "")
	for i := range spec.AdditionalContent {
		c := &spec.AdditionalContent[i]
		add("objectRef", c.ObjectRef != nil)
		add("postTransformations", len(c.PostTransformations) > 0)
	}
	return found
}

// sources is how many sources content has.
func sources(c *ipxev1.AdditionalContent) int {
	given := 0
	for _, set := range []bool{c.Inline != nil, c.SecretRef != nil, c.ConfigMapRef != nil, c.Webhook != nil} {
		if set {
			given++
		}
	}
	return given
}

// atHome takes the namespace off references to objects of the own one.
func atHome(c *ipxev1.AdditionalContent, namespace string) {
	own := func(in *string) {
		if *in == namespace {
			*in = ""
		}
	}
	if c.SecretRef != nil {
		own(&c.SecretRef.Namespace)
	}
	if c.ConfigMapRef != nil {
		own(&c.ConfigMapRef.Namespace)
	}
	if c.Webhook != nil && c.Webhook.MTLSRef != nil {
		own(&c.Webhook.MTLSRef.Namespace)
	}
	if c.Webhook != nil && c.Webhook.BasicAuthRef != nil {
		own(&c.Webhook.BasicAuthRef.Namespace)
	}
}

func identifierOf(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '-' || c == '.' {
			return '_'
		}
		return c
	}, name)
}
