package acceptance

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/farrier-dev/farrier/internal/controlplane/crds"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

// patience is how long an eventual effect may take before a test fails. It is generous because many packages are tested at once.
const patience = 60 * time.Second

var (
	widgets    = schema.GroupVersionResource{Group: "test.farrier.dev", Version: "v1", Resource: "widgets"}
	bmcSecrets = schema.GroupVersionResource{Group: "metal.ironcore.dev", Version: "v1alpha1", Resource: "bmcsecrets"}
)

func clientset(t *testing.T, cfg *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func dynamicClient(t *testing.T, cfg *rest.Config) *dynamic.DynamicClient {
	t.Helper()
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// gone turns the error of a Get into a condition for eventually.
func gone(err error) (bool, error) {
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

func configMap(name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}}
}

func ownedBy(owner *corev1.ConfigMap, block bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: &block}
}

func createConfigMap(t *testing.T, client kubernetes.Interface, namespace string, object *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	created, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// definition is the smallest CRD of the resource that keeps whatever it is given.
func definition(resource schema.GroupVersionResource, kind string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	keep := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: resource.Resource + "." + resource.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: resource.Group,
			Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: resource.Resource, Kind: kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: resource.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", Description: "A " + kind + " of a test.", XPreserveUnknownFields: &keep,
					},
				},
			}},
		},
	}
}

func install(t *testing.T, cfg *rest.Config, definitions ...*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	if err := crds.Install(t.Context(), cfg, definitions, crds.Options{SingleServer: true}); err != nil {
		t.Fatal(err)
	}
}

func object(resource schema.GroupVersionResource, kind, name string, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range content {
		u.Object[key] = value
	}
	u.SetGroupVersionKind(resource.GroupVersion().WithKind(kind))
	u.SetName(name)
	return u
}

func TestInstallCRDs(t *testing.T) {
	cfg := testapi.Start(t)
	gadgets := schema.GroupVersionResource{Group: "test.farrier.dev", Version: "v1", Resource: "gadgets"}
	want := definition(gadgets, "Gadget", apiextensionsv1.ClusterScoped)
	install(t, cfg, want)

	// Served at once, and without the two seconds the API server takes for the first objects of a kind that has just been established.
	start := time.Now()
	client := dynamicClient(t, cfg)
	if _, err := client.Resource(gadgets).Create(t.Context(), object(gadgets, "Gadget", "one", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Logf("first object created in %s", time.Since(start))
	if err := client.Resource(gadgets).Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	read := func() *unstructured.Unstructured {
		t.Helper()
		found, err := client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")).Get(t.Context(), want.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	before := read()
	install(t, cfg, want)
	if after := read(); after.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("installing the same definition again wrote it: resourceVersion %s, was %s", after.GetResourceVersion(), before.GetResourceVersion())
	}

	changed := want.DeepCopy()
	changed.Spec.Names.ShortNames = []string{"gdg"}
	install(t, cfg, changed)
	after := read()
	names, _, err := unstructured.NestedStringSlice(after.Object, "spec", "names", "shortNames")
	if err != nil || len(names) != 1 || names[0] != "gdg" {
		t.Errorf("short names after the update: %q (%v), want gdg", names, err)
	}
}
