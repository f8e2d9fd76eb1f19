package bootconfig

import (
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// TestAnImageThatABootServerCannotFetchIsACondition: of the boot configuration that names it, as long as that is so. What boots stays what it is.
func TestAnImageThatABootServerCannotFetchIsACondition(t *testing.T) {
	s, _ := pushed(t, kernel)
	s.resolved(t)
	s.delivered(t)
	told := events.NewFakeRecorder(8)
	s.Recorder = told
	refusing := ""
	s.Unfetched = func(of string) string {
		if of != "ServerBootConfiguration/ns/c" {
			t.Errorf("asked about %q", of)
		}
		return refusing
	}
	check := func() {
		t.Helper()
		config := s.settle(t)
		if refusing != "" {
			controllertest.Says(t, config.Status.Conditions, metalv1.ConditionBootServerHasImage, metav1.ConditionFalse, metalv1.ReasonNotFetched, refusing)
		} else if c := apimeta.FindStatusCondition(config.Status.Conditions, metalv1.ConditionBootServerHasImage); c != nil {
			t.Errorf("all can fetch it, and status says %+v", c)
		}
		checkState(t, config, metalv1.ServerBootConfigurationStateReady)
	}
	check()
	refusing = "boot-1.example cannot fetch the image: not found in registry"
	check()
	check()
	if len(told.Events) != 1 {
		t.Errorf("events: %d, want 1", len(told.Events))
	}
	refusing = ""
	check()
}

// TestWhoseImageIsFetchedIsLookedAt: what others have pinned is no boot configuration's.
func TestWhoseImageIsFetchedIsLookedAt(t *testing.T) {
	var r Reconciler
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	if err := r.interest.source.Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{registry.DefaultUKIOwner, "--pinned-images registry.example/os:1", "ServerBootConfiguration/ns/c"} {
		r.FetchChanged(owner)
	}
	if queue.Len() != 1 {
		t.Fatalf("%d boot configurations are looked at, want 1", queue.Len())
	}
	if got, _ := queue.Get(); got.String() != "ns/c" {
		t.Errorf("looked at is %s", got)
	}
}
