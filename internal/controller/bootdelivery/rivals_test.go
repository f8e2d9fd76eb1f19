package bootdelivery

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// begun has the stand's first view wait for boot configs, and reports whether it is complete.
func begun(s *stand, names ...string) *bool {
	s.View.SetSynced(false)
	complete := new(bool)
	var entries []string
	for _, name := range names {
		entries = append(entries, entryName(bootmethod.IPXE.Kind, "ns", name))
	}
	s.initial.begin(entries, func() { *complete = true; s.View.SetSynced(true) })
	return complete
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}}
}

// TestWhatLostItsOwnerIsNobodysWord: somebody has had its boot configuration deleted without it. Nobody wrote it by hand.
func TestWhatLostItsOwnerIsNobodysWord(t *testing.T) {
	for _, marked := range []bool{true, false} {
		config := handWritten("c")
		if marked {
			config.Annotations = map[string]string{metalv1.AnnotationMadeFor: "uid-of-another"}
		}
		s := newStand(t, config)
		s.Step(t, s.ipxe, "ns/c")
		if _, status := s.View.ByUUID(config.Spec.SystemUUID); (status == bootview.Found) == marked {
			t.Errorf("made for a boot configuration %t: %v", marked, status)
		}
	}
}

func referring(name, secret string) *bootv1.IPXEBootConfig {
	c := handWritten(name)
	c.Spec.IgnitionSecretRef = &bootv1.LocalObjectReference{Name: secret}
	return c
}

// TestNoSecretHoldsUpTheFirstView: what one object refers to is that object's, whatever the API says of it.
func TestNoSecretHoldsUpTheFirstView(t *testing.T) {
	secrets := corev1.Resource("secrets")
	for name, c := range map[string]struct {
		secret string
		err    error
		tries  int // after which everybody else is answered
		reason string
	}{
		"a name that none can have": {secret: "../x", tries: 1, reason: "InvalidName"},
		"one that is not there":     {secret: "gone", tries: 1, reason: "Error"},
		"one that is forbidden":     {secret: "s", err: apierrors.NewForbidden(secrets, "s", errors.New("no")), tries: 1, reason: "Error"},
		"one that cannot be read":   {secret: "s", err: apierrors.NewInternalError(errors.New("cannot decrypt")), tries: maxFailures, reason: "Error"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, referring("c", c.secret))
			s.Fail = func(verb string, obj runtime.Object) error {
				if _, secret := obj.(*corev1.Secret); secret && verb == controllertest.Get {
					return c.err
				}
				return nil
			}
			complete := begun(s, "c")
			for try := 1; try <= c.tries; try++ {
				if *complete {
					t.Fatalf("complete before try %d", try)
				}
				_, err := s.ipxe.Reconcile(t.Context(), request("c"))
				if (err != nil) != (c.err != nil) {
					t.Fatalf("try %d: %v", try, err) // what failed is tried again
				}
			}
			if !*complete {
				t.Fatal("everybody waits")
			}
			controllertest.Says(t, s.readIPXE(t, "ns/c").Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, c.reason, "spec.ignitionSecretRef")
			if m := s.machine(t); m.Ignition() == nil || m.Ignition().Err == nil {
				t.Errorf("the machine is given ignition: %+v", m.Ignition())
			}
		})
	}
}

// TestASecretThatCannotBeReadAnyMoreIsServedAsItWas: a failure after the start takes nothing from a machine.
func TestASecretThatCannotBeReadAnyMoreIsServedAsItWas(t *testing.T) {
	s := newStand(t, referring("c", "secret"), secret("secret", map[string]string{bootv1.SecretKeyIgnition: "{}"}))
	s.Settle(t, s.ipxe, "ns/c")
	s.Fail = func(verb string, obj runtime.Object) error {
		if _, secret := obj.(*corev1.Secret); secret {
			return apierrors.NewForbidden(corev1.Resource("secrets"), "secret", errors.New("no"))
		}
		return nil
	}
	if _, err := s.ipxe.Reconcile(t.Context(), request("c")); err == nil {
		t.Error("it is not tried again")
	}
	if m := s.machine(t); m.Ignition() == nil || m.Ignition().Err != nil {
		t.Errorf("ignition %+v", m.Ignition())
	}
}

// TestAPanicHoldsUpNobody: whatever an object does to who renders it, others are answered.
func TestAPanicHoldsUpNobody(t *testing.T) {
	s := newStand(t, handWritten("c"))
	complete := begun(s, "c")
	s.Grants = func(context.Context, string) (assignment.Grant, error) { panic("this object") }
	func() {
		defer func() { _ = recover() }() // as controllers do
		_, _ = s.ipxe.Reconcile(t.Context(), request("c"))
	}()
	if !*complete {
		t.Error("everybody waits")
	}
}

// TestOfTwoNamespacesOneSpeaksForAMachine: the one with the narrower grant, then the older; also for the other way to boot, and
// whichever comes first.
func TestOfTwoNamespacesOneSpeaksForAMachine(t *testing.T) {
	exactly, err := assignment.ParseMachineSet("uuid:" + uuid)
	if err != nil {
		t.Fatal(err)
	}
	early, late := controllertest.Start, controllertest.Start.Add(time.Hour)
	for name, c := range map[string]struct {
		mine, theirs assignment.Grant
		served       string
	}{
		"the older namespace":   {assignment.Grant{Machines: exactly, Since: late}, assignment.Grant{Machines: exactly, Since: early}, "theirs"},
		"the narrower grant":    {assignment.Grant{Machines: exactly, Since: late}, assignment.Grant{Machines: assignment.AnyMachine(), Since: early}, "ns"},
		"the operator's":        {assignment.Grant{Operator: true}, assignment.Grant{Machines: exactly, Since: early}, "ns"},
		"whoever is granted it": {assignment.Grant{Since: early}, assignment.Grant{Machines: exactly, Since: late}, "theirs"},
	} {
		t.Run(name, func(t *testing.T) {
			theirs := &bootv1.HTTPBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "theirs", Name: "h"}, Spec: bootv1.HTTPBootConfigSpec{SystemUUID: strings.ToUpper(uuid), UKIURL: "http://127.0.0.1/uki"}}
			s := newStand(t, handWritten("c"), theirs)
			s.Grants = func(_ context.Context, namespace string) (assignment.Grant, error) {
				return map[string]assignment.Grant{"ns": c.mine, "theirs": c.theirs}[namespace], nil
			}
			s.Settle(t, s.http, "theirs/h")
			s.Settle(t, s.ipxe, "ns/c")
			m := s.machine(t)
			if mine := m.ScriptEntry() != ""; mine != (c.served == "ns") {
				t.Errorf("the script is of %q", m.ScriptEntry())
			}
			if its := m.FileEntry() != ""; its != (c.served == "theirs") {
				t.Errorf("the UKI is of %q", m.FileEntry())
			}
			woken := s.rivalsOf(s.ipxe.method)(t.Context(), client.Object(theirs))
			if len(woken) != 1 || woken[0] != request("c") {
				t.Errorf("a change of theirs wakes %v", woken)
			}
		})
	}
}

// TestABootConfigurationSpeaksForItsServerOnly: who writes beside it cannot name another machine in its name.
func TestABootConfigurationSpeaksForItsServerOnly(t *testing.T) {
	const victim = "11111111-2222-4333-8444-555555555555"
	s := newStand(t, ours(ordered("a"), func(_ *metalv1.Server, _ *metalv1.ServerBootConfiguration, c *bootv1.IPXEBootConfig) {
		c.Spec.SystemUUID, c.Spec.SystemIPs = victim, []string{"10.0.0.99"}
	})...)
	s.Settle(t, s.ipxe, "ns/c")
	if _, status := s.View.ByUUID(victim); status != bootview.Unknown {
		t.Errorf("the victim is %s", status)
	}
	if _, status := s.View.ByAddress("10.0.0.99"); status != bootview.Unknown {
		t.Errorf("the victim's address is %s", status)
	}
	s.machine(t)
}
