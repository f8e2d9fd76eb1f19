package plugin

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserver "k8s.io/apiserver/pkg/admission"

	"github.com/farrier-dev/farrier/internal/admission"
)

func creation(kind, subresource string, object runtime.Object) apiserver.Attributes {
	gvk := schema.GroupVersionKind{Group: "metal.ironcore.dev", Version: "v1alpha1", Kind: kind}
	return apiserver.NewAttributesRecord(object, nil, gvk, "default", "c", gvk.GroupVersion().WithResource("any"), subresource, apiserver.Create, nil, false, nil)
}

func claim(image string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metal.ironcore.dev/v1alpha1", "kind": "ServerClaim",
		"metadata": map[string]any{"name": "c", "namespace": "default"}, "spec": map[string]any{"power": "On", "image": image},
	}}
}

// TestBeforeThereAreRules: what the rules are about waits, and is asked to come again; everything else passes.
func TestBeforeThereAreRules(t *testing.T) {
	p := New()
	given, cancel := context.WithCancel(t.Context())
	cancel() // the client waits no longer, so that the test does not either
	err := p.Validate(given, creation("ServerClaim", "", claim("not an image")), nil)
	if seconds, again := apierrors.SuggestsClientDelay(err); !apierrors.IsServiceUnavailable(err) || !again || seconds < 1 {
		t.Errorf("error %v, to be tried again: %v", err, again)
	}
	for name, attributes := range map[string]apiserver.Attributes{
		"a status":                 creation("ServerClaim", "status", claim("not an image")),
		"a kind without rules":     creation("Unruly", "", claim("not an image")),
		"an object of another API": creation("ServerClaim", "", &unstructured.UnstructuredList{}),
	} {
		if err := p.Validate(given, attributes, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := p.Admit(given, attributes, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestADeletionWaitsForNoRules: what would be said of it is worth nobody's waiting.
func TestADeletionWaitsForNoRules(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "ipxe.cloud.alexandre.mahdhaoui.com", Version: "v1alpha1", Kind: "Profile"}
	profile := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "p", "namespace": "default"}}}
	deletion := apiserver.NewAttributesRecord(nil, profile, gvk, "default", "p", gvk.GroupVersion().WithResource("profiles"), "", apiserver.Delete, nil, false, nil)
	p := New()
	if !p.Handles(apiserver.Delete) {
		t.Error("the plugin does not hear of deletions")
	}
	if err := p.Validate(t.Context(), deletion, nil); err != nil {
		t.Error(err)
	}
	if err := p.Admit(t.Context(), deletion, nil); err != nil {
		t.Error(err)
	}
}

// TestRulesThatComeWhileSomebodyWaits: a request that came first is judged by them.
func TestRulesThatComeWhileSomebodyWaits(t *testing.T) {
	p := New()
	answer := make(chan error)
	go func() { answer <- p.Validate(t.Context(), creation("ServerClaim", "", claim("not an image")), nil) }()
	p.Serve(&admission.Rules{})
	p.Serve(nil) // once
	if err := <-answer; !apierrors.IsInvalid(err) {
		t.Errorf("error %v, want it found invalid", err)
	}
}
