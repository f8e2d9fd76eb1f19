package consoletarget

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/console"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// seen is a fleet that has seen one thing.
type seen struct {
	fleet.Observation
	elsewhere bool // another manager looks after the BMC
}

func (s seen) Observe(fleet.Key) (fleet.Observation, bool) {
	if s.elsewhere {
		return fleet.Observation{}, false
	}
	return s.Observation, true
}

// objects are a Server, its BMC and the credentials, which a test may change.
type objects struct {
	server *metalv1.Server
	bmc    *metalv1.BMC
	secret *metalv1.BMCSecret
	seen   fleet.Observation
	// elsewhere: another manager looks after the BMC.
	elsewhere bool
	clock     *clocktesting.FakePassiveClock
}

func newObjects() *objects {
	o := &objects{server: &metalv1.Server{}, bmc: &metalv1.BMC{}, secret: &metalv1.BMCSecret{}, clock: clocktesting.NewFakePassiveClock(noon)}
	o.server.Name, o.server.Spec.BMCRef = "node-7", &metalv1.LocalObjectReference{Name: "bmc-7"}
	o.server.Spec.SystemURI = "/redfish/v1/Systems/1"
	o.bmc.Name, o.bmc.Spec.Access = "bmc-7", &metalv1.InlineEndpoint{IP: "127.0.0.1"}
	o.bmc.Spec.BMCSecretRef.Name, o.bmc.Spec.Protocol = "bmc-7", metalv1.Protocol{Name: metalv1.ProtocolRedfish}
	o.bmc.Annotations = map[string]string{metalv1.AnnotationSSHHostKey: "SHA256:key"}
	o.secret.Name, o.secret.Data = "bmc-7", map[string][]byte{"username": []byte(sim.DefaultUsername), "password": []byte("marker")}
	o.seen = fleet.Observation{Sequence: 1, Systems: []fleet.SystemObservation{{System: bmc.System{URI: "/redfish/v1/Systems/1", Manufacturer: "Dell Inc.", Vendor: bmc.Dell}}}}
	return o
}

func (o *objects) resolver(t *testing.T) *Resolver {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := metalv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects([]client.Object{o.server, o.bmc, o.secret}...).Build()
	return &Resolver{Client: c, APIReader: c, Namespace: "farrier-system", Fleet: seen{o.seen, o.elsewhere}, Clock: o.clock}
}

// elsewhere has another manager look after the BMC, and say that of it.
func elsewhere(ready metav1.ConditionStatus, reason string) func(*objects) {
	return func(o *objects) {
		o.elsewhere = true
		o.bmc.Status.Conditions = []metav1.Condition{{Type: metalv1.ConditionReady, Status: ready, Reason: reason}}
	}
}

// TestTarget: what objects and BMC say, and when nobody is told a password.
func TestTarget(t *testing.T) {
	protocol := func(name metalv1.ConsoleProtocolName, port int32) func(*objects) {
		return func(o *objects) { o.bmc.Spec.ConsoleProtocol = &metalv1.ConsoleProtocol{Name: name, Port: port} }
	}
	for name, tc := range map[string]struct {
		change func(*objects)
		reason string
		good   func(console.Target) bool
	}{
		"as its make": {func(*objects) {}, "", func(g console.Target) bool {
			return g.BMC == "bmc-7" && g.Vendor == bmc.Dell && g.SSH.Host == "127.0.0.1" && g.SSH.HostKey == "SHA256:key" && g.SSH.Credentials.Password == "marker" && !g.Wish.SSH
		}},
		"as it shows": {func(o *objects) {
			o.seen.Systems[0].Console = bmc.SerialConsole{Known: true, Enabled: true, Port: 2200}
		}, "", func(g console.Target) bool { return g.Shown.Port == 2200 }},
		"as somebody says":             {protocol(metalv1.ConsoleProtocolSSH, 2222), "", func(g console.Target) bool { return g.Wish.SSH && g.Port == 2222 }},
		"Lenovo's":                     {protocol(metalv1.ConsoleProtocolSSHLenovo, 0), "", func(g console.Target) bool { return g.Vendor == bmc.Lenovo }},
		"IPMI, and its port":           {protocol(metalv1.ConsoleProtocolIPMI, 623), "", func(g console.Target) bool { return g.IPMI && g.Port == 0 }},
		"a make of old":                {func(o *objects) { o.seen.Systems, o.bmc.Annotations[metalv1.AnnotationMake] = nil, "HPE" }, "", func(g console.Target) bool { return g.Vendor == bmc.HPE }},
		"no such BMC":                  {func(o *objects) { o.server.Spec.BMCRef = nil }, console.ReasonNoConsole, nil},
		"no such credentials":          {func(o *objects) { o.secret.Name = "other" }, console.ReasonNoConsole, nil},
		"Redfish refuses the password": {func(o *objects) { o.seen.Err = &bmc.Error{Kind: bmc.KindAuthentication} }, console.ReasonPasswordRefused, nil},
		"a password that is about to be replaced": {func(o *objects) {
			o.secret.Data[metalv1.BMCSecretNextPasswordKey] = []byte("next")
		}, console.ReasonPasswordRefused, nil},
		"whoever answers is another":                 {func(o *objects) { o.seen.Err = &bmc.Error{Kind: bmc.KindUntrusted} }, console.ReasonHostKey, nil},
		"another manager looks after the BMC":        {elsewhere(metav1.ConditionTrue, "Ready"), "", func(g console.Target) bool { return g.BMC == "bmc-7" }},
		"another manager is refused by Redfish":      {elsewhere(metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed), console.ReasonPasswordRefused, nil},
		"another manager does not trust who answers": {elsewhere(metav1.ConditionFalse, metalv1.ReasonUntrusted), console.ReasonHostKey, nil},
		"another manager has not been answered": {func(o *objects) {
			o.elsewhere = true
			o.secret.Annotations = map[string]string{metalv1.AnnotationDefaultCredentials: bmcsecret.First(noon).String()}
		}, console.ReasonPasswordRefused, nil},
		"a default password nobody has tried": {func(o *objects) {
			o.seen = fleet.Observation{}
			o.secret.Annotations = map[string]string{metalv1.AnnotationDefaultCredentials: bmcsecret.First(noon).String()}
		}, console.ReasonPasswordRefused, nil},
		"a BMC without Redfish of late": {func(o *objects) { o.seen = fleet.Observation{Err: &bmc.Error{Kind: bmc.KindTimeout}} }, "", func(g console.Target) bool { return g.SSH.Credentials.Password == "marker" }},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObjects()
			tc.change(o)
			got, err := o.resolver(t).Target(t.Context(), "node-7")
			refusal, refused := errors.AsType[*console.Refusal](err)
			if refused != (tc.reason != "") || refused && refusal.Reason != tc.reason || err != nil && !refused {
				t.Fatalf("error %v, want reason %q", err, tc.reason)
			}
			if tc.good != nil && !tc.good(got) {
				t.Errorf("got %+v", got)
			}
		})
	}
	if _, err := newObjects().resolver(t).Target(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), `no Server "nobody"`) {
		t.Errorf("no such Server: %v", err)
	}
}

// TestARefusedPasswordIsNotToldAgain: accounts lock. Another password is told at once, and the same after a while.
func TestARefusedPasswordIsNotToldAgain(t *testing.T) {
	rack, err := sim.Start(t.Context(), sim.Options{Servers: 1, Address: "127.0.0.1:0", SSH: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rack.Stop(context.Background()) }()
	o := newObjects()
	o.bmc.Annotations[metalv1.AnnotationSSHHostKey] = rack.SSHHostKey()
	o.seen.Systems[0].Console = bmc.SerialConsole{Known: true, Enabled: true, Port: rack.SSHPort(0)}
	r := o.resolver(t)
	opens := func() error {
		stream, err := r.Open(t.Context(), "node-7")
		if err == nil {
			err = stream.Close()
		}
		return err
	}
	says := func(want string) {
		t.Helper()
		if err := opens(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	says("refuses the password")
	says("tells it again after 2026-03-01T12:10:00Z")
	o.clock.SetTime(noon.Add(refusedPause))
	says("refuses the password")
	var secret metalv1.BMCSecret
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(o.secret), &secret); err != nil {
		t.Fatal(err)
	}
	secret.Data["password"] = []byte(sim.DefaultPassword)
	if err := r.Client.(client.Client).Update(t.Context(), &secret); err != nil {
		t.Fatal(err)
	}
	if err := opens(); err != nil {
		t.Errorf("with another password: %v", err)
	}
}
