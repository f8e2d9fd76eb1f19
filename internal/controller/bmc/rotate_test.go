package bmc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// rotates asks for a rotation of a BMC that answers.
func (s *stand) rotates(t *testing.T) {
	t.Helper()
	s.bmc.Set(system(uri1, uuid1))
	s.settle(t)
	s.asks(t, metalv1.OperationRotateCredentials)
}

// openable checks that the BMC can be logged in to with what is stored: whatever happens now, nobody is locked out.
func (s *stand) openable(t *testing.T) {
	t.Helper()
	stored := []string{string(s.secret(t).Data["password"]), string(s.secret(t).Data["password.next"])}
	if !slices.Contains(stored, s.bmc.Password()) {
		t.Fatal("the BMC has a password that is not stored")
	}
}

// rotated checks that a rotation is over and the BMC has a new password, the one in the secret.
func (s *stand) rotated(t *testing.T, secret string, sets int) {
	t.Helper()
	b := s.read(t)
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionRotated, metav1.ConditionTrue, metalv1.ReasonRotated)
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
	o := controllertest.Read[metalv1.BMCSecret](t, s.API, secret)
	password := string(o.Data["password"])
	if password != s.bmc.Password() || password == "right" || len(password) != 16 || o.Data["password.next"] != nil {
		t.Errorf("the secret has %d characters, and the BMC's password is the same: %v; keys left: %d", len(password), password == s.bmc.Password(), len(o.Data))
	}
	s.over(t, sets)
	for _, e := range append(s.heard, fmt.Sprint(b.Status), fmt.Sprint(b.Annotations)) {
		if strings.Contains(e, password) {
			t.Errorf("the password is told: %s", e)
		}
	}
}

func (s *stand) over(t *testing.T, sets int) {
	t.Helper()
	for _, key := range []string{metalv1.AnnotationOperation, metalv1.AnnotationOperationStarted, metalv1.AnnotationRotationRefused} {
		if v, there := s.read(t).Annotations[key]; there {
			t.Errorf("%s is still %q", key, v)
		}
	}
	if n := s.bmc.Sets(); n != sets {
		t.Errorf("the BMC was told %d passwords, want %d", n, sets)
	}
	s.rack.Pass(time.Second)
	if o, _ := s.Fleet.Observe(address); o.LockedBy != "" {
		t.Errorf("the BMC is still locked by %q", o.LockedBy)
	}
}

func TestTheCredentialsAreRotated(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.rotates(t)
		old := "right"
		s.bmc.OnPassword(func(next string) (bool, error) {
			secret := s.secret(t)
			if string(secret.Data["password.next"]) != next || string(secret.Data["password"]) != old {
				t.Error("the BMC hears of a password that is not stored, or the old one is not there any more")
			}
			if s.read(t).Annotations[metalv1.AnnotationOperationStarted] == "" {
				t.Error("that it was begun is not noted")
			}
			return true, nil
		})
		s.settle(t)
		s.settle(t)
		s.settle(t)
		s.rotated(t, "s", 1)
		if got := s.told(metalv1.ReasonRotated); len(got) != 1 {
			t.Errorf("events %q", got)
		}
		s.pass(t, 5*time.Minute)
		s.rotated(t, "s", 1)
		old = s.bmc.Password()
		s.asks(t, metalv1.OperationRotateCredentials)
		s.pass(t, 3*time.Minute)
		s.rotated(t, "s", 2)
	})
}

// The process dies after every single look, and right after the BMC was told.
func TestNobodyIsLockedOutByACrash(t *testing.T) {
	for _, heard := range []bool{true, false} {
		stands(t, func(t *testing.T, s *stand) {
			s.rotates(t)
			died := false
			s.bmc.OnPassword(func(string) (bool, error) {
				if died {
					return true, nil
				}
				died = true
				return heard, &bmc.Error{Kind: bmc.KindConnection, Op: "PATCH", Message: "connection closed before the answer"}
			})
			for range 12 {
				s.Step(t, s.Reconciler, "b")
				s.openable(t)
				s.rack.Pass(time.Second)
				s.openable(t)
				if died {
					s.restart(t)
				}
			}
			s.pass(t, 70*time.Minute) // so many have asked it without knowing the answer that it is left alone
			s.rotated(t, "s", map[bool]int{true: 1, false: 2}[heard])
			if n := len(s.told(metalv1.ReasonRotated)); n != 1 {
				t.Errorf("told %d times", n)
			}
		})
	}
	for steps := range 10 {
		stands(t, func(t *testing.T, s *stand) {
			s.rotates(t)
			for range steps {
				s.Step(t, s.Reconciler, "b")
				s.rack.Pass(time.Second)
			}
			s.restart(t)
			s.openable(t)
			s.pass(t, 5*time.Minute)
			s.rotated(t, "s", 1)
		})
	}
}

// TestProcessesThatEndAtOnceLockNobodyOut: each asks the BMC once and dies. No two of them in a row ask with the wrong password, whichever that is.
func TestProcessesThatEndAtOnceLockNobodyOut(t *testing.T) {
	for _, made := range []bool{true, false} {
		stands(t, func(t *testing.T, s *stand) {
			s.doubted(t, made)
			wrong, most := 0, 0
			for range 12 {
				before := s.bmc.Logins()
				s.restart(t)
				s.Step(t, s.Reconciler, "b")
				s.rack.Pass(time.Second)
				right := s.bmc.Password()
				for password, n := range s.bmc.Logins() {
					switch asked := n - before[password]; {
					case asked == 0:
					case password == right:
						wrong = 0
					default:
						wrong += asked
					}
				}
				most = max(most, wrong)
			}
			if most > 1 {
				t.Errorf("%d wrong passwords in a row", most)
			}
			s.pass(t, 70*time.Minute)
			s.rotated(t, "s", s.bmc.Sets())
		})
	}
}

// The answer is lost and the process lives on.
func TestALostAnswerIsLookedInto(t *testing.T) {
	for _, heard := range []bool{true, false} {
		stands(t, func(t *testing.T, s *stand) {
			s.rotates(t)
			first := true
			s.bmc.OnPassword(func(string) (bool, error) {
				if !first {
					return true, nil
				}
				first = false
				return heard, errHangs
			})
			s.pass(t, 3*time.Minute)
			s.rotated(t, "s", map[bool]int{true: 1, false: 2}[heard])
			for password, n := range s.bmc.Logins() {
				if password != "right" && password != s.bmc.Password() {
					t.Errorf("%d requests with a third password", n)
				}
			}
		})
	}
}

// TestARotationEndsAtWhicheverWriteTheProcessDoes: the condition tells of the end, too.
func TestARotationEndsAtWhicheverWriteTheProcessDoes(t *testing.T) {
	reached := 0
	for n := range 12 {
		stands(t, func(t *testing.T, s *stand) {
			s.rotates(t)
			writes, died := 0, false
			s.Fail = func(verb string, _ runtime.Object) error {
				if verb == controllertest.Get || verb == controllertest.List {
					return nil
				}
				if writes++; writes == n+1 {
					died = true
					return fmt.Errorf("etcd is away")
				}
				return nil
			}
			for range 30 {
				_, _ = s.Reconcile(t.Context(), request("b"))
				s.rack.Pass(time.Second)
				if died {
					s.Fail = nil
					s.restart(t)
					reached, died = n, false
				}
			}
			s.Fail = nil
			s.pass(t, 3*time.Minute)
			s.rotated(t, "s", s.bmc.Sets())
			if t.Failed() {
				t.Fatalf("write %d was lost", n)
			}
		})
	}
	if reached < 5 {
		t.Errorf("only %d writes were lost", reached)
	}
}

func TestARotationThatTheAPILosesIsNotDoneTwice(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.rotates(t)
		promoted := false
		s.Fail = func(verb string, obj runtime.Object) error {
			b, is := obj.(*metalv1.BMC)
			if is && verb == controllertest.Patch && b.Annotations[metalv1.AnnotationOperationStarted] == "" && !promoted {
				promoted = true
				return fmt.Errorf("etcd is away")
			}
			return nil
		}
		for range 12 {
			_, _ = s.Reconcile(t.Context(), request("b"))
			s.rack.Pass(time.Second)
			if promoted {
				s.restart(t)
			}
		}
		s.pass(t, 3*time.Minute)
		if !promoted {
			t.Fatal("the write that was to fail never came")
		}
		s.rotated(t, "s", 1)
	})
}

func TestARotationThatTheBMCRefuses(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.rotates(t)
		s.bmc.OnPassword(func(string) (bool, error) {
			return false, &bmc.Error{Kind: bmc.KindRejected, Op: "PATCH", StatusCode: 400, MessageID: "PropertyValueFormatError"}
		})
		b := s.pass(t, 3*time.Minute)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionRotated, metav1.ConditionFalse, metalv1.ReasonRotationFailed, "was not changed", "PropertyValueFormatError")
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
		if secret := s.secret(t); string(secret.Data["password"]) != "right" || secret.Data["password.next"] != nil {
			t.Errorf("the secret has %d keys", len(secret.Data))
		}
		s.over(t, 1)
		if got := s.told(metalv1.ReasonRotationFailed); len(got) != 1 {
			t.Errorf("events %q", got)
		}
	})
}

func TestABMCThatRefusesBothPasswordsIsLeftAlone(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.rotates(t)
		s.bmc.OnPassword(func(string) (bool, error) { return false, errHangs })
		s.settle(t)
		s.settle(t)
		s.bmc.Wants("locked")
		b := s.pass(t, 3*time.Minute)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionRotated, metav1.ConditionFalse, metalv1.ReasonBothPasswordsRefused, `BMCSecret "s"`)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed, "the next attempt is at")
		before := total(s.bmc.Logins())
		for range 4 {
			s.restart(t)
			s.pass(t, 10*time.Minute)
		}
		if n := total(s.bmc.Logins()); n != before {
			t.Errorf("asked %d times while it was to be left alone", n-before)
		}
		s.bmc.OnPassword(nil)
		s.bmc.Wants("right") // no longer locked
		s.pass(t, 30*time.Minute)
		s.rotated(t, "s", 2)
	})
}

func total(logins map[string]int) (n int) {
	for _, m := range logins {
		n += m
	}
	return n
}

func TestSecretsThatCannotBeChanged(t *testing.T) {
	other := newBMC()
	other.Name, other.Spec.EndpointRef, other.Spec.Access = "other", nil, &metalv1.InlineEndpoint{IP: "10.0.0.9"}
	fixed := true
	for name, tc := range map[string]struct {
		spoil func(*testing.T, *stand)
		why   string
	}{
		"immutable": {func(t *testing.T, s *stand) {
			controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) { o.Immutable = &fixed })
		}, "is immutable"},
		"shared with a BMC": {func(t *testing.T, s *stand) { s.Add(t, other.DeepCopy()) }, "BMC other"},
		"shared with a Server": {func(t *testing.T, s *stand) {
			server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "inline"}}
			server.Spec.BMC = &metalv1.BMCAccess{Address: "10.0.0.8", Protocol: other.Spec.Protocol, BMCSecretRef: metalv1.LocalObjectReference{Name: "s"}}
			s.Add(t, server)
		}, "Server inline"},
	} {
		t.Run(name, func(t *testing.T) {
			stands(t, func(t *testing.T, s *stand) {
				tc.spoil(t, s)
				taken := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "b-credentials"}, Data: map[string][]byte{"username": []byte("x")}}
				s.Add(t, taken)
				s.rotates(t)
				b := s.pass(t, 3*time.Minute)
				if b.Spec.BMCSecretRef.Name != "b-credentials-2" {
					t.Fatalf("the BMC has BMCSecret %q", b.Spec.BMCSecretRef.Name)
				}
				s.rotated(t, "b-credentials-2", 1)
				if secret := s.secret(t); string(secret.Data["password"]) != "right" || len(secret.Data) != 2 {
					t.Error("the old BMCSecret was changed")
				}
				if got := s.told(metalv1.ReasonSecretReplaced); len(got) != 1 || !strings.Contains(got[0], tc.why) {
					t.Errorf("events %q", got)
				}
			})
		})
	}
}

func TestOneBMCUnderTwoNamesSharesNothing(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "inline"}}
		server.Spec.BMC = &metalv1.BMCAccess{Address: "10.0.0.1", Protocol: newBMC().Spec.Protocol, BMCSecretRef: metalv1.LocalObjectReference{Name: "s"}}
		s.Add(t, server)
		s.rotates(t)
		s.pass(t, 3*time.Minute)
		s.rotated(t, "s", 1)
	})
}

func TestCredentialsInACoreSecretAreRotatedThere(t *testing.T) {
	for _, immutable := range []bool{false, true} {
		core := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "farrier", Name: "vault"}, Data: map[string][]byte{"username": []byte("u"), "password": []byte("right")}}
		core.Immutable = &immutable
		stands(t, func(t *testing.T, s *stand) {
			controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) {
				o.Annotations, o.Data = map[string]string{metalv1.AnnotationSecret: "farrier/vault"}, nil
			})
			s.rotates(t)
			b := s.pass(t, 3*time.Minute)
			name, secret := "farrier/vault", "s"
			if immutable {
				name, secret = "farrier/b-credentials", "b-credentials"
			}
			got := controllertest.Read[corev1.Secret](t, s.API, name)
			if string(got.Data["password"]) != s.bmc.Password() || s.bmc.Password() == "right" || len(got.Data) != 2 {
				t.Errorf("the Secret has %d keys, its password is the BMC's: %v", len(got.Data), string(got.Data["password"]) == s.bmc.Password())
			}
			bmcSecret := controllertest.Read[metalv1.BMCSecret](t, s.API, b.Spec.BMCSecretRef.Name)
			if b.Spec.BMCSecretRef.Name != secret || bmcSecret.Annotations[metalv1.AnnotationSecret] != name || len(bmcSecret.Data) != 0 {
				t.Errorf("the BMC has BMCSecret %s, which stands for %q", b.Spec.BMCSecretRef.Name, bmcSecret.Annotations[metalv1.AnnotationSecret])
			}
			s.over(t, 1)
		}, core)
	}
}

func TestARotationWaitsForWhoeverHasTheBMC(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.rotates(t)
		if err := s.Fleet.Lock(address, "firmware update", time.Hour); err != nil {
			t.Fatal(err)
		}
		b := s.pass(t, 2*time.Minute)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionRotated, metav1.ConditionUnknown, metalv1.ReasonRotating, "firmware update")
		if n := s.bmc.Sets(); n != 0 {
			t.Errorf("the BMC was told %d passwords", n)
		}
		s.Fleet.Unlock(address, "firmware update")
		s.pass(t, 3*time.Minute)
		s.rotated(t, "s", 1)
	})
}

func TestARotationOfABMCThatCannotBeAskedIsGivenUp(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*stand)
		says  string
	}{
		"it does not answer":      {func(s *stand) { s.bmc.Fails(errHangs) }, "does not answer"},
		"it refuses the password": {func(s *stand) { s.bmc.Wants("another") }, "refuses the current password"},
	} {
		t.Run(name, func(t *testing.T) {
			stands(t, func(t *testing.T, s *stand) {
				tc.spoil(s)
				s.settle(t)
				s.asks(t, metalv1.OperationRotateCredentials)
				b := s.pass(t, 20*time.Minute)
				controllertest.Says(t, b.Status.Conditions, metalv1.ConditionRotated, metav1.ConditionFalse, metalv1.ReasonRotationFailed, tc.says)
				s.over(t, 0)
			})
		})
	}
}
