package system

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// decoded is a Server as a decoder leaves it: strings of its own, lists with room.
func decoded() *metalv1.Server {
	own := func(s string) string { return string([]byte(s)) }
	s := &metalv1.Server{}
	s.Name = own("rack1-node8-system-0")
	s.Labels = map[string]string{own("topology.example.com/rack"): own("rack1")}
	s.Finalizers = []string{own("metal.ironcore.dev/server")}
	s.OwnerReferences = []metav1.OwnerReference{{APIVersion: own("metal.ironcore.dev/v1alpha1"), Kind: own("BMC"), Name: own("rack1-node8")}}
	s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "farrier"}}
	s.Status.Conditions = append(make([]metav1.Condition, 0, 16), metav1.Condition{Type: own("Ready"), Status: "True", Reason: own("Observed"), Message: own("The BMC answers")})
	return s
}

// TestCompact: what is left out and shared changes nothing that a reconciler reads.
func TestCompact(t *testing.T) {
	want := decoded()
	want.ManagedFields = nil
	var got [2]*metalv1.Server
	for i := range got {
		runtime.GC() // objects come hours apart
		object, err := compact(decoded())
		if err != nil {
			t.Fatal(err)
		}
		got[i] = object.(*metalv1.Server)
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Fatal(diff)
		}
	}
	if n := cap(got[0].Status.Conditions); n != 1 {
		t.Errorf("a list of one condition has room for %d", n)
	}
	message := func(s *metalv1.Server) *byte { return unsafe.StringData(s.Status.Conditions[0].Message) }
	if message(got[0]) != message(got[1]) {
		t.Error("two objects with one message keep it twice")
	}
	tombstone := cache.DeletedFinalStateUnknown{Key: "a", Obj: want}
	if object, err := compact(tombstone); err != nil || object.(cache.DeletedFinalStateUnknown).Key != "a" {
		t.Errorf("a tombstone became %v, %v", object, err)
	}
}
