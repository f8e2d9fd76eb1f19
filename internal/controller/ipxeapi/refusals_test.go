package ipxeapi

import (
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestWhatABootServerCannotUseIsACondition: of the Profile or Assignment that it refuses, until it uses it again or is gone. What is served stays
// what it is.
func TestWhatABootServerCannotUseIsACondition(t *testing.T) {
	s := newStand(t, newProfile("p", "#!ipxe\necho p\n"), newAssignment("a", "p", map[string]string{"uuid": uuid}))
	const refusal = "boot-1.example cannot use it and goes on with what it had: no script"
	refused := map[string]string{}
	s.profiles.Refusals = func(namespace, name string) string { return refused["p:"+namespace+"/"+name] }
	s.assignments.Refusals = func(namespace, name string) string { return refused["a:"+namespace+"/"+name] }
	conditions := map[string]func() []metav1.Condition{
		"p:default/p": func() []metav1.Condition {
			return controllertest.Read[ipxev1.Profile](t, s.API, "default/p").Status.Conditions
		},
		"a:default/a": func() []metav1.Condition {
			return controllertest.Read[ipxev1.Assignment](t, s.API, "default/a").Status.Conditions
		},
	}
	check := func(refusing string) {
		t.Helper()
		s.settle(t, "p:default/p", "a:default/a")
		for name, of := range conditions {
			if name == refusing {
				controllertest.Says(t, of(), ipxev1.ConditionBootServerReached, metav1.ConditionFalse, ipxev1.ReasonRefused, "boot-1.example", "no script")
			} else if c := apimeta.FindStatusCondition(of(), ipxev1.ConditionBootServerReached); c != nil {
				t.Errorf("nobody refuses %s, and it says %+v", name, c)
			}
		}
		s.profileSays(t, "p", ipxev1.ConditionReady, metav1.ConditionTrue, reasonReady)
		s.assignmentSays(t, "a", ipxev1.ConditionProgrammed, metav1.ConditionTrue, reasonProgrammed)
		if _, err := s.script(t, "uuid="+uuid); err != nil {
			t.Error(err)
		}
	}
	check("")
	for name := range conditions {
		refused[name] = refusal
		check(name)
		delete(refused, name)
		check("")
	}
	// Who is told that a boot server has refused something, looks at it.
	s.assignments.Refused("default", "a")
	if s.queue.Len() != 1 {
		t.Errorf("%d assignments are looked at, want 1", s.queue.Len())
	}
}
