package watchfilter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/farrier-dev/farrier/api"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

func TestParse(t *testing.T) {
	for _, value := range []string{"", "a", "hall-1", strings.Repeat("a", 63)} {
		if f, err := Parse(value); err != nil || f.String() != value {
			t.Errorf("%q: %q, %v", value, f.String(), err)
		}
	}
	for _, value := range []string{"Hall", "hall_1", "hall.1", "-a", "a-", "a b", "!a", "a,b", "ä", strings.Repeat("a", 64)} {
		if _, err := Parse(value); err == nil {
			t.Errorf("%q is taken", value)
		}
	}
	if got := (Filter{"hall-1"}).Named("farrier-manager") + " " + (Filter{}).Named("farrier-manager"); got != "farrier-manager.hall-1 farrier-manager" {
		t.Error(got)
	}
}

func labelled(values ...string) map[string]string {
	if len(values) == 0 {
		return map[string]string{"other": "x"}
	}
	return map[string]string{"other": "x", metalv1.LabelWatchFilter: values[0]}
}

// TestEveryObjectBelongsToOneInstallation: at most, for an empty label is that of nobody.
func TestEveryObjectBelongsToOneInstallation(t *testing.T) {
	filters := []Filter{{}, {"a"}, {"b"}}
	for _, c := range []struct {
		labels map[string]string
		want   []Filter
	}{
		{nil, []Filter{{}}},
		{labelled(), []Filter{{}}},
		{labelled("a"), []Filter{{"a"}}},
		{labelled("b"), []Filter{{"b"}}},
		{labelled("c"), nil},
		{labelled(""), nil},
	} {
		var got []Filter
		for _, f := range filters {
			if f.Covers(&metav1.ObjectMeta{Labels: c.labels}) {
				got = append(got, f)
			}
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(Filter{})); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.labels, diff)
		}
	}
}

// TestACacheHoldsNothingElse: of every kind there is, and what was said of a kind before stays.
func TestACacheHoldsNothingElse(t *testing.T) {
	profiles, yes := &metalv1.Server{}, true
	by := map[client.Object]cache.ByObject{profiles: {UnsafeDisableDeepCopy: &yes}, &corev1.ConfigMap{}: {}}
	if err := (Filter{"a"}).Restrict(by); err != nil {
		t.Fatal(err)
	}
	if by[profiles].UnsafeDisableDeepCopy == nil {
		t.Error("what was said of Servers is gone")
	}
	restricted := map[string]int{}
	for obj, how := range by {
		kind, err := kindOf(obj)
		if err != nil {
			if how.Label != nil {
				t.Errorf("%T, which is no kind of Farrier, is selected by %s", obj, how.Label)
			}
			continue
		}
		restricted[kind.String()]++
		if how.Label == nil || how.Label.String() != metalv1.LabelWatchFilter+"=a" {
			t.Errorf("%s is selected by %v", kind, how.Label)
		}
	}
	for kind := range kinds() {
		if restricted[kind.String()] != 1 {
			t.Errorf("%d selectors of %s", restricted[kind.String()], kind)
		}
	}
	if len(restricted) < 20 {
		t.Errorf("%d kinds", len(restricted))
	}
	if err := (Filter{}).Restrict(map[client.Object]cache.ByObject{&metalv1.BMC{}: {Label: labels.Everything()}}); err == nil {
		t.Error("another selector is lost without a word")
	}
}

func server(name string, values ...string) *metalv1.Server {
	return &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labelled(values...)}}
}

func store(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// TestReadsPastTheCaches find the objects of the installation, and Secrets of anybody.
func TestReadsPastTheCaches(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "ignition"}}
	all := store(t, secret, server("none"), server("a", "a"), server("b", "b"))
	for _, f := range []Filter{{}, {"a"}} {
		r := f.Reader(all)
		own := "none"
		if f.value != "" {
			own = f.value
		}
		for _, name := range []string{"none", "a", "b"} {
			if err := r.Get(t.Context(), client.ObjectKey{Name: name}, &metalv1.Server{}); (err == nil) != (name == own) || err != nil && !apierrors.IsNotFound(err) {
				t.Errorf("filter %q, Server %s: %v", f.value, name, err)
			}
		}
		for selector, want := range map[string]int{"": 1, "other=x": 1, "other=y": 0} {
			var list metalv1.ServerList
			wanted, err := labels.Parse(selector)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.List(t.Context(), &list, client.MatchingLabelsSelector{Selector: wanted}); err != nil || len(list.Items) != want || want > 0 && list.Items[0].Name != own {
				t.Errorf("filter %q, selector %q: %v, %v", f.value, selector, list.Items, err)
			}
		}
		var list metalv1.ServerList
		if err := r.List(t.Context(), &list, client.MatchingLabelsSelector{Selector: labels.Nothing()}); err != nil || len(list.Items) > 0 {
			t.Errorf("filter %q selects nothing: %v, %v", f.value, list.Items, err)
		}
		var secrets corev1.SecretList
		if err := r.List(t.Context(), &secrets); err != nil || len(secrets.Items) != 1 {
			t.Errorf("filter %q: %d Secrets, %v", f.value, len(secrets.Items), err)
		}
		if err := r.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{}); err != nil {
			t.Errorf("filter %q: %v", f.value, err)
		}
	}
}

// TestWhatIsMadeHasTheLabel, if it can have one.
func TestWhatIsMadeHasTheLabel(t *testing.T) {
	for _, f := range []Filter{{}, {"a"}} {
		all := store(t)
		c := f.Client(all, all)
		for _, obj := range []client.Object{
			&metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "b", Labels: labelled()}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "c"}},
		} {
			if err := c.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			if !f.Covers(obj) {
				t.Errorf("filter %q: %T has the labels %v", f.value, obj, obj.GetLabels())
			}
		}
		review := &authorizationv1.SelfSubjectAccessReview{ObjectMeta: metav1.ObjectMeta{Name: "r"}}
		if err := c.Create(t.Context(), review); err != nil || len(review.Labels) > 0 {
			t.Errorf("filter %q: a review has the labels %v, %v", f.value, review.Labels, err)
		}
	}
}

// TestANameThatIsTaken: the error says by whom where nobody here can see it.
func TestANameThatIsTaken(t *testing.T) {
	all := store(t, server("none"), server("a", "a"), server("b", "b"))
	for _, c := range []struct {
		filter Filter
		name   string
		says   string
	}{
		{Filter{"a"}, "a", ""},
		{Filter{"a"}, "b", `is "b"`},
		{Filter{"a"}, "none", "has no label"},
		{Filter{}, "b", `is "b"`},
		{Filter{}, "none", ""},
	} {
		err := c.filter.Client(all, all).Create(t.Context(), &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: c.name}})
		if !apierrors.IsAlreadyExists(err) {
			t.Fatalf("%q, %s: %v", c.filter.value, c.name, err)
		}
		if says := strings.Contains(err.Error(), "another installation"); says != (c.says != "") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q, %s: %v", c.filter.value, c.name, err)
		}
	}
}
