package index

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

func TestRequests(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := metalv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	claim := func(namespace, name string) client.Object {
		return &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	away := false
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim("a", "one"), claim("a", "two"), claim("b", "one")).
		WithIndex(&metalv1.ServerClaim{}, "first", func(obj client.Object) []string { return []string{obj.GetName()} }).
		WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if away {
				return errors.New("cache is away")
			}
			return c.List(ctx, list, opts...)
		}}).Build()
	names := func(ctx context.Context, wanted func(client.Object) bool, options ...client.ListOption) (found []string) {
		for _, r := range RequestsIf(ctx, reader, &metalv1.ServerClaimList{}, wanted, options...) {
			found = append(found, r.String())
		}
		return found
	}
	if got := len(Requests(t.Context(), reader, &metalv1.ServerClaimList{})); got != 3 {
		t.Errorf("%d requests for three objects", got)
	}
	inA := func(obj client.Object) bool { return obj.GetNamespace() == "a" }
	for _, tc := range []struct {
		name    string
		options []client.ListOption
		want    []string
	}{
		{"by a condition", nil, []string{"a/one", "a/two"}},
		{"by an index", []client.ListOption{client.MatchingFields{"first": "one"}}, []string{"a/one"}},
		{"in another namespace", []client.ListOption{client.InNamespace("b")}, nil},
	} {
		if diff := cmp.Diff(tc.want, names(t.Context(), inA, tc.options...)); diff != "" {
			t.Errorf("%s:\n%s", tc.name, diff)
		}
	}

	away = true
	var logged string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { logged += line }, funcr.Options{}))
	if got := names(ctx, inA, client.InNamespace("a"), client.MatchingFields{"first": "one"}); got != nil {
		t.Errorf("%v without a list", got)
	}
	for _, want := range []string{"objects to reconcile not listed", "cache is away", `"kind"="ServerClaimList"`, `"namespace"="a"`, `"selector"="first=one"`} {
		if !strings.Contains(logged, want) {
			t.Errorf("the log lacks %q: %s", want, logged)
		}
	}
}
