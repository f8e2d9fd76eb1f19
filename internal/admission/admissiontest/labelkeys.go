package admissiontest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The manifests of the iPXE API are documented with keys of two slashes, and one of them misspelled. The region is an operator's own label.
const (
	profileManifest = `
apiVersion: ipxe.cloud.alexandre.mahdhaoui.com/v1alpha1
kind: Profile
metadata:
  name: flatcar
  namespace: $ns
  labels:
    assignment/ipxe/buildarch: arm64
    assignment/extrinsic/region: us-cal
    example.com/region: us-cal
spec:
  ipxe: |
    # ipxe
    chain http://192.0.2.1/{{ config0 }}
  additionalConfig:
    config0: |
      some: config
`
	assignmentManifest = `
apiVersion: ipxe.cloud.alexandre.mahdhaoui.com/v1alpha1
kind: Assignment
metadata:
  name: flatcar
  namespace: $ns
spec:
  subjectSelector:
    serialNumber: c4a94672
  profileSelectors:
    assignment/ipxe/buildarch: arm64
    assigment/extrinsic/region: us-cal
`
	buildarch   = "assignment/ipxe-buildarch"
	illegalArch = "assignment/ipxe/buildarch"
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// LabelKeys applies manifests with illegal label keys in every way that clients have, and looks at what is stored and who owns it.
func LabelKeys(t *testing.T, api *API) {
	t.Run("Create", func(t *testing.T) { labelsCreated(t, api) })
	t.Run("Selectors", func(t *testing.T) { selectorsCreated(t, api) })
	t.Run("Patch", func(t *testing.T) { labelsPatched(t, api) })
	t.Run("ClientSideApply", func(t *testing.T) { labelsAppliedByClient(t, api) })
	t.Run("ServerSideApply", func(t *testing.T) { labelsAppliedByServer(t, api) })
	t.Run("Contradiction", func(t *testing.T) { labelsContradict(t, api) })
}

func sample(t *testing.T, api *API, manifest string) *unstructured.Unstructured {
	t.Helper()
	return Parse(t, strings.ReplaceAll(manifest, "$ns", api.Namespace(t)))
}

// admitted checks that a request passed with a warning for each repaired key.
func admitted(t *testing.T, outcome Outcome, keys ...string) {
	t.Helper()
	if len(outcome.Causes) > 0 {
		t.Fatalf("refused: %q", outcome.Causes)
	}
	if len(outcome.Warnings) != len(keys) {
		t.Errorf("%d warnings, want %d: %q", len(outcome.Warnings), len(keys), outcome.Warnings)
	}
	for _, key := range keys {
		if !strings.Contains(strings.Join(outcome.Warnings, "\n"), `"`+key+`" is not a legal label key and was changed to`) {
			t.Errorf("no warning of %s: %q", key, outcome.Warnings)
		}
	}
}

// stored reads an object back and compares its labels.
func stored(t *testing.T, api *API, object *unstructured.Unstructured, labels map[string]string) *unstructured.Unstructured {
	t.Helper()
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(object.GroupVersionKind())
	if err := api.client.Get(t.Context(), client.ObjectKeyFromObject(object), found); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(labels, found.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	for _, entry := range found.GetManagedFields() {
		if strings.Contains(entry.FieldsV1.GetRawString(), illegalArch) {
			t.Errorf("%s owns a key that is not there: %s", entry.Manager, entry.FieldsV1.GetRawString())
		}
	}
	return found
}

// owns reports whether a manager owns a label.
func owns(object *unstructured.Unstructured, manager, key string) bool {
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == manager && strings.Contains(entry.FieldsV1.GetRawString(), `"f:`+key+`"`) {
			return true
		}
	}
	return false
}

func labelsCreated(t *testing.T, api *API) {
	profile := sample(t, api, profileManifest)
	outcome := api.Do(t, func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, profile, client.FieldOwner("person"))
	}, profile)
	admitted(t, outcome, illegalArch, "assignment/extrinsic/region")
	found := stored(t, api, profile, map[string]string{buildarch: "arm64", "assignment/extrinsic-region": "us-cal", "example.com/region": "us-cal"})
	if !owns(found, "person", buildarch) {
		t.Errorf("nobody owns %s: %v", buildarch, found.GetManagedFields())
	}
	profile = sample(t, api, profileManifest)
	profile.SetNamespace(found.GetNamespace())
	profile.SetResourceVersion(found.GetResourceVersion())
	profile.SetLabels(map[string]string{illegalArch: "x86_64"})
	admitted(t, api.Request(t, profile, found), illegalArch)
	stored(t, api, profile, map[string]string{buildarch: "x86_64"})
}

func selectorsCreated(t *testing.T, api *API) {
	assignment := sample(t, api, assignmentManifest)
	admitted(t, api.Request(t, assignment, nil), illegalArch, "assigment/extrinsic/region")
	found := stored(t, api, assignment, nil)
	selectors, _, err := unstructured.NestedStringMap(found.Object, "spec", "profileSelectors")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{buildarch: "arm64", "assigment/extrinsic-region": "us-cal"}, selectors); diff != "" {
		t.Errorf("profileSelectors (-want +got):\n%s", diff)
	}
}

func labelsPatched(t *testing.T, api *API) {
	profile := sample(t, api, profileManifest)
	profile.SetLabels(map[string]string{buildarch: "arm64"})
	api.Give(t, profile)
	patch := []byte(`{"metadata":{"labels":{"` + illegalArch + `":"i386"}}}`)
	admitted(t, api.Do(t, func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, profile.DeepCopy(), client.RawPatch(types.MergePatchType, patch), client.FieldOwner("person"))
	}, profile), illegalArch)
	found := stored(t, api, profile, map[string]string{buildarch: "i386"})
	if !owns(found, "person", buildarch) {
		t.Errorf("the one who patched does not own %s: %v", buildarch, found.GetManagedFields())
	}
}

// labelsAppliedByClient does what kubectl apply does: it remembers the manifest in an annotation, and compares.
func labelsAppliedByClient(t *testing.T, api *API) {
	profile := sample(t, api, profileManifest)
	manifest := func(labels map[string]string) *unstructured.Unstructured {
		object := profile.DeepCopy()
		object.SetLabels(labels)
		text, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		object.SetAnnotations(map[string]string{lastApplied: string(text)})
		return object
	}
	first := manifest(map[string]string{illegalArch: "arm64", "a": "b"})
	admitted(t, api.Request(t, first.DeepCopy(), nil), illegalArch)
	found := stored(t, api, profile, map[string]string{buildarch: "arm64", "a": "b"})

	apply := func(next *unstructured.Unstructured) Outcome {
		modified, err := json.Marshal(next)
		if err != nil {
			t.Fatal(err)
		}
		current, err := json.Marshal(found)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(found.GetAnnotations()[lastApplied]), modified, current)
		if err != nil {
			t.Fatal(err)
		}
		return api.Do(t, func(ctx context.Context, c client.Client) error {
			return c.Patch(ctx, profile.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
		}, profile)
	}
	admitted(t, apply(first), illegalArch)
	found = stored(t, api, profile, map[string]string{buildarch: "arm64", "a": "b"})
	admitted(t, apply(manifest(map[string]string{"a": "b"})))
	stored(t, api, profile, map[string]string{"a": "b"})
}

func labelsAppliedByServer(t *testing.T, api *API) {
	profile := sample(t, api, profileManifest)
	apply := func(labels map[string]string) Outcome {
		object := profile.DeepCopy()
		object.SetLabels(labels)
		return api.Do(t, func(ctx context.Context, c client.Client) error {
			return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("person"), client.ForceOwnership)
		}, object)
	}
	labels := map[string]string{illegalArch: "arm64", "a": "b"}
	for range 2 { // made, then not changed
		admitted(t, apply(labels), illegalArch)
		stored(t, api, profile, map[string]string{buildarch: "arm64", "a": "b"})
	}
	admitted(t, apply(map[string]string{illegalArch: "x86_64", "a": "b"}), illegalArch)
	stored(t, api, profile, map[string]string{buildarch: "x86_64", "a": "b"})
	admitted(t, apply(map[string]string{"a": "b"}))
	stored(t, api, profile, map[string]string{"a": "b"})
}

// labelsContradict: which of two values is meant is not for us to say, and the API server refuses the key.
func labelsContradict(t *testing.T, api *API) {
	profile := sample(t, api, profileManifest)
	profile.SetLabels(map[string]string{illegalArch: "arm64", buildarch: "x86_64"})
	outcome := api.Request(t, profile, nil)
	if !strings.Contains(strings.Join(outcome.Causes, "\n"), "metadata.labels: ") {
		t.Errorf("want it refused at metadata.labels, got %q", outcome.Causes)
	}
	if !strings.Contains(strings.Join(outcome.Warnings, "\n"), "because that key exists with another value") {
		t.Errorf("warnings %q", outcome.Warnings)
	}
}
