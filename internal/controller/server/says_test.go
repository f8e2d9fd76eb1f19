package server

import (
	"errors"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/diagnosis"
)

// answers is what `farrier why` says of the server, from its objects; empty: nothing is wrong.
func (s *stand) answers(t *testing.T) string {
	t.Helper()
	f := &diagnosis.Facts{Now: s.API.Clock.Now(), Asked: host, Server: s.read(t), BMC: controllertest.Read[metalv1.BMC](t, s.API, "b")}
	if ref := f.Server.Spec.ServerClaimRef; ref != nil && !controllertest.Gone[metalv1.ServerClaim](t, s.API, ref.Namespace+"/"+ref.Name) {
		f.Claim = controllertest.Read[metalv1.ServerClaim](t, s.API, ref.Namespace+"/"+ref.Name)
	}
	if ref := bootRef(f.Server); ref != nil && !controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, ref.Namespace+"/"+ref.Name) {
		f.Config, f.OfProbe = controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, ref.Namespace+"/"+ref.Name), ref.Namespace == namespace
	}
	if s.Asked != nil {
		f.Boots = s.Asked(uuid)
	}
	wrong := diagnosis.Wrong(f)
	if wrong == nil {
		return ""
	}
	return wrong.Cause
}

// troubled checks that the server says what `farrier why` says, and that both have this reason.
func (s *stand) troubled(t *testing.T, reason string) {
	t.Helper()
	answer := s.answers(t)
	c := apimeta.FindStatusCondition(s.read(t).Status.Conditions, metalv1.ConditionTroubled)
	switch {
	case reason == "" && (c != nil || answer != ""):
		t.Errorf("nothing is to be wrong, and it says %v, and the answer is %q", c, answer)
	case reason == "":
	case c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason:
		t.Errorf("it says %v, want %s", c, reason)
	case answer == "" || !strings.HasPrefix(c.Message, answer+" Next: "):
		t.Errorf("it says %q, and the answer is %q", c.Message, answer)
	}
}

// isTold checks how many events have told of trouble, and of its end, since it was asked last.
func (s *stand) isTold(t *testing.T, begun, over int) {
	t.Helper()
	if b, o := count(s.told, metalv1.ConditionTroubled), count(s.told, "TroubleOver"); b != begun || o != over {
		t.Errorf("trouble was told of %d times, its end %d times, want %d and %d: %v", b, o, begun, over, s.told)
	}
	s.told = nil
}

func (s *stand) imageIs(t *testing.T, status metav1.ConditionStatus, reason, message string) {
	t.Helper()
	controllertest.ChangeStatus(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) {
		apimeta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: metalv1.ConditionImageValidation, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(s.API.Clock.Now()),
		})
	})
}

// TestAServerSaysWhatWhyAnswers: for as long as something is wrong, and no longer; with one event at its beginning and one at its end, and a write each.
func TestAServerSaysWhatWhyAnswers(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.reserved(t)
		attempt, now := s.attempt(t, "ns/c").ID, s.API.Clock.Now()
		s.Asked = func(string) []bootview.Boot { // the machine has fetched all that it boots
			return []bootview.Boot{{Attempt: attempt, Steps: []bootview.Step{{Kind: bootview.DeliveredIgnition, Status: 200, First: now, Last: now}}}}
		}
		s.troubled(t, "")
		s.isTold(t, 0, 0)

		s.ForgetWrites()
		s.imageIs(t, metav1.ConditionFalse, metalv1.ReasonRegistryUnreachable, "dial tcp: connection refused")
		s.pass(t, 5*time.Minute)
		s.troubled(t, metalv1.ReasonRegistryUnreachable)
		s.isTold(t, 1, 0)
		if w := s.Writes("Server"); len(w) != 1 {
			t.Errorf("%d writes: %v", len(w), w)
		}

		s.ForgetWrites()
		s.imageIs(t, metav1.ConditionFalse, metalv1.ReasonImageNotResolved, "not found") // another cause is other trouble
		s.pass(t, 5*time.Minute)
		s.troubled(t, metalv1.ReasonImageNotResolved)
		s.isTold(t, 1, 0)
		if w := s.Writes("Server"); len(w) != 1 {
			t.Errorf("another cause costs %d writes: %v", len(w), w)
		}

		s.ForgetWrites()
		s.imageIs(t, metav1.ConditionTrue, "Validated", "")
		s.pass(t, 5*time.Minute)
		s.troubled(t, "")
		s.isTold(t, 0, 1)
		if w := s.Writes("Server"); len(w) != 1 {
			t.Errorf("the end costs %d writes: %v", len(w), w)
		}
	})
}

// TestWhatAServerSaysOfItsBMC: in the write that says that it does not answer; a restart of the manager neither takes it back nor repeats its event.
func TestWhatAServerSaysOfItsBMC(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		s.hw.Fails(&bmc.Error{Kind: bmc.KindConnection, Op: "GET /redfish/v1", Message: "no route to host"})
		s.pass(t, 10*time.Minute)
		s.troubled(t, metalv1.ReasonConnectionFailed)
		s.isTold(t, 1, 0)

		s.restart(t)
		s.pass(t, 10*time.Minute)
		s.troubled(t, metalv1.ReasonConnectionFailed)
		s.isTold(t, 0, 0)

		s.hw.Fails(nil)
		s.pass(t, 10*time.Minute)
		s.troubled(t, "")
		s.isTold(t, 0, 1)
	})
}

// TestAStartWritesNothing: of a server whose BMC answers as before, a manager that starts has nothing to say, and says so neither before it has met the BMC.
func TestAStartWritesNothing(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		s.pass(t, time.Minute)
		s.ForgetWrites()
		s.restart(t)
		s.Step(t, s.Reconciler, host)
		s.Step(t, s.bmcs, "b")
		s.pass(t, 5*time.Minute)
		if w := s.Writes(""); len(w) > 0 {
			t.Errorf("written: %v", w)
		}
	})
}

// TestWhatWasKnownCountsUntilTheBMCIsMet, within ten minutes of a start.
func TestWhatWasKnownCountsUntilTheBMCIsMet(t *testing.T) {
	t.Parallel()
	ready := func(c metav1.Condition) func(*View) {
		c.Type = metalv1.ConditionReady
		return func(v *View) { v.Server.Status.Conditions = []metav1.Condition{c} }
	}
	before := func(v *View) { v.MetBy = v.Now.Add(time.Minute) }
	answered := metav1.Condition{Status: metav1.ConditionTrue, Reason: "Reachable", Message: "The BMC answers"}
	refused := metav1.Condition{Status: metav1.ConditionFalse, Reason: "BMCUnreachable", Message: "connection refused"}
	for name, tc := range map[string]struct {
		view  *View
		want  string
		after time.Duration
	}{
		"it answered":            {newView(ready(answered), before), "Reachable", time.Minute},
		"it did not":             {newView(ready(refused), before), "BMCUnreachable", time.Minute},
		"it takes too long":      {newView(ready(answered), func(v *View) { v.MetBy = v.Now }), "NotObserved", 0},
		"nothing was known":      {newView(before), "NotObserved", 0},
		"the BMC has been met":   {newView(ready(refused), power(bmc.PowerOff)), "Reachable", 0},
		"it does not answer now": {newView(ready(answered), before, func(v *View) { v.Unreachable = errors.New("refused") }), "BMCUnreachable", 0},
		"it has no such system":  {newView(ready(answered), before, func(v *View) { v.Missing = true }), "SystemNotFound", 0},
	} {
		var p Plan
		if got := reachable(tc.view, &p); got.Reason != tc.want || p.After != tc.after {
			t.Errorf("%s: says %s, looks again after %s; want %s, %s", name, got.Reason, p.After, tc.want, tc.after)
		}
	}
}

// TestAStepThatIsOverdueIsSaid: when it is overdue, though nothing else happens then; and it is over when the machine has asked.
func TestAStepThatIsOverdueIsSaid(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		var boots []bootview.Boot
		s.Asked = func(string) []bootview.Boot { return boots }
		s.reserved(t)
		s.pass(t, 9*time.Minute)
		s.troubled(t, "")
		s.ForgetWrites()
		s.pass(t, 4*time.Minute)
		s.troubled(t, diagnosis.ReasonNoRequest)
		s.isTold(t, 1, 0)
		if w := s.Writes("Server"); len(w) != 1 {
			t.Errorf("%d writes: %v", len(w), w)
		}
		attempt, now := s.attempt(t, "ns/c").ID, s.API.Clock.Now()
		boots = []bootview.Boot{{Attempt: attempt, Steps: []bootview.Step{{Kind: bootview.DeliveredIgnition, Status: 200, First: now, Last: now}}}}
		s.pass(t, 2*askedAgain)
		s.troubled(t, "")
		s.isTold(t, 0, 1)
	})
}

// TestAServerThatIsLeftAloneSaysNothing: who has parked it knows that.
func TestAServerThatIsLeftAloneSaysNothing(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.reserved(t)
		s.imageIs(t, metav1.ConditionFalse, metalv1.ReasonImageNotResolved, "not found")
		s.pass(t, time.Minute)
		s.troubled(t, metalv1.ReasonImageNotResolved)
		s.operate(t, metalv1.OperationPark)
		s.pass(t, time.Minute)
		if c := apimeta.FindStatusCondition(s.read(t).Status.Conditions, metalv1.ConditionTroubled); c != nil {
			t.Errorf("it is parked, and says %v", c)
		}
	})
}
