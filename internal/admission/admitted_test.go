package admission_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/admission"
	"github.com/farrier-dev/farrier/internal/admission/admissiontest"
)

// admitted is when what these tests ask for comes.
var admitted = time.Date(2026, 11, 22, 12, 0, 0, 123456789, time.UTC)

const admittedText = "2026-11-22T12:00:00.123456789Z"

// dated is an object that came then.
func dated(object *unstructured.Unstructured) *unstructured.Unstructured {
	object.SetAnnotations(map[string]string{ipxev1.AnnotationAdmitted: admittedText})
	return object
}

// TestWhenSomethingCameIsWrittenDownOnce: what a new object says of that itself does not count, and what an update says of it does not either.
func TestWhenSomethingCameIsWrittenDownOnce(t *testing.T) {
	object := func(kind, annotations string) *unstructured.Unstructured {
		return admissiontest.Parse(t, ipxeAPI+"kind: "+kind+"\nmetadata: {name: p, annotations: {"+annotations+"}}")
	}
	const earlier, key = "2026-11-22T11:00:00Z", ipxev1.AnnotationAdmitted
	for name, c := range map[string]struct {
		now, old  string // old: "-": the object is new
		want      string
		unchanged bool
	}{
		"a new object":                      {now: "x: w", old: "-", want: admittedText},
		"a copy of an older one":            {now: key + ": " + earlier, old: "-", want: admittedText},
		"an update that says nothing of it": {now: "x: w", old: key + ": " + earlier, want: earlier},
		"an update that makes it older":     {now: key + `: "2020-01-01T00:00:00Z"`, old: key + ": " + earlier, want: earlier},
		"an update as it was":               {now: key + ": " + earlier, old: key + ": " + earlier, want: earlier, unchanged: true},
		"one that was there before":         {now: "x: w", old: "x: v", unchanged: true},
		"one from before, made older":       {now: key + ": " + earlier, old: "x: v"},
	} {
		for _, kind := range []string{"Profile", "Assignment"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				request := requestFor(object(kind, c.now), nil)
				if c.old != "-" {
					request.Old = object(kind, c.old)
				}
				result := admission.Mutate(request, admitted)
				if (result.Object == nil) != c.unchanged || len(result.Warnings) > 0 {
					t.Fatalf("%v, %q", result.Object, result.Warnings)
				}
				if result.Object == nil {
					return
				}
				if got := result.Object.GetAnnotations()[key]; got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
				if got := result.Object.GetAnnotations()["x"]; got != request.Object.GetAnnotations()["x"] {
					t.Errorf("another annotation is %q", got)
				}
			})
		}
	}
}
