package server

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestABootGoesOnWhenAnotherManagerAcknowledgesIt: at once, and for its own attempt alone.
func TestABootGoesOnWhenAnotherManagerAcknowledgesIt(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.silent = true
		s.settle(t)
		s.pass(t, 2*time.Second)
		s.ready(t, namespace+"/"+host)
		s.pass(t, 3*time.Second)
		attempt := s.attempt(t, namespace+"/"+host).ID
		for _, of := range []string{"", "another", attempt} {
			s.says(t, metalv1.ConditionBootReady, metav1.ConditionFalse, "NotAcknowledged")
			if got := s.hw.Resets(); len(got) != 0 {
				t.Fatalf("the machine was told %v", got)
			}
			controllertest.Change(t, s.API, namespace+"/"+host, func(c *metalv1.ServerBootConfiguration) {
				metav1.SetMetaDataAnnotation(&c.ObjectMeta, metalv1.AnnotationBootAcknowledged, of)
			})
			s.settle(t)
			s.pass(t, time.Second)
		}
		if got := count(s.hw.Resets(), " On"); got != 1 {
			t.Errorf("the machine was told %v", s.hw.Resets())
		}
	})
}

// relays writes an alarm into the Server, as another manager does.
func (s *stand) relays(t *testing.T, message, attempt string) {
	t.Helper()
	s.change(t, func(o *metalv1.Server) {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationBootAlarm, fmt.Sprintf(
			`{"reason": %q, "message": %q, "attempt": %q, "at": %q}`, alarm.ReasonStranger, message, attempt, s.API.Clock.Now().Format(time.RFC3339Nano)))
	})
	s.settle(t)
}

// alarms is how many events of alarms were told.
func (s *stand) alarms() int { return count(s.told, alarm.ReasonStranger) }

// claimedAgain has a claim switch the machine on.
func (s *stand) claimedAgain(t *testing.T) *metalv1.ServerClaim {
	t.Helper()
	claim := s.claims(t, metalv1.PowerOn)
	s.pass(t, 10*time.Second)
	s.is(t, metalv1.ServerStateReserved)
	return claim
}

// TestAnAlarmOfAnotherManager is what the Server says, until a later boot has started without one; and it does not come back after that, though the
// annotation stays.
func TestAnAlarmOfAnotherManager(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.Reconciler.Alarms = &alarm.Board{Wake: func(string) {}}
		claim := s.reserved(t)
		first := s.attempt(t, "ns/c").ID
		s.relays(t, "somebody else", first)
		s.says(t, metalv1.ConditionBootAlarm, metav1.ConditionTrue, alarm.ReasonStranger, "somebody else")
		s.relays(t, "somebody else again", first)
		s.says(t, metalv1.ConditionBootAlarm, metav1.ConditionTrue, alarm.ReasonStranger, "somebody else again")
		told := s.alarms()
		s.pass(t, time.Minute)
		if got := s.alarms(); told == 0 || got != told {
			t.Errorf("%d events of alarms, and then %d", told, got)
		}
		s.ends(t, claim)
		s.pass(t, time.Minute)
		s.says(t, metalv1.ConditionBootAlarm, metav1.ConditionTrue, alarm.ReasonStranger) // no boot has started since

		claim = s.claimedAgain(t)
		s.says(t, metalv1.ConditionBootAlarm, metav1.ConditionFalse, "NoAlarm")
		s.ends(t, claim)
		s.pass(t, time.Minute)
		s.says(t, metalv1.ConditionBootAlarm, metav1.ConditionFalse, "NoAlarm")
		if got := s.alarms(); got != told {
			t.Errorf("%d events of alarms, and after the alarm was over %d", told, got)
		}
		s.claimedAgain(t)
		s.relays(t, "once more", s.attempt(t, "ns/c").ID)
		s.says(t, metalv1.ConditionBootAlarm, metav1.ConditionTrue, alarm.ReasonStranger, "once more")
	})
}

// TestTheNewestAlarmCounts: this process may know an earlier one than another has written, or a later one.
func TestTheNewestAlarmCounts(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.Reconciler.Alarms = &alarm.Board{Wake: func(string) {}}
		s.reserved(t)
		attempt := s.attempt(t, "ns/c").ID
		own := func(message string) {
			s.Reconciler.Alarms.Raise(host, alarm.Alarm{Reason: alarm.ReasonDisksDiffer, Message: message, Attempt: attempt, At: s.API.Clock.Now()})
			s.settle(t)
		}
		own("own")
		s.says(t, metalv1.ConditionBootAlarm, metav1.ConditionTrue, alarm.ReasonDisksDiffer, "own")
		s.pass(t, 2*time.Second)
		s.relays(t, "relayed", attempt)
		s.says(t, metalv1.ConditionBootAlarm, metav1.ConditionTrue, alarm.ReasonStranger, "relayed")
		s.pass(t, 2*time.Second)
		own("own again")
		s.says(t, metalv1.ConditionBootAlarm, metav1.ConditionTrue, alarm.ReasonDisksDiffer, "own again")
		if !slices.Contains(s.told, alarm.ReasonDisksDiffer) || s.alarms() != 1 {
			t.Errorf("told: %v", s.told)
		}
	})
}
