package bmc

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// owned makes an object what other installations leave behind, with an owner beside that is none of this group.
func owned(obj client.Object, kind, name string) {
	yes := true
	obj.SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: metalv1.GroupVersion.String(), Kind: kind, Name: name, UID: "u", Controller: &yes, BlockOwnerDeletion: &yes},
		{APIVersion: "example.org/v1", Kind: "Rack", Name: "r", UID: "r"},
	})
}

// disowned checks that only the owner beside is left.
func disowned(t *testing.T, obj client.Object) {
	t.Helper()
	if owners := obj.GetOwnerReferences(); len(owners) != 1 || owners[0].Kind != "Rack" {
		t.Errorf("the owners of %T %s are %v", obj, obj.GetName(), owners)
	}
}

// TestAPasswordOutlivesTheEndpoint: older installations made the Endpoint the owner of the BMCSecret too, and the garbage collector deletes what
// an Endpoint owns. A rotated password is nowhere else.
func TestAPasswordOutlivesTheEndpoint(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { owned(b, "Endpoint", "e") })
		controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) { owned(o, "Endpoint", "e") })
		s.settle(t)
		disowned(t, s.read(t))
		disowned(t, s.secret(t))
		s.ForgetWrites()
		s.look(t)
		if w := s.Writes(""); len(w) != 0 {
			t.Errorf("written again: %v", w)
		}
	})
}

// TestOwnersAreStrippedFirst: as long as a password has an owner that may take it along, nothing else is done to the BMC, whatever is asked for.
func TestOwnersAreStrippedFirst(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) { owned(o, "Endpoint", "e") })
		s.asks(t, metalv1.OperationRotateCredentials)
		s.API.Fail = func(verb string, obj runtime.Object) error {
			if o, ok := obj.(client.Object); ok && verb == controllertest.Patch && o.GetName() == "s" {
				return errors.New("etcd is away")
			}
			return nil
		}
		s.ForgetWrites()
		for range 3 {
			if _, err := s.Reconcile(t.Context(), request("b")); err == nil {
				t.Error("that the owners are still there is no error")
			}
		}
		if w := s.Writes(""); len(w) != 0 {
			t.Errorf("written before: %v", w)
		}
		if _, asked := s.Fleet.Observe(address); asked {
			t.Error("the BMC was asked before")
		}
		s.API.Fail = nil
		s.Step(t, s.Reconciler, "b")
		disowned(t, s.secret(t))
	})
}

// TestAnIgnoredBMCIsDisownedToo: that an object is to be left alone does not mean that it is to be deleted.
func TestAnIgnoredBMCIsDisownedToo(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { owned(b, "Endpoint", "e") })
		controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) { owned(o, "Endpoint", "e") })
		s.asks(t, metalv1.OperationIgnore)
		s.settle(t)
		disowned(t, s.read(t))
		disowned(t, s.secret(t))
	})
}

// TestADeletedBMCTakesNothingOfOthersAlong: neither its password nor a Server that somebody has, which other installations make its own.
func TestADeletedBMCTakesNothingOfOthersAlong(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Set(system(uri1, uuid1), system(uri2, uuid2))
		s.settle(t)
		controllertest.Change(t, s.API, "b-system-1", func(o *metalv1.Server) {
			o.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "n", Name: "c"}
			owned(o, "BMC", "b")
		})
		controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) { owned(o, "Endpoint", "e") })
		s.Remove(t, s.read(t))
		s.Settle(t, s.Reconciler, "b")
		if !controllertest.Gone[metalv1.BMC](t, s.API, "b") {
			t.Error("the BMC is still there")
		}
		disowned(t, s.server(t, "b-system-1"))
		disowned(t, s.secret(t))
	})
}
