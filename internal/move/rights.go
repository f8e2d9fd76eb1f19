package move

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// right is one thing that has to be allowed.
type right struct{ group, resource, subresource, namespace, verb string }

func (r right) String() string {
	what := r.resource
	if r.group != "" {
		what += "." + r.group
	}
	if r.subresource != "" {
		what += "/" + r.subresource
	}
	if r.namespace != "" {
		what += " in namespace " + r.namespace
	}
	return r.verb + " " + what
}

// checkRights asks both APIs before anything happens: a right that turns out missing half way keeps both sides paused.
func (m *mover) checkRights(ctx context.Context) error {
	source, target := []string{"get", "list", "patch", "delete"}, []string{"get", "list", "create", "update", "patch", "delete"}
	if m.DryRun {
		source, target = []string{"list"}, []string{"get", "list"}
	}
	if err := m.refusedRights(ctx, m.Source, source, false); err != nil {
		return err
	}
	return m.refusedRights(ctx, m.Target, target, true)
}

func (m *mover) refusedRights(ctx context.Context, side Side, verbs []string, target bool) error {
	var wanted []right
	for _, k := range m.kinds {
		for _, verb := range verbs {
			wanted = append(wanted, right{k.Group, k.resource, "", "", verb})
		}
		if target && k.status && !m.DryRun {
			wanted = append(wanted, right{k.Group, k.resource, "status", "", "update"})
		}
	}
	wanted = append(wanted, right{"coordination.k8s.io", "leases", "", m.Namespace, "get"}, right{"", "namespaces", "", "", "get"})
	if !m.DryRun {
		wanted = append(wanted, right{"coordination.k8s.io", "leases", "", m.Namespace, "create"}, right{"coordination.k8s.io", "leases", "", m.Namespace, "update"})
	}
	if target && !m.DryRun {
		wanted = append(wanted, right{"", "namespaces", "", "", "create"}, right{"", "namespaces", "", "", "update"})
	}
	var refused []string
	for _, r := range wanted {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: r.group, Resource: r.resource, Subresource: r.subresource, Namespace: r.namespace, Verb: r.verb,
		}}}
		if err := side.Create(ctx, review); err != nil {
			return fmt.Errorf("%s: ask for the right to %s: %w", side.Name, r, err)
		}
		if !review.Status.Allowed {
			refused = append(refused, r.String())
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("%s: not allowed: %s", side.Name, strings.Join(refused, ", "))
	}
	return nil
}
