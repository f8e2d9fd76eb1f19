package bmc

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// takes is a stand whose BMC takes the first default credentials, which are tried as they are when an Endpoint was made.
func (s *stand) takes(t *testing.T) {
	t.Helper()
	s.tries(t)
	controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) {
		o.Annotations[metalv1.AnnotationDefaultCredentials] = bmcsecret.First(s.API.Clock.Now()).String()
	})
	s.Begun = bmcsecret.NewBegun()
	s.Begun.Add(s.secret(t).UID)
	s.bmc.Wants("marker-first")
	s.bmc.Manages(func(m *bmc.Manager) { m.UUID = uuid2 })
	s.ForgetWrites()
}

func (s *stand) trial(t *testing.T) bmcsecret.Trial {
	t.Helper()
	trial, err := bmcsecret.Parse(s.secret(t).Annotations[metalv1.AnnotationDefaultCredentials])
	if err != nil {
		t.Fatal(err)
	}
	return trial
}

func (s *stand) saysAccepted(t *testing.T) {
	t.Helper()
	c := s.read(t).Status.Conditions
	controllertest.Says(t, c, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
	controllertest.Says(t, c, metalv1.ConditionDefaultCredentials, metav1.ConditionTrue, metalv1.ReasonCredentialsAccepted, "user-first", "1 of 3")
}

// TestWritesForAcceptedDefaults: each of these is one of ten thousand.
func TestWritesForAcceptedDefaults(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.takes(t)
		s.settle(t)
		s.saysAccepted(t)
		if secrets, bmcs := s.Writes("BMCSecret"), s.Writes("BMC"); len(secrets) != 0 || len(bmcs) != 3 { // its finalizer too
			t.Errorf("written: %v, %v", secrets, bmcs)
		}
	})
}

func TestAcceptedDefaultsAreNoAttemptsAfterRestarts(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(*testing.T, *stand)
		secret  bool // it is written in the BMCSecret
	}{
		"a BMC that is new": {func(*testing.T, *stand) {}, false},
		"one without UUID": {func(_ *testing.T, s *stand) {
			s.bmc.Manages(func(m *bmc.Manager) { m.UUID = "" })
		}, true},
		"one whose UUID was set before": {func(t *testing.T, s *stand) {
			controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Spec.BMCUUID = uuid2 })
		}, true},
		"one that is another": {func(t *testing.T, s *stand) {
			controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Spec.BMCUUID = uuid1 })
		}, true},
		"one without manager": {func(_ *testing.T, s *stand) {
			s.bmc.HidesManager()
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			stands(t, func(t *testing.T, s *stand) {
				s.takes(t)
				tc.prepare(t, s)
				s.settle(t)
				s.pass(t, managerTime)
				if accepted := s.trial(t).Outcome == bmcsecret.Accepted; accepted != tc.secret {
					t.Errorf("that it is accepted is in the secret: %v, want %v", accepted, tc.secret)
				}
				for range 2 * bmcsecret.Limit {
					controllertest.ChangeStatus(t, s.API, "b", func(b *metalv1.BMC) { b.Status = metalv1.BMCStatus{} })
					s.restart(t)
					s.ForgetWrites()
					s.settle(t)
					s.pass(t, managerTime)
					s.saysAccepted(t)
					if w := s.Writes("BMCSecret"); len(w) != 0 {
						t.Fatalf("another attempt is written down: %v", w)
					}
				}
			})
		})
	}
}

// A process that ends before the fact is written down has made an attempt, and so has the next.
func TestAnAcceptanceThatWasNotWrittenDownIsTriedAgainWithinTheLimit(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.takes(t)
		s.bmc.HidesManager()
		for attempts := 1; attempts <= bmcsecret.Limit; attempts++ {
			s.settle(t)
			if got := s.trial(t); len(got.Attempts) != attempts || got.Outcome != bmcsecret.Pending {
				t.Fatalf("the trial is %+v, want %d attempts", got, attempts)
			}
			s.restart(t)
		}
		before := s.bmc.Logins()["marker-first"]
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed, "the next attempt is at")
		if n := s.bmc.Logins()["marker-first"]; n != before {
			t.Errorf("it was asked %d times more", n-before)
		}
	})
}

func TestABMCSecretThatIsMadeAnewIsAnotherTrial(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.takes(t)
		s.settle(t)
		old := s.secret(t)
		s.Remove(t, old)
		fresh := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "s", Annotations: map[string]string{
			metalv1.AnnotationDefaultCredentials: bmcsecret.Trial{}.String(),
		}}, Data: old.Data}
		s.Add(t, fresh)
		s.restart(t)
		s.Settle(t, s.Reconciler, "b")
		if got := s.trial(t); len(got.Attempts) != 1 || got.Outcome != bmcsecret.Pending {
			t.Errorf("the trial of another BMCSecret is %+v", got)
		}
	})
}

func TestABMCThatSharesAcceptedDefaultsTriesNothing(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.takes(t)
		s.settle(t)
		second := newBMC()
		second.Name, second.Spec.EndpointRef.Name = "b2", "e2"
		endpoint := &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{Name: "e2"}}
		endpoint.Spec.IP, endpoint.Spec.MACAddress = "10.0.0.2", "02-FA-44-00-00-02"
		s.Add(t, endpoint)
		s.Add(t, second)
		s.rack.BMC("http://10.0.0.2:8000").Wants("marker-second")
		s.ForgetWrites()
		for range 3 {
			s.Settle(t, s.Reconciler, "b2")
			s.rack.Pass(time.Second)
		}
		if w := s.Writes("BMCSecret"); len(w) != 0 || string(s.secret(t).Data["username"]) != "user-first" {
			t.Errorf("what the first BMC takes is changed for the second: %v", w)
		}
	})
}

func TestAnAcceptanceThatSomebodyTakesAwayIsWrittenAnew(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.takes(t)
		s.settle(t)
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { delete(b.Annotations, metalv1.AnnotationCredentialsAccepted) })
		s.settle(t)
		if got := s.trial(t); got.Outcome != bmcsecret.Accepted {
			t.Errorf("the trial is %+v", got)
		}
	})
}

func TestADeletedBMCLeavesItsAcceptanceToTheSecret(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.takes(t)
		s.settle(t)
		for range bmcsecret.Limit + 1 {
			s.Remove(t, s.read(t))
			s.Settle(t, s.Reconciler, "b")
			if !controllertest.Gone[metalv1.BMC](t, s.API, "b") || s.trial(t).Outcome != bmcsecret.Accepted {
				t.Fatalf("the BMC is still there, or the trial is %+v", s.trial(t))
			}
			s.Add(t, newBMC()) // as its Endpoint does
			s.settle(t)
			s.saysAccepted(t)
		}
	})
}

func TestASecretThatCannotBeWrittenKeepsNoBMC(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.takes(t)
		s.settle(t)
		s.Fail = func(verb string, obj runtime.Object) error {
			if _, secret := obj.(*metalv1.BMCSecret); secret && verb == controllertest.Patch {
				return apierrors.NewForbidden(metalv1.GroupVersion.WithResource("bmcsecrets").GroupResource(), "s", nil)
			}
			return nil
		}
		s.Remove(t, s.read(t))
		s.Settle(t, s.Reconciler, "b")
		if !controllertest.Gone[metalv1.BMC](t, s.API, "b") {
			t.Error("the BMC is still there")
		}
	})
}

// One whose credentials are known to be right is left as it should be, also by a process that has not logged in yet.
func TestABMCThatTakesItsDefaultsIsLeftAfterARestart(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.takes(t)
		s.settle(t)
		s.restart(t)
		l := &unsubscriber{t: t, f: s.rack.Fleet, times: 1}
		s.Unsubscriber = l
		s.Remove(t, s.read(t))
		s.Settle(t, s.Reconciler, "b")
		if l.asked == 0 {
			t.Error("what Farrier has left at the BMC stays there")
		}
	})
}
