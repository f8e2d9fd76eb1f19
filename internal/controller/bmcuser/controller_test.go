package bmcuser

import (
	"errors"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

func TestTheLifeOfAnAccount(t *testing.T) {
	stands(t, 1, func(t *testing.T, s *stand) {
		s.pass(t, time.Minute)
		first := s.holds(t, 0)

		s.asks(t, 0, metalv1.OperationRotateCredentials)
		s.pass(t, time.Minute)
		second := s.holds(t, 0)
		if second == first {
			t.Error("nothing was rotated on request")
		}

		s.change(t, 0, func(u *metalv1.BMCUser) { u.Spec.RotationPeriod = "24h" })
		s.pass(t, 25*time.Hour)
		if third := s.holds(t, 0); third == second {
			t.Error("nothing was rotated after the period")
		}

		s.change(t, 0, func(u *metalv1.BMCUser) { u.Spec.RoleID = "Operator" })
		s.pass(t, time.Minute)
		s.holds(t, 0)

		s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) { a.Drop("monitoring") })
		s.pass(t, 2*time.Hour)
		s.holds(t, 0)

		if err := s.API.Delete(t.Context(), s.user(t, 0)); err != nil {
			t.Fatal(err)
		}
		s.pass(t, time.Minute)
		s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) {
			if _, _, still := a.Account("monitoring"); still || a.Lockouts > 0 {
				t.Errorf("the account is still there: %v; %d lockouts", still, a.Lockouts)
			}
		})
		if s.there(t, 0) || len(s.secrets(t, 0)) > 0 {
			t.Error("the object or its secrets are still there")
		}
	})
}

func TestAPasswordIsReplacedBeforeItExpires(t *testing.T) {
	stands(t, 1, func(t *testing.T, s *stand) {
		s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) { a.Valid = 10 * 24 * time.Hour })
		s.pass(t, time.Minute)
		first := s.holds(t, 0)
		if s.user(t, 0).Status.PasswordExpiration == nil {
			t.Fatal("when it expires is not told")
		}
		s.pass(t, 8*24*time.Hour)
		if s.holds(t, 0) != first {
			t.Error("replaced long before it expires")
		}
		s.pass(t, 36*time.Hour)
		if s.holds(t, 0) == first {
			t.Error("not replaced a day before it expires")
		}
	})
}

func TestAGivenPasswordIsUsedAndFollowed(t *testing.T) {
	stands(t, 1, func(t *testing.T, s *stand) {
		given := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "given"}, Data: map[string][]byte{"username": []byte("x"), "password": []byte("chosen-pass-1")}}
		s.change(t, 0, func(u *metalv1.BMCUser) { u.Spec.BMCSecretRef = &metalv1.LocalObjectReference{Name: "given"} })
		s.pass(t, time.Minute)
		controllertest.Says(t, s.user(t, 0).Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, "SecretNotFound")
		s.Add(t, given)
		s.pass(t, time.Minute)
		for _, want := range []string{"chosen-pass-1", "chosen-pass-2"} {
			controllertest.Change(t, s.API, "given", func(o *metalv1.BMCSecret) { o.Data["password"] = []byte(want) })
			s.pass(t, time.Minute)
			if name := s.holds(t, 0); string(s.secrets(t, 0)[name].Data["password"]) != want {
				t.Error("the account has another password than the given one")
			}
		}
	})
}

// TestNobodyIsLockedOutByACrash: the process dies after every single reconcile, and answers get lost; the BMC has heard or has not.
func TestNobodyIsLockedOutByACrash(t *testing.T) {
	for _, heard := range []bool{true, false} {
		stands(t, 1, func(t *testing.T, s *stand) {
			lost := 0
			s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) {
				a.OnChange = func(string) (bool, error) {
					if lost++; lost%3 != 0 {
						return heard, &bmc.Error{Kind: bmc.KindTimeout, Op: "PATCH", Err: errors.New("no answer")}
					}
					return true, nil
				}
			})
			for round := range 2 {
				if round == 1 {
					s.asks(t, 0, metalv1.OperationRotateCredentials)
				}
				for k := range 40 {
					s.Step(t, s.Reconciler, "u0")
					if k%2 == 0 {
						s.rack.Pass(time.Second)
					}
					s.known(t, 0)
					s.restart(t)
					s.rack.Pass(time.Second)
				}
				s.pass(t, 30*time.Minute)
				s.holds(t, 0)
			}
			s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) {
				if a.Lockouts > 0 {
					t.Errorf("%d lockouts", a.Lockouts)
				}
			})
		})
	}
}

// known checks that the password of the account, if there is one, is in some secret.
func (s *stand) known(t *testing.T, i int) {
	t.Helper()
	var password string
	var found bool
	s.bmc(i).OtherAccounts(func(a *controllertest.Accounts) { _, password, found = a.Account("monitoring") })
	if !found {
		return
	}
	for _, secret := range s.secrets(t, i) {
		if string(secret.Data["password"]) == password {
			return
		}
	}
	t.Fatal("the account has a password that is stored nowhere")
}

func TestWhatStopsARotation(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		prepare func(*testing.T, *stand)
	}{
		"rules that nobody can satisfy": {metalv1.ReasonPasswordRules, func(_ *testing.T, s *stand) {
			s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) { a.Rules = bmc.PasswordRules{MinLength: 20, MaxLength: 10} })
		}},
		"a full table": {metalv1.ReasonAccountTableFull, func(_ *testing.T, s *stand) {
			s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) { a.OnChange = refusing(bmc.ErrNoFreeAccount) })
		}},
		"an unknown role": {metalv1.ReasonRoleUnknown, func(t *testing.T, s *stand) {
			s.change(t, 0, func(u *metalv1.BMCUser) { u.Spec.RoleID = "Emperor" })
		}},
		"the account of Farrier": {metalv1.ReasonOwnAccount, func(t *testing.T, s *stand) {
			s.change(t, 0, func(u *metalv1.BMCUser) { u.Spec.UserName = "u" })
		}},
		"passwords that are cut off": {metalv1.ReasonPasswordNotVerified, func(_ *testing.T, s *stand) {
			s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) { a.Truncates = 8 })
		}},
		"a BMC that refuses": {metalv1.ReasonRotationFailed, func(_ *testing.T, s *stand) {
			s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) { a.OnChange = refusing(nil) })
		}},
		"no BMC": {metalv1.ReasonBMCNotFound, func(t *testing.T, s *stand) {
			if err := s.API.Delete(t.Context(), controllertest.Read[metalv1.BMC](t, s.API, "b0")); err != nil {
				t.Fatal(err)
			}
		}},
		"an older BMCUser": {metalv1.ReasonAnotherBMCUser, func(t *testing.T, s *stand) {
			older := newUser(0)
			older.Name, older.CreationTimestamp = "older", metav1.NewTime(s.API.Clock.Now().Add(-time.Hour))
			s.Add(t, older)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			stands(t, 1, func(t *testing.T, s *stand) {
				tc.prepare(t, s)
				s.pass(t, time.Minute)
				controllertest.Says(t, s.user(t, 0).Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, tc.reason)
				if got := s.user(t, 0).Status.EffectiveBMCSecretRef; got != nil || len(s.secrets(t, 0)) > 0 {
					t.Errorf("effective %+v, and %d secrets are left", got, len(s.secrets(t, 0)))
				}
				before := len(s.API.Writes(""))
				s.pass(t, 10*time.Minute)
				if n := len(s.API.Writes("")) - before; n > 0 {
					t.Errorf("%d writes though nothing has changed", n)
				}
			})
		})
	}
}

func refusing(why error) func(string) (bool, error) {
	return func(string) (bool, error) {
		return false, &bmc.Error{Kind: bmc.KindRejected, Op: "POST Accounts", StatusCode: http.StatusBadRequest, Err: why}
	}
}

func TestALockedAccountIsLeftAloneForAnHour(t *testing.T) {
	stands(t, 1, func(t *testing.T, s *stand) {
		s.pass(t, time.Minute)
		s.holds(t, 0)
		lock := true
		s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) {
			a.OnChange = func(string) (bool, error) { return !lock, nil }
			a.Change("monitoring", func(account *bmc.Account) { account.Locked = true })
		})
		s.asks(t, 0, metalv1.OperationRotateCredentials)
		s.pass(t, time.Minute)
		controllertest.Says(t, s.user(t, 0).Status.Conditions, metalv1.ConditionRotated, metav1.ConditionFalse, metalv1.ReasonBothPasswordsRefused)
		lock = false
		s.pass(t, 30*time.Minute)
		controllertest.Says(t, s.user(t, 0).Status.Conditions, metalv1.ConditionRotated, metav1.ConditionFalse, metalv1.ReasonBothPasswordsRefused)
		s.restart(t)
		s.pass(t, 40*time.Minute)
		s.holds(t, 0)
	})
}

func TestASecretThatIsReplacedByHandInTheMiddle(t *testing.T) {
	for name, meddle := range map[string]func(*testing.T, *stand, *metalv1.BMCSecret){
		"deleted": func(t *testing.T, s *stand, secret *metalv1.BMCSecret) {
			if err := s.API.Delete(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
		},
		"somebody's": func(t *testing.T, s *stand, secret *metalv1.BMCSecret) {
			if err := s.API.Delete(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			s.Add(t, &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: secret.Name}, Data: map[string][]byte{"username": []byte("a"), "password": []byte("b")}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			stands(t, 1, func(t *testing.T, s *stand) {
				s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) {
					a.OnChange = func(string) (bool, error) { return false, &bmc.Error{Kind: bmc.KindTimeout, Op: "POST"} }
				})
				s.pass(t, time.Minute)
				for _, secret := range s.secrets(t, 0) {
					meddle(t, s, secret)
				}
				s.bmc(0).OtherAccounts(func(a *controllertest.Accounts) { a.OnChange = nil })
				s.pass(t, 15*time.Minute)
				u := s.user(t, 0)
				controllertest.Says(t, u.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonAccountReady)
				s.known(t, 0)
				if len(s.told(metalv1.ReasonSecretReplaced)) == 0 {
					t.Error("nobody is told")
				}
			})
		})
	}
}

// TestWhoeverLogsInWithTheAccountKeepsIt: a BMC that has the account's BMCSecret would be locked out by a rotation, and by its end.
func TestWhoeverLogsInWithTheAccountKeepsIt(t *testing.T) {
	stands(t, 1, func(t *testing.T, s *stand) {
		s.pass(t, time.Minute)
		name := s.holds(t, 0)
		controllertest.Change(t, s.API, "b0", func(b *metalv1.BMC) { b.Spec.BMCSecretRef.Name = name })
		s.asks(t, 0, metalv1.OperationRotateCredentials)
		s.pass(t, time.Minute)
		controllertest.Says(t, s.user(t, 0).Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonOwnAccount)
		if err := s.API.Delete(t.Context(), s.user(t, 0)); err != nil {
			t.Fatal(err)
		}
		s.pass(t, 10*time.Minute)
		if s.secrets(t, 0)[name] == nil || !s.there(t, 0) {
			t.Error("the BMC has lost its credentials")
		}
		controllertest.Change(t, s.API, "b0", func(b *metalv1.BMC) { b.Spec.BMCSecretRef.Name = "operator" })
		s.pass(t, 10*time.Minute)
		if s.there(t, 0) {
			t.Error("the object is still there")
		}
	})
}
