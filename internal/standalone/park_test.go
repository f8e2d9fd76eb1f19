package standalone

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/diagnosis"
)

// TestParkedByARestore: a server says since when; one that was parked before keeps that.
func TestParkedByARestore(t *testing.T) {
	server := func(name string, annotations map[string]string) *metalv1.Server {
		return &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	}
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	api := controllertest.NewAPI(t, server("node-1", nil),
		server("node-2", map[string]string{metalv1.AnnotationParked: metalv1.AnnotationTrue, metalv1.AnnotationParkedSince: "2026-01-01T00:00:00Z"}))
	for name, want := range map[string]time.Time{"node-1": now, "node-2": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} {
		listed := &metav1.PartialObjectMetadata{ObjectMeta: controllertest.Read[metalv1.Server](t, api, name).ObjectMeta}
		listed.SetGroupVersionKind(metalv1.GroupVersion.WithKind("Server"))
		if err := park(t.Context(), api, listed, now); err != nil {
			t.Fatal(err)
		}
		got := controllertest.Read[metalv1.Server](t, api, name)
		if since := diagnosis.ParkedSince(got); got.Annotations[metalv1.AnnotationParked] != metalv1.AnnotationTrue || !since.Equal(want) {
			t.Errorf("%s: parked since %s, want %s: %v", name, since, want, got.Annotations)
		}
	}
}
