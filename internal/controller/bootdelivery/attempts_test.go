package bootdelivery

import (
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestAnAttemptOfAnotherProviderThatNoBootServerKnows: it waits like any other, and the boot configuration says so, beside what the boot provider says.
func TestAnAttemptOfAnotherProviderThatNoBootServerKnows(t *testing.T) {
	s, boots := withStream(t, bootstream.NoFollower)
	told := events.NewFakeRecorder(8)
	s.Recorder = told
	theirs := metav1.Condition{Type: "Theirs", Status: metav1.ConditionTrue, Reason: "Theirs", LastTransitionTime: metav1.NewTime(s.API.Clock.Now())}
	controllertest.ChangeStatus(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) { c.Status.Conditions = []metav1.Condition{theirs} })
	attempts := Attempts{Delivery: s.Delivery}
	conditions := func() []metav1.Condition {
		all := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c").Status.Conditions
		if apimeta.FindStatusCondition(all, theirs.Type) == nil {
			t.Errorf("the condition of the boot provider is gone: %+v", all)
		}
		return all
	}
	says := func(reason, text string) {
		t.Helper()
		s.Settle(t, attempts, "ns/c")
		if all := conditions(); reason != "" {
			controllertest.Says(t, all, bootv1.ConditionBootServerReached, metav1.ConditionFalse, reason, text)
		} else if c := apimeta.FindStatusCondition(all, bootv1.ConditionBootServerReached); c != nil {
			t.Errorf("status says %+v", c)
		}
	}
	says("", "")
	if s.Acknowledged("a") {
		t.Fatal("the boot goes ahead at once")
	}
	s.API.Clock.Step(reachDelay)
	says(bootv1.ReasonNoBootServer, "no boot server")
	if len(told.Events) != 1 {
		t.Errorf("events: %d, want 1", len(told.Events))
	}
	boots.reach = bootstream.Reached
	s.Reached([]string{"ServerBootConfiguration/ns/c"})
	says("", "")
	if !s.Acknowledged("a") || len(s.servers) != 1 {
		t.Errorf("acknowledged %v, servers woken %v", s.Acknowledged("a"), s.servers)
	}
	boots.refused = []bootstream.RefusedBy{{BootServer: "boot-1.example", Reason: "no attempt"}}
	says(bootv1.ReasonRefused, "boot-1.example")
	boots.refused = nil
	says("", "")
}

// TestAnAttemptWithoutAServerWaitsForNobody: nor says the boot configuration any longer that it does.
func TestAnAttemptWithoutAServerWaitsForNobody(t *testing.T) {
	s, _ := withStream(t, bootstream.NoFollower)
	attempts := Attempts{Delivery: s.Delivery}
	s.Settle(t, attempts, "ns/c")
	s.API.Clock.Step(reachDelay)
	s.Settle(t, attempts, "ns/c")
	s.Remove(t, controllertest.Read[metalv1.Server](t, s.API, "s"))
	s.Settle(t, attempts, "ns/c")
	all := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c").Status.Conditions
	if c := apimeta.FindStatusCondition(all, bootv1.ConditionBootServerReached); c != nil || s.awaiting.of("ServerBootConfiguration/ns/c") != nil {
		t.Errorf("there is no server, and status says %+v", c)
	}
}

// TestWhoIgnoresABootConfigurationWritesNothing: as the annotation asks.
func TestWhoIgnoresABootConfigurationWritesNothing(t *testing.T) {
	s, _ := withStream(t, bootstream.NoFollower)
	controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[metalv1.AnnotationOperation] = metalv1.OperationIgnore
	})
	s.ForgetWrites()
	s.API.Clock.Step(reachDelay)
	s.Settle(t, Attempts{Delivery: s.Delivery}, "ns/c")
	if w := s.Writes(""); len(w) != 0 {
		t.Errorf("written: %v", w)
	}
}
