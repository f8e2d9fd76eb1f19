package bmcuser

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
)

var errNoAnswer = &bmc.Error{Kind: bmc.KindTimeout, Op: "PATCH", Err: errors.New("no answer")}

// edit writes another password into the BMCSecret of the rotation under way.
func (s *stand) edit(t *testing.T, password string) {
	t.Helper()
	next := progressOf(s.user(t, 0)).Next
	if s.secrets(t, 0)[next] == nil {
		t.Fatalf("no rotation has stored a password: next is %q", next)
	}
	controllertest.Change(t, s.API, next, func(o *metalv1.BMCSecret) { o.Data[metalv1.BMCSecretPasswordKey] = []byte(password) })
}

// answers sets what the BMC makes of changes.
func (s *stand) answers(made bool, err error) {
	s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) {
		a.OnChange = func(string) (bool, error) { return made, err }
	})
}

// accepts has the BMC take changes and answer.
func (s *stand) accepts() {
	s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) { a.OnChange = nil })
}

// TestASecretThatIsEditedInTheMiddle: the BMC may have the password that was in it, so the account gets another one.
func TestASecretThatIsEditedInTheMiddle(t *testing.T) {
	stands(t, 1, func(t *testing.T, s *stand) {
		s.pass(t, time.Minute)
		s.holds(t, 0)
		s.answers(true, errNoAnswer)
		s.asks(t, 0, metalv1.OperationRotateCredentials)
		s.pass(t, time.Minute)
		s.edit(t, "by-hand-1")
		s.pass(t, time.Minute)
		controllertest.Says(t, s.user(t, 0).Status.Conditions, metalv1.ConditionRotated, metav1.ConditionUnknown, metalv1.ReasonSecretReplaced)
		controllertest.Says(t, s.user(t, 0).Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonAccountPending)
		s.accepts()
		s.pass(t, 15*time.Minute)
		controllertest.Says(t, s.user(t, 0).Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonAccountReady)
		controllertest.Says(t, s.user(t, 0).Status.Conditions, metalv1.ConditionRotated, metav1.ConditionTrue, metalv1.ReasonRotated)
		s.known(t, 0)
		s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) {
			if _, password, _ := a.Account("monitoring"); password == "by-hand-1" {
				t.Error("the account has the password of the editor")
			}
		})
	})
}

// TestAnEditThatTheBMCRefuses: nobody remembers the edit, because the process ended. When the BMC refuses the password, the account may have
// the one from before the edit, and no secret has that. The account is said to be unusable until it has another one.
func TestAnEditThatTheBMCRefuses(t *testing.T) {
	for name, made := range map[string]bool{"the BMC has the first password": true, "the BMC has the old password": false} {
		t.Run(name, func(t *testing.T) {
			stands(t, 1, func(t *testing.T, s *stand) {
				s.pass(t, time.Minute)
				s.holds(t, 0)
				s.answers(made, errNoAnswer)
				s.asks(t, 0, metalv1.OperationRotateCredentials)
				s.pass(t, time.Minute)
				s.edit(t, "short")
				s.restart(t)
				s.answers(false, &bmc.Error{Kind: bmc.KindRejected, Op: "PATCH", StatusCode: 400, Err: bmc.ErrPasswordRules})
				s.pass(t, 15*time.Minute)
				conditions := s.user(t, 0).Status.Conditions
				controllertest.Says(t, conditions, metalv1.ConditionRotated, metav1.ConditionFalse, metalv1.ReasonPasswordRules)
				if made {
					controllertest.Says(t, conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonPasswordRules)
				} else {
					controllertest.Says(t, conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonAccountReady)
					s.known(t, 0)
				}
				s.accepts()
				s.pass(t, 2*time.Hour)
				if made {
					s.holds(t, 0)
				}
				s.known(t, 0)
				s.neverLocked(t)
			})
		})
	}
}

// TestTheBMCIsDeletedInTheMiddle: nothing more is asked of the BMC, others may use it, and the rotation goes on when it is back.
func TestTheBMCIsDeletedInTheMiddle(t *testing.T) {
	for _, made := range []bool{true, false} {
		stands(t, 1, func(t *testing.T, s *stand) {
			var others trigger.Source
			s.Registry.Bind(&others, "another object of the BMC", s.keys[0])
			s.pass(t, time.Minute)
			s.holds(t, 0)
			s.answers(made, errNoAnswer)
			s.asks(t, 0, metalv1.OperationRotateCredentials)
			s.pass(t, time.Minute)
			b := controllertest.Read[metalv1.BMC](t, s.API, "b0")
			s.Remove(t, b)
			changes := 0
			s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) {
				a.OnChange = func(string) (bool, error) { changes++; return true, nil }
			})
			s.pass(t, time.Minute)
			if o, _ := s.Fleet.Observe(s.keys[0]); o.LockedBy != "" {
				t.Errorf("the BMC is locked by %q, whose BMC object was deleted", o.LockedBy)
			}
			s.pass(t, time.Hour)
			controllertest.Says(t, s.user(t, 0).Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonBMCNotFound)
			if changes > 0 {
				t.Errorf("%d changes at a BMC whose object was deleted", changes)
			}
			s.known(t, 0)
			s.Add(t, &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, Spec: b.Spec})
			s.pass(t, 15*time.Minute)
			s.holds(t, 0)
			s.neverLocked(t)
		})
	}
}

// TestAnotherBMCOfTheSameName: what was read of the one before says nothing of it, so the account is made there soon.
func TestAnotherBMCOfTheSameName(t *testing.T) {
	stands(t, 1, func(t *testing.T, s *stand) {
		s.pass(t, time.Minute)
		s.holds(t, 0)
		b := controllertest.Read[metalv1.BMC](t, s.API, "b0")
		var others trigger.Source
		s.Registry.Bind(&others, "another object of the BMC", s.keys[0])
		s.Remove(t, b)
		s.pass(t, time.Minute)
		s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) { a.Drop("monitoring") })
		s.Add(t, &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, Spec: b.Spec})
		s.pass(t, 5*time.Minute)
		s.holds(t, 0)
	})
}

// TestAPolicyThatBeginsLater: somebody sets at the BMC that passwords expire, or that this one must be changed.
func TestAPolicyThatBeginsLater(t *testing.T) {
	stands(t, 1, func(t *testing.T, s *stand) {
		s.pass(t, time.Minute)
		first := s.holds(t, 0)
		end := s.API.Clock.Now().Add(72 * time.Hour)
		s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) {
			a.Change("monitoring", func(account *bmc.Account) { account.PasswordExpires = end })
		})
		s.pass(t, 2*time.Hour)
		if at := s.user(t, 0).Status.PasswordExpiration; at == nil || !at.Time.Equal(end) {
			t.Errorf("the status says that the password expires at %v, and the BMC at %v", at, end)
		}
		s.pass(t, 55*time.Hour)
		second := s.holds(t, 0)
		if second == first {
			t.Error("the password was not replaced before it expires")
		}
		s.pass(t, 2*time.Hour)
		s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) {
			a.Change("monitoring", func(account *bmc.Account) { account.MustChange, account.PasswordExpires = true, time.Time{} })
		})
		s.pass(t, 3*time.Hour)
		if s.holds(t, 0) == second {
			t.Error("the password was not replaced though the BMC wants that")
		}
	})
}

func (s *stand) neverLocked(t *testing.T) {
	t.Helper()
	s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) {
		if a.Lockouts > 0 {
			t.Errorf("%d lockouts", a.Lockouts)
		}
	})
}

// TestACrashAtEachStepOfARemoval: the account and the object are gone in the end, and nobody else's account is.
func TestACrashAtEachStepOfARemoval(t *testing.T) {
	for _, made := range []bool{true, false} {
		stands(t, 1, func(t *testing.T, s *stand) {
			s.pass(t, time.Minute)
			s.holds(t, 0)
			lost := 0
			s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) {
				a.OnChange = func(string) (bool, error) {
					if lost++; lost < 4 {
						return made, errNoAnswer
					}
					return true, nil
				}
			})
			s.Remove(t, s.user(t, 0))
			for k := 0; k < 60 && s.there(t, 0); k++ {
				s.Step(t, s.Reconciler, "u0")
				if k%3 == 0 {
					s.rack.Pass(time.Second)
				}
				if k%2 == 0 {
					s.restart(t)
					s.rack.Pass(time.Second)
				}
			}
			s.pass(t, 2*time.Hour)
			s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) {
				if _, _, still := a.Account("monitoring"); still || s.there(t, 0) || len(s.secrets(t, 0)) > 0 {
					t.Errorf("the account is there: %v, the object: %v, and %d BMCSecrets", still, s.there(t, 0), len(s.secrets(t, 0)))
				}
			})
			s.neverLocked(t)
		})
	}
}

// TestACrashAtEachStepOfAFailure: the BMC cuts passwords off, so the old one is set again, whenever the process ends.
func TestACrashAtEachStepOfAFailure(t *testing.T) {
	stands(t, 1, func(t *testing.T, s *stand) {
		given := func(password string) map[string][]byte {
			return map[string][]byte{"username": []byte("x"), "password": []byte(password)}
		}
		s.Add(t, &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "given"}, Data: given("chosen-pass1")})
		s.change(t, 0, func(u *metalv1.BMCUser) { u.Spec.BMCSecretRef = &metalv1.LocalObjectReference{Name: "given"} })
		s.pass(t, time.Minute)
		effective := s.holds(t, 0)
		s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) { a.Truncates = 12 })
		controllertest.Change(t, s.API, "given", func(o *metalv1.BMCSecret) { o.Data = given("chosen-pass1-too") })
		for k := range 30 {
			s.Step(t, s.Reconciler, "u0")
			if k%2 == 0 {
				s.rack.Pass(time.Second)
			}
			s.restart(t)
			s.rack.Pass(time.Second)
		}
		s.pass(t, 10*time.Minute)
		u := s.user(t, 0)
		controllertest.Says(t, u.Status.Conditions, metalv1.ConditionRotated, metav1.ConditionFalse, metalv1.ReasonPasswordNotVerified)
		if u.Status.EffectiveBMCSecretRef == nil || u.Status.EffectiveBMCSecretRef.Name != effective {
			t.Errorf("the effective BMCSecret is %+v, want %s", u.Status.EffectiveBMCSecretRef, effective)
		}
		s.known(t, 0)
		s.neverLocked(t)
	})
}
