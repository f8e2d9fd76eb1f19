package acceptance

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// TestAdmission: what is wrong with an object because of another one, or cannot be read, is refused at its field; and what can
// be repaired is.
func TestAdmission(t *testing.T) {
	p := beside(t)
	refused := func(object client.Object, want ...string) {
		t.Helper()
		err := p.Create(t.Context(), object)
		if !apierrors.IsInvalid(err) {
			t.Fatalf("want it found invalid, got %v", err)
		}
		for _, text := range want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%q is not said: %v", text, err)
			}
		}
	}
	first := &metalv1.Endpoint{ObjectMeta: objectMeta("", "first"), Spec: metalv1.EndpointSpec{MACAddress: "02:00:00:00:00:0a"}}
	if err := p.Create(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	refused(&metalv1.Endpoint{ObjectMeta: objectMeta("", "second"), Spec: metalv1.EndpointSpec{MACAddress: "0200.0000.000A"}}, "spec.macAddress", `"first"`)
	refused(&metalv1.ServerClaim{ObjectMeta: objectMeta("default", "c"), Spec: metalv1.ServerClaimSpec{Power: metalv1.PowerOn, Image: "not an image"}},
		"spec.image", "not an image")

	profile := &unstructured.Unstructured{}
	profile.SetGroupVersionKind(schema.GroupVersionKind{Group: "ipxe.cloud.alexandre.mahdhaoui.com", Version: "v1alpha1", Kind: "Profile"})
	profile.SetNamespace("default")
	profile.SetName("documented")
	profile.SetLabels(map[string]string{"assignment/ipxe/buildarch": "arm64"})
	profile.Object["spec"] = map[string]any{"ipxe": "#!ipxe\nshell\n"}
	if err := p.Create(t.Context(), profile); err != nil {
		t.Fatal(err)
	}
	if got := profile.GetLabels()["assignment/ipxe-buildarch"]; got != "arm64" {
		t.Errorf("labels %v", profile.GetLabels())
	}
}
