package admission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/farrier-dev/farrier/internal/admission"
	"github.com/farrier-dev/farrier/internal/admission/admissiontest"
)

const ipxeAPI = "apiVersion: ipxe.cloud.alexandre.mahdhaoui.com/v1alpha1\n"

func TestLabelKeys(t *testing.T) {
	for name, c := range map[string]struct {
		object, old string
		want        map[string]string // labels; nil: nothing is changed
		warnings    int
	}{
		"legal keys":                  {object: "{assignment/ipxe-buildarch: arm64, assignment/extrinsic-region: a, a: b}"},
		"somebody else's illegal key": {object: "{example.com/a/b: c}"},
		"two slashes": {
			object: "{assignment/ipxe/buildarch: arm64}", want: map[string]string{"assignment/ipxe-buildarch": "arm64"}, warnings: 1,
		},
		"three slashes": {object: "{assignment/ipxe/a/b: c}", want: map[string]string{"assignment/ipxe-a-b": "c"}, warnings: 1},
		"the misspelling stays one": {
			object: "{assigment/ipxe/buildarch: arm64}", want: map[string]string{"assigment/ipxe-buildarch": "arm64"}, warnings: 1,
		},
		"both, equal": {
			object: "{assignment/ipxe/a: b, assignment/ipxe-a: b}", want: map[string]string{"assignment/ipxe-a": "b"}, warnings: 1,
		},
		"both, and they differ": {object: "{assignment/ipxe/a: b, assignment/ipxe-a: c}", warnings: 1},
		"both, and the legal one was stored": {
			object: "{assignment/ipxe/a: b, assignment/ipxe-a: c}", old: "{assignment/ipxe-a: c}",
			want: map[string]string{"assignment/ipxe-a": "b"}, warnings: 1,
		},
		"both, and another one was stored": {
			object: "{assignment/ipxe/a: b, assignment/ipxe-a: c}", old: "{assignment/ipxe-a: d}", warnings: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			profile := func(labels string) *unstructured.Unstructured {
				return admissiontest.Parse(t, ipxeAPI+"kind: Profile\nmetadata: {name: p, labels: "+labels+"}")
			}
			request := requestFor(dated(profile(c.object)), nil)
			if c.old != "" {
				request.Old = dated(profile(c.old))
			}
			before := request.Object.DeepCopy()
			got := admission.Mutate(request, admitted)
			if diff := cmp.Diff(before.Object, request.Object.Object); diff != "" {
				t.Errorf("the request was changed:\n%s", diff)
			}
			if len(got.Warnings) != c.warnings {
				t.Errorf("warnings %q", got.Warnings)
			}
			if (got.Object != nil) != (c.want != nil) {
				t.Fatalf("changed to %v, want %v", got.Object, c.want)
			}
			if got.Object != nil {
				if diff := cmp.Diff(c.want, got.Object.GetLabels()); diff != "" {
					t.Errorf("labels (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestSelectorsOfAssignments(t *testing.T) {
	object := admissiontest.Parse(t, ipxeAPI+`kind: Assignment
metadata: {name: a}
spec:
  subjectSelectors: {assignment/ipxe/buildarch: [arm64, x86_64]}
  profileSelectors: {assignment/ipxe/buildarch: arm64}
`)
	got := admission.Mutate(requestFor(object, nil), admitted)
	want := map[string]any{
		"subjectSelectors": map[string]any{"assignment/ipxe-buildarch": []any{"arm64", "x86_64"}},
		"profileSelectors": map[string]any{"assignment/ipxe-buildarch": "arm64"},
	}
	if got.Object == nil || len(got.Warnings) != 2 {
		t.Fatalf("changed to %v with %q", got.Object, got.Warnings)
	}
	if diff := cmp.Diff(want, got.Object.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// TestRepairedKeysAreLegal: a repair leaves no key of two slashes that starts as ours do, touches no other, and is done once: a second one changes
// nothing.
func TestRepairedKeysAreLegal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([]string{"assignment/", "assigment/", "example.com/", ""})
		labels := rapid.MapOf(
			rapid.Custom(func(t *rapid.T) string {
				return key.Draw(t, "prefix") + rapid.StringMatching(`[a-z]{1,3}([-/][a-z]{1,3}){0,3}`).Draw(t, "name")
			}),
			rapid.SampledFrom([]string{"a", "b"}),
		).Draw(t, "labels")
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "ipxe.cloud.alexandre.mahdhaoui.com/v1alpha1", "kind": "Profile", "metadata": map[string]any{"name": "p"},
		}}
		object.SetLabels(labels)
		first := admission.Mutate(requestFor(object, nil), admitted)
		if first.Object == nil {
			return
		}
		after := first.Object.GetLabels()
		for key, value := range labels {
			if !strings.HasPrefix(key, "assig") && after[key] != value {
				t.Fatalf("%q: %q became %q", key, value, after[key])
			}
		}
		for key := range after {
			if strings.HasPrefix(key, "assig") && strings.Count(key, "/") == 1 && len(utilvalidation.IsQualifiedName(key)) > 0 {
				t.Fatalf("%q is not legal", key)
			}
		}
		if second := admission.Mutate(requestFor(first.Object, nil), admitted); second.Object != nil {
			t.Fatalf("repaired twice: %v, then %v", after, second.Object.GetLabels())
		}
	})
}
