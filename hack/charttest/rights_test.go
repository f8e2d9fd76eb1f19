package charttest

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

// rightsValues grant everything that the chart can grant.
const rightsValues = "metrics: {readers: [{namespace: monitoring, serviceAccount: prometheus}]}\ncredentialNamespaces: [rack-1]\nbootServers: {enabled: true}\ncerts: {mode: self}\n"

// right is a line of the table: who may do what with which resources, where.
type right struct{ who, where, what string }

// granted are the rights that rules give.
func granted(who, where string, rules []rbacv1.PolicyRule) (all []right) {
	for _, rule := range rules {
		verbs := strings.Join(rule.Verbs, " ")
		for _, url := range rule.NonResourceURLs {
			all = append(all, right{who, where, verbs + " " + url})
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				all = append(all, right{who, where, verbs + " " + strings.TrimSuffix(resource+"."+group, ".")})
			}
		}
	}
	return all
}

// rendersRights are the rights of everybody whom the chart, or config/tenant, binds.
func rendersRights(t *testing.T) (all []right) {
	t.Helper()
	objects := rendered(t, withCertManager, rightsValues)
	rules := map[string][]rbacv1.PolicyRule{}
	for _, o := range objects {
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			rules["ClusterRole/"+o.Name] = o.Rules
		case *rbacv1.Role:
			rules["Role/"+o.Name] = o.Rules
		}
	}
	where := map[string]string{namespace: "the namespace of the release", "rack-1": "`credentialNamespaces`"}
	for _, o := range objects {
		switch o := o.(type) {
		case *rbacv1.ClusterRoleBinding:
			for _, subject := range o.Subjects {
				all = append(all, granted(subject.Name, "everywhere", rules["ClusterRole/"+o.RoleRef.Name])...)
			}
		case *rbacv1.RoleBinding:
			for _, subject := range o.Subjects {
				all = append(all, granted(subject.Name, where[o.Namespace], rules[o.RoleRef.Kind+"/"+o.RoleRef.Name])...)
			}
		}
	}
	for _, o := range ofConfig(t, "tenant/role.yaml") {
		all = append(all, granted("tenant", "the tenant's namespace", o.(*rbacv1.ClusterRole).Rules)...)
	}
	return all
}

var row = regexp.MustCompile("(?m)^\\| ([^|]+) \\| ([^|]+) \\| `([^`]+)` \\| ([^|]+) \\|")

// TestWhoMayWhat: the table of docs/install.md has every right that the chart gives, and no other.
func TestWhoMayWhat(t *testing.T) {
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "## Who may what\n")
	if !found {
		t.Fatal("docs/install.md has no section \"Who may what\"")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	who := map[string]string{"manager": "farrier-manager", "manager, with `certs.mode: self`": "farrier-manager", "readers of metrics": "prometheus", "tenant": "tenant"}
	var documented []right
	for _, m := range row.FindAllStringSubmatch(section, -1) {
		for resource := range strings.SplitSeq(m[4], ", ") {
			documented = append(documented, right{who[m[1]], m[2], m[3] + " " + strings.Trim(resource, "` ")})
		}
	}
	order := func(a, b right) int {
		return cmp.Or(strings.Compare(a.who, b.who), strings.Compare(a.where, b.where), strings.Compare(a.what, b.what))
	}
	want := rendersRights(t)
	slices.SortFunc(documented, order)
	slices.SortFunc(want, order)
	if diff := gocmp.Diff(slices.Compact(want), documented, gocmp.AllowUnexported(right{})); diff != "" {
		t.Errorf("- the chart, + docs/install.md:\n%s", diff)
	}
	// Boot servers are bound to nothing at all, and have no token.
	for _, r := range want {
		if r.who == "farrier-bootserver" {
			t.Errorf("boot servers may %s", r.what)
		}
	}
}
