package admission_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/farrier-dev/farrier/internal/admission/admissiontest"
)

func assignmentFor(t *testing.T, name, selector, profile string) *unstructured.Unstructured {
	t.Helper()
	return admissiontest.Parse(t, "{apiVersion: ipxe.cloud.alexandre.mahdhaoui.com/v1alpha1, kind: Assignment, metadata: {namespace: default, name: "+name+
		"}, spec: {subjectSelector: {"+selector+"}, profileSelectors: {p: "+profile+"}}}")
}

// TestWhatIsGoneOverlapsNoMore: the index may still have an Assignment that is gone, or as it was; nobody is warned of it.
func TestWhatIsGoneOverlapsNoMore(t *testing.T) {
	a := newAlone(t)
	other := assignmentFor(t, "b", "serial: S, buildarch: arm64", "x")
	a.Give(t, other)
	mine := assignmentFor(t, "z", "serial: S, platform: efi", "q")
	if outcome := a.Request(t, mine, nil); len(outcome.Warnings) != 1 {
		t.Fatalf("warnings %q, want one of b", outcome.Warnings)
	}
	_ = unstructured.SetNestedField(other.Object, map[string]any{"serial": "T"}, "spec", "subjectSelector")
	if err := a.store.Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if outcome := a.Request(t, mine, nil); len(outcome.Warnings) != 0 {
		t.Errorf("warned of what was changed: %q", outcome.Warnings)
	}
	if err := a.store.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if outcome := a.Request(t, mine, nil); len(outcome.Warnings) != 0 {
		t.Errorf("warned of what is gone: %q", outcome.Warnings)
	}
}

// TestWhatWasAdmittedAMomentAgoOverlaps although no cache has it yet; what was only tried does not.
func TestWhatWasAdmittedAMomentAgoOverlaps(t *testing.T) {
	a := newAlone(t)
	first, second := assignmentFor(t, "b", "serial: S, buildarch: arm64", "x"), assignmentFor(t, "z", "serial: S, platform: efi", "q")
	tried := requestFor(first, nil)
	tried.DryRun = true
	if _, err := a.Validate(t.Context(), tried); err != nil {
		t.Fatal(err)
	}
	if err := a.store.Create(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if outcome := a.Request(t, second, nil); len(outcome.Warnings) != 0 {
		t.Fatalf("what was tried is remembered: %q", outcome.Warnings)
	}
	if _, err := a.Validate(t.Context(), requestFor(first, nil)); err != nil {
		t.Fatal(err)
	}
	if outcome := a.Request(t, second, nil); len(outcome.Warnings) != 1 {
		t.Errorf("warnings %q, want one of b", outcome.Warnings)
	}
}
