package bmcuser

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// TestTheLifeOfAnAccountAtEachVendor: each vendor has its own way to make, change and delete an account, and its own rules for
// passwords. No password is told from the beginning to the end.
func TestTheLifeOfAnAccountAtEachVendor(t *testing.T) {
	eachVendor(t, func(t *testing.T, s *vendorStand) {
		before := s.accounts(t)
		s.Add(t, newUser(0))
		first := s.ready(t, "")

		s.ask(t, metalv1.OperationRotateCredentials)
		second := s.ready(t, first.Name)

		end := s.inject(t, fault.PasswordExpiry, "48h")
		s.clock.forward(lookEvery)
		s.until(t, "the time when the password expires", func() bool { return s.user(t).Status.PasswordExpiration != nil })
		s.clock.forward(36 * time.Hour)
		third := s.ready(t, second.Name)
		if !s.heard.has("event", metalv1.ReasonRotated, string(causeExpiry)) {
			t.Error("the password was not replaced because it expires")
		}
		end()

		s.refusesARotation(t, third)

		if err := s.API.Delete(t.Context(), s.user(t)); err != nil {
			t.Fatal(err)
		}
		s.until(t, "the end of the account", func() bool { return controllertest.Gone[metalv1.BMCUser](t, s.API, "u0") })
		if after := s.accounts(t); !slices.Equal(before, after) {
			t.Errorf("accounts %+v, and before %+v", after, before)
		}
		if left := s.secrets(t); len(left) > 0 {
			t.Errorf("%d BMCSecrets are left", len(left))
		}
		if o, _ := s.Fleet.Observe(s.key); o.LockedBy != "" {
			t.Errorf("the BMC is still locked by %q", o.LockedBy)
		}
		s.heard.secretive(t, 4)
	})
}

// refusesARotation has the BMC refuse every password, and checks that the account keeps the one it has.
func (s *vendorStand) refusesARotation(t *testing.T, effective *metalv1.BMCSecret) {
	t.Helper()
	end := s.inject(t, fault.PasswordsRefused, "silent")
	s.ask(t, metalv1.OperationRotateCredentials)
	s.says(t, metalv1.ConditionRotated, metav1.ConditionFalse, metalv1.ReasonPasswordRules)
	end()
	s.until(t, "the end of the rotation", func() bool { return len(s.secrets(t)) == 1 })
	u := s.user(t)
	controllertest.Says(t, u.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonAccountReady)
	if u.Status.EffectiveBMCSecretRef == nil || u.Status.EffectiveBMCSecretRef.Name != effective.Name || !s.takes(t, bmc.Secret(effective.Data["password"])) {
		t.Error("the account does not have the password that it had before")
	}
}

// ready waits until the account can be used with another BMCSecret than the one before, and checks that.
func (s *vendorStand) ready(t *testing.T, before string) *metalv1.BMCSecret {
	t.Helper()
	s.until(t, "another BMCSecret", func() bool {
		ref := s.user(t).Status.EffectiveBMCSecretRef
		return ref != nil && ref.Name != before && len(s.secrets(t)) == 1
	})
	u, secret := s.user(t), &s.secrets(t)[0]
	controllertest.Says(t, u.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonAccountReady)
	controllertest.Says(t, u.Status.Conditions, metalv1.ConditionRotated, metav1.ConditionTrue, metalv1.ReasonRotated)
	if secret.Name != u.Status.EffectiveBMCSecretRef.Name || secret.Immutable == nil || !*secret.Immutable || !metav1.IsControlledBy(secret, u) {
		t.Errorf("BMCSecret %s is not the effective one, not immutable, or not owned", secret.Name)
	}
	password := bmc.Secret(secret.Data[metalv1.BMCSecretPasswordKey])
	if string(secret.Data[metalv1.BMCSecretUsernameKey]) != "monitoring" || !s.takes(t, password) {
		t.Error("the BMC refuses what the effective BMCSecret has")
	}
	s.asAdmin(t, func(c *bmc.Client) error {
		rules, err := c.PasswordRules(t.Context())
		if err == nil {
			err = rules.Check(password)
		}
		return err
	})
	at := slices.IndexFunc(s.accounts(t), func(a bmc.Account) bool {
		return a.Username == "monitoring" && a.Role == "ReadOnly" && a.Enabled && a.ID == u.Status.ID
	})
	if at < 0 {
		t.Errorf("accounts %+v, and the status has ID %s", s.accounts(t), u.Status.ID)
	}
	return secret
}

// TestBadInputLeavesTheBMCAsItWas: the condition names why there is no account, and the BMC has the accounts that it had.
func TestBadInputLeavesTheBMCAsItWas(t *testing.T) {
	for name, tc := range map[string]struct {
		kind          fault.Kind
		value, reason string
	}{
		"full table":                {fault.AccountTableFull, "", metalv1.ReasonAccountTableFull},
		"rules that nobody fits":    {fault.PasswordsRefused, "rules", metalv1.ReasonPasswordRules},
		"rules that nobody is told": {fault.PasswordsRefused, "silent", metalv1.ReasonPasswordRules},
	} {
		t.Run(name, func(t *testing.T) {
			eachVendor(t, func(t *testing.T, s *vendorStand) {
				end := s.inject(t, tc.kind, tc.value)
				before := s.accounts(t)
				s.Add(t, newUser(0))
				s.says(t, metalv1.ConditionReady, metav1.ConditionFalse, tc.reason)
				s.until(t, "the end of the rotation", func() bool { return len(s.secrets(t)) == 0 })
				if after := s.accounts(t); !slices.Equal(before, after) {
					t.Errorf("accounts %+v, and before %+v", after, before)
				}
				if got := s.user(t).Status.EffectiveBMCSecretRef; got != nil {
					t.Errorf("the effective BMCSecret is %+v", got)
				}
				end()
				s.ask(t, metalv1.OperationRetry)
				s.ready(t, "")
				s.heard.secretive(t, 2)
			})
		})
	}
}

// TestACrashAtEachStepAtEachVendor: an account is made once, and no slot is taken twice, however often the process ends. Accounts lock after
// three wrong passwords.
func TestACrashAtEachStepAtEachVendor(t *testing.T) {
	eachVendor(t, func(t *testing.T, s *vendorStand) {
		before := s.accounts(t)
		s.inject(t, fault.AccountLocked, "3")
		s.Add(t, newUser(0))
		last := ""
		for _, operation := range []string{"", metalv1.OperationRotateCredentials} {
			if operation != "" {
				s.ask(t, operation)
			}
			s.crashes(t)
			last = s.ready(t, last).Name
			if n := len(s.accounts(t)); n != len(before)+1 {
				t.Errorf("%d accounts, want one more than the %d before", n, len(before))
			}
		}
		if err := s.API.Delete(t.Context(), s.user(t)); err != nil {
			t.Fatal(err)
		}
		s.crashes(t)
		s.until(t, "the end of the account", func() bool { return controllertest.Gone[metalv1.BMCUser](t, s.API, "u0") })
		if after := s.accounts(t); !slices.Equal(before, after) {
			t.Errorf("accounts %+v, and before %+v", after, before)
		}
		s.heard.secretive(t, 3)
	})
}

// crashes lets the process end after each of some reconciles; every other time the BMC has answered before. Sessions of processes
// that ended do not fill its table here.
func (s *vendorStand) crashes(t *testing.T) {
	t.Helper()
	for k := range 24 {
		if !controllertest.Gone[metalv1.BMCUser](t, s.API, "u0") {
			s.Step(t, s.Reconciler, "u0")
		}
		for range k % 4 {
			s.wait()
		}
		s.restart()
		s.wait()
	}
	s.rack.ForgetSessions(0)
}
