package ipxeapi

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestACacheThatIsBehindHidesNothing: at a start one of two duplicates is looked at before the other one is known, and once more right after, when the cache
// still has what the former process said of it, which would be right.
func TestACacheThatIsBehindHidesNothing(t *testing.T) {
	s := newStand(t, newProfile("p", "#!ipxe\n"), newProfile("q", "#!ipxe\n"), newAssignment("a", "p", map[string]string{"uuid": uuid}), newAssignment("b", "q", map[string]string{"uuid": uuid}))
	s.settle(t, "p:default/p", "p:default/q", "a:default/a", "a:default/b")
	s.assignmentSays(t, "b", ipxev1.ConditionProgrammed, metav1.ConditionFalse, ipxev1.ReasonDuplicate)
	behind := controllertest.Read[ipxev1.Assignment](t, s.API, "default/b")

	s.restart(t)
	once := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "b"}}
	if _, err := s.assignments.Reconcile(t.Context(), once); err != nil {
		t.Fatal(err)
	}
	s.assignmentSays(t, "b", ipxev1.ConditionProgrammed, metav1.ConditionTrue, reasonProgrammed)
	s.Settle(t, s.assignments, "default/a")
	for s.queue.Len() > 0 {
		req, _ := s.queue.Get()
		s.queue.Done(req)
	}
	if err := s.assignments.compile(t.Context(), behind.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	looked := make(chan struct{})
	go func() {
		if req, shutdown := s.queue.Get(); !shutdown && req == once {
			close(looked)
		}
	}()
	select {
	case <-looked:
	case <-time.After(hang):
		t.Fatal("nobody looks at it again")
	}
	s.Settle(t, s.assignments, once.String())
	s.assignmentSays(t, "b", ipxev1.ConditionProgrammed, metav1.ConditionFalse, ipxev1.ReasonDuplicate)
}
