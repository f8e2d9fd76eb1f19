package cluster

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/config"
)

// The page with the tables, and the heading above them.
const (
	rightsPage    = "../../docs/install.md"
	rightsHeading = "\n## Who may what\n"
)

// granted is a namespace of credentialNamespaces, tenants one of a tenant, and others one that the chart knows nothing of.
const (
	granted = "rack-1"
	tenants = "team"
	others  = "somebody"
)

// The lines of both tables. hack/charttest compares the first with the roles.
var (
	mayRow    = regexp.MustCompile("(?m)^\\| ([^|]+) \\| ([^|]+) \\| `([^`]+)` \\| `([^`|]+)` \\|")
	mayNotRow = regexp.MustCompile("(?m)^\\| ([^|]+) \\| `([^`]+)` \\| ([^|`][^|]*) \\| `([^`|]+)` \\|")
)

// accounts are who the tables speak of.
var accounts = map[string]client.ObjectKey{
	"manager": {Namespace: namespace, Name: "farrier-manager"}, "manager, with `certs.mode: self`": {Namespace: namespace, Name: "farrier-manager"},
	"readers of metrics": {Namespace: others, Name: "reader"}, "tenant": {Namespace: tenants, Name: "tenant"},
}

// right is one thing that the page says somebody may do, or may not.
type right struct {
	who, verb, where, resource string
	may                        bool
}

// rights reads the tables.
func rights(t *testing.T) (all []right) {
	t.Helper()
	page, err := os.ReadFile(rightsPage)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), rightsHeading)
	if !found {
		t.Fatalf("%s has no heading %q", rightsPage, rightsHeading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	add := func(who, verbs, where, resources string, may bool) {
		for verb := range strings.SplitSeq(verbs, " ") {
			for resource := range strings.SplitSeq(resources, ", ") {
				all = append(all, right{who, verb, where, resource, may})
			}
		}
	}
	for _, m := range mayRow.FindAllStringSubmatch(section, -1) {
		add(m[1], m[3], m[2], m[4], true)
	}
	allowed := len(all)
	for _, m := range mayNotRow.FindAllStringSubmatch(section, -1) {
		add(m[1], m[2], m[3], m[4], false)
	}
	if allowed < 150 || len(all)-allowed < 150 {
		t.Fatalf("the tables say %d things only, of which %d are allowed", len(all), allowed)
	}
	return all
}

// asked is what the API server is asked about a right.
func (r right) asked(t *testing.T) (all []authorizationv1.SelfSubjectAccessReviewSpec) {
	t.Helper()
	if strings.HasPrefix(r.resource, "/") {
		return []authorizationv1.SelfSubjectAccessReviewSpec{{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.resource, Verb: r.verb}}}
	}
	ask := authorizationv1.ResourceAttributes{Verb: r.verb, Version: "*"}
	ask.Resource, ask.Group, _ = strings.Cut(r.resource, ".")
	ask.Resource, ask.Subresource, _ = strings.Cut(ask.Resource, "/")
	if ask.Group == "admissionregistration.k8s.io" {
		ask.Name = "farrier" // the roles name it
	}
	own := accounts[r.who].Namespace
	everywhere := []string{namespace, granted, tenants, others, ""}
	var places []string
	switch r.where {
	case "everywhere":
		places = everywhere
	case "everywhere, but for `farrier`":
		places, ask.Name = everywhere, "another"
	case "the namespace of the release":
		places = []string{namespace}
	case "`credentialNamespaces`", "in namespaces of `credentialNamespaces`":
		places = []string{granted}
	case "the tenant's namespace":
		places = []string{tenants}
	case "elsewhere":
		places = slices.DeleteFunc(everywhere, func(place string) bool { return place == own || place == granted })
	default:
		t.Fatalf("%s: nobody knows where that is: %q", rightsPage, r.where)
	}
	for _, place := range places {
		in := ask
		in.Namespace = place
		all = append(all, authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &in})
	}
	return all
}

// TestWhoMayWhat: the API server answers every line of the tables in docs/install.md as it stands there.
func TestWhoMayWhat(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, name := range []string{granted, tenants, others} {
		c.namespace(name)
	}
	c.install("certs.mode=self", "credentialNamespaces={"+granted+"}", "metrics.readers[0].namespace="+others, "metrics.readers[0].serviceAccount=reader")
	c.bindTenant()
	clients := map[string]kubernetes.Interface{}
	for who, key := range accounts {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		if err := c.Create(t.Context(), account); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		asks, err := kubernetes.NewForConfig(c.connect(c.accountConfig(key.Namespace, key.Name)))
		if err != nil {
			t.Fatal(err)
		}
		clients[who] = asks
	}
	for _, r := range rights(t) {
		if clients[r.who] == nil {
			t.Fatalf("%s: nobody is called %q", rightsPage, r.who)
		}
		for _, spec := range r.asked(t) {
			review, err := clients[r.who].AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if review.Status.Allowed != r.may {
				t.Errorf("may %s %s %s, asked as %+v: %t, the page says %t", r.who, r.verb, r.resource, spec.ResourceAttributes, review.Status.Allowed, r.may)
			}
		}
	}
}

// bindTenant gives a tenant the role of config/tenant, as docs/api.md says.
func (c *cluster) bindTenant() {
	c.t.Helper()
	objects, err := config.Tenant()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetName() == "farrier-tenant" && o.GetKind() == "ClusterRole" {
			if err := c.Create(c.t.Context(), o); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenants, Name: "tenant"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "farrier-tenant"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: tenants, Name: "tenant"}},
	}
	if err := c.Create(c.t.Context(), binding); err != nil {
		c.t.Fatal(err)
	}
}
