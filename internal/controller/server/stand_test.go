package server

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	bmccontroller "github.com/farrier-dev/farrier/internal/controller/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
	"github.com/farrier-dev/farrier/internal/ignition"
	"github.com/farrier-dev/farrier/internal/inspection"
)

const (
	address   = "http://10.0.0.1:8000"
	uri       = "/redfish/v1/Systems/1"
	uuid      = "4c4c4544-0043-3510-8052-b7c04f4e4d32"
	namespace = "farrier-system"
	host      = "b-system-0" // what the Server of the only system is called
)

// stand is the controllers of BMCs and Servers, a fake rack before them, and a test in the place of all others.
type stand struct {
	*controllertest.API
	*Reconciler
	bmcs      *bmccontroller.Reconciler
	rack      *controllertest.Rack
	hw        *controllertest.BMC
	told      []string // reasons of events
	ids       int
	silent    bool // boot servers acknowledge nothing
	mode      inspection.CleanMode
	answering time.Time
	watch     func(*metalv1.Server) // after each reconcile
}

// stands runs a test in a bubble, with a BMC "b" that has one system, which is off.
func stands(t *testing.T, test func(*testing.T, *stand), objects ...client.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
		b.Spec.Access = &metalv1.InlineEndpoint{IP: "10.0.0.1"}
		b.Spec.BMCSecretRef.Name = "s"
		b.Spec.Protocol = metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTP, Port: 8000}
		secret := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"username": []byte("u"), "password": []byte("p")}}
		s := &stand{API: controllertest.NewAPI(t, append(objects, b, secret)...)}
		s.rack = controllertest.StartRack(t, s.API.Clock)
		s.hw = s.rack.BMC(address)
		s.hw.Set(controllertest.System(uri, uuid))
		s.begin()
		test(t, s)
	})
}

// begin makes the controllers, as a start of the manager does.
func (s *stand) begin() {
	s.answering = s.API.Clock.Now()
	registry := connection.NewRegistry(s.rack.Fleet)
	s.Reconciler = &Reconciler{
		Client: s.API, APIReader: s.API, Fleet: s.rack.Fleet, Registry: registry, Boots: s, Recorder: s, Clock: s.API.Clock,
		Policy: Policy{
			DiscoveryTimeout: 10 * time.Minute, DiscoveryRetries: 1, PowerOffBudget: time.Minute, EnforcePowerOff: true, ProbeImage: "registry/probe:1",
			Cleanup: s.mode, CleanupTimeout: 4 * time.Hour,
		},
		Namespace: namespace, NewID: s.newID, TokenKey: []byte(strings.Repeat("k", ignition.KeySize)), Sites: booturl.Single("http://boot.example.org:8082"),
	}
	s.bmcs = &bmccontroller.Reconciler{
		Client: s.API, APIReader: s.API, Namespace: namespace, Fleet: s.rack.Fleet, Registry: registry, Recorder: s, Clock: s.API.Clock,
	}
}

// restart is the end of the manager and its next start: nothing is remembered but what is stored.
func (s *stand) restart(t *testing.T) {
	t.Helper()
	s.rack.Restart(t)
	s.begin()
}

func (s *stand) newID() string {
	s.ids++
	return fmt.Sprintf("id-%d", s.ids)
}

// Acknowledged makes the stand the boot servers.
func (s *stand) Acknowledged(string) bool { return !s.silent }

// Answering is since the last start of the manager.
func (s *stand) Answering() time.Time { return s.answering }

// Eventf makes the stand an event recorder.
func (s *stand) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	s.told = append(s.told, reason)
}

// settle does what there is to do now. Nothing takes no time at all: after each reconcile the
// clock moves on, and the fleet has its turn.
func (s *stand) settle(t *testing.T) {
	t.Helper()
	quiet := 0 // rounds: of a BMC that has not been heard of nothing is written, and it has no Server yet
	for range 40 {
		before := len(s.Writes(""))
		s.Step(t, s.bmcs, "b")
		s.rack.Pass(time.Millisecond)
		found := !controllertest.Gone[metalv1.Server](t, s.API, host)
		if found {
			s.Step(t, s.Reconciler, host)
			if s.watch != nil {
				s.watch(s.read(t))
			}
			s.rack.Pass(time.Millisecond)
		}
		if len(s.Writes("")) > before {
			quiet = 0
		} else if quiet++; quiet > 1 || found {
			return
		}
	}
	t.Fatalf("does not settle; last writes: %v", s.Writes("")[len(s.Writes(""))-5:])
}

// pass lets time pass, and everybody looks at everything now and then.
func (s *stand) pass(t *testing.T, d time.Duration) {
	t.Helper()
	step := time.Second
	switch {
	case d >= 30*time.Minute:
		step = 30 * time.Second
	case d >= time.Minute:
		step = 5 * time.Second
	}
	for ; d > 0; d -= step {
		s.rack.Pass(min(d, step))
		s.settle(t)
	}
}

func (s *stand) read(t *testing.T) *metalv1.Server {
	t.Helper()
	return controllertest.Read[metalv1.Server](t, s.API, host)
}

func (s *stand) change(t *testing.T, change func(*metalv1.Server)) {
	t.Helper()
	controllertest.Change(t, s.API, host, change)
}

// is checks the state, and that no reconcile writes anything any more.
func (s *stand) is(t *testing.T, state metalv1.ServerState) *metalv1.Server {
	t.Helper()
	before := len(s.Writes(""))
	s.settle(t)
	if w := s.Writes(""); len(w) != before {
		t.Errorf("it was not settled: %v", w[before:])
	}
	server := s.read(t)
	if server.Status.State != state || server.Status.ObservedGeneration != server.Generation {
		t.Fatalf("state %s of generation %d, want %s of %d; conditions %v",
			server.Status.State, server.Status.ObservedGeneration, state, server.Generation, server.Status.Conditions)
	}
	return server
}

func (s *stand) says(t *testing.T, kind string, status metav1.ConditionStatus, reason string, parts ...string) {
	t.Helper()
	controllertest.Says(t, s.read(t).Status.Conditions, kind, status, reason, parts...)
}

// ready says of a boot configuration that it can be booted, as its controller does.
func (s *stand) ready(t *testing.T, name string) {
	t.Helper()
	controllertest.ChangeStatus(t, s.API, name, func(c *metalv1.ServerBootConfiguration) {
		c.Status.State, c.Status.ObservedGeneration = metalv1.ServerBootConfigurationStateReady, c.Generation
	})
}

func (s *stand) attempt(t *testing.T, name string) *bootattempt.Attempt {
	t.Helper()
	return bootattempt.Of(controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, name))
}

// discovering takes the server to the point where its probe runs.
func (s *stand) discovering(t *testing.T) {
	t.Helper()
	for controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, namespace+"/"+host) {
		s.settle(t)
	}
	s.ready(t, namespace+"/"+host)
	s.pass(t, 20*time.Second) // off, on, and each seen
	s.is(t, metalv1.ServerStateDiscovery)
	if s.attempt(t, namespace+"/"+host).Started == nil {
		t.Fatalf("the probe does not run: %v", s.attempt(t, namespace+"/"+host))
	}
}

// reports is the probe that reports.
func (s *stand) reports(t *testing.T) {
	t.Helper()
	s.reportsAs(t, uuid)
}

// reportsAs is the probe that reports of a machine with this system UUID.
func (s *stand) reportsAs(t *testing.T, uuid string) {
	t.Helper()
	intake := reportintake.Intake{Client: s.API, APIReader: s.API, Namespace: namespace, Clock: s.API.Clock}
	r := inspection.Registration{SystemUUID: uuid, Attempt: s.attempt(t, namespace+"/"+host).ID}
	r.Data.NetworkInterfaces = []inspection.NetworkInterface{
		{Name: "eno1", MACAddress: "02:00:00:00:00:0a", CarrierStatus: "up", IPAddresses: []string{"10.1.0.7/24", "fe80::1%eno1"}},
	}
	r.Data.LLDP = inspection.LLDP{{Name: "eno1", Neighbors: []inspection.Neighbor{{ChassisID: "02:00:00:00:00:ff", PortID: "Ethernet4", SystemName: "leaf1"}}}}
	if err := intake.Register(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// available takes the server from nothing to where it can be claimed.
func (s *stand) available(t *testing.T) {
	t.Helper()
	s.discovering(t)
	s.reports(t)
	s.pass(t, 10*time.Second)
	server := s.is(t, metalv1.ServerStateAvailable)
	if server.Status.PowerState != metalv1.PowerStateOff {
		t.Fatalf("available and %s", server.Status.PowerState)
	}
	s.says(t, metalv1.ConditionClaimable, metav1.ConditionTrue, metalv1.ReasonClaimable)
}

// claims is the claim controller: claim "ns/c" takes the server and gives it something to boot.
func (s *stand) claims(t *testing.T, power metalv1.Power) *metalv1.ServerClaim {
	t.Helper()
	claim := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	claim.Spec.Power, claim.Spec.Image, claim.Spec.ServerRef = power, "registry/os:1", &metalv1.LocalObjectReference{Name: host}
	s.Add(t, claim)
	s.change(t, func(o *metalv1.Server) {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationClaimedBy, string(claim.UID))
		o.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "c"}
		o.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "c"}
	})
	config := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	config.Spec.ServerRef.Name, config.Spec.Image = host, "registry/os:1"
	s.Add(t, config)
	s.ready(t, "ns/c")
	return claim
}

// reserved takes the server to where it runs for a claim.
func (s *stand) reserved(t *testing.T) *metalv1.ServerClaim {
	t.Helper()
	s.available(t)
	claim := s.claims(t, metalv1.PowerOn)
	s.pass(t, 10*time.Second)
	if server := s.is(t, metalv1.ServerStateReserved); server.Status.PowerState != metalv1.PowerStateOn {
		t.Fatalf("reserved and %s", server.Status.PowerState)
	}
	return claim
}

// ends is the garbage collector, after a claim has ended.
func (s *stand) ends(t *testing.T, claim *metalv1.ServerClaim) {
	t.Helper()
	s.Remove(t, claim)
	s.Remove(t, controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c"))
}

// operate asks for an operation.
func (s *stand) operate(t *testing.T, operation string) {
	t.Helper()
	s.change(t, func(o *metalv1.Server) {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationOperation, operation)
	})
	s.pass(t, 20*time.Second)
}

func count(list []string, what string) int {
	n := 0
	for _, item := range list {
		if strings.HasSuffix(item, what) {
			n++
		}
	}
	return n
}

func hasKeys(t *testing.T, secret *corev1.Secret, keys ...string) {
	t.Helper()
	if len(secret.Data) != len(keys) {
		t.Errorf("Secret %s has %d keys, want %v", secret.Name, len(secret.Data), keys)
	}
	for _, key := range keys {
		if len(secret.Data[key]) == 0 {
			t.Errorf("Secret %s has nothing under %q", secret.Name, key)
		}
	}
}

func conflict(obj client.Object) error {
	return apierrors.NewConflict(metalv1.GroupVersion.WithResource("x").GroupResource(), obj.GetName(), fmt.Errorf("modified"))
}

// failBoot keeps everything from being written to boot configurations.
func failBoot(verb string, obj runtime.Object) error {
	if config, ok := obj.(*metalv1.ServerBootConfiguration); ok && verb == controllertest.Patch {
		return conflict(config)
	}
	return nil
}
