package controlplane

import (
	"context"
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/farrier-dev/farrier/internal/controlplane/kubeconfig"
)

// role is a cluster role and the group that has it.
type role struct {
	name  string
	group string
	rules []rbacv1.PolicyRule
}

var discoveryPaths = []string{
	"/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", "/version", "/version/", "/healthz", "/livez", "/readyz",
}

// everything is what cluster-admin may do.
var everything = []rbacv1.PolicyRule{
	{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
}

// initialRoles are the names people know from other clusters, as far as they mean something here, and the one of the administrator's
// kubeconfig. The controllers in this process need none: they connect as system:masters.
var initialRoles = []role{
	{
		name:  "cluster-admin",
		group: user.SystemPrivilegedGroup,
		rules: everything,
	},
	{
		// Of its own, and not one more subject of cluster-admin: whoever deletes the binding has revoked the kubeconfig, also for the next start.
		name:  kubeconfig.Group,
		group: kubeconfig.Group,
		rules: everything,
	},
	{
		// What every client does before anything else.
		name:  "system:discovery",
		group: user.AllAuthenticated,
		rules: []rbacv1.PolicyRule{{
			Verbs:           []string{"get"},
			NonResourceURLs: discoveryPaths,
		}},
	},
	{
		// kubectl auth can-i and kubectl auth whoami.
		name:  "system:basic-user",
		group: user.AllAuthenticated,
		rules: []rbacv1.PolicyRule{
			{
				Verbs:     []string{"create"},
				APIGroups: []string{"authorization.k8s.io"},
				Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"},
			},
			{
				Verbs:     []string{"create"},
				APIGroups: []string{"authentication.k8s.io"},
				Resources: []string{"selfsubjectreviews"},
			},
		},
	},
}

// ensureAccess makes what people need who have a kubeconfig.
func ensureAccess(ctx context.Context, cfg *rest.Config) error {
	return errors.Join(ensureRoles(ctx, cfg), ensureFlow(ctx, cfg))
}

// ensureRoles creates what is missing of the initial roles and puts back rules that were changed. Bindings are made with the role and then
// left alone, so that an administrator can take one away or give it to others.
func ensureRoles(ctx context.Context, cfg *rest.Config) error {
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("roles: %w", err)
	}
	for i := range initialRoles {
		if err := ensureRole(ctx, clients.RbacV1(), &initialRoles[i]); err != nil {
			return fmt.Errorf("role %s: %w", initialRoles[i].name, err)
		}
	}
	return nil
}

func ensureRole(ctx context.Context, client rbacclient.RbacV1Interface, r *role) error {
	found, err := client.ClusterRoles().Get(ctx, r.name, metav1.GetOptions{})
	if err == nil {
		if equality.Semantic.DeepEqual(found.Rules, r.rules) {
			return nil
		}
		found.Rules = r.rules
		_, err = client.ClusterRoles().Update(ctx, found, metav1.UpdateOptions{})
		return err
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	// The binding goes first: a crash between the two makes the next start try both again.
	_, err = client.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: r.name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: r.name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: r.group}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err = client.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: r.name}, Rules: r.rules}, metav1.CreateOptions{})
	return err
}
