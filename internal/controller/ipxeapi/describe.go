package ipxeapi

import (
	"slices"
	"strings"
	"unicode/utf8"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Reasons of conditions of Profiles.
const (
	reasonReady              = "Ready"
	reasonInvalidTemplate    = "InvalidTemplate"
	reasonContentUnavailable = "ContentUnavailable"
	reasonInvalidName        = metalv1.ReasonInvalidName
	reasonContentUnreadable  = "ContentUnreadable"
	reasonContentStale       = "ContentStale"
	reasonResolved           = "Resolved"
	reasonInvalidButane      = "InvalidButane"
	reasonWarnings           = "Warnings"
	reasonTransformed        = "Transformed"
	reasonForeignNamespace   = "NamespaceNotServed"
)

// maxMessage bounds a message; the API takes 32 KiB (metav1.Condition).
const maxMessage = 2048

func condition(kind string, is bool, reason string, generation int64, parts ...string) metav1.Condition {
	message := strings.Join(parts, "; ")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	if !utf8.ValidString(message) {
		message = strings.ToValidUTF8(message, "?")
	}
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: generation}
	if is {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// describe writes the status of a profile. refused is why its script could not be rendered for some machine.
func describe(p *ipxev1.Profile, g *gathered, problem error, refused string) {
	n := p.Generation
	p.Status.ObservedGeneration = n
	set := func(c metav1.Condition) { apimeta.SetStatusCondition(&p.Status.Conditions, c) }

	switch {
	case len(g.missing) > 0:
		set(condition(ipxev1.ConditionContentResolved, false, g.whyMissing(), n, g.missing...))
	case len(g.stale) > 0:
		set(condition(ipxev1.ConditionContentResolved, false, reasonContentStale, n, g.stale...))
	default:
		set(condition(ipxev1.ConditionContentResolved, true, reasonResolved, n))
	}
	switch {
	case !g.transformed:
		apimeta.RemoveStatusCondition(&p.Status.Conditions, ipxev1.ConditionTransformed)
	case len(g.invalid) > 0:
		set(condition(ipxev1.ConditionTransformed, false, reasonInvalidButane, n, append(g.invalid, g.warned...)...))
	case len(g.warned) > 0:
		set(condition(ipxev1.ConditionTransformed, true, reasonWarnings, n, g.warned...))
	default:
		set(condition(ipxev1.ConditionTransformed, true, reasonTransformed, n))
	}
	if refused == "" {
		apimeta.RemoveStatusCondition(&p.Status.Conditions, ipxev1.ConditionRendered)
	} else {
		set(condition(ipxev1.ConditionRendered, false, ipxev1.ReasonRefused, n, "spec.ipxe: The script could not be rendered for at least one machine, which gets 503: "+refused))
	}
	switch {
	case problem != nil:
		set(condition(ipxev1.ConditionReady, false, reasonInvalidTemplate, n, "spec.ipxe: "+problem.Error()))
	case len(g.missing) > 0:
		set(condition(ipxev1.ConditionReady, false, g.whyMissing(), n, g.missing...))
	case len(g.invalid) > 0:
		set(condition(ipxev1.ConditionReady, false, reasonInvalidButane, n, g.invalid...))
	default:
		set(condition(ipxev1.ConditionReady, true, reasonReady, n))
	}
}

func (g *gathered) whyMissing() string {
	if g.misnamed {
		return reasonInvalidName
	}
	return reasonContentUnavailable
}

// describeUnreadable writes that content of a profile is not readable; the controller tries again. A profile that was served before stays
// served.
func describeUnreadable(p *ipxev1.Profile, served bool, err error) {
	n := p.Generation
	p.Status.ObservedGeneration = n
	apimeta.SetStatusCondition(&p.Status.Conditions, condition(ipxev1.ConditionContentResolved, false, reasonContentUnreadable, n, err.Error()))
	if !served {
		apimeta.SetStatusCondition(&p.Status.Conditions, condition(ipxev1.ConditionReady, false, reasonContentUnreadable, n, err.Error()))
	}
}

// describeForeign writes that a profile does not count in its namespace.
func describeForeign(p *ipxev1.Profile) {
	p.Status.ObservedGeneration = p.Generation
	p.Status.Conditions = keepOnly(p.Status.Conditions, ipxev1.ConditionReady)
	apimeta.SetStatusCondition(&p.Status.Conditions, foreign(ipxev1.ConditionReady, p.Generation))
}

func foreign(kind string, generation int64) metav1.Condition {
	return condition(kind, false, reasonForeignNamespace, generation, "The namespace is not one of --boot-namespaces, and has no grant of machines (annotation "+ipxev1.AnnotationBootIdentities+" of the Namespace)")
}

// notGranted returns the condition of an object that selects machines without a grant.
func notGranted(kind string, generation int64, namespace, missing string) metav1.Condition {
	return condition(kind, false, ipxev1.ReasonNotGranted, generation, missing,
		"Namespace "+namespace+" is neither one of --boot-namespaces nor has a grant of these machines (annotation "+ipxev1.AnnotationBootIdentities+" of the Namespace)")
}

func keepOnly(conditions []metav1.Condition, kinds ...string) []metav1.Condition {
	var kept []metav1.Condition
	for _, c := range conditions {
		if slices.Contains(kinds, c.Type) {
			kept = append(kept, c)
		}
	}
	return kept
}
