package bmc

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

const (
	address = "http://10.0.0.1:8000"
	uri1    = "/redfish/v1/Systems/1"
	uri2    = "/redfish/v1/Systems/2"
	uuid1   = "00000000-0000-0000-0000-000000000001"
	uuid2   = "00000000-0000-0000-0000-000000000002"
)

// stand is a BMC controller in front of a fake API and a fake rack.
type stand struct {
	*controllertest.API
	*Reconciler
	rack   *controllertest.Rack
	bmc    *controllertest.BMC
	events *events.FakeRecorder
	heard  []string
}

// stands runs a test in a bubble, with a BMC "b" at address that has its Endpoint and its secret.
func stands(t *testing.T, test func(*testing.T, *stand), objects ...client.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		endpoint := &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{Name: "e"}}
		endpoint.Spec.IP, endpoint.Spec.MACAddress = "10.0.0.1", "02-FA-44-00-00-01"
		secret := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"username": []byte("u"), "password": []byte("right")}}
		s := &stand{API: controllertest.NewAPI(t, append(objects, endpoint, secret, newBMC())...)}
		s.rack = controllertest.StartRack(t, s.API.Clock)
		s.bmc = s.rack.BMC(address)
		s.bmc.Wants("right")
		s.events = events.NewFakeRecorder(100)
		s.begin()
		test(t, s)
	})
}

// begin makes the controller, as a process does that has just started.
func (s *stand) begin() {
	s.Reconciler = &Reconciler{
		Client: s.API, APIReader: s.API, Namespace: "farrier", Fleet: s.rack.Fleet, Registry: connection.NewRegistry(s.rack.Fleet),
		Recorder: s.events, Clock: s.API.Clock,
	}
}

// restart ends the process and begins another with the same flags, which remembers nothing.
func (s *stand) restart(t *testing.T) {
	t.Helper()
	old := s.Reconciler
	s.rack.Restart(t)
	s.begin()
	s.Prefixes, s.SSH, s.FailureResetDelay, s.SkipVerify = old.Prefixes, old.SSH, old.FailureResetDelay, old.SkipVerify
}

// told returns the events with a reason, of all controllers there were.
func (s *stand) told(reason string) []string {
	for {
		select {
		case e := <-s.events.Events:
			s.heard = append(s.heard, e)
			continue
		default:
		}
		break
	}
	var all []string
	for _, e := range s.heard {
		if strings.Contains(e, " "+reason+" ") {
			all = append(all, e)
		}
	}
	return all
}

func newBMC() *metalv1.BMC {
	b := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	b.Spec.EndpointRef = &metalv1.LocalObjectReference{Name: "e"}
	b.Spec.BMCSecretRef.Name = "s"
	b.Spec.Protocol = metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTP, Port: 8000}
	return b
}

func system(uri, uuid string) bmc.System {
	return controllertest.System(uri, uuid)
}

// settle lets the fleet and the controller do what there is to do.
func (s *stand) settle(t *testing.T) *metalv1.BMC {
	t.Helper()
	s.Settle(t, s.Reconciler, "b")
	s.rack.Pass(time.Second)
	s.Settle(t, s.Reconciler, "b")
	return s.read(t)
}

// look is settle after the BMC was asked about everything again.
func (s *stand) look(t *testing.T) *metalv1.BMC {
	t.Helper()
	s.rack.Look(address)
	return s.settle(t)
}

func (s *stand) read(t *testing.T) *metalv1.BMC {
	t.Helper()
	return controllertest.Read[metalv1.BMC](t, s.API, "b")
}

func TestStatusIsWhatTheBMCSays(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.Settle(t, s.Reconciler, "b")
		s.bmc.Set(system(uri1, uuid1))
		b := s.read(t)
		if b.Status.State != "" || len(b.Status.Conditions) != 0 {
			t.Errorf("before the first answer: %+v", b.Status)
		}

		b = s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
		got := b.Status
		got.Conditions = nil
		want := metalv1.BMCStatus{
			ObservedGeneration: 1, MACAddress: "02:fa:44:00:00:01", IP: "10.0.0.1", Manufacturer: "ACME", Model: "Controller 7",
			SerialNumber: "M-1", FirmwareVersion: "7.1", State: metalv1.BMCStateEnabled, PowerState: metalv1.PowerStateOn,
		}
		if got.ObservedGeneration != want.ObservedGeneration || got.MACAddress != want.MACAddress || got.Manufacturer != want.Manufacturer ||
			got.Model != want.Model || got.SerialNumber != want.SerialNumber || got.FirmwareVersion != want.FirmwareVersion ||
			got.State != want.State || got.PowerState != want.PowerState {
			t.Errorf("status %+v\nwant   %+v", got, want)
		}
		s.ForgetWrites()
		s.look(t)
		if w := s.Writes(""); len(w) != 0 {
			t.Errorf("nothing is new, and written is %v", w)
		}
	})
}

func TestReadySaysWhyTheBMCCannotBeUsed(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil  func(*testing.T, *stand)
		reason string
		says   string
	}{
		"a refused password": {func(_ *testing.T, s *stand) { s.bmc.Wants("other") }, metalv1.ReasonAuthenticationFailed, ""},
		"a timeout": {func(_ *testing.T, s *stand) {
			s.bmc.Fails(&bmc.Error{Kind: bmc.KindTimeout, Op: "GET", Message: "no answer in time"})
		}, metalv1.ReasonConnectionFailed, "no answer in time"},
		"no connection": {func(_ *testing.T, s *stand) {
			s.bmc.Fails(&bmc.Error{Kind: bmc.KindConnection, Op: "GET", Message: "connection refused"})
		}, metalv1.ReasonConnectionFailed, "connection refused"},
		"an error of its own": {func(_ *testing.T, s *stand) {
			s.bmc.Fails(&bmc.Error{Kind: bmc.KindServer, Op: "GET", StatusCode: 503})
		}, metalv1.ReasonInternalServerError, "503"},
		"an answer that is none": {func(_ *testing.T, s *stand) {
			s.bmc.Fails(&bmc.Error{Kind: bmc.KindProtocol, Op: "GET", Message: "no JSON"})
		}, metalv1.ReasonUnknownError, "no JSON"},
		"another protocol": {func(t *testing.T, s *stand) {
			controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Spec.Protocol.Name = "IPMI" })
		}, connection.ReasonProtocolNotSupported, "IPMI"},
		"no secret": {func(t *testing.T, s *stand) {
			s.Remove(t, controllertest.Read[metalv1.BMCSecret](t, s.API, "s"))
		}, connection.ReasonSecretNotFound, `"s"`},
		"a secret without a key": {func(t *testing.T, s *stand) {
			controllertest.Change(t, s.API, "s", func(b *metalv1.BMCSecret) { delete(b.Data, "password") })
		}, connection.ReasonSecretIncomplete, `"password"`},
		"no Endpoint": {func(t *testing.T, s *stand) {
			s.Remove(t, controllertest.Read[metalv1.Endpoint](t, s.API, "e"))
		}, connection.ReasonEndpointNotFound, `"e"`},
		"an Endpoint without address": {func(t *testing.T, s *stand) {
			controllertest.Change(t, s.API, "e", func(e *metalv1.Endpoint) { e.Spec.IP = "" })
		}, connection.ReasonAddressInvalid, "IP"},
	} {
		t.Run(name, func(t *testing.T) {
			stands(t, func(t *testing.T, s *stand) {
				tc.spoil(t, s)
				b := s.settle(t)
				controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, tc.reason, tc.says)
				if b.Status.State != metalv1.BMCStateError {
					t.Errorf("the state is %s", b.Status.State)
				}
			})
		})
	}
}

func TestANewPasswordIsTriedAtOnce(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Wants("new")
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed)
		controllertest.Change(t, s.API, "s", func(b *metalv1.BMCSecret) { b.Data["password"] = []byte("new") })
		b = s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
	})
}

func TestTroubleWithTheAPIIsNotTheBMCs(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Set(system(uri1, uuid1))
		s.settle(t)
		s.Fail = func(verb string, obj runtime.Object) error {
			if _, secret := obj.(*metalv1.BMCSecret); secret && verb == controllertest.Get {
				return apierrors.NewTimeoutError("etcd is slow", 1)
			}
			return nil
		}
		for range 2 { // the second time is tried again too
			if _, err := s.Reconcile(t.Context(), request("b")); err == nil {
				t.Error("an error of the API is taken for an answer")
			}
		}
		controllertest.Says(t, s.read(t).Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
	})
}

func TestOwnerReferencesOfOtherInstallationsAreStripped(t *testing.T) {
	own := metav1.OwnerReference{APIVersion: "example.org/v1", Kind: "Rack", Name: "r", UID: "r"}
	stands(t, func(t *testing.T, s *stand) {
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) {
			b.OwnerReferences = []metav1.OwnerReference{{APIVersion: metalv1.GroupVersion.String(), Kind: "Endpoint", Name: "e", UID: "e"}, own}
		})
		b := s.settle(t)
		if len(b.OwnerReferences) != 1 || b.OwnerReferences[0].Kind != "Rack" {
			t.Errorf("the owners are %v", b.OwnerReferences)
		}
		if len(b.Finalizers) != 1 || b.Finalizers[0] != metalv1.FinalizerBMC {
			t.Errorf("the finalizers are %v", b.Finalizers)
		}
	})
}

func TestDeletionKeepsWhatIsClaimedAndEndsTheActor(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		const uuid3 = "4c4c4544-0043-3510-8052-b7c04f4e4d39"
		s.bmc.Set(system(uri1, uuid1), system(uri2, uuid2), system(uri3, uuid3))
		s.settle(t)
		controllertest.Change(t, s.API, "b-system-1", func(o *metalv1.Server) {
			o.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "n", Name: "c"}
		})
		controllertest.Change(t, s.API, "b-system-2", func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationClaimedBy, "earlier")
		})
		s.Remove(t, s.read(t))
		s.Settle(t, s.Reconciler, "b")
		if !controllertest.Gone[metalv1.BMC](t, s.API, "b") {
			t.Error("the BMC is still there")
		}
		if d := controllertest.Read[metalv1.Server](t, s.API, "b-system-0").DeletionTimestamp; d == nil {
			t.Error("the unclaimed Server was not deleted")
		}
		if d := controllertest.Read[metalv1.Server](t, s.API, "b-system-1").DeletionTimestamp; d != nil {
			t.Error("the claimed Server was deleted")
		}
		if d := controllertest.Read[metalv1.Server](t, s.API, "b-system-2").DeletionTimestamp; d != nil {
			t.Error("the Server that has to be cleaned was deleted")
		}
		if _, observed := s.Fleet.Observe(address); observed {
			t.Error("the actor goes on asking a BMC that is no more")
		}
	})
}

func TestAServerThatIsClaimedDuringDeletionIsKept(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Set(system(uri1, uuid1))
		s.settle(t)
		cache := s.Lagging(t, &metalv1.ServerList{})
		controllertest.Change(t, s.API, "b-system-0", func(o *metalv1.Server) {
			o.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "n", Name: "c"}
		})
		s.Remove(t, s.read(t))
		s.Client = cache
		if result := s.Step(t, s.Reconciler, "b"); result.RequeueAfter == 0 {
			t.Error("the conflict is not tried again")
		}
		s.Client = s.API
		s.Settle(t, s.Reconciler, "b")
		if d := controllertest.Read[metalv1.Server](t, s.API, "b-system-0").DeletionTimestamp; d != nil {
			t.Error("a claimed Server was deleted")
		}
	})
}

func TestAnotherAddressLeavesNoActorBehind(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.settle(t)
		controllertest.Change(t, s.API, "e", func(e *metalv1.Endpoint) { e.Spec.IP = "10.0.0.2" })
		b := s.settle(t)
		if b.Status.IP != "10.0.0.2" {
			t.Errorf("the address in status is %s", b.Status.IP)
		}
		if _, observed := s.Fleet.Observe(address); observed {
			t.Error("the BMC at the old address is still asked")
		}
		if _, observed := s.Fleet.Observe("http://10.0.0.2:8000"); !observed {
			t.Error("the BMC at the new address is not asked")
		}
	})
}

func TestAnIgnoredBMCIsLeftAlone(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.settle(t)
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) {
			b.Annotations = map[string]string{metalv1.AnnotationOperation: "ignore-reconciliation"} // by its former name
		})
		s.bmc.Fails(&bmc.Error{Kind: bmc.KindTimeout})
		s.ForgetWrites()
		s.look(t)
		if w := s.Writes(""); len(w) != 0 {
			t.Errorf("written: %v", w)
		}
	})
}
