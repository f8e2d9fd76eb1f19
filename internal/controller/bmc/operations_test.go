package bmc

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmcssh"
	"github.com/farrier-dev/farrier/internal/controller/bmcreset"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// shell is SSH that does what a test says.
type shell struct {
	requests []bmcreset.Request
	results  map[string]bmcreset.Result
}

func (s *shell) Submit(r bmcreset.Request) error {
	s.requests = append(s.requests, r)
	return nil
}

func (s *shell) Result(id string) (bmcreset.Result, bool) {
	r, ok := s.results[id]
	return r, ok
}

// ends gives the last request its result.
func (s *shell) ends(r bmcreset.Result) { s.results[s.requests[len(s.requests)-1].ID] = r }

func (s *stand) overSSH() *shell {
	sh := &shell{results: map[string]bmcreset.Result{}}
	s.SSH = sh
	s.bmc.Manages(func(m *bmc.Manager) { m.Manufacturer = "Dell Inc." })
	return sh
}

func (s *stand) asks(t *testing.T, operation string) {
	t.Helper()
	controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, metalv1.AnnotationOperation, operation)
	})
}

func (s *stand) resetSays(t *testing.T, status metav1.ConditionStatus, reason string, parts ...string) {
	t.Helper()
	b := s.read(t)
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReset, status, reason, parts...)
	if _, asked := b.Annotations[metalv1.AnnotationOperation]; asked {
		t.Error("the operation is still asked for")
	}
	if _, begun := b.Annotations[metalv1.AnnotationOperationStarted]; begun != (status == metav1.ConditionTrue) {
		t.Errorf("that it was begun is noted: %v", begun)
	}
}

func TestARestartOnRequest(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Set(system(uri1, uuid1))
		s.settle(t)
		s.asks(t, metalv1.OperationGracefulRestartBMC)
		s.settle(t)
		s.resetSays(t, metav1.ConditionTrue, metalv1.ReasonUserRequested, "Redfish")
		if got := s.bmc.Restarts(); len(got) != 1 || got[0] != bmc.ResetGracefulRestart {
			t.Errorf("restarts %v", got)
		}
		s.bmc.Fails(errHangs)
		s.look(t)
		s.rack.Pass(time.Minute)
		s.settle(t)
		s.resetSays(t, metav1.ConditionTrue, metalv1.ReasonUserRequested)
		s.bmc.Fails(nil)
		s.rack.Pass(10 * time.Minute)
		b := s.settle(t)
		s.resetSays(t, metav1.ConditionFalse, metalv1.ReasonResetComplete)
		if at := b.Status.LastResetTime; at == nil || at.Time.Sub(controllertest.Start) > time.Minute {
			t.Errorf("last reset at %v", at)
		}
		if got := s.bmc.Restarts(); len(got) != 1 {
			t.Errorf("restarts %v", got)
		}
		if got := s.told(metalv1.ReasonResetComplete); len(got) != 1 {
			t.Errorf("events %q", got)
		}
		controllertest.ChangeStatus(t, s.API, "b", func(b *metalv1.BMC) { b.Status = metalv1.BMCStatus{} })
		if again := s.settle(t).Status.LastResetTime; again == nil || !again.Equal(b.Status.LastResetTime) {
			t.Errorf("in a wiped status: %v", again)
		}
	})
}

func TestARestartThatIsRefusedGoesOverSSH(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		sh := s.overSSH()
		s.bmc.RefusesRestart(&bmc.Error{Kind: bmc.KindUnsupported, Op: "POST", Message: "no"})
		s.settle(t)
		s.asks(t, metalv1.OperationGracefulRestartBMC)
		s.settle(t)
		s.resetSays(t, metav1.ConditionTrue, metalv1.ReasonUserRequested, "SSH")
		if len(sh.requests) != 1 || sh.requests[0].Make != bmcreset.Dell || sh.requests[0].Host != "10.0.0.1" || sh.requests[0].HostKey != "" {
			t.Fatalf("requests %+v", sh.requests)
		}
		sh.ends(bmcreset.Result{End: s.API.Clock.Now(), Err: &bmcssh.HostKeyError{Fingerprint: "SHA256:one"}})
		s.settle(t)
		s.resetSays(t, metav1.ConditionFalse, metalv1.ReasonHostKeyUnknown, "SHA256:one", "no password was sent",
			"kubectl annotate bmc b farrier.dev/ssh-host-key=SHA256:one")
		if got := s.told(metalv1.ReasonHostKeyUnknown); len(got) != 1 {
			t.Errorf("events %q", got)
		}
		if key, written := s.read(t).Annotations[metalv1.AnnotationSSHHostKey]; written {
			t.Errorf("nobody has accepted %q", key)
		}

		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) {
			metav1.SetMetaDataAnnotation(&b.ObjectMeta, metalv1.AnnotationSSHHostKey, "SHA256:one")
		})
		s.asks(t, metalv1.OperationGracefulRestartBMC)
		s.settle(t)
		if len(sh.requests) != 2 || sh.requests[1].HostKey != "SHA256:one" {
			t.Fatalf("requests %+v", sh.requests)
		}
		sh.ends(bmcreset.Result{End: s.API.Clock.Now()})
		s.settle(t)
		s.rack.Pass(time.Minute)
		s.settle(t)
		s.settle(t)
		s.resetSays(t, metav1.ConditionFalse, metalv1.ReasonResetComplete)

		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) {
			b.Spec.ConsoleProtocol = &metalv1.ConsoleProtocol{Name: metalv1.ConsoleProtocolSSH, Port: 2222}
		})
		s.asks(t, metalv1.OperationForceRestartBMC)
		s.settle(t)
		if r := sh.requests[len(sh.requests)-1]; len(sh.requests) != 3 || r.HostKey != "SHA256:one" || r.Port != 2222 {
			t.Errorf("by force: %+v", sh.requests)
		}
		sh.ends(bmcreset.Result{End: s.API.Clock.Now(), Err: &bmcssh.HostKeyError{Fingerprint: "SHA256:two", Changed: true}})
		s.settle(t)
		s.resetSays(t, metav1.ConditionFalse, metalv1.ReasonHostKeyChanged, "host key", "SHA256:two", "--overwrite")
		if got := s.told(metalv1.ReasonHostKeyChanged); len(got) != 1 {
			t.Errorf("events %q", got)
		}
	})
}

// Who does not prove to be the BMC is told no password by another way either: not after any delay, not when a person asks for a
// restart, and not by force.
func TestNoOtherWayToWhoIsNotTrusted(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		sh := s.overSSH()
		s.FailureResetDelay = 10 * time.Minute
		s.settle(t)
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) {
			metav1.SetMetaDataAnnotation(&b.ObjectMeta, metalv1.AnnotationSSHHostKey, "SHA256:one")
		})
		s.bmc.Fails(errUntrustedPeer)
		s.look(t)
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonUntrusted, "--bmc-ca-file")
		if got := s.told(metalv1.ReasonUntrusted); len(got) != 1 {
			t.Errorf("events %q", got)
		}
		s.rack.Pass(24 * time.Hour)
		s.settle(t)
		for _, operation := range []string{metalv1.OperationForceRestartBMC, metalv1.OperationGracefulRestartBMC} {
			s.asks(t, operation)
			s.settle(t)
			s.resetSays(t, metav1.ConditionFalse, metalv1.ReasonUntrusted, "no password")
		}
		if len(sh.requests) != 0 || len(s.bmc.Restarts()) != 0 {
			t.Errorf("over SSH %+v, over Redfish %v", sh.requests, s.bmc.Restarts())
		}
	})
}

func TestForceNeedsAMakeThatCan(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.overSSH()
		s.bmc.Manages(func(m *bmc.Manager) { m.Manufacturer = "ACME" })
		s.settle(t)
		s.asks(t, metalv1.OperationForceRestartBMC)
		s.settle(t)
		s.resetSays(t, metav1.ConditionFalse, metalv1.ReasonResetFailed, errNoMethod.Error())
		if got := s.bmc.Restarts(); len(got) != 0 {
			t.Errorf("restarts %v", got)
		}
	})
}

func TestARestartIsNotRepeatedAfterOneOfOurs(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.settle(t)
		s.asks(t, metalv1.OperationGracefulRestartBMC)
		s.settle(t)
		s.restart(t)
		s.settle(t)
		s.resetSays(t, metav1.ConditionFalse, metalv1.ReasonResetComplete)
		if got := s.told(metalv1.ReasonOperationOutcomeUnknown); len(got) != 1 {
			t.Errorf("events %q", got)
		}
		if got := s.bmc.Restarts(); len(got) != 1 {
			t.Errorf("restarts %v", got)
		}
	})
}

func TestABMCThatHangsIsRestartedUnasked(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		sh := s.overSSH()
		s.FailureResetDelay = 10 * time.Minute
		s.settle(t)
		s.bmc.Fails(errHangs)
		s.look(t)
		if result := s.Settle(t, s.Reconciler, "b"); result.RequeueAfter <= 9*time.Minute || result.RequeueAfter > 10*time.Minute {
			t.Errorf("looked at again after %s", result.RequeueAfter)
		}
		s.rack.Pass(9 * time.Minute)
		if s.settle(t); len(sh.requests) != 0 {
			t.Error("that is too early")
		}
		s.rack.Pass(time.Minute)
		s.settle(t)
		s.resetSays(t, metav1.ConditionTrue, metalv1.ReasonAutoResetting, "SSH")
		sh.ends(bmcreset.Result{End: s.API.Clock.Now(), Err: errors.New("no route to host")})
		s.settle(t)
		s.resetSays(t, metav1.ConditionFalse, metalv1.ReasonResetFailed, "no route")
		s.rack.Pass(9 * time.Minute)
		if s.settle(t); len(sh.requests) != 1 {
			t.Errorf("requests %d, and the delay begins anew", len(sh.requests))
		}
		s.rack.Pass(2 * time.Minute)
		if s.settle(t); len(sh.requests) != 2 {
			t.Errorf("requests %d", len(sh.requests))
		}
	})
}

func TestOperationsThatABMCDoesNotKnow(t *testing.T) {
	for _, operation := range []string{"dance", metalv1.OperationPark, metalv1.OperationAllowInProgressDelete, ""} {
		stands(t, func(t *testing.T, s *stand) {
			s.settle(t)
			s.asks(t, operation)
			s.settle(t)
			if _, asked := s.read(t).Annotations[metalv1.AnnotationOperation]; asked {
				t.Errorf("%q stays", operation)
			}
			if got := s.told(metalv1.ReasonUnsupportedOperation); len(got) != 1 {
				t.Errorf("%q: events %q", operation, got)
			}
		})
	}
}

func TestRetryAsksAtOnce(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Wants("other")
		s.settle(t)
		s.bmc.Wants("right")
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed)
		s.asks(t, metalv1.OperationRetry)
		b = s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
	})
}

// Only Redfish told who made the BMC, and it told an earlier process, before the BMC fell silent.
func TestTheMakeIsKnownAfterARestart(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		sh := s.overSSH()
		s.bmc.Manages(func(m *bmc.Manager) { m.Manufacturer, m.Vendor = "ASPEED", bmc.Dell })
		s.settle(t)
		s.FailureResetDelay = 10 * time.Minute
		s.bmc.Fails(errHangs)
		s.restart(t)
		controllertest.ChangeStatus(t, s.API, "b", func(b *metalv1.BMC) { b.Status = metalv1.BMCStatus{} })
		s.pass(t, 15*time.Minute)
		if len(sh.requests) != 1 || sh.requests[0].Make != bmcreset.Dell {
			t.Errorf("requests %+v", sh.requests)
		}
	})
}
