package charttest

import (
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// TestWatchFilter: two installations share no object that belongs to no namespace, but for the kinds, and each is asked about its own objects.
func TestWatchFilter(t *testing.T) {
	const values = "{crds: {install: false}, metrics: {readers: [{namespace: monitoring, serviceAccount: prometheus}]}, credentialNamespaces: [rack-1]}"
	clusterWide := func(objects []object) (all []string) {
		for _, o := range objects {
			if o.GetNamespace() != namespace {
				all = append(all, o.GetObjectKind().GroupVersionKind().Kind+"/"+o.GetNamespace()+"/"+o.GetName())
			}
		}
		return all
	}
	one, two := rendered(t, plain, values), rendered(t, plain, strings.Replace(values, "{", "{watchFilter: hall-1, ", 1))
	mine := clusterWide(two)
	if len(mine) < 8 || len(mine) != len(clusterWide(one)) {
		t.Errorf("%v", mine)
	}
	for _, name := range clusterWide(one) {
		if slices.Contains(mine, name) || !slices.Contains(mine, name+".hall-1") {
			t.Errorf("%s without a filter, and with one %v", name, mine)
		}
	}
	roles := map[string]bool{}
	for _, o := range two {
		if role, ok := o.(*rbacv1.ClusterRole); ok {
			roles[role.Name] = true
		}
	}
	for _, o := range two {
		var ref rbacv1.RoleRef
		switch o := o.(type) {
		case *rbacv1.ClusterRoleBinding:
			ref = o.RoleRef
		case *rbacv1.RoleBinding:
			ref = o.RoleRef
		}
		if ref.Kind == "ClusterRole" && !roles[ref.Name] {
			t.Errorf("%s binds %s, which is not there", o.GetName(), ref.Name)
		}
	}
	knowsItsWebhooks(t, two)
}

// knowsItsWebhooks checks what an installation with the filter hall-1 may change, and is asked about.
func knowsItsWebhooks(t *testing.T, objects []object) {
	t.Helper()
	if rule := one[*rbacv1.ClusterRole](t, objects, "farrier-manager-webhooks.hall-1").Rules[0]; !slices.Equal(rule.ResourceNames, []string{"farrier.hall-1"}) {
		t.Errorf("may change the webhook configurations %v", rule.ResourceNames)
	}
	asks := one[*admissionregistrationv1.ValidatingWebhookConfiguration](t, objects, "farrier.hall-1").Webhooks[0].ObjectSelector
	if asks == nil || len(asks.MatchExpressions) > 0 || asks.MatchLabels["metal.ironcore.dev/watch-filter"] != "hall-1" {
		t.Errorf("is asked about %v", asks)
	}
	if file := one[*corev1.ConfigMap](t, objects, "farrier-manager").Data["farrier-manager.yaml"]; !strings.Contains(file, "\nwatch-filter: \"hall-1\"\n") {
		t.Errorf("the manager is told\n%s", file)
	}
}
