package server

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
)

func TestAClaimedMachineIsBootedOnceAndReleasedClean(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.reserved(t)
		if got := count(s.hw.Resets(), " On"); got != 2 { // the probe, the claim
			t.Errorf("the machine was told %v", s.hw.Resets())
		}
		s.pass(t, 10*time.Minute)
		if got := count(s.hw.Resets(), " On"); got != 2 {
			t.Errorf("a running machine was told %v", s.hw.Resets())
		}
		s.ends(t, claim)
		s.settle(t)
		if server := s.read(t); server.Status.State != metalv1.ServerStateReserved || server.Annotations[metalv1.AnnotationClaimedBy] != string(claim.UID) {
			t.Errorf("before the machine is off: %s, marked %v", server.Status.State, server.Annotations)
		}
		s.says(t, metalv1.ConditionWaitingForPowerOff, metav1.ConditionTrue, "ShuttingDown", "forced")
		s.pass(t, 10*time.Second)
		server := s.is(t, metalv1.ServerStateAvailable)
		if server.Spec.ServerClaimRef != nil || server.Spec.BootConfigurationRef != nil || server.Annotations[metalv1.AnnotationClaimedBy] != "" {
			t.Errorf("a free server still belongs to somebody: %+v %v", server.Spec, server.Annotations)
		}
		s.says(t, metalv1.ConditionCleaned, metav1.ConditionTrue, "PassedThrough")
		obj := controllertest.Read[corev1.ConfigMap](t, s.API, namespace+"/"+host+"-cleanup-"+string(claim.UID))
		if obj.Labels[machinerecord.Label] != machinerecord.KindCleanup || machinerecord.ServerOf(obj) != host || len(obj.BinaryData[machinerecord.Key]) == 0 {
			t.Errorf("the record of the cleanup is %v", obj)
		}
	})
}

func TestTheMarkIsRemovedOnlyWhenTheCleanupIsOnRecord(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.reserved(t)
		s.ends(t, claim)
		var order []string
		s.pass(t, 10*time.Second)
		for _, w := range s.Writes("") {
			if w.Kind == "ConfigMap" && strings.Contains(w.Name, "cleanup") {
				order = append(order, "record")
			}
			if w.Kind == "Server" && w.Verb == controllertest.Patch {
				order = append(order, "server")
			}
		}
		if i := slices.Index(order, "record"); i < 0 || i == len(order)-1 {
			t.Errorf("written: %v; the mark goes after the record", order)
		}
	})
}

// TestAHungOperatingSystemIsForcedOff: and while it hangs, nothing is written again and again.
func TestAHungOperatingSystemIsForcedOff(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.reserved(t)
		s.hw.Ignores(true)
		s.ends(t, claim)
		s.settle(t)
		s.ForgetWrites()
		s.pass(t, 50*time.Second)
		if w := s.Writes("Server"); len(w) > 1 { // since when it is asked
			t.Errorf("while it is waited for, written: %v", w)
		}
		s.pass(t, 30*time.Second)
		s.is(t, metalv1.ServerStateAvailable)
		if got := count(s.hw.Resets(), " ForceOff"); got != 1 {
			t.Errorf("the machine was told %v", s.hw.Resets())
		}
	})
}

func TestACacheThatDoesNotShowTheClaimReleasesNothing(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		cache := s.Lagging(t, &metalv1.ServerClaimList{})
		s.claims(t, metalv1.PowerOn)
		s.Client = cache
		s.pass(t, 10*time.Second)
		server := s.is(t, metalv1.ServerStateReserved)
		if server.Spec.ServerClaimRef == nil || server.Status.PowerState != metalv1.PowerStateOn {
			t.Errorf("the server was taken away: %+v", server.Spec)
		}
	})
}

func TestAClaimMadeAnewUnderTheOldNameIsANewClaim(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.reserved(t)
		s.Remove(t, claim)
		again := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}, Spec: claim.Spec}
		s.Add(t, again)
		s.pass(t, 10*time.Second)
		server := s.is(t, metalv1.ServerStateAvailable)
		if server.Spec.ServerClaimRef != nil || server.Status.PowerState != metalv1.PowerStateOff {
			t.Errorf("the machine of the old one was handed on as it is: %+v", server.Spec)
		}
	})
}

// TestAReleaseEndsWhatTheClaimHasOrdered: the order to switch on has not come true yet when the claim goes.
// If it did later, the next claim would find the machine running what the last one wanted.
func TestAReleaseEndsWhatTheClaimHasOrdered(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		claim := s.claims(t, metalv1.PowerOn)
		s.hw.Fails(&bmc.Error{Kind: bmc.KindServer, Op: "POST", StatusCode: 503, Message: "busy"})
		s.pass(t, 3*time.Second)
		if s.attempt(t, "ns/c") == nil {
			t.Fatal("nothing was ordered")
		}
		s.ends(t, claim)
		s.pass(t, 3*time.Second)
		if server := s.read(t); server.Spec.ServerClaimRef == nil {
			t.Error("released while an order to switch on is under way")
		}
		s.hw.Fails(nil)
		s.pass(t, time.Minute)
		s.is(t, metalv1.ServerStateAvailable)
		if got := count(s.hw.Resets(), " On"); got != 1 { // the probe
			t.Errorf("the machine was told %v", s.hw.Resets())
		}
	})
}

func TestAMachineThatGoesOffIsBootedAgain(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.reserved(t)
		first := s.attempt(t, "ns/c")
		s.hw.Power(uri, bmc.PowerOff)
		s.rack.Look(address)
		s.pass(t, 10*time.Second)
		if again := s.attempt(t, "ns/c"); again.Number != first.Number+1 || again.ID == first.ID || again.Started == nil {
			t.Errorf("the attempt is %v, and was %v", again, first)
		}
		if server := s.is(t, metalv1.ServerStateReserved); server.Status.PowerState != metalv1.PowerStateOn {
			t.Errorf("power %s", server.Status.PowerState)
		}
	})
}

func TestAClaimThatWantsItOffHasItOffGracefully(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.reserved(t)
		controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerClaim) { c.Spec.Power = metalv1.PowerOff })
		s.hw.Ignores(true)
		s.pass(t, 5*time.Minute)
		if got := count(s.hw.Resets(), " ForceOff"); got != 0 {
			t.Errorf("the machine was told %v", s.hw.Resets())
		}
		s.hw.Ignores(false)
		s.pass(t, 2*time.Minute)
		server := s.is(t, metalv1.ServerStateReserved)
		if server.Status.PowerState != metalv1.PowerStateOff {
			t.Errorf("power %s", server.Status.PowerState)
		}
		controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerClaim) { c.Spec.Power = metalv1.PowerOn })
		s.pass(t, 20*time.Second)
		if server := s.is(t, metalv1.ServerStateReserved); server.Status.PowerState != metalv1.PowerStateOn {
			t.Errorf("power %s", server.Status.PowerState)
		}
	})
}

// TestAPowerThatMeansNothingSwitchesNothing: a slip of the pen is no order to switch a machine off.
func TestAPowerThatMeansNothingSwitchesNothing(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.reserved(t)
		before := len(s.hw.Resets())
		controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerClaim) { c.Spec.Power = "off" })
		s.pass(t, 5*time.Minute)
		if got := s.hw.Resets(); len(got) != before {
			t.Errorf("the machine was told %v", got[before:])
		}
		if server := s.is(t, metalv1.ServerStateReserved); server.Status.PowerState != metalv1.PowerStateOn {
			t.Errorf("power %s", server.Status.PowerState)
		}
	})
}

func TestABootConfigurationOfAnotherServerIsNotBooted(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		s.claims(t, metalv1.PowerOn)
		controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) { c.Spec.ServerRef.Name = "other" })
		s.ready(t, "ns/c")
		s.pass(t, 20*time.Second)
		s.is(t, metalv1.ServerStateReserved)
		s.says(t, metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationMissing")
		if got := count(s.hw.Resets(), " On"); got != 1 {
			t.Errorf("the machine was told %v", s.hw.Resets())
		}
		if a := s.attempt(t, "ns/c"); a != nil {
			t.Errorf("an attempt was written to it: %v", a)
		}
	})
}

func TestAReferenceThatIsRemovedByHandLeavesAServerThatCanBeClaimed(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.reserved(t)
		s.change(t, func(o *metalv1.Server) { o.Spec.ServerClaimRef = nil })
		s.pass(t, 20*time.Second)
		server := s.is(t, metalv1.ServerStateAvailable)
		if server.Spec.BootConfigurationRef != nil || server.Annotations[metalv1.AnnotationClaimedBy] != "" || server.Status.PowerState != metalv1.PowerStateOff {
			t.Errorf("nobody can claim it: %+v %v, power %s", server.Spec, server.Annotations, server.Status.PowerState)
		}
	})
}

func TestARetainedServerIsKeptForItsOwner(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.reserved(t)
		s.change(t, func(o *metalv1.Server) { o.Spec.ReclaimPolicy = metalv1.ReclaimPolicyRetain })
		s.ends(t, claim)
		s.pass(t, 20*time.Second)
		server := s.is(t, metalv1.ServerStateReleased)
		if server.Spec.ServerClaimRef == nil || server.Status.PowerState != metalv1.PowerStateOff {
			t.Errorf("released is %+v, power %s", server.Spec, server.Status.PowerState)
		}
		s.restart(t)
		s.Step(t, s.Reconciler, host)
		if server := s.read(t); server.Status.State != metalv1.ServerStateReleased {
			t.Errorf("after a start, with nothing known: %s", server.Status.State)
		}
		s.settle(t)
		s.change(t, func(o *metalv1.Server) { o.Spec.ServerClaimRef = nil })
		s.pass(t, 10*time.Second)
		s.is(t, metalv1.ServerStateAvailable)
	})
}

func TestAServerOfAnUnknownClaimIsCleanedEachTime(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		for range 2 { // from another installation, and its claim is gone already
			s.change(t, func(o *metalv1.Server) {
				o.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "gone"}
			})
			s.pass(t, 5*time.Second)
			s.is(t, metalv1.ServerStateAvailable)
		}
		var records corev1.ConfigMapList
		if err := s.API.List(t.Context(), &records); err != nil {
			t.Fatal(err)
		}
		if len(records.Items) != 3 { // an inspection, two cleanups
			t.Errorf("on record are %d", len(records.Items))
		}
	})
}

func TestAClaimFromAnotherInstallationIsRemembered(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		claim := s.claims(t, metalv1.PowerOn)
		s.change(t, func(o *metalv1.Server) { delete(o.Annotations, metalv1.AnnotationClaimedBy) })
		s.hw.Power(uri, bmc.PowerOn) // it runs already
		s.rack.Look(address)
		before := s.hw.Resets()
		s.pass(t, 20*time.Second)
		if server := s.is(t, metalv1.ServerStateReserved); server.Annotations[metalv1.AnnotationClaimedBy] != string(claim.UID) {
			t.Errorf("marked: %v", server.Annotations)
		}
		if got := s.hw.Resets(); !slices.Equal(got, before) {
			t.Errorf("a running machine was told %v", got[len(before):])
		}
	})
}

func TestAnAvailableServerThatSomebodySwitchesOnIsSwitchedOffEachTime(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.reserved(t)
		s.ends(t, claim)
		s.pass(t, 20*time.Second)
		for round := range 2 {
			s.hw.Power(uri, bmc.PowerOn)
			s.rack.Look(address)
			s.pass(t, time.Minute)
			if server := s.is(t, metalv1.ServerStateAvailable); server.Status.PowerState != metalv1.PowerStateOff {
				t.Errorf("round %d: power %s", round, server.Status.PowerState)
			}
		}
	})
}

// TestAClaimedServerOutlivesItsDeletion: as a new Server the machine would be booted from cold under its user.
func TestAClaimedServerOutlivesItsDeletion(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.reserved(t)
		before := s.hw.Resets()
		s.Remove(t, s.read(t))
		s.pass(t, 10*time.Second)
		if got := s.hw.Resets(); !slices.Equal(got, before) {
			t.Errorf("the machine was told %v", got[len(before):])
		}
		old := s.is(t, metalv1.ServerStateReserved)
		s.ends(t, claim)
		s.pass(t, 20*time.Second)
		if again := s.read(t); again.UID == old.UID {
			t.Errorf("the old Server is still there: %s", again.Status.State)
		}
		if count(s.hw.Resets(), " GracefulShutdown") == count(before, " GracefulShutdown") {
			t.Errorf("released without being switched off: %v", s.hw.Resets())
		}
	})
}

func TestDeletionTakesEverythingAlongThatWasMade(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.discovering(t)
		s.reports(t)
		foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other-inspection", Labels: machinerecord.Selector("other")}}
		s.Add(t, foreign)
		s.Remove(t, s.read(t))
		s.Step(t, s.Reconciler, host)
		if !controllertest.Gone[metalv1.Server](t, s.API, host) {
			t.Error("the Server is still there")
		}
		var secrets corev1.SecretList
		var records corev1.ConfigMapList
		var configs metalv1.ServerBootConfigurationList
		for _, err := range []error{s.API.List(t.Context(), &secrets), s.API.List(t.Context(), &records), s.API.List(t.Context(), &configs)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(secrets.Items)+len(configs.Items) != 0 || len(records.Items) != 1 {
			t.Errorf("left: %d Secrets, %d boot configurations, %d records", len(secrets.Items), len(configs.Items), len(records.Items))
		}
	})
}

func TestAttemptsAreReadableByPeopleAndPrograms(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.reserved(t)
		config := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c")
		var fields map[string]any
		if err := json.Unmarshal([]byte(config.Annotations[metalv1.AnnotationBootAttempt]), &fields); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"id", "number", "ordered", "started"} {
			if fields[key] == nil {
				t.Errorf("the attempt has no %s: %v", key, fields)
			}
		}
	})
}

// TestAReleaseWithoutForceWaitsAndSaysSo: for as long as the operating system ignores its shutdown.
func TestAReleaseWithoutForceWaitsAndSaysSo(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.Reconciler.Policy.EnforcePowerOff = false
		claim := s.reserved(t)
		s.hw.Ignores(true)
		s.ends(t, claim)
		s.pass(t, 10*time.Minute)
		if server := s.read(t); server.Status.State != metalv1.ServerStateReserved || server.Spec.ServerClaimRef == nil {
			t.Errorf("state %s, claim %v", server.Status.State, server.Spec.ServerClaimRef)
		}
		c := apimeta.FindStatusCondition(s.read(t).Status.Conditions, metalv1.ConditionWaitingForPowerOff)
		if c == nil || c.Status != metav1.ConditionTrue {
			t.Errorf("it is not said: %v", c)
		}
		if got := count(s.hw.Resets(), " ForceOff"); got != 0 {
			t.Errorf("the machine was told %v", s.hw.Resets())
		}
		s.hw.Ignores(false)
		s.pass(t, 2*time.Minute)
		s.is(t, metalv1.ServerStateAvailable)
	})
}
