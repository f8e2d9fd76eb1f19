package spelling

import (
	"fmt"
	"slices"
	"strings"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
)

// Problem is what cannot be said here.
type Problem struct {
	// Content is the index of the content in additionalContent, Field is below it.
	Content int
	Field   string
	Reason  string
}

func (p *Problem) Error() string { return p.Field + ": " + p.Reason }

// Profile is a spec in the words of this version, but for the references of webhooks to Secrets, which [MTLS] and [BasicAuth] read. The given one is
// not changed. Content with a problem has no source.
func Profile(spec *ipxev1.ProfileSpec) (ipxev1.ProfileSpec, []*Problem) {
	said := *spec
	if said.IPXE == "" {
		said.IPXE = spec.IPXETemplate
	}
	said.IPXETemplate = ""
	if !slices.ContainsFunc(spec.AdditionalContent, later) {
		return said, nil
	}
	var problems []*Problem
	said.AdditionalContent = slices.Clone(spec.AdditionalContent)
	for i := range said.AdditionalContent {
		c := &said.AdditionalContent[i]
		if problem := content(c); problem != nil {
			problem.Content = i
			problems = append(problems, problem)
			*c = ipxev1.AdditionalContent{Name: c.Name, Exposed: c.Exposed}
		}
	}
	return said, problems
}

func later(c ipxev1.AdditionalContent) bool {
	return c.ObjectRef != nil || len(c.PostTransformations) > 0 || c.Webhook != nil && (c.Webhook.MTLSRef != nil || c.Webhook.BasicAuthRef != nil)
}

func content(c *ipxev1.AdditionalContent) *Problem {
	for i, t := range c.PostTransformations {
		if t.Webhook != nil {
			return &Problem{Field: fmt.Sprintf("postTransformations[%d].webhook", i), Reason: "a webhook cannot transform content here; have one answer what is wanted (webhook)"}
		}
		if t.ButaneToIgnition {
			c.Transform = ipxev1.TransformButane
		}
	}
	c.PostTransformations = nil
	if c.ObjectRef != nil {
		if problem := object(c, c.ObjectRef); problem != nil {
			return problem
		}
		c.ObjectRef = nil
	}
	if c.Webhook == nil {
		return nil
	}
	if _, problem := MTLS(c.Webhook); problem != nil {
		return problem
	}
	_, problem := BasicAuth(c.Webhook)
	return problem
}

func object(c *ipxev1.AdditionalContent, ref *ipxev1.ObjectReference) *Problem {
	key, err := Key(ref.JSONPath)
	if err != nil {
		return &Problem{Field: "objectRef.jsonpath", Reason: err.Error()}
	}
	to := &ipxev1.KeyReference{Namespace: ref.Namespace, Name: ref.Name, Key: key}
	switch kind := singular(ref.Resource); {
	case ref.Group == "" && kind == "secret" && c.SecretRef == nil:
		c.SecretRef = to
	case ref.Group == "" && kind == "configmap" && c.ConfigMapRef == nil:
		c.ConfigMapRef = to
	default:
		return &Problem{Field: "objectRef.resource", Reason: fmt.Sprintf("%q of group %q: only secrets and configmaps of the core group can be referred to", ref.Resource, ref.Group)}
	}
	return nil
}

func singular(resource string) string { return strings.TrimSuffix(strings.ToLower(resource), "s") }
