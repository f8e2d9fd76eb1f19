package acceptance

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/config"
)

// TestAStatusThatIsTakenAwayComesBack: definitions of other versions of these kinds drop conditions that ours have, and whoever puts ours
// back finds what was there. There is a sample of each kind.
func TestAStatusThatIsTakenAwayComesBack(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	definitions, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{} // kinds that have conditions
	for _, d := range definitions {
		status := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
		_, explained[d.Spec.Names.Kind] = status.Properties["conditions"]
	}
	samples, err := config.Samples()
	if err != nil {
		t.Fatal(err)
	}
	var watched []*unstructured.Unstructured
	for _, sample := range samples {
		if err := p.Create(t.Context(), sample); err != nil {
			t.Fatalf("%s %s: %v", sample.GetKind(), sample.GetName(), err)
		}
		if explained[sample.GetKind()] {
			watched = append(watched, sample)
		}
	}
	p.Eventually("every status says something", func(ctx context.Context) error { return p.allSaySomething(ctx, watched) })
	for _, o := range watched {
		wipe := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"conditions":null}}`))
		if err := p.Status().Patch(t.Context(), o, wipe); err != nil {
			t.Fatalf("%s: %v", o.GetKind(), err)
		}
	}
	p.Eventually("every status is back", func(ctx context.Context) error { return p.allSaySomething(ctx, watched) })
}

// allSaySomething names the objects that have no conditions.
func (p *running) allSaySomething(ctx context.Context, objects []*unstructured.Unstructured) error {
	var errs []error
	for _, o := range objects {
		err := p.Get(ctx, client.ObjectKeyFromObject(o), o)
		if conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions"); err == nil && len(conditions) == 0 {
			err = errors.New("has no conditions")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err))
		}
	}
	return errors.Join(errs...)
}
