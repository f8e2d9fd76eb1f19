package config

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

const fieldOwner = client.FieldOwner("farrier-samples")

// requestTimeout bounds each test's requests; the API answers one in milliseconds.
const requestTimeout = time.Minute

func newClient(t *testing.T) (client.Client, *rest.Config) {
	t.Helper()
	cfg := testapi.Start(t)
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Unknown fields are errors, as they are for kubectl.
	return client.WithFieldValidation(c, metav1.FieldValidationStrict), cfg
}

func apply(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner)
}

func TestSamplesApply(t *testing.T) {
	c, _ := newClient(t)
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	defer cancel()
	samples, err := Samples()
	examples, problem := Examples()
	if err := errors.Join(err, problem); err != nil {
		t.Fatal(err)
	}
	for _, sample := range slices.Concat(samples, examples) {
		first := sample.DeepCopy()
		if err := apply(ctx, c, first); err != nil {
			t.Errorf("%s %s: %v", sample.GetKind(), sample.GetName(), err)
			continue
		}
		second := sample.DeepCopy()
		if err := apply(ctx, c, second); err != nil {
			t.Errorf("%s %s, applied again: %v", sample.GetKind(), sample.GetName(), err)
		}
		if !strings.Contains(sample.GroupVersionKind().Group, ".") {
			continue // A kind of Kubernetes itself, not ours to answer for.
		}
		if first.GetResourceVersion() == "" || first.GetResourceVersion() != second.GetResourceVersion() {
			t.Errorf("%s %s: applying it again changed it: resource version %s, then %s",
				sample.GetKind(), sample.GetName(), first.GetResourceVersion(), second.GetResourceVersion())
		}
	}
}

// TestAPIServerRefusesBadInput runs the table of refused input against a real API, which adds what
// the table's own test leaves out: that errors reach the client with the path of their field.
func TestAPIServerRefusesBadInput(t *testing.T) {
	c, _ := newClient(t)
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	defer cancel()
	namespace := testapi.Namespace(t)
	crds := loadCRDs(t)
	for n, r := range refused {
		t.Run(r.name, func(t *testing.T) {
			object := func(manifest string) *unstructured.Unstructured {
				u := &unstructured.Unstructured{Object: parse(t, manifest)}
				u.SetGroupVersionKind(schema.GroupVersionKind{Group: crds[r.kind].Spec.Group, Version: "v1alpha1", Kind: r.kind})
				u.SetName("refused-" + string(rune('a'+n/26)) + string(rune('a'+n%26)))
				if crds[r.kind].Spec.Scope == "Namespaced" {
					u.SetNamespace(namespace)
				}
				return u
			}
			var err error
			if r.old == "" {
				err = c.Create(ctx, object(r.object))
			} else {
				before := object(r.old)
				if err := c.Create(ctx, before); err != nil {
					t.Fatalf("the object before the update: %v", err)
				}
				after := object(r.object)
				after.SetResourceVersion(before.GetResourceVersion())
				err = c.Update(ctx, after)
			}
			if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
				t.Fatalf("error %v, want it refused", err)
			}
			if !strings.Contains(err.Error(), r.path) {
				t.Errorf("error %v, want it to name %s", err, r.path)
			}
		})
	}
}

// TestColumns asks for tables as kubectl does, and holds them against the columns of the contract.
func TestColumns(t *testing.T) {
	c, cfg := newClient(t)
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	defer cancel()
	maintenance := &unstructured.Unstructured{Object: parse(t, `{metadata: {annotations: {metal.ironcore.dev/reason: disk 3}}, spec: {serverRef: {name: a}, priority: 7}}`)}
	maintenance.SetGroupVersionKind(schema.GroupVersionKind{Group: "metal.ironcore.dev", Version: "v1alpha1", Kind: "ServerMaintenance"})
	maintenance.SetName("columns")
	maintenance.SetNamespace(testapi.Namespace(t))
	if err := c.Create(ctx, maintenance); err != nil {
		t.Fatal(err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for kind, crd := range loadCRDs(t) {
		table := &metav1.Table{}
		err := discoverer.RESTClient().Get().
			AbsPath("/apis", crd.Spec.Group, "v1alpha1", crd.Spec.Names.Plural).
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
			Do(ctx).Into(table)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		// The API server puts the name in front.
		want := []string{"Name"}
		for _, column := range crd.Spec.Versions[0].AdditionalPrinterColumns {
			want = append(want, column.Name)
		}
		if len(want) == 1 {
			want = append(want, "Age") // what it shows of a kind that names no columns
		}
		var got []string
		for _, column := range table.ColumnDefinitions {
			got = append(got, column.Name)
		}
		if !slices.Equal(want, got) {
			t.Errorf("%s: columns %v, want %v", kind, got, want)
		}
		if kind == "ServerMaintenance" {
			checkMaintenanceRow(t, table)
		}
	}
}

// checkMaintenanceRow looks at the one column whose JSONPath has to be escaped.
func checkMaintenanceRow(t *testing.T, table *metav1.Table) {
	t.Helper()
	for _, row := range table.Rows {
		if row.Cells[0] == "columns" {
			if row.Cells[4] != "disk 3" || row.Cells[6] != int64(7) {
				t.Errorf("cells %v, want the reason and the priority", row.Cells)
			}
			return
		}
	}
	t.Error("the maintenance is not in the table")
}
