package bmc

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestAServerThatIsRefused: the BMC says so, goes on with its other systems, and has its Server once nothing is in the way.
func TestAServerThatIsRefused(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.API.Fail = func(verb string, obj runtime.Object) error {
			o, ok := obj.(*metalv1.Server)
			if !ok || verb != controllertest.Create || o.Spec.SystemUUID != uuid1 {
				return nil
			}
			return apierrors.NewInvalid(metalv1.GroupVersion.WithKind("Server").GroupKind(), o.Name, field.ErrorList{
				field.Invalid(field.NewPath("spec", "systemUUID"), uuid1, `Server "elsewhere" has the same system UUID`),
			})
		}
		s.bmc.Set(system(uri1, uuid1), system(uri2, uuid2))
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionDegraded, metav1.ConditionTrue, metalv1.ReasonServerRefused, "spec.systemUUID", `"elsewhere"`)
		if got := s.servers(t); len(got) != 1 || got["b-system-0"] != uuid2 {
			t.Errorf("Servers %v", got)
		}
		s.API.Fail = nil
		b = s.look(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionDegraded, metav1.ConditionFalse, metalv1.ReasonAsExpected)
		if got := s.servers(t); len(got) != 2 {
			t.Errorf("Servers %v", got)
		}
	})
}
