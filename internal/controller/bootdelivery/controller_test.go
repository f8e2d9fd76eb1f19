package bootdelivery

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/ignition"
)

const (
	bootURL = "http://boot.example.org:8082"
	uuid    = "00000000-0000-0000-0000-000000000001"
	mac     = "02:00:00:00:00:01"
)

var tokenKey = []byte(strings.Repeat("k", ignition.KeySize))

// stand is boot delivery with a view that can be asked.
type stand struct {
	*controllertest.API
	*Delivery
	ipxe, http *reconciler
	queues     map[string]workqueue.TypedRateLimitingInterface[reconcile.Request]
	servers    []string // that were woken
}

func newStand(t *testing.T, objects ...client.Object) *stand {
	t.Helper()
	s := &stand{API: controllertest.NewAPI(t, objects...), queues: map[string]workqueue.TypedRateLimitingInterface[reconcile.Request]{}}
	s.Delivery = &Delivery{
		Client: s.API, APIReader: s.API, View: bootview.New(), Clock: s.API.Clock, Sites: booturl.Single(bootURL), TokenKey: tokenKey,
		WakeServer: func(name string) { s.servers = append(s.servers, name) },
	}
	s.notes.init()
	s.View.SetSynced(true)
	s.ipxe = &reconciler{Delivery: s.Delivery, method: bootmethod.IPXE}
	s.http = &reconciler{Delivery: s.Delivery, method: bootmethod.HTTP}
	for _, k := range []string{bootmethod.IPXE.Kind, bootmethod.HTTP.Kind} {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		t.Cleanup(queue.ShutDown)
		if err := s.notes.source(k).Start(t.Context(), queue); err != nil {
			t.Fatal(err)
		}
		s.queues[k] = queue
	}
	return s
}

// woken are the boot configs of a kind that have been woken since the last time.
func (s *stand) woken(kind string) []string {
	var names []string
	for queue := s.queues[kind]; queue.Len() > 0; {
		req, _ := queue.Get()
		names = append(names, req.String())
		queue.Done(req)
	}
	slices.Sort(names)
	return names
}

func (s *stand) readIPXE(t *testing.T, name string) *bootv1.IPXEBootConfig {
	t.Helper()
	return controllertest.Read[bootv1.IPXEBootConfig](t, s.API, name)
}

// machine is what the view has for the machine.
func (s *stand) machine(t *testing.T) *bootview.Machine {
	t.Helper()
	m, status := s.View.ByUUID(uuid)
	if status != bootview.Found {
		t.Fatalf("the machine is %s", status)
	}
	return m
}

func (s *stand) script(t *testing.T) string {
	t.Helper()
	return string(s.machine(t).Script().Render(bootURL))
}

// ours are a server, its boot configuration and what was made of that.
func ours(change ...func(*metalv1.Server, *metalv1.ServerBootConfiguration, *bootv1.IPXEBootConfig)) []client.Object {
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "server-uid"}}
	server.Spec.SystemUUID = uuid
	server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "c"}
	server.Status.SerialNumber = "SN-1"
	server.Status.NetworkInterfaces = []metalv1.NetworkInterface{{Name: "eth0", MACAddress: mac, IPs: []string{"10.0.0.7"}}}
	config := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "config-uid"}}
	config.Spec.ServerRef.Name = "s"
	ipxe := handWritten("c")
	ipxe.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(config, metalv1.GroupVersion.WithKind("ServerBootConfiguration"))}
	for _, c := range change {
		c(server, config, ipxe)
	}
	return []client.Object{server, config, ipxe}
}

// handWritten is an IPXEBootConfig without a boot configuration.
func handWritten(name string) *bootv1.IPXEBootConfig {
	c := &bootv1.IPXEBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	c.Spec.SystemUUID = uuid
	c.Spec.KernelURL, c.Spec.InitrdURL = bootURL+"/image?layerDigest=kernel", bootURL+"/image?layerDigest=initrd"
	return c
}

func ordered(id string) func(*metalv1.Server, *metalv1.ServerBootConfiguration, *bootv1.IPXEBootConfig) {
	return func(_ *metalv1.Server, c *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) { order(c, id) }
}

func order(c *metalv1.ServerBootConfiguration, id string) {
	var none *bootattempt.Attempt
	c.Annotations = map[string]string{metalv1.AnnotationBootAttempt: none.Next(id, controllertest.Start).String()}
}

func withIgnition(_ *metalv1.Server, _ *metalv1.ServerBootConfiguration, c *bootv1.IPXEBootConfig) {
	c.Spec.IgnitionSecretRef = &bootv1.LocalObjectReference{Name: "secret"}
}

func secret(name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

func checkReady(t *testing.T, c *bootv1.IPXEBootConfig) {
	t.Helper()
	controllertest.Says(t, c.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, "Ready")
	if c.Status.State != bootv1.IPXEBootConfigStateReady || c.Status.ObservedGeneration != c.Generation {
		t.Errorf("state %s of generation %d", c.Status.State, c.Status.ObservedGeneration)
	}
}

func checkError(t *testing.T, c *bootv1.IPXEBootConfig, says ...string) {
	t.Helper()
	controllertest.Says(t, c.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, "Error", says...)
	if c.Status.State != bootv1.IPXEBootConfigStateError {
		t.Errorf("state %s", c.Status.State)
	}
}

const golden = `#!ipxe
set ipxe-svc http://boot.example.org:8082
set kernel-url http://boot.example.org:8082/image?layerDigest=kernel
set initrd-url http://boot.example.org:8082/image?layerDigest=initrd
set pause 2

:load
kernel ${kernel-url} initrd=initrd ip=any ignition.firstboot=1 ignition.config.url=${ipxe-svc}/ignition/${uuid}?token=`

func TestTheViewHasTheScriptWithItsToken(t *testing.T) {
	s := newStand(t, ours(ordered("a"))...)
	s.Settle(t, s.ipxe, "ns/c")
	token := ignition.Token(tokenKey, "server-uid", "a")
	if script := s.script(t); !strings.HasPrefix(script, golden+token+" ignition.platform.id=metal") {
		t.Errorf("the script is\n%s", script)
	}
	if m, found := s.View.ByToken(token); !found || m.UUID != uuid {
		t.Errorf("the token belongs to %v", m)
	}
	for _, address := range []string{mac, "10.0.0.7"} {
		if m, status := s.View.ByAddress(address); status != bootview.Found || m.UUID != uuid {
			t.Errorf("%s is %s", address, status)
		}
	}
	if _, status := s.View.Find("", "", "SN-1"); status != bootview.Found {
		t.Errorf("the serial number is %s", status)
	}
	checkReady(t, s.readIPXE(t, "ns/c"))
	s.ForgetWrites()
	s.Step(t, s.ipxe, "ns/c")
	if w := s.Writes(""); len(w) != 0 {
		t.Errorf("nothing is new, and written is %v", w)
	}
}

func TestTheTokenIsGivenAwayOnlyWhileTheAttemptIsOpen(t *testing.T) {
	prepared := (&bootattempt.Attempt{ID: "a", Number: 1}).String()
	for name, annotation := range map[string]string{"no attempt": "", "prepared only": prepared, "an attempt nobody can read": "{"} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, ours(func(_ *metalv1.Server, c *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
				c.Annotations = map[string]string{metalv1.AnnotationBootAttempt: annotation}
			})...)
			s.Settle(t, s.ipxe, "ns/c")
			if script := s.script(t); strings.Contains(script, "token=") {
				t.Errorf("the script is\n%s", script)
			}
			if s.machine(t).Attempt().IsOpen() {
				t.Error("ignition may be read")
			}
			if _, found := s.View.ByToken(ignition.Token(tokenKey, "server-uid", "a")); found {
				t.Error("the token is good")
			}
		})
	}
}

func TestTheKernelArgumentsOfTheServerAreInTheScript(t *testing.T) {
	s := newStand(t, ours(func(o *metalv1.Server, _ *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
		o.Annotations = map[string]string{metalv1.AnnotationKernelArgs: "quiet  nomodeset"}
	})...)
	s.Settle(t, s.ipxe, "ns/c")
	if script := s.script(t); !strings.Contains(script, " quiet nomodeset") {
		t.Errorf("the script is\n%s", script)
	}
	controllertest.Change(t, s.API, "s", func(o *metalv1.Server) { o.Annotations[metalv1.AnnotationKernelArgs] = "a\nimgexec evil" })
	s.Settle(t, s.ipxe, "ns/c")
	if m := s.machine(t); strings.Contains(string(m.Script().Render(bootURL)), "\nimgexec") {
		t.Error("an annotation adds a command to the script")
	}
}

func TestIgnitionThatCannotBeDeliveredIsSaid(t *testing.T) {
	for name, tc := range map[string]struct {
		secret  *corev1.Secret
		missing bool
		says    []string
	}{
		"no Secret":       {secret("other", nil), true, []string{"spec.ignitionSecretRef", `"secret" does not exist`}},
		"no key":          {secret("secret", map[string]string{"Ignition": "{}"}), true, []string{`"secret" has no key "ignition"`}},
		"garbage Butane":  {secret("secret", map[string]string{"ignition": "variant: [", "format": " fcos\n"}), false, []string{`"secret"`, "Butane"}},
		"no Butane":       {secret("secret", map[string]string{"ignition": "just text", "format": "fcos"}), false, []string{"mapping"}},
		"unknown variant": {secret("secret", map[string]string{"ignition": "variant: beos\nversion: 1.0.0\n", "format": "fcos"}), false, []string{"Butane"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, append(ours(ordered("a"), withIgnition), tc.secret)...)
			s.Settle(t, s.ipxe, "ns/c")
			checkError(t, s.readIPXE(t, "ns/c"), tc.says...)
			m := s.machine(t)
			if m.Ignition() == nil || m.Ignition().Err == nil || errors.Is(m.Ignition().Err, bootview.ErrIgnitionMissing) != tc.missing {
				t.Errorf("the view has %+v", m.Ignition())
			}
			if m.Script().IsZero() {
				t.Error("what can be served is not")
			}

			// It recovers when the Secret is there and good.
			good := secret("secret", map[string]string{"ignition": "variant: fcos\nversion: 1.5.0\n", "format": "fcos"})
			if tc.secret.Name == "secret" {
				s.Remove(t, tc.secret)
			}
			s.Add(t, good)
			s.Settle(t, s.ipxe, "ns/c")
			checkReady(t, s.readIPXE(t, "ns/c"))
			if p := string(s.machine(t).Ignition().Payload); !strings.HasPrefix(p, `{"ignition":{"version":"3.`) {
				t.Errorf("the payload is %s", p)
			}
		})
	}
}

func TestIgnitionOfAnotherFormatIsDeliveredAsItIs(t *testing.T) {
	const payload = "#cloud-config\n\x00\xff"
	s := newStand(t, append(ours(ordered("a"), withIgnition), secret("secret", map[string]string{"ignition": payload}))...)
	s.Settle(t, s.ipxe, "ns/c")
	if got := string(s.machine(t).Ignition().Payload); got != payload {
		t.Errorf("the payload is %q", got)
	}
}

func TestACustomScriptIsDeliveredByteForByte(t *testing.T) {
	const script = "#!ipxe\r\n# ${ipxe-svc} \x00 http://boot.example.org:8082\nshell"
	custom := handWritten("c")
	custom.Spec.KernelURL, custom.Spec.InitrdURL = "", ""
	custom.Spec.IPXEScriptSecretRef = &bootv1.LocalObjectReference{Name: "script"}
	s := newStand(t, custom)
	s.Settle(t, s.ipxe, "ns/c")
	checkError(t, s.readIPXE(t, "ns/c"), "spec.ipxeScriptSecretRef", "does not exist")
	s.Add(t, secret("script", map[string]string{"script": script}))
	s.Settle(t, s.ipxe, "ns/c")
	checkError(t, s.readIPXE(t, "ns/c"), `no key "ipxe-script"`)
	controllertest.Change(t, s.API, "ns/script", func(o *corev1.Secret) { o.Data["ipxe-script"] = []byte(script) })
	s.Settle(t, s.ipxe, "ns/c")
	checkReady(t, s.readIPXE(t, "ns/c"))
	if got := string(s.machine(t).Script().Render("http://another")); got != script {
		t.Errorf("the script is %q", got)
	}
}

func TestAHandWrittenConfigIsServedAndAlwaysOpen(t *testing.T) {
	for name, owner := range map[string]*metav1.OwnerReference{
		"nobody's":            nil,
		"another lifecycle's": {APIVersion: "example.org/v1", Kind: "Machine", Name: "m", UID: "m", Controller: new(true)},
		"of the same kind in another group": {
			APIVersion: "example.org/v1", Kind: "ServerBootConfiguration", Name: "m", UID: "m", Controller: new(true)},
	} {
		t.Run(name, func(t *testing.T) {
			c := handWritten("hand")
			if owner != nil {
				c.OwnerReferences = []metav1.OwnerReference{*owner}
			}
			s := newStand(t, c)
			s.Settle(t, s.ipxe, "ns/hand")
			m := s.machine(t)
			if !m.Attempt().IsOpen() || m.Attempt().ID != "" || m.ScriptEntry() != "IPXEBootConfig/ns/hand" {
				t.Errorf("the machine is %+v", m)
			}
			if script := s.script(t); strings.Contains(script, "token") {
				t.Errorf("a token of what attempt?\n%s", script)
			}
			if len(s.servers) != 0 {
				t.Errorf("woken: %v", s.servers)
			}
		})
	}
}

func TestWhatTheServerDoesNotReferToIsNotServed(t *testing.T) {
	for name, change := range map[string]func(*metalv1.Server, *metalv1.ServerBootConfiguration, *bootv1.IPXEBootConfig){
		"no reference": func(o *metalv1.Server, _ *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
			o.Spec.BootConfigurationRef = nil
		},
		"another reference": func(o *metalv1.Server, _ *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
			o.Spec.BootConfigurationRef.Name = "other"
		},
		"maintenance": func(o *metalv1.Server, _ *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
			o.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "ns", Name: "m"}
			o.Spec.MaintenanceBootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "m"}
		},
		"no such server": func(_ *metalv1.Server, c *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
			c.Spec.ServerRef.Name = "missing"
		},
		"a boot configuration before this one": func(_ *metalv1.Server, _ *metalv1.ServerBootConfiguration, i *bootv1.IPXEBootConfig) {
			i.OwnerReferences[0].UID = "before"
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, ours(ordered("a"), change)...)
			s.Settle(t, s.ipxe, "ns/c")
			if m, status := s.View.ByUUID(uuid); status != bootview.Unknown {
				t.Errorf("the machine is %s: %+v", status, m)
			}
			if s.Acknowledged("a") || len(s.servers) != 0 {
				t.Error("an attempt that is not served counts as known to the boot servers")
			}
		})
	}
}

func TestAConfigInMaintenanceCounts(t *testing.T) {
	s := newStand(t, ours(func(o *metalv1.Server, _ *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
		o.Spec.BootConfigurationRef.Name = "claims"
		o.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "ns", Name: "m"}
		o.Spec.MaintenanceBootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "c"}
	})...)
	s.Settle(t, s.ipxe, "ns/c")
	s.machine(t)
	server := controllertest.Read[metalv1.Server](t, s.API, "s")
	if got := bootOf(t.Context(), server); len(got) != 2 || got[0].Name != "claims" || got[1].Name != "c" {
		t.Errorf("a change of the server wakes %v", got)
	}
}

func TestAConflictIsSaidOnBothAndEndsForBoth(t *testing.T) {
	s := newStand(t, handWritten("a"), handWritten("b"))
	s.Settle(t, s.ipxe, "ns/a")
	checkReady(t, s.readIPXE(t, "ns/a"))
	s.Settle(t, s.ipxe, "ns/b")
	checkError(t, s.readIPXE(t, "ns/b"), "IPXEBootConfig/ns/a")
	if got := s.woken(bootmethod.IPXE.Kind); !slices.Equal(got, []string{"ns/a"}) {
		t.Fatalf("woken by the conflict: %v", got)
	}
	s.Settle(t, s.ipxe, "ns/a")
	checkError(t, s.readIPXE(t, "ns/a"), "IPXEBootConfig/ns/b")
	if got := s.woken(bootmethod.IPXE.Kind); len(got) != 0 {
		t.Errorf("they wake each other for ever: %v", got)
	}
	if _, status := s.View.ByUUID(uuid); status != bootview.Conflict {
		t.Errorf("the machine is %s", status)
	}

	s.Remove(t, s.readIPXE(t, "ns/b"))
	s.Settle(t, s.ipxe, "ns/b")
	if got := s.woken(bootmethod.IPXE.Kind); !slices.Equal(got, []string{"ns/a"}) {
		t.Fatalf("woken by its end: %v", got)
	}
	s.Settle(t, s.ipxe, "ns/a")
	checkReady(t, s.readIPXE(t, "ns/a"))
	s.machine(t)
}

func TestTheServersOwnConfigIsInNoConflictWithHandWrittenOnes(t *testing.T) {
	s := newStand(t, append(ours(), handWritten("a"), handWritten("b"))...)
	for _, name := range []string{"ns/a", "ns/b", "ns/a"} {
		s.Settle(t, s.ipxe, name)
	}
	s.woken(bootmethod.IPXE.Kind)
	s.Settle(t, s.ipxe, "ns/c")
	if m := s.machine(t); m.ScriptEntry() != "IPXEBootConfig/ns/c" {
		t.Errorf("served is %s", m.ScriptEntry())
	}
	if got := s.woken(bootmethod.IPXE.Kind); !slices.Equal(got, []string{"ns/a", "ns/b"}) {
		t.Errorf("woken, for they are hidden now: %v", got)
	}
	s.Settle(t, s.ipxe, "ns/a")
	controllertest.Says(t, s.readIPXE(t, "ns/a").Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, "Overridden", "IPXEBootConfig/ns/c")

	// And back: the server lets go of it.
	controllertest.Change(t, s.API, "s", func(o *metalv1.Server) { o.Spec.BootConfigurationRef = nil })
	s.Settle(t, s.ipxe, "ns/c")
	if got := s.woken(bootmethod.IPXE.Kind); !slices.Equal(got, []string{"ns/a", "ns/b"}) {
		t.Errorf("woken, for they are in conflict again: %v", got)
	}
}

func TestAnHTTPBootConfigIsFoundByItsIdentifiers(t *testing.T) {
	c := &bootv1.HTTPBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "h"}}
	c.Spec.SystemUUID = uuid
	c.Spec.UKIURL = bootURL + "/httpboot/x.efi"
	c.Spec.NetworkIdentifiers = []string{"02-00-00-00-00-01", "10.0.0.7", "2001:db8:1::2:3"}
	c.Spec.SystemIPs = []string{"fd00::7%eth0"}
	s := newStand(t, c)
	s.Settle(t, s.http, "ns/h")
	for _, id := range []string{mac, "10.0.0.7", "2001:db8:1:0:0:0:2:3", "fd00::7"} {
		if m, status := s.View.ByAddress(id); status != bootview.Found || m.FileURL() != c.Spec.UKIURL {
			t.Errorf("%s is %s", id, status)
		}
	}
	controllertest.Change(t, s.API, "ns/h", func(c *bootv1.HTTPBootConfig) { c.Spec.UKIURL = "" })
	s.Settle(t, s.http, "ns/h")
	h := controllertest.Read[bootv1.HTTPBootConfig](t, s.API, "ns/h")
	controllertest.Says(t, h.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, "Error", "spec.ukiURL")
}

func TestWhatIsDeletedIsServedNoMore(t *testing.T) {
	held := handWritten("a")
	held.Finalizers = []string{"example.org/hold"}
	s := newStand(t, held)
	s.Settle(t, s.ipxe, "ns/a")
	s.machine(t)
	s.Remove(t, held)
	s.Settle(t, s.ipxe, "ns/a")
	if _, status := s.View.ByUUID(uuid); status != bootview.Unknown {
		t.Errorf("the machine is %s while the config is being deleted", status)
	}
}

func TestTheViewIsCompleteOnlyWhenEverythingWasRendered(t *testing.T) {
	s := newStand(t, append(ours(withIgnition), handWritten("hand"), secret("secret", map[string]string{"ignition": "{}"}))...)
	s.View.SetSynced(false)
	s.Settle(t, s.ipxe, "ns/hand") // before anybody knows what there is
	s.initial.begin([]string{"IPXEBootConfig/ns/c", "IPXEBootConfig/ns/hand", "HTTPBootConfig/ns/gone"}, func() { s.View.SetSynced(true) })

	s.Fail = func(verb string, obj runtime.Object) error {
		if _, secret := obj.(*corev1.Secret); secret && verb == controllertest.Get {
			return errors.New("etcd is away")
		}
		return nil
	}
	if _, err := s.ipxe.Reconcile(t.Context(), reconcile.Request{NamespacedName: controllertest.Key("ns/c")}); err == nil {
		t.Fatal("an error is no error")
	}
	s.Fail = nil
	s.Settle(t, s.http, "ns/gone")
	if s.View.Synced() {
		t.Fatal("complete, and one could not be rendered yet: its machine would be told that it is unknown")
	}
	s.Settle(t, s.ipxe, "ns/c")
	if !s.View.Synced() {
		t.Error("not complete, and everything was rendered")
	}
}

func TestAnEmptyClusterIsCompleteAtOnce(t *testing.T) {
	s := newStand(t)
	s.View.SetSynced(false)
	s.initial.begin(nil, func() { s.View.SetSynced(true) })
	if !s.View.Synced() {
		t.Error("waits for nothing")
	}
}
