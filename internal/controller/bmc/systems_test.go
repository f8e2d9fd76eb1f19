package bmc

import (
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

const uri3 = "/redfish/v1/Systems/3"

// TestSystemsThatShareAUUID: nodes of one chassis with the defaults of their maker would be one Server, and a reset would go to whichever is first.
func TestSystemsThatShareAUUID(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Set(system(uri1, uuid1), system(uri2, uuid1), system(uri3, uuid2))
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionDegraded, metav1.ConditionTrue, metalv1.ReasonServerRefused, uri1, uri2, uuid1, "board settings")
		if got, want := s.servers(t), map[string]string{"b-system-0": uuid2}; !maps.Equal(got, want) {
			t.Errorf("Servers %v, want %v", got, want)
		}
		if got := s.told(metalv1.ReasonServerRefused); len(got) != 1 {
			t.Errorf("events %q", got)
		}
		s.ForgetWrites()
		s.look(t)
		if w := s.Writes(""); len(w) != 0 {
			t.Errorf("written again: %v", w)
		}
		const uuid3 = "00000000-0000-0000-0000-000000000003"
		s.bmc.Set(system(uri1, uuid1), system(uri2, uuid3), system(uri3, uuid2)) // somebody gave it one of its own
		b = s.look(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionDegraded, metav1.ConditionFalse, metalv1.ReasonAsExpected)
		if got, want := s.servers(t), map[string]string{"b-system-0": uuid2, "b-system-1": uuid1, "b-system-2": uuid3}; !maps.Equal(got, want) {
			t.Errorf("Servers %v, want %v", got, want)
		}
	})
}

// TestAServerWhoseUUIDAnotherSystemTellsLater: it stays the machine that it was.
func TestAServerWhoseUUIDAnotherSystemTellsLater(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Set(system(uri2, uuid1))
		s.settle(t)
		s.bmc.Set(system(uri1, uuid1), system(uri2, uuid1))
		s.ForgetWrites()
		b := s.look(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionDegraded, metav1.ConditionTrue, metalv1.ReasonServerRefused, uri1, uri2)
		if o := s.server(t, "b-system-0"); o.Spec.SystemURI != uri2 || o.Spec.SystemUUID != uuid1 || len(s.servers(t)) != 1 {
			t.Errorf("the Server stands for %s, and there are %v", o.Spec.SystemURI, s.servers(t))
		}
		if w := s.Writes("Server"); len(w) != 0 {
			t.Errorf("written: %v", w)
		}
	})
}
