package bmc

import (
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/macprefix"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// tries gives the stand a make with three default credentials, of which the secret has the first.
func (s *stand) tries(t *testing.T) {
	t.Helper()
	entry := macprefix.Entry{Prefix: "02fa44"}
	for _, p := range []string{"first", "second", "third"} {
		entry.DefaultCredentials = append(entry.DefaultCredentials, macprefix.Credential{Username: "user-" + p, Password: bmc.Secret("marker-" + p)})
	}
	prefixes, err := macprefix.New(entry)
	if err != nil {
		t.Fatal(err)
	}
	s.Prefixes = prefixes
	controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) {
		o.Annotations = map[string]string{metalv1.AnnotationDefaultCredentials: bmcsecret.Trial{}.String()}
		o.Data = map[string][]byte{"username": []byte("user-first"), "password": []byte("marker-first")}
	})
}

func (s *stand) secret(t *testing.T) *metalv1.BMCSecret {
	t.Helper()
	return controllertest.Read[metalv1.BMCSecret](t, s.API, "s")
}

// pass lets time go by, and the controller look whenever something is new.
func (s *stand) pass(t *testing.T, d time.Duration) *metalv1.BMC {
	t.Helper()
	for ; d > 0; d -= time.Minute {
		s.rack.Pass(min(d, time.Minute))
		s.settle(t)
	}
	return s.read(t)
}

func TestTheNextDefaultIsTried(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.tries(t)
		s.bmc.Wants("marker-second")
		s.settle(t)
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionDefaultCredentials, metav1.ConditionTrue, metalv1.ReasonCredentialsAccepted, "user-second", "2 of 3")
		if got := string(s.secret(t).Data["username"]); got != "user-second" {
			t.Errorf("the secret has %s", got)
		}
		if n := s.bmc.Logins()["marker-first"]; n != 1 {
			t.Errorf("the refused password was told %d times", n)
		}
	})
}

func TestAnAttemptBegunWithItsSecretIsMadeOnceWithoutAnotherWrite(t *testing.T) {
	for name, restarted := range map[string]bool{"same process": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			stands(t, func(t *testing.T, s *stand) {
				s.tries(t)
				controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) {
					o.Annotations[metalv1.AnnotationDefaultCredentials] = bmcsecret.First(s.Reconciler.Clock.Now()).String()
				})
				s.Begun = bmcsecret.NewBegun()
				if !restarted {
					s.Begun.Add(s.secret(t).UID)
				}
				s.bmc.Wants("marker-third")
				s.settle(t)
				s.settle(t)
				// The first was written with the secret. The process that did makes it, and another; any other process takes it for made.
				want := map[string]int{"marker-first": 1, "marker-second": 1}
				if restarted {
					want["marker-second"] = 0
				}
				s.restart(t)
				s.settle(t)
				for password, times := range want {
					if got := s.bmc.Logins()[password]; got != times {
						t.Errorf("%s was told %d times, want %d", password, got, times)
					}
				}
				if n := s.bmc.Logins()["marker-third"]; n != 0 {
					t.Error("the third was tried within the hour")
				}
			})
		})
	}
}

func TestTwoAttemptsAnHourAlsoOverRestarts(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.tries(t)
		s.bmc.Wants("marker-third")
		s.settle(t)
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed, "the next attempt is at")
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionDefaultCredentials, metav1.ConditionFalse, metalv1.ReasonCredentialsRefused,
			"user-first (1 of 3)", "user-second (2 of 3)", "13:00")
		for range 5 {
			s.restart(t)
			s.pass(t, 10*time.Minute)
		}
		logins := s.bmc.Logins()
		if logins["marker-first"] != 1 || logins["marker-second"] != 1 || logins["marker-third"] != 0 {
			t.Errorf("within the hour: %v", logins)
		}
		b = s.pass(t, 15*time.Minute)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
	})
}

func TestChangedCredentialsEndTheTrial(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.tries(t)
		s.bmc.Wants("own")
		s.settle(t)
		s.settle(t) // both refused
		controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) { o.Data["password"] = []byte("own") })
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
		secret := s.secret(t)
		if _, tried := secret.Annotations[metalv1.AnnotationDefaultCredentials]; tried || string(secret.Data["password"]) != "own" {
			t.Errorf("the secret is %v", secret.Annotations)
		}
		for _, c := range b.Status.Conditions {
			if c.Type == metalv1.ConditionDefaultCredentials {
				t.Errorf("there is still a condition: %+v", c)
			}
		}
		s.bmc.Wants("another")
		s.rack.Pass(20 * time.Minute)
		s.settle(t)
		if p := string(s.secret(t).Data["password"]); p != "own" {
			t.Errorf("the password is %q", p)
		}
	})
}

func TestAChangeMeanwhileIsNotOverwritten(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.tries(t)
		s.bmc.Wants("marker-second")
		s.Settle(t, s.Reconciler, "b")
		s.rack.Pass(time.Second) // refused
		s.APIReader = s.Lagging(t, &metalv1.BMCSecretList{})
		controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) { o.Data["password"] = []byte("own") })
		if result := s.Step(t, s.Reconciler, "b"); result.RequeueAfter == 0 {
			t.Error("the conflict is not tried again")
		}
		if p := string(s.secret(t).Data["password"]); p != "own" {
			t.Errorf("the password is %q", p)
		}
	})
}

func TestCredentialsInACoreSecret(t *testing.T) {
	core := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "vault"}, Data: map[string][]byte{"username": []byte("u"), "password": []byte("old")}}
	team := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	stands(t, func(t *testing.T, s *stand) {
		controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) {
			o.Annotations, o.Data = map[string]string{metalv1.AnnotationSecret: "team/vault"}, nil
		})
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, connection.ReasonSecretNotAllowed, "team")
		if got := s.backings.OfNamespace(t.Context(), team); !slices.Equal(got, []reconcile.Request{named("b")}) {
			t.Errorf("the namespace wakes %v", got)
		}
		controllertest.Change(t, s.API, "team", func(n *corev1.Namespace) {
			n.Labels = map[string]string{metalv1.LabelBMCSecrets: metalv1.LabelBMCSecretsAllowed}
		})
		b = s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed)
		if got := s.backings.OfSecret(t.Context(), core); !slices.Equal(got, []reconcile.Request{named("b")}) {
			t.Errorf("the Secret wakes %v", got)
		}
		controllertest.Change(t, s.API, "team/vault", func(c *corev1.Secret) { c.Data["password"] = []byte("right") })
		b = s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)

		s.Remove(t, b)
		s.Settle(t, s.Reconciler, "b")
		if got := s.backings.OfSecret(t.Context(), core); len(got) != 0 {
			t.Errorf("the Secret still wakes %v", got)
		}
	}, core, team)
}

func TestWhatIsInsecureIsToldOnce(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionSecure, metav1.ConditionFalse, metalv1.ReasonPlainHTTP, "http://10.0.0.1")
		s.look(t)
		s.restart(t)
		s.settle(t)
		if got := s.told(metalv1.ReasonPlainHTTP); len(got) != 1 {
			t.Errorf("events %q", got)
		}
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Spec.Protocol.Scheme = metalv1.SchemeHTTPS })
		b = s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionSecure, metav1.ConditionTrue, metalv1.ReasonVerified)
		s.SkipVerify = true
		b = s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionSecure, metav1.ConditionFalse, metalv1.ReasonNotVerified)
		if got := s.told(metalv1.ReasonNotVerified); len(got) != 1 {
			t.Errorf("events %q", got)
		}
	})
}

// A BMC that has answered over https is told no password over http, before a person says so.
func TestNoPasswordOverHTTPAfterHTTPS(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		secure := s.rack.BMC("https://10.0.0.1:8000")
		secure.Wants("right")
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Spec.Protocol.Scheme = metalv1.SchemeHTTPS })
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
		if over := b.Annotations[metalv1.AnnotationKnownOver]; over != knownOverHTTPS {
			t.Errorf("known over %q", over)
		}
		s.restart(t)
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Spec.Protocol.Scheme = metalv1.SchemeHTTP })
		b = s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonDowngraded, "spec.protocol.scheme", "kubectl annotate bmc b farrier.dev/known-over-")
		if got := s.told(metalv1.ReasonDowngraded); len(got) != 1 {
			t.Errorf("events %q", got)
		}
		if _, asked := s.Fleet.Observe(address); asked {
			t.Error("it is asked all the same")
		}
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { delete(b.Annotations, metalv1.AnnotationKnownOver) })
		b = s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
	})
}

func TestWhetherItIsTheBMCThatIsMeant(t *testing.T) {
	const uuid = "00000000-0000-0000-0000-00000000000b"
	for name, tc := range map[string]struct {
		uuid, hostname string
		status         metav1.ConditionStatus
		reason         string
	}{
		"as it says":       {"00000000-0000-0000-0000-00000000000B", "bmc-1.example.org.", metav1.ConditionTrue, metalv1.ReasonMatches},
		"another UUID":     {uuid1, "bmc-1", metav1.ConditionFalse, metalv1.ReasonUUIDDiffers},
		"no UUID":          {"x", "", metav1.ConditionFalse, metalv1.ReasonUUIDDiffers},
		"not its name yet": {uuid, "rack1-bmc", metav1.ConditionTrue, metalv1.ReasonMatches},
		"its maker's name": {"", "rack1-bmc.example.com", metav1.ConditionTrue, metalv1.ReasonMatches},
	} {
		t.Run(name, func(t *testing.T) {
			stands(t, func(t *testing.T, s *stand) {
				s.bmc.Manages(func(m *bmc.Manager) { m.UUID, m.HostName = uuid, "bmc-1.example.org" })
				controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Spec.BMCUUID, b.Spec.Hostname = tc.uuid, &tc.hostname })
				b := s.settle(t)
				controllertest.Says(t, b.Status.Conditions, metalv1.ConditionIdentity, tc.status, tc.reason)
				if warned := len(s.told(metalv1.ReasonUUIDDiffers)) > 0; warned != (tc.status == metav1.ConditionFalse) {
					t.Errorf("warned %v", warned)
				}
				controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Spec.BMCUUID, b.Spec.Hostname = "", nil })
				b = s.settle(t) // nobody says which: it is the one that is there
				controllertest.Says(t, b.Status.Conditions, metalv1.ConditionIdentity, metav1.ConditionTrue, metalv1.ReasonMatches)
				if b.Spec.BMCUUID != uuid {
					t.Errorf("spec.bmcUUID is %q", b.Spec.BMCUUID)
				}
			})
		})
	}
}

func TestALockedOutBMCIsLeftWithoutAnotherAttempt(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.tries(t)
		s.bmc.Wants("marker-third")
		s.settle(t)
		s.settle(t)
		before := s.bmc.Logins()
		s.Unsubscriber = &unsubscriber{t: t, f: s.rack.Fleet, times: 1}
		s.Remove(t, s.read(t))
		s.Settle(t, s.Reconciler, "b")
		s.rack.Pass(time.Second)
		if !controllertest.Gone[metalv1.BMC](t, s.API, "b") || !maps.Equal(before, s.bmc.Logins()) {
			t.Errorf("attempts %v, and %v before it was deleted", s.bmc.Logins(), before)
		}
	})
}

// Other hardware at the same address: people are told, and none of its systems becomes a Server.
func TestOtherHardwareAtTheAddressIsNoticed(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Manages(func(m *bmc.Manager) { m.UUID = uuid1 })
		s.bmc.Set(system(uri1, uuid1))
		b := s.settle(t)
		if b.Spec.BMCUUID != uuid1 {
			t.Errorf("spec.bmcUUID is %q", b.Spec.BMCUUID)
		}
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionIdentity, metav1.ConditionTrue, metalv1.ReasonMatches)
		s.bmc.Manages(func(m *bmc.Manager) { m.UUID = uuid2 })
		s.bmc.Set(system(uri1, uuid2))
		s.Fleet.PollSoon(address)
		s.pass(t, time.Minute)
		b = s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionIdentity, metav1.ConditionFalse, metalv1.ReasonUUIDDiffers, uuid1, uuid2)
		s.restart(t) // the systems are read before the manager
		s.pass(t, time.Minute)
		if !controllertest.Gone[metalv1.Server](t, s.API, "b-system-1") {
			t.Error("the machine behind the other BMC has a Server of this one")
		}
		if got := s.told(metalv1.ReasonUUIDDiffers); len(got) != 1 {
			t.Errorf("events %q", got)
		}
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Spec.BMCUUID = "" }) // it is meant
		b = s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionIdentity, metav1.ConditionTrue, metalv1.ReasonMatches)
		if b.Spec.BMCUUID != uuid2 || controllertest.Gone[metalv1.Server](t, s.API, "b-system-1") {
			t.Errorf("spec.bmcUUID is %q, or there is no Server", b.Spec.BMCUUID)
		}
	})
}

func TestAnEmptyDefaultPassword(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		prefixes, err := macprefix.New(macprefix.Entry{Prefix: "02fa44", DefaultCredentials: []macprefix.Credential{
			{Username: "u", Password: ""}, {Username: "u", Password: "right"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		s.Prefixes = prefixes
		controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) {
			o.Annotations = map[string]string{metalv1.AnnotationDefaultCredentials: bmcsecret.Trial{}.String()}
			o.Data = map[string][]byte{"username": []byte("u"), "password": []byte("")}
		})
		s.settle(t)
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
		if n := s.bmc.Logins()[""]; n != 1 {
			t.Errorf("the empty one was tried %d times", n)
		}
	})
}
