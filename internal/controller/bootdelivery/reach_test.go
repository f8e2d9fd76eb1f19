package bootdelivery

import (
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

const reachedEntry = "IPXEBootConfig/ns/c"

// stream is what is known of boot servers.
type stream struct {
	reach   bootstream.Reach
	refused []bootstream.RefusedBy
}

func (s *stream) Reach(string) (bootstream.Reach, string) { return s.reach, "" }
func (s *stream) Forget(string)                           {}
func (s *stream) Refusals(string) []bootstream.RefusedBy  { return s.refused }

func withStream(t *testing.T, reach bootstream.Reach) (*stand, *stream) {
	t.Helper()
	s, boots := newStand(t, ours(ordered("a"))...), &stream{reach: reach}
	s.Stream, s.Streamed = boots, func(string) bool { return true }
	return s, boots
}

func (s *stand) unused(t *testing.T) *metav1.Condition {
	t.Helper()
	return apimeta.FindStatusCondition(s.readIPXE(t, "ns/c").Status.Conditions, bootv1.ConditionBootServerReached)
}

// TestABootWaitsForABootServer: one of the machine's site has to use it before it counts, and who waits is woken.
func TestABootWaitsForABootServer(t *testing.T) {
	s, boots := withStream(t, bootstream.NotReached)
	s.Settle(t, s.ipxe, "ns/c")
	if s.Acknowledged("a") || s.unused(t) != nil {
		t.Fatalf("acknowledged %v, condition %v, at once", s.Acknowledged("a"), s.unused(t))
	}
	s.Reached([]string{reachedEntry})
	if s.Acknowledged("a") {
		t.Error("another has it, and the boot goes ahead")
	}
	boots.reach = bootstream.Reached
	s.Reached([]string{reachedEntry})
	if !s.Acknowledged("a") || len(s.servers) != 1 {
		t.Errorf("acknowledged %v, servers woken %v", s.Acknowledged("a"), s.servers)
	}
}

// TestWithoutABootServerStatusSaysSo: after ten seconds, and as long as it is so.
func TestWithoutABootServerStatusSaysSo(t *testing.T) {
	for reach, reason := range map[bootstream.Reach]string{bootstream.NoFollower: bootv1.ReasonNoBootServer, bootstream.NotReached: bootv1.ReasonNotAcknowledged} {
		t.Run(reason, func(t *testing.T) {
			s, boots := withStream(t, reach)
			s.Settle(t, s.ipxe, "ns/c")
			s.API.Clock.Step(reachDelay)
			s.Settle(t, s.ipxe, "ns/c")
			controllertest.Says(t, s.readIPXE(t, "ns/c").Status.Conditions, bootv1.ConditionBootServerReached, metav1.ConditionFalse, reason)
			boots.reach = bootstream.Reached
			s.Reached([]string{reachedEntry})
			s.Settle(t, s.ipxe, "ns/c")
			if c := s.unused(t); c != nil || !s.Acknowledged("a") {
				t.Errorf("a boot server has it, and status says %v", c)
			}
		})
	}
}

// TestARefusalIsACondition: with the boot server's name and reason, until it uses the boot config again.
func TestARefusalIsACondition(t *testing.T) {
	s, boots := withStream(t, bootstream.Reached)
	s.Settle(t, s.ipxe, "ns/c")
	boots.refused = []bootstream.RefusedBy{{BootServer: "boot-1.example", Reason: "no script"}}
	s.Reached([]string{reachedEntry})
	s.Settle(t, s.ipxe, "ns/c")
	controllertest.Says(t, s.readIPXE(t, "ns/c").Status.Conditions, bootv1.ConditionBootServerReached, metav1.ConditionFalse, bootv1.ReasonRefused, "boot-1.example", "no script")
	boots.refused = nil
	s.Reached([]string{reachedEntry})
	s.Settle(t, s.ipxe, "ns/c")
	if c := s.unused(t); c != nil {
		t.Errorf("it is used again, and status says %v", c)
	}
}

// TestSitesWithoutABootServerDoNotWait: the manager's own boot server answers their machines.
func TestSitesWithoutABootServerDoNotWait(t *testing.T) {
	s, _ := withStream(t, bootstream.NoFollower)
	s.Streamed = func(string) bool { return false }
	s.Settle(t, s.ipxe, "ns/c")
	if !s.Acknowledged("a") {
		t.Error("the boot waits")
	}
	s.API.Clock.Step(time.Minute)
	s.Settle(t, s.ipxe, "ns/c")
	if c := s.unused(t); c != nil {
		t.Errorf("status says %v", c)
	}
}
