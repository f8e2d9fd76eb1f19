package ipxeapi

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/readcache"
)

// behindCache shows one assignment as it was.
type behindCache struct {
	client.Client
	shown *ipxev1.Assignment
}

func (c behindCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if a, ok := obj.(*ipxev1.Assignment); ok && key == client.ObjectKeyFromObject(c.shown) {
		c.shown.DeepCopyInto(a)
		return nil
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// TestACacheThatIsBehindHidesNothing: at a start one of two duplicates is reconciled before the other one is known, and once more right after, when the cache
// still has the status that the former process wrote, which would be right. The reconcilers have the client that all controllers have.
func TestACacheThatIsBehindHidesNothing(t *testing.T) {
	s := newStand(t, newProfile("p", "#!ipxe\n"), newProfile("q", "#!ipxe\n"), newAssignment("a", "p", map[string]string{"uuid": uuid}), newAssignment("b", "q", map[string]string{"uuid": uuid}))
	s.settle(t, "p:default/p", "p:default/q", "a:default/a", "a:default/b")
	s.assignmentSays(t, "b", ipxev1.ConditionProgrammed, metav1.ConditionFalse, ipxev1.ReasonDuplicate)

	s.restart(t)
	s.assignments.Client = readcache.New(s.API, s.API).Client(behindCache{s.API, controllertest.Read[ipxev1.Assignment](t, s.API, "default/b")})
	once := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "b"}}
	if _, err := s.assignments.Reconcile(t.Context(), once); err != nil {
		t.Fatal(err)
	}
	s.assignmentSays(t, "b", ipxev1.ConditionProgrammed, metav1.ConditionTrue, reasonProgrammed)
	s.Settle(t, s.assignments, "default/a")
	s.Settle(t, s.assignments, once.String())
	s.assignmentSays(t, "b", ipxev1.ConditionProgrammed, metav1.ConditionFalse, ipxev1.ReasonDuplicate)
}
