package bootdelivery

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

func fetched(kind bootview.DeliveryKind, attempt, addr string) bootview.Delivery {
	return bootview.Delivery{
		Kind: kind, Entry: "IPXEBootConfig/ns/c", UUID: uuid, Attempt: attempt, Addr: addr,
		Time: controllertest.Start.Add(time.Minute), Status: 200,
	}
}

func TestADeliveryIsSaidOnceForEachAttempt(t *testing.T) {
	s := newStand(t, ours(ordered("first"))...)
	s.Settle(t, s.ipxe, "ns/c")
	conditions := func() []metav1.Condition { return s.readIPXE(t, "ns/c").Status.Conditions }

	s.Delivered(fetched(bootview.DeliveredScript, "first", "10.0.0.7"))
	if got := s.woken(bootmethod.IPXE.Kind); !slices.Equal(got, []string{"ns/c"}) {
		t.Fatalf("woken: %v", got)
	}
	s.Settle(t, s.ipxe, "ns/c")
	for _, kind := range []string{bootv1.ConditionIPXEScriptFetched, bootv1.ConditionIPXEScriptDelivered} {
		controllertest.Says(t, conditions(), kind, metav1.ConditionTrue, "Delivered", "first", "10.0.0.7")
	}

	// The second time in one attempt is no news.
	s.ForgetWrites()
	s.Delivered(fetched(bootview.DeliveredScript, "first", "10.0.0.8"))
	if got := s.woken(bootmethod.IPXE.Kind); len(got) != 0 {
		t.Errorf("woken again: %v", got)
	}
	s.Settle(t, s.ipxe, "ns/c")
	if w := s.Writes(""); len(w) != 0 {
		t.Errorf("written: %v", w)
	}

	// Ignition is a thing of its own.
	s.Delivered(fetched(bootview.DeliveredIgnition, "first", "10.0.0.7"))
	s.Settle(t, s.ipxe, "ns/c")
	controllertest.Says(t, conditions(), bootv1.ConditionIgnitionDataFetched, metav1.ConditionTrue, "Delivered", "first")

	// The next order takes them back, and they come again.
	controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) { order(c, "second") })
	s.Settle(t, s.ipxe, "ns/c")
	controllertest.Says(t, conditions(), bootv1.ConditionIPXEScriptFetched, metav1.ConditionFalse, "BootOrdered")
	controllertest.Says(t, conditions(), bootv1.ConditionIgnitionDataFetched, metav1.ConditionFalse, "BootOrdered")
	s.Delivered(fetched(bootview.DeliveredScript, "second", "10.0.0.7"))
	s.Settle(t, s.ipxe, "ns/c")
	controllertest.Says(t, conditions(), bootv1.ConditionIPXEScriptFetched, metav1.ConditionTrue, "Delivered", "second")
	controllertest.Says(t, conditions(), bootv1.ConditionIgnitionDataFetched, metav1.ConditionFalse, "BootOrdered")
}

func TestARestartForgetsNoDelivery(t *testing.T) {
	s := newStand(t, ours(ordered("first"))...)
	s.Delivered(fetched(bootview.DeliveredScript, "first", "10.0.0.7"))
	s.Settle(t, s.ipxe, "ns/c")
	s.notes.init() // what was in memory is gone
	s.ForgetWrites()
	s.Settle(t, s.ipxe, "ns/c")
	if w := s.Writes(""); len(w) != 0 {
		t.Errorf("written: %v", w)
	}
	controllertest.Says(t, s.readIPXE(t, "ns/c").Status.Conditions, bootv1.ConditionIPXEScriptFetched, metav1.ConditionTrue, "Delivered")
}

func TestDeliveriesThatDoNotCount(t *testing.T) {
	for name, change := range map[string]func(*bootview.Delivery){
		"a refusal":                 func(d *bootview.Delivery) { d.Status = 403 },
		"of an attempt before this": func(d *bootview.Delivery) { d.Attempt = "before" },
		"to a machine nobody knows": func(d *bootview.Delivery) { d.Entry = "" },
		"of no kind":                func(d *bootview.Delivery) { d.Entry = "Secret/ns/c" },
		"a chainload script":        func(d *bootview.Delivery) { d.Kind = bootview.DeliveredChainload },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, ours(ordered("first"))...)
			s.Settle(t, s.ipxe, "ns/c")
			d := fetched(bootview.DeliveredScript, "first", "10.0.0.7")
			change(&d)
			s.Delivered(d)
			s.ForgetWrites()
			s.Settle(t, s.ipxe, "ns/c")
			if w := s.Writes(""); len(w) != 0 {
				t.Errorf("written: %v", w)
			}
		})
	}
}

func TestAHandWrittenConfigSaysDeliveriesToo(t *testing.T) {
	c := &bootv1.HTTPBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "h"}}
	c.Spec.SystemUUID, c.Spec.UKIURL = uuid, bootURL+"/httpboot/x.efi"
	s := newStand(t, c)
	d := fetched(bootview.DeliveredUKI, "", "10.0.0.7")
	d.Entry = "HTTPBootConfig/ns/h"
	s.Delivered(d)
	if got := s.woken(bootmethod.HTTP.Kind); !slices.Equal(got, []string{"ns/h"}) {
		t.Fatalf("woken: %v", got)
	}
	s.Settle(t, s.http, "ns/h")
	h := controllertest.Read[bootv1.HTTPBootConfig](t, s.API, "ns/h")
	controllertest.Says(t, h.Status.Conditions, bootv1.ConditionUKIFetched, metav1.ConditionTrue, "Delivered", "10.0.0.7")
}

func TestNotesEndWithTheirBootConfig(t *testing.T) {
	s := newStand(t, handWritten("c"))
	s.Delivered(fetched(bootview.DeliveredScript, "", "10.0.0.7"))
	s.Remove(t, s.readIPXE(t, "ns/c"))
	s.Settle(t, s.ipxe, "ns/c")
	if len(s.notes.byEntry) != 0 {
		t.Errorf("left in memory: %v", s.notes.byEntry)
	}
}

func TestAnAttemptIsAcknowledgedWhenTheViewServesIt(t *testing.T) {
	s := newStand(t, ours()...)
	s.Settle(t, s.ipxe, "ns/c")
	if s.Acknowledged("a") {
		t.Error("known before it was ordered")
	}
	controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) { order(c, "a") })
	s.Settle(t, s.ipxe, "ns/c")
	s.Step(t, s.ipxe, "ns/c")
	if !s.Acknowledged("a") {
		t.Error("not known, and it is served")
	}
	if !slices.Equal(s.servers, []string{"s"}) {
		t.Errorf("servers woken: %v", s.servers)
	}
}

// TestAcknowledgementWaitsForTheServersReference: the cache of Servers may be behind that of boot configurations.
func TestAcknowledgementWaitsForTheServersReference(t *testing.T) {
	s := newStand(t, ours(ordered("a"), func(o *metalv1.Server, _ *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
		o.Spec.BootConfigurationRef = nil
	})...)
	s.Settle(t, s.ipxe, "ns/c")
	if s.Acknowledged("a") {
		t.Error("known, and the machine would be told that it is unknown")
	}
	controllertest.Change(t, s.API, "s", func(o *metalv1.Server) {
		o.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "c"}
	})
	s.Settle(t, s.ipxe, "ns/c")
	if !s.Acknowledged("a") || !slices.Equal(s.servers, []string{"s"}) {
		t.Errorf("acknowledged %v, servers woken %v", s.Acknowledged("a"), s.servers)
	}
}

func TestTheMemoryOfAttemptsIsBounded(t *testing.T) {
	var a acknowledged
	const extra = 10
	for i := range maxAcknowledged + extra {
		a.add(fmt.Sprint(i))
	}
	if len(a.known) > maxAcknowledged || len(a.order) != len(a.known) {
		t.Errorf("remembered: %d in %d", len(a.known), len(a.order))
	}
	if !a.has(fmt.Sprint(maxAcknowledged+extra-1)) || a.has("0") {
		t.Error("the newest are forgotten, or the oldest kept")
	}
}

func TestASecretWakesThoseWhoReferToIt(t *testing.T) {
	with := func(name, ignition, script string) client.Object {
		c := handWritten(name)
		if ignition != "" {
			c.Spec.IgnitionSecretRef = &bootv1.LocalObjectReference{Name: ignition}
		}
		if script != "" {
			c.Spec.IPXEScriptSecretRef = &bootv1.LocalObjectReference{Name: script}
		}
		return c
	}
	elsewhere := with("elsewhere", "x", "")
	elsewhere.SetNamespace("other")
	s := newStand(t, with("ignition", "x", ""), with("script", "", "x"), with("both", "x", "x"), with("neither", "y", "z"), elsewhere)
	users := s.usersOf(bootmethod.IPXE)
	var names []string
	for _, req := range users(t.Context(), secret("x", nil)) {
		names = append(names, req.String())
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"ns/both", "ns/ignition", "ns/script"}) {
		t.Errorf("woken: %v", names)
	}
}
