package bootdelivery

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/ignition"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
)

// TestAnInternalBootIsDerived: what serves it is no object. Its boot configuration says what the boot config of a claim would, once the machine has
// fetched something.
func TestAnInternalBootIsDerived(t *testing.T) {
	f := newFleet(t)
	leader := f.starts(t, false)
	leader.leads.Begin(t.Context())
	leader.settle(t)
	isReady(t, leader.Derived.Status(f.config(t)))
	if w := f.Writes(""); len(w) != 0 {
		t.Errorf("that it is ready is said before there is anything else to say: %v", w)
	}

	leader.order(t, "first")
	leader.settle(t)
	token := ignition.Token(tokenKey, "server-uid", "first")
	if script := leader.script(t); !strings.Contains(script, "kernel") || !strings.Contains(script, token) {
		t.Errorf("the script has no kernel, or no token:\n%s", script)
	}
	m, _ := leader.View.ByUUID(uuid)
	if m.Ignition() == nil || m.Ignition().Err != nil || m.FileURL() == "" || !leader.Acknowledged("first") {
		t.Errorf("ignition %+v, file %q", m.Ignition(), m.FileURL())
	}

	f.ForgetWrites()
	leader.fetches(f.starts(t, false), bootview.DeliveredScript, "none") // another process's is nothing of this one's
	leader.fetches(leader, bootview.DeliveredScript, "first")
	leader.fetches(leader, bootview.DeliveredIgnition, "first")
	leader.settle(t)
	config := f.config(t)
	isReady(t, config.Status)
	for _, kind := range []string{bootv1.ConditionIPXEScriptFetched, bootv1.ConditionIgnitionDataFetched} {
		controllertest.Says(t, config.Status.Conditions, kind, metav1.ConditionTrue, "Delivered", "first", "10.0.0.7")
	}
	if w := f.Writes(""); len(w) != 1 || config.Status.DeliveryAttempt != "first" {
		t.Errorf("what was fetched, of attempt %q, are %d writes: %v", config.Status.DeliveryAttempt, len(w), w)
	}
	if text, err := json.Marshal(config); err != nil || strings.Contains(string(text), token) {
		t.Errorf("the token is in the boot configuration: %v", err)
	}
	if !controllertest.Gone[bootv1.IPXEBootConfig](t, f.API, probe) || !controllertest.Gone[bootv1.HTTPBootConfig](t, f.API, probe) {
		t.Error("a boot config was stored")
	}

	f.Remove(t, config)
	leader.settle(t)
	if _, status := leader.View.ByUUID(uuid); status != bootview.Unknown {
		t.Errorf("after its end the machine is %s", status)
	}
}

// isReady checks what a boot configuration has to say when its boot is ready.
func isReady(t *testing.T, status metalv1.ServerBootConfigurationStatus) {
	t.Helper()
	controllertest.Says(t, status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, "Ready", "Image sha256:")
	controllertest.Says(t, status.Conditions, bootv1.ConditionIgnitionContent, metav1.ConditionTrue, "Read")
	if status.State != metalv1.ServerBootConfigurationStateReady || status.IgnitionFingerprint == "" || status.ImageDigest == "" {
		t.Errorf("status %+v", status)
	}
}

// TestAnInternalBootIsNotSilentForEver: it is ready, and the machine fetches nothing. Then status says since when it is ready.
func TestAnInternalBootIsNotSilentForEver(t *testing.T) {
	f := newFleet(t)
	leader := f.starts(t, false)
	var woken []string
	leader.Derived.Described = func(server string) { woken = append(woken, server) }
	leader.leads.Begin(t.Context())
	leader.settle(t)
	ready := apimeta.FindStatusCondition(leader.Derived.Status(f.config(t)).Conditions, metalv1.ConditionReady)
	if ready == nil || len(woken) == 0 {
		t.Fatalf("ready: %v; woken: %v", ready, woken)
	}
	told := len(woken)
	again := leader.Step(t, leader.configs, probe).RequeueAfter
	if again <= 0 || len(woken) != told {
		t.Fatalf("to be looked at in %s, woken: %v", again, woken[told:])
	}
	f.API.Clock.Step(again - time.Second)
	leader.settle(t)
	if w := f.Writes(""); len(w) != 0 {
		t.Fatalf("said too early: %v", w)
	}
	f.API.Clock.Step(time.Second)
	leader.settle(t)
	config := f.config(t)
	isReady(t, config.Status)
	said := apimeta.FindStatusCondition(config.Status.Conditions, metalv1.ConditionReady)
	if since := said.LastTransitionTime; !since.Time.Equal(ready.LastTransitionTime.Truncate(time.Second)) {
		t.Errorf("ready since %s, and said is %s", ready.LastTransitionTime, since)
	}
	if w := f.Writes(""); len(w) != 1 {
		t.Errorf("writes: %v", w)
	}
}

// TestEveryReplicaDerivesTheSame: one that stands by, and one that starts while the registry is away, which knows every machine only then.
func TestEveryReplicaDerivesTheSame(t *testing.T) {
	f := newFleet(t)
	leader, standby := f.starts(t, false), f.starts(t, false)
	f.API.Clock.Step(time.Hour) // status is not silent any more
	leader.leads.Begin(t.Context())
	leader.settle(t)
	leader.order(t, "first")
	leader.settle(t)
	want := leader.script(t)
	f.ForgetWrites()
	standby.settle(t)
	if got := standby.script(t); got != want {
		t.Errorf("who stands by gives it\n%s\nwant\n%s", got, want)
	}

	late := f.starts(t, true)
	names, err := late.derivedNames(t.Context(), f.API)
	if err != nil {
		t.Fatal(err)
	}
	late.initial.begin(names, late.synced)
	late.Step(t, late.methods[0], probe) // before anybody has looked at the boot configuration
	if late.View.Synced() {
		t.Error("it would say that it does not know the machine")
	}
	late.settle(t)
	if got := late.script(t); got != want || !late.View.Synced() {
		t.Errorf("without a registry it gives it\n%s\nwant\n%s", got, want)
	}
	if w := f.Writes(""); len(w) != 0 {
		t.Errorf("who does not lead has written: %v", w)
	}
	late.leads.Begin(t.Context())
	late.settle(t)
	if w := f.Writes(""); len(w) != 0 || f.config(t).Status.State != metalv1.ServerBootConfigurationStateReady {
		t.Errorf("the next leader says what is said: %v", w)
	}
}

// TestAStoredBootConfigIsServedUntilOneIsDerived: an earlier version stored it, and its manager was replaced while the machine booted.
func TestAStoredBootConfigIsServedUntilOneIsDerived(t *testing.T) {
	f := newFleet(t)
	controllertest.Change(t, f.API, probe, func(c *metalv1.ServerBootConfiguration) {
		order(c, "first")
		c.Annotations[metalv1.AnnotationType] = metalv1.TypeInternal
	})
	stored := handWritten("s")
	stored.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(f.config(t), metalv1.GroupVersion.WithKind("ServerBootConfiguration"))}
	f.Add(t, stored)
	early := f.starts(t, true)
	early.View.SetSynced(true)
	early.settle(t)
	if got := early.script(t); !strings.Contains(got, "layerDigest=kernel") {
		t.Errorf("while the image is not resolved it gets\n%s", got)
	}
	early.configs.Images = f.images
	early.settle(t)
	if got := early.script(t); strings.Contains(got, "layerDigest=kernel") {
		t.Errorf("with the image resolved it gets\n%s", got)
	}
}

// TestAForeignBootConfigIsNotReplaced: somebody has written one of that name.
func TestAForeignBootConfigIsNotReplaced(t *testing.T) {
	f := newFleet(t, localregistry.Image{Kernel: []byte("kernel"), Initramfs: []byte("initramfs")})
	f.Add(t, handWritten("s"))
	leader := f.starts(t, false)
	leader.leads.Begin(t.Context())
	leader.settle(t)
	controllertest.Says(t, f.config(t).Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, "Error", "IPXEBootConfig ns/s exists but does not belong")
	f.Remove(t, controllertest.Read[bootv1.IPXEBootConfig](t, f.API, probe))
	leader.settle(t)
	controllertest.Says(t, f.config(t).Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, "Ready")
}

// TestWhatIsWrongWithADerivedBootConfigIsSaid: by its boot configuration, and by an event about that.
func TestWhatIsWrongWithADerivedBootConfigIsSaid(t *testing.T) {
	f := newFleet(t)
	f.Remove(t, secretNamed(t, f, "s-ssh"))
	leader := f.starts(t, false)
	leader.leads.Begin(t.Context())
	leader.settle(t)
	controllertest.Says(t, f.config(t).Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, "Error", `Secret "s-ssh" does not exist`)
	f.Add(t, secret("s-ssh", map[string]string{"ignition": "{}"}))
	if got := leader.usersOf(bootmethod.IPXE)(t.Context(), secretNamed(t, f, "s-ssh")); len(got) != 1 || got[0].NamespacedName != (types.NamespacedName{Namespace: "ns", Name: "s"}) {
		t.Errorf("the Secret wakes %v", got)
	}
	leader.settle(t)
	controllertest.Says(t, f.config(t).Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, "Ready")

	leader.order(t, "first")
	leader.settle(t)
	for _, addr := range []string{"10.0.0.7", "10.0.0.66"} {
		d := fetched(bootview.DeliveredIgnition, "first", addr)
		d.Entry = "IPXEBootConfig/" + probe
		leader.Delivered(d)
	}
	leader.settle(t)
	leader.settle(t)
	controllertest.Says(t, f.config(t).Status.Conditions, bootv1.ConditionIgnitionReadAgain, metav1.ConditionTrue, "ReadAgain", "10.0.0.66")
	if got := strings.Join(f.told, " "); got != "BootConfigurationError BootConfigurationError BootConfigurationReady BootConfigurationReady IgnitionReadAgain" {
		t.Errorf("events: %s", got)
	}
}

// TestADerivedDeliveryWaitsForOthers: as that of a claim's boot does.
func TestADerivedDeliveryWaitsForOthers(t *testing.T) {
	f := newFleet(t)
	leader := f.starts(t, false)
	leader.Patience = patience
	leader.leads.Begin(t.Context())
	leader.settle(t)
	leader.order(t, "first")
	leader.settle(t)
	f.ForgetWrites()
	f.fetches(leader, bootview.DeliveredScript, "first")
	if again := leader.Step(t, leader.methods[0], probe).RequeueAfter; again != patience {
		t.Errorf("it is to be said in %s, want %s", again, patience)
	}
	leader.settle(t)
	if w := f.Writes(""); len(w) != 0 {
		t.Errorf("said too early: %v", w)
	}
	f.API.Clock.Step(patience)
	leader.settle(t)
	if !apimeta.IsStatusConditionTrue(f.config(t).Status.Conditions, bootv1.ConditionIPXEScriptFetched) || len(f.Writes("")) != 1 {
		t.Errorf("it is not said: %v", f.Writes(""))
	}
}

// TestAnOldReportTakesNothingBack: a process that stood by rendered the boot before another wrote what the machine has fetched of it, and leads now.
func TestAnOldReportTakesNothingBack(t *testing.T) {
	f := newFleet(t)
	first, second := f.starts(t, false), f.starts(t, false)
	first.leads.Begin(t.Context())
	first.settle(t)
	first.order(t, "first")
	f.fetches(first, bootview.DeliveredScript, "first")
	first.settle(t)
	second.settle(t)
	first.order(t, "second")
	second.settle(t)
	first.settle(t)
	f.fetches(first, bootview.DeliveredScript, "second")
	first.settle(t)
	controllertest.Says(t, f.config(t).Status.Conditions, bootv1.ConditionIPXEScriptFetched, metav1.ConditionTrue, "Delivered", "second")

	first.leads.End()
	second.leads.Begin(t.Context())
	second.Step(t, second.configs, probe)
	second.settle(t)
	config := f.config(t)
	controllertest.Says(t, config.Status.Conditions, bootv1.ConditionIPXEScriptFetched, metav1.ConditionTrue, "Delivered", "second")
	if config.Status.DeliveryAttempt != "second" {
		t.Errorf("it is of attempt %q", config.Status.DeliveryAttempt)
	}
}
