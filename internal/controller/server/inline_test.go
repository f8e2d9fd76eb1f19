package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// inline is a Server that names the BMC of the stand itself, with credentials of its own.
func inline(secret string) *metalv1.Server {
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "inline"}}
	server.Spec.SystemURI, server.Spec.SystemUUID = uri, uuid
	server.Spec.BMC = &metalv1.BMCAccess{Address: "10.0.0.1", BMCSecretRef: metalv1.LocalObjectReference{Name: secret}}
	server.Spec.BMC.Protocol = metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTP, Port: 8000}
	return server
}

func (s *stand) look(t *testing.T, name string) *metalv1.Server {
	t.Helper()
	for range 3 {
		s.Settle(t, s.Reconciler, name)
		s.rack.Pass(time.Second)
	}
	s.Settle(t, s.Reconciler, name)
	return controllertest.Read[metalv1.Server](t, s.API, name)
}

func TestTheBMCObjectsCredentialsCount(t *testing.T) {
	other := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Data: map[string][]byte{"username": []byte("u"), "password": []byte("wrong")}}
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hw.Wants("p")
		s.settle(t)
		for range 5 { // they take turns, and the BMC hears one password
			server := s.look(t, "inline")
			controllertest.Says(t, server.Status.Conditions, metalv1.ConditionCredentialsUsed, metav1.ConditionFalse, metalv1.ReasonOtherHolder, "BMC b")
			controllertest.Says(t, server.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, "Reachable")
			s.Settle(t, s.bmcs, "b")
		}
		if n := s.hw.Logins()["wrong"]; n != 0 {
			t.Errorf("%d requests with the wrong password", n)
		}
		controllertest.Change(t, s.API, "other", func(o *metalv1.BMCSecret) { o.Data["password"] = []byte("p") })
		server := s.look(t, "inline")
		controllertest.Says(t, server.Status.Conditions, metalv1.ConditionCredentialsUsed, metav1.ConditionTrue, metalv1.ReasonCredentialsUsed)
	}, other, inline("other"))
}

// TestAPasswordThatIsAboutToBeReplacedIsNotTried: after a start the Server may come before the BMC object, which alone knows which password the
// BMC has.
func TestAPasswordThatIsAboutToBeReplacedIsNotTried(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hw.Wants("next")
		s.restart(t)
		controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) { o.Data[metalv1.BMCSecretNextPasswordKey] = []byte("next") })
		before := s.hw.Logins()["p"]
		for range 3 {
			if after := s.Settle(t, s.Reconciler, "inline").RequeueAfter; after != rotationCheck {
				t.Errorf("looks again after %v", after)
			}
			s.rack.Pass(time.Second)
		}
		if n := s.hw.Logins()["p"] - before; n != 0 {
			t.Errorf("%d requests with the old password", n)
		}
		controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) { delete(o.Data, metalv1.BMCSecretNextPasswordKey) })
		s.hw.Wants("p")
		s.look(t, "inline")
		if s.hw.Logins()["p"] == before {
			t.Error("the password is not tried when no other is about to replace it")
		}
	}, inline("s"))
}

func TestACoreSecretWakesServersWithAnInlineBMC(t *testing.T) {
	core := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "vault"}, Data: map[string][]byte{"username": []byte("u"), "password": []byte("p")}}
	team := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	backed := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "backed", Annotations: map[string]string{metalv1.AnnotationSecret: "team/vault"}}}
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.look(t, "inline")
		want := []reconcile.Request{{NamespacedName: controllertest.Key("inline")}}
		if got := s.backings.OfSecret(t.Context(), core); !slices.Equal(got, want) {
			t.Errorf("the Secret wakes %v", got)
		}
		if got := s.backings.OfNamespace(t.Context(), team); !slices.Equal(got, want) {
			t.Errorf("the namespace wakes %v", got)
		}
		controllertest.Change(t, s.API, "inline", func(o *metalv1.Server) { o.Spec.BMC.BMCSecretRef.Name = "s" })
		s.look(t, "inline")
		if got := s.backings.OfSecret(t.Context(), core); len(got) != 0 {
			t.Errorf("the Secret still wakes %v", got)
		}
	}, core, team, backed, inline("backed"))
}

// unsubscriber is an Unsubscriber that is not over at once.
type unsubscriber struct{ asked int }

func (l *unsubscriber) UnsubscribeServer(*metalv1.Server, fleet.Key) (bool, error) {
	l.asked++
	return l.asked > 1, nil
}

func TestAnInlineBMCIsLeftBeforeItsServerGoes(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		server := s.look(t, "inline")
		l := &unsubscriber{}
		s.Reconciler.Unsubscriber = l
		s.Remove(t, server)
		s.Step(t, s.Reconciler, "inline")
		if controllertest.Gone[metalv1.Server](t, s.API, "inline") {
			t.Error("gone while its BMC is still being left")
		}
		s.Settle(t, s.Reconciler, "inline")
		if !controllertest.Gone[metalv1.Server](t, s.API, "inline") || l.asked != 2 {
			t.Errorf("asked %d times, and the Server stays", l.asked)
		}
	}, inline("s"))
}

func TestAServerWithABMCOfItsOwn(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "inline"}}
		server.Spec.SystemUUID = uuid
		server.Spec.BMC = &metalv1.BMCAccess{
			Address: "10.0.0.2", BMCSecretRef: metalv1.LocalObjectReference{Name: "late"},
			Protocol: metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTP, Port: 8000},
		}
		s.Add(t, server)
		s.rack.BMC("http://10.0.0.2:8000").Set(controllertest.System(uri, uuid))
		s.Settle(t, s.Reconciler, "inline")
		conditions := func() []metav1.Condition {
			return controllertest.Read[metalv1.Server](t, s.API, "inline").Status.Conditions
		}
		controllertest.Says(t, conditions(), metalv1.ConditionReady, metav1.ConditionFalse, "SecretNotFound", `"late"`)

		secret := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Data: map[string][]byte{"username": []byte("u"), "password": []byte("p")}}
		s.Add(t, secret)
		if got := s.with(index.ServerByBMCSecret)(t.Context(), secret); len(got) != 1 || got[0].Name != "inline" {
			t.Errorf("its secret wakes %v", got)
		}
		s.Settle(t, s.Reconciler, "inline")
		s.rack.Pass(2 * time.Second)
		s.Settle(t, s.Reconciler, "inline")
		s.rack.Pass(2 * time.Second)
		s.Settle(t, s.Reconciler, "inline")
		controllertest.Says(t, conditions(), metalv1.ConditionReady, metav1.ConditionTrue, "Reachable")

		controllertest.Change(t, s.API, "inline", func(o *metalv1.Server) { o.Spec.BMC.Address = "10.0.0.3" })
		s.Settle(t, s.Reconciler, "inline")
		if _, observed := s.Fleet.Observe("http://10.0.0.2:8000"); observed {
			t.Error("the BMC at the old address is still asked")
		}
		s.Remove(t, controllertest.Read[metalv1.Server](t, s.API, "inline"))
		s.Settle(t, s.Reconciler, "inline")
		if _, observed := s.Fleet.Observe("http://10.0.0.3:8000"); observed {
			t.Error("the BMC of a Server that is no more is still asked")
		}
	})
}

// The password of an inline BMC is nowhere else either.
func TestThePasswordOfAnInlineBMCOutlivesAnEndpoint(t *testing.T) {
	t.Parallel()
	own := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "own", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: metalv1.GroupVersion.String(), Kind: "Endpoint", Name: "e", UID: "e"},
		{APIVersion: "example.org/v1", Kind: "Rack", Name: "r", UID: "r"},
	}}, Data: map[string][]byte{"username": []byte("u"), "password": []byte("p")}}
	stands(t, func(t *testing.T, s *stand) {
		s.look(t, "inline")
		if owners := controllertest.Read[metalv1.BMCSecret](t, s.API, "own").OwnerReferences; len(owners) != 1 || owners[0].Kind != "Rack" {
			t.Errorf("it is owned by %v", owners)
		}
	}, own, inline("own"))
}

// TestWhereTheSystemOfAnInlineBMCIs: tools that speak Redfish themselves read it from spec, whoever made the Server.
func TestWhereTheSystemOfAnInlineBMCIs(t *testing.T) {
	t.Parallel()
	const moved = "/redfish/v1/Systems/2"
	server := inline("s")
	server.Spec.SystemURI = ""
	stands(t, func(t *testing.T, s *stand) {
		if got := s.look(t, "inline").Spec.SystemURI; got != uri {
			t.Errorf("spec.systemURI is %q", got)
		}
		s.hw.Set(controllertest.System(moved, uuid))
		s.rack.Look(address)
		if got := s.look(t, "inline").Spec.SystemURI; got != moved {
			t.Errorf("after it moved, spec.systemURI is %q", got)
		}
		s.ForgetWrites()
		s.look(t, "inline")
		if w := s.Writes("Server"); len(w) != 0 {
			t.Errorf("written again: %v", w)
		}
	}, server)
}

// TestAServerOfOneOfTwoSystemsWithItsUUID: what is done to it is done to the system that it names, and to none where it names none.
func TestAServerOfOneOfTwoSystemsWithItsUUID(t *testing.T) {
	const second = "/redfish/v1/Systems/2"
	for _, names := range []string{uri, second, ""} {
		t.Run(names, func(t *testing.T) {
			t.Parallel()
			server := inline("s")
			server.Spec.SystemURI = names
			stands(t, func(t *testing.T, s *stand) {
				on := controllertest.System(second, uuid)
				on.PowerState = bmc.PowerOn
				s.hw.Set(controllertest.System(uri, uuid), on)
				s.look(t, "inline")
				s.rack.Pass(while) // status says what there is, and does not wait for the boot
				s.look(t, "inline")
				if names != "" {
					s.ready(t, namespace+"/inline")
				}
				got := s.look(t, "inline")
				if names != "" && len(s.hw.Resets()) == 0 {
					t.Error("the machine is told nothing")
				}
				want := map[string]metalv1.PowerState{uri: metalv1.PowerStateOff, second: metalv1.PowerStateOn}[names]
				if got.Status.PowerState != want || got.Spec.SystemURI != names {
					t.Errorf("it is %q at %q, want %q at %q", got.Status.PowerState, got.Spec.SystemURI, want, names)
				}
				if names == "" {
					controllertest.Says(t, got.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, "SystemAmbiguous", uri, second, "spec.systemURI")
				}
				for _, r := range s.hw.Resets() {
					if !strings.HasPrefix(r, names+" ") {
						t.Errorf("told %q", r)
					}
				}
			}, server)
		})
	}
}

// TestASystemThatCannotBeToldWhatToBoot: the BMC shows it, and that it is not there would send people looking for it.
func TestASystemThatCannotBeToldWhatToBoot(t *testing.T) {
	for _, names := range []string{uri, ""} {
		t.Run(names, func(t *testing.T) {
			t.Parallel()
			server := inline("s")
			server.Spec.SystemURI = names
			stands(t, func(t *testing.T, s *stand) {
				part := controllertest.System(uri, uuid)
				part.Boot = bmc.BootState{}
				s.hw.Set(part)
				got := s.look(t, "inline")
				controllertest.Says(t, got.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonNoBootOverride, uri)
				s.hw.Set(controllertest.System(uri, uuid))
				s.rack.Look(address)
				got = s.look(t, "inline")
				controllertest.Says(t, got.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, "Reachable")
			}, server)
		})
	}
}

// TestTheCertificateOfAnInlineBMC is accepted at its Server, and at the BMC object where there is one.
func TestTheCertificateOfAnInlineBMC(t *testing.T) {
	fingerprint := strings.Repeat("A1:", 31) + "A1"
	secure := inline("s")
	secure.Spec.BMC.Address, secure.Spec.BMC.Protocol.Scheme = "10.0.0.3", metalv1.SchemeHTTPS
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		hw := s.rack.BMC("https://10.0.0.3:8000")
		hw.Set(controllertest.System(uri, uuid))
		hw.Shows(fingerprint)
		server := s.look(t, "inline")
		controllertest.Says(t, server.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonUntrusted,
			"kubectl annotate server inline farrier.dev/certificate="+fingerprint)
		controllertest.Change(t, s.API, "inline", func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationCertificate, fingerprint)
		})
		server = s.look(t, "inline")
		controllertest.Says(t, server.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, "Reachable")
		controllertest.Change(t, s.API, "inline", func(o *metalv1.Server) { o.Annotations[metalv1.AnnotationCertificate] = "yes" })
		server = s.look(t, "inline")
		controllertest.Says(t, server.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonUntrusted,
			"The annotation farrier.dev/certificate is no SHA-256 fingerprint", "kubectl annotate --overwrite server inline")
	}, secure)
}
