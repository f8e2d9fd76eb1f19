package bootdelivery

import (
	"context"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/inspection"
)

const patience = 5 * time.Second

// patient is a stand that gathers deliveries, with nothing to say yet.
func patient(t *testing.T, objects ...client.Object) *stand {
	t.Helper()
	s := newStand(t, objects...)
	s.Patience = patience
	s.Settle(t, s.ipxe, "ns/c")
	s.ForgetWrites()
	return s
}

// says reconciles and expects as many writes; it returns after how long it is to be done again.
func (s *stand) says(t *testing.T, what string, writes int) time.Duration {
	t.Helper()
	s.ForgetWrites()
	again := s.Settle(t, s.ipxe, "ns/c").RequeueAfter
	if w := s.Writes(""); len(w) != writes {
		t.Errorf("%s: %d writes, want %d: %v", what, len(w), writes, w)
	}
	return again
}

// TestWhatIsFetchedTogetherIsSaidTogether: within the time that a delivery waits for others, counted from the first.
func TestWhatIsFetchedTogetherIsSaidTogether(t *testing.T) {
	s := patient(t, ours(ordered("first"))...)
	s.Delivered(fetched(bootview.DeliveredScript, "first", "10.0.0.7"))
	s.API.Clock.Step(2 * time.Second)
	s.Delivered(fetched(bootview.DeliveredArtifact, "first", "10.0.0.7"))
	s.API.Clock.Step(2 * time.Second)
	s.Delivered(fetched(bootview.DeliveredIgnition, "first", "10.0.0.7"))
	if again := s.says(t, "too early", 0); again != time.Second {
		t.Errorf("it is to be said in %s, want a second", again)
	}
	s.API.Clock.Step(time.Second)
	if again := s.says(t, "in time", 1); again != 0 {
		t.Errorf("it is to be said once more in %s", again)
	}
	conditions := s.readIPXE(t, "ns/c").Status.Conditions
	for _, kind := range []string{bootv1.ConditionIPXEScriptFetched, bootv1.ConditionIPXEScriptDelivered, bootv1.ConditionKernelFetched, bootv1.ConditionIgnitionDataFetched} {
		controllertest.Says(t, conditions, kind, metav1.ConditionTrue, "Delivered", "first", "10.0.0.7")
		if at := apimeta.FindStatusCondition(conditions, kind).LastTransitionTime; !at.Time.Equal(controllertest.Start.Add(time.Minute)) {
			t.Errorf("%s at %s, which is not when it was delivered", kind, at)
		}
	}

	// What comes later is waited for anew.
	s.API.Clock.Step(time.Hour)
	s.Delivered(fetched(bootview.DeliveredIgnition, "first", "10.0.0.66"))
	if again := s.says(t, "read again", 0); again != patience {
		t.Errorf("it is to be said in %s, want %s", again, patience)
	}
	s.API.Clock.Step(patience)
	s.says(t, "read again, in time", 1)
	controllertest.Says(t, s.readIPXE(t, "ns/c").Status.Conditions, bootv1.ConditionIgnitionReadAgain, metav1.ConditionTrue, "ReadAgain", "10.0.0.66")
}

// TestADeliveryIsSaidWithWhateverElseIs: a write that is made anyway has room for it.
func TestADeliveryIsSaidWithWhateverElseIs(t *testing.T) {
	s := patient(t, ours(ordered("first"))...)
	s.Delivered(fetched(bootview.DeliveredScript, "first", "10.0.0.7"))
	s.says(t, "nothing else", 0)
	controllertest.Change(t, s.API, "ns/c", func(c *bootv1.IPXEBootConfig) { withIgnition(nil, nil, c) }) // there is no such Secret
	s.says(t, "its ignition is missing", 1)
	conditions := s.readIPXE(t, "ns/c").Status.Conditions
	controllertest.Says(t, conditions, metalv1.ConditionReady, metav1.ConditionFalse, "Error", "secret")
	controllertest.Says(t, conditions, bootv1.ConditionIPXEScriptFetched, metav1.ConditionTrue, "Delivered", "first")
}

// TestTheNextBootIsNotWaitedFor: what is true no longer is taken back at once.
func TestTheNextBootIsNotWaitedFor(t *testing.T) {
	s := patient(t, ours(ordered("first"))...)
	s.Delivered(fetched(bootview.DeliveredScript, "first", "10.0.0.7"))
	s.API.Clock.Step(patience)
	s.says(t, "the first boot", 1)
	controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) { order(c, "second") })
	s.says(t, "the second is ordered", 1)
	controllertest.Says(t, s.readIPXE(t, "ns/c").Status.Conditions, bootv1.ConditionIPXEScriptFetched, metav1.ConditionFalse, "BootOrdered")
}

// TestTheLastWordOfADiscoveryIsItsReport: what delivered it is about to be deleted, and nothing is said of it any more, unless it
// is still there after a while. A cleaning probe reports first and works then; a report that was not stored ends nothing.
func TestTheLastWordOfADiscoveryIsItsReport(t *testing.T) {
	cleaning := bootattempt.Attempt{ID: "first", Number: 1, Ordered: &controllertest.Start, Clean: inspection.CleanFull}
	for name, c := range map[string]struct {
		objects []client.Object
		report  bootview.Delivery
		wait    time.Duration
	}{
		"a report":           {ours(ordered("first")), bootview.Delivery{Attempt: "first", Status: 201}, parting},
		"not stored":         {ours(ordered("first")), bootview.Delivery{Attempt: "first", Status: 503}, patience},
		"of another attempt": {ours(ordered("first")), bootview.Delivery{Attempt: "before", Status: 201}, patience},
		"without an attempt": {ours(ordered("first")), bootview.Delivery{Status: 201}, patience},
		"a boot that cleans": {ours(func(_ *metalv1.Server, c *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
			c.Annotations = map[string]string{metalv1.AnnotationBootAttempt: cleaning.String()}
		}), bootview.Delivery{Attempt: "first", Status: 201}, patience},
	} {
		t.Run(name, func(t *testing.T) {
			s := patient(t, c.objects...)
			s.Delivered(fetched(bootview.DeliveredScript, "first", "10.0.0.7"))
			c.report.Kind, c.report.UUID = bootview.ReceivedReport, uuid
			s.Delivered(c.report)
			if again := s.says(t, "too early", 0); again != c.wait {
				t.Fatalf("it is to be said in %s, want %s", again, c.wait)
			}
			s.API.Clock.Step(c.wait)
			s.says(t, "it is still there", 1)
			controllertest.Says(t, s.readIPXE(t, "ns/c").Status.Conditions, bootv1.ConditionIPXEScriptFetched, metav1.ConditionTrue, "Delivered", "first")
		})
	}
}

// counted counts what is read.
type counted struct {
	client.Reader
	reads int
}

func (c *counted) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	c.reads++
	return c.Reader.Get(ctx, key, obj, opts...)
}

// TestWhatABootConfigurationLeavesIsLeftAlone: the garbage collector is about to delete it. It is neither served, nor read for,
// nor written to.
func TestWhatABootConfigurationLeavesIsLeftAlone(t *testing.T) {
	for name, leave := range map[string]func(*testing.T, *stand){
		"it is gone": func(t *testing.T, s *stand) {
			s.Remove(t, controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c"))
		},
		"it was made anew": func(t *testing.T, s *stand) {
			s.Remove(t, controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c"))
			again := ours()[1]
			again.SetUID("another-uid")
			if err := s.API.Create(t.Context(), again); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := patient(t, append(ours(ordered("first"), withIgnition), secret("secret", map[string]string{"ignition": "{}"}))...)
			s.Delivered(fetched(bootview.DeliveredScript, "first", "10.0.0.7"))
			leave(t, s)
			s.Remove(t, secret("secret", nil))
			s.API.Clock.Step(time.Hour)
			reader := &counted{Reader: s.API}
			s.APIReader = reader
			if again := s.says(t, "it is left", 0); again != 0 {
				t.Errorf("it is to be looked at again in %s", again)
			}
			if reader.reads != 0 {
				t.Errorf("Secrets were read %d times", reader.reads)
			}
			if _, status := s.View.ByUUID(uuid); status != bootview.Unknown {
				t.Errorf("the machine is %s", status)
			}
		})
	}
}

// TestABootConfigurationThatEndsIsServedInSilence: its machine may still boot, and nobody will read what is said of it.
func TestABootConfigurationThatEndsIsServedInSilence(t *testing.T) {
	s := patient(t, ours(ordered("first"), func(_ *metalv1.Server, c *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
		c.Finalizers = []string{"example.org/theirs"}
	})...)
	s.Delivered(fetched(bootview.DeliveredScript, "first", "10.0.0.7"))
	if err := s.API.Delete(t.Context(), controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c")); err != nil {
		t.Fatal(err)
	}
	s.API.Clock.Step(time.Hour)
	s.says(t, "it ends", 0)
	if m := s.machine(t); m.ScriptEntry() != "IPXEBootConfig/ns/c" || !m.Attempt().IsOpen() {
		t.Errorf("the machine is %+v", m)
	}
}
