package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/ignition"
)

// maxWrites is the budget of writes to a Server object from its creation to Available.
const maxWrites = 6

func TestFromItsCreationToAvailableAServerIsWrittenToSixTimes(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		writes := s.Writes("Server")
		t.Logf("%d writes: %v", len(writes), writes)
		if len(writes) > maxWrites {
			t.Errorf("%d writes, the budget is %d: %v", len(writes), maxWrites, writes)
		}
		// Of the boot configuration: made, ready, ordered together with the machine seen off, started, gone.
		for kind, most := range map[string]int{"BMC": 3, "ServerBootConfiguration": 5, "Secret": 4} {
			if w := s.Writes(kind); len(w) > most {
				t.Errorf("%d writes to %s, the budget is %d: %v", len(w), kind, most, w)
			}
		}
	})
}

func TestDiscoveryBootsTheProbeFromColdAndEndsWithItsReport(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hw.Power(uri, "On")
		s.discovering(t)
		if got := s.hw.Resets(); len(got) != 2 || got[0] != uri+" GracefulShutdown" || got[1] != uri+" On" {
			t.Errorf("the machine was told %v", got)
		}
		if got := s.hw.Overrides(); len(got) != 1 || got[0] != uri+" Pxe" {
			t.Errorf("its boot was set to %v", got)
		}
		s.says(t, metalv1.ConditionDiscovered, metav1.ConditionFalse, "WaitingForReport")
		s.says(t, metalv1.ConditionBootReady, metav1.ConditionTrue, "BootConfigurationReady")
		s.pass(t, 30*time.Second)
		s.is(t, metalv1.ServerStateDiscovery)
		if got := s.hw.Resets(); len(got) != 2 {
			t.Errorf("while it is waited for: %v", got)
		}
		s.reports(t)
		s.settle(t)
		before := len(s.Writes("Server"))
		s.pass(t, 10*time.Second)
		server := s.is(t, metalv1.ServerStateAvailable)
		if w := s.Writes("Server")[before:]; len(w) != 1 {
			t.Errorf("that it is Available and off are %d writes: %v", len(w), w)
		}
		s.says(t, metalv1.ConditionDiscovered, metav1.ConditionTrue, "ReportStored")
		s.says(t, metalv1.ConditionBootReady, metav1.ConditionFalse, "NothingToBoot")
		if server.Status.PowerState != metalv1.PowerStateOff || server.Spec.BootConfigurationRef != nil {
			t.Errorf("power %s, boot configuration %v", server.Status.PowerState, server.Spec.BootConfigurationRef)
		}
		for _, name := range []string{namespace + "/" + host, namespace + "/" + host + "-ssh"} {
			if !controllertest.Gone[corev1.Secret](t, s.API, name) {
				t.Errorf("Secret %s was left behind", name)
			}
		}
		if !controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, namespace+"/"+host) {
			t.Error("the internal boot configuration was left behind")
		}
	})
}

func TestWhatIsPreparedForDiscovery(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.settle(t)
		s.pass(t, 2*time.Second)
		config := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, namespace+"/"+host)
		if config.Annotations[metalv1.AnnotationType] != metalv1.TypeInternal || config.Annotations[metalv1.AnnotationIsDefaultOSImage] != "true" {
			t.Errorf("annotations %v", config.Annotations)
		}
		if config.Spec.ServerRef.Name != host || config.Spec.Image != "registry/probe:1" || config.Spec.IgnitionSecretRef.Name != host {
			t.Errorf("spec %+v", config.Spec)
		}
		hasKeys(t, controllertest.Read[corev1.Secret](t, s.API, namespace+"/"+host+"-ssh"), "pem", "pub", "password")
		secret := controllertest.Read[corev1.Secret](t, s.API, namespace+"/"+host)
		hasKeys(t, secret, "ignition", "format")
		a := s.attempt(t, namespace+"/"+host)
		if a == nil || a.Open() {
			t.Fatalf("the attempt is prepared, and not open before the boot is ordered: %v", a)
		}
		token := ignition.Token(s.TokenKey, string(s.read(t).UID), a.ID)
		payload, _, err := ignition.Payload(string(secret.Data["format"]), secret.Data["ignition"])
		if err != nil || !strings.Contains(string(payload), "/probe/"+token) || !strings.Contains(string(payload), uuid) {
			t.Errorf("the ignition has no token or no UUID: %v\n%s", err, payload)
		}

		s.ready(t, namespace+"/"+host)
		s.settle(t)
		if ordered := s.attempt(t, namespace+"/"+host); !ordered.Open() || ordered.ID != a.ID {
			t.Errorf("ordered is %v; the probe's token is made of %s", ordered, a.ID)
		}
	})
}

func TestAnInternalObjectThatIsLostIsPreparedAgain(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.settle(t)
		s.pass(t, 2*time.Second)
		first := s.attempt(t, namespace+"/"+host)
		s.Remove(t, controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, namespace+"/"+host))
		s.settle(t)
		if again := s.attempt(t, namespace+"/"+host); again == nil || again.ID == first.ID {
			t.Errorf("the attempt is %v, and was %v: its token is spent", again, first)
		}
	})
}

func TestTheAttemptIsWrittenBeforeTheCommandIsGiven(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hw.Power(uri, "On")
		s.settle(t)
		s.pass(t, 2*time.Second)
		s.ready(t, namespace+"/"+host)
		resets := func() int { return len(s.hw.Resets()) + len(s.hw.Overrides()) }
		// Every step in turn cannot be written: nothing happens to the machine.
		for step, open := range []func() bool{
			func() bool { return s.attempt(t, namespace+"/"+host).Open() },
			func() bool { return s.attempt(t, namespace+"/"+host).Off != nil },
		} {
			s.Fail = failBoot
			before := resets()
			for range 20 {
				s.rack.Pass(time.Second)
				s.Step(t, s.Reconciler, host)
			}
			if got := resets(); got != before && step == 0 {
				t.Errorf("step %d was not written, and the machine was told %v", step, s.hw.Resets())
			}
			if got := count(s.hw.Resets(), " On"); got != 0 {
				t.Errorf("step %d was not written, and the machine was switched on", step)
			}
			s.Fail = nil
			for range 20 {
				if s.rack.Pass(time.Second); open() {
					break
				}
				s.Step(t, s.Reconciler, host)
			}
			if !open() {
				t.Fatalf("step %d does not come", step)
			}
		}
	})
}

func TestABootWaitsForABootServerAndNotForEver(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.silent = true
		s.settle(t)
		s.pass(t, 2*time.Second)
		s.ready(t, namespace+"/"+host)
		s.pass(t, 3*time.Second)
		s.says(t, metalv1.ConditionBootReady, metav1.ConditionFalse, "NotAcknowledged")
		if got := s.hw.Resets(); len(got) != 0 {
			t.Errorf("the machine was told %v", got)
		}
		s.pass(t, 10*time.Second)
		if got := count(s.hw.Resets(), " On"); got != 1 {
			t.Errorf("the machine was told %v", s.hw.Resets())
		}
	})
}

func TestADiscoveryThatTimesOutIsTriedAgainLaterAndThenGivenUp(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.discovering(t)
		// It fetches nothing, so after half of the time it is booted once more, and that boot has the rest.
		s.pass(t, 5*time.Minute)
		s.ready(t, namespace+"/"+host)
		s.pass(t, 4*time.Minute+30*time.Second)
		s.is(t, metalv1.ServerStateDiscovery)
		if on := slices.DeleteFunc(s.hw.Resets(), func(r string) bool { return r != uri+" On" }); len(on) != 2 {
			t.Errorf("a silent machine was told %v", s.hw.Resets())
		}
		for range 60 {
			if s.read(t).Status.State != metalv1.ServerStateDiscovery {
				break
			}
			s.pass(t, time.Second)
		}
		s.is(t, metalv1.ServerStateInitial)
		s.says(t, metalv1.ConditionDiscovered, metav1.ConditionFalse, "TimedOut", "1 of 2")
		if !slices.Contains(s.told, "DiscoveryTimedOut") {
			t.Errorf("events: %v", s.told)
		}
		if !controllertest.Gone[corev1.Secret](t, s.API, namespace+"/"+host) {
			t.Error("the token of the attempt that failed is still about")
		}
		result := s.Step(t, s.Reconciler, host)
		if result.RequeueAfter <= 0 || result.RequeueAfter > time.Minute {
			t.Errorf("it is looked at again after %s", result.RequeueAfter)
		}
		s.pass(t, time.Minute+moment)
		s.is(t, metalv1.ServerStateDiscovery)
		s.ready(t, namespace+"/"+host)
		s.pass(t, 6*time.Minute)
		s.ready(t, namespace+"/"+host)
		s.pass(t, 11*time.Minute)
		s.is(t, metalv1.ServerStateError)
		s.says(t, metalv1.ConditionReady, metav1.ConditionFalse, "DiscoveryFailed", "retry")

		// A person asks for another try.
		s.change(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationRetry)
		})
		s.settle(t)
		s.ready(t, namespace+"/"+host)
		s.pass(t, 20*time.Second)
		s.is(t, metalv1.ServerStateDiscovery)
		s.reports(t)
		s.pass(t, 10*time.Second)
		server := s.is(t, metalv1.ServerStateAvailable)
		for key := range server.Annotations {
			if strings.Contains(key, "discovery") {
				t.Errorf("%s was left behind", key)
			}
		}
	})
}

// lateInitial is what the metrics say when one server is late.
const lateInitial = `
# HELP farrier_servers_late Servers that have been longer in their state than is usual, or whose machine does not follow a power command.
# TYPE farrier_servers_late gauge
farrier_servers_late{state="Available"} 0
farrier_servers_late{state="Cleanup"} 0
farrier_servers_late{state="Discovery"} 0
farrier_servers_late{state="Error"} 0
farrier_servers_late{state="Initial"} 1
farrier_servers_late{state="Maintenance"} 0
farrier_servers_late{state="Parked"} 0
farrier_servers_late{state="Released"} 0
farrier_servers_late{state="Reserved"} 0
`

func TestLateIsSaidInTime(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hw.Set() // the system has gone before anybody could look at it
		s.Add(t, &metalv1.Server{
			ObjectMeta: metav1.ObjectMeta{Name: host},
			Spec:       metalv1.ServerSpec{SystemUUID: uuid, BMCRef: &metalv1.LocalObjectReference{Name: "b"}},
		})
		s.settle(t)
		s.pass(t, time.Second)
		s.is(t, metalv1.ServerStateInitial)
		s.says(t, conditionLate, metav1.ConditionFalse, "OnTime")
		result := s.Step(t, s.Reconciler, host)
		if result.RequeueAfter <= 0 || result.RequeueAfter > mustUsual(metalv1.ServerStateInitial) {
			t.Fatalf("nobody looks at it in time: %s", result.RequeueAfter)
		}
		s.pass(t, result.RequeueAfter)
		s.says(t, conditionLate, metav1.ConditionTrue, "LateInInitial")
		s.pass(t, 10*time.Minute)
		if got := count(s.told, "LateInInitial"); got != 1 {
			t.Errorf("told %d times", got)
		}
		if got := testutil.CollectAndCount(&s.census, "farrier_servers_late"); got != len(states) {
			t.Errorf("%d states can be late", got)
		}
		if err := testutil.CollectAndCompare(&s.census, strings.NewReader(lateInitial), "farrier_servers_late"); err != nil {
			t.Error(err)
		}
		s.hw.Set(controllertest.System(uri, uuid))
		s.rack.Look(address)
		s.pass(t, 2*moment)
		s.says(t, conditionLate, metav1.ConditionFalse, "OnTime")
	})
}

func mustUsual(state metalv1.ServerState) time.Duration {
	d, _ := usual(state)
	return d
}

// TestAMachineThatTakesLongToGoOffIsSaidToBeAvailableMeanwhile: status is silent for what is soon over, and no longer.
func TestAMachineThatTakesLongToGoOffIsSaidToBeAvailableMeanwhile(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.discovering(t)
		s.hw.Ignores(true)
		s.reports(t)
		s.pass(t, while-time.Second)
		if state := s.read(t).Status.State; state != metalv1.ServerStateDiscovery {
			t.Errorf("%s before the machine is off", state)
		}
		s.pass(t, 2*time.Second)
		if server := s.is(t, metalv1.ServerStateAvailable); server.Status.PowerState != metalv1.PowerStateOn {
			t.Errorf("power %s", server.Status.PowerState)
		}
		s.says(t, metalv1.ConditionWaitingForPowerOff, metav1.ConditionTrue, "ShuttingDown")
	})
}
