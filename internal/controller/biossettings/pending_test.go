package biossettings

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
)

// leaves has somebody else change a setting at the BMC, and leave it there.
func (s *stand) leaves(t *testing.T, id string, change map[string]any) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !time.Now().After(deadline) {
		if o, _ := s.Fleet.Observe(s.key); len(o.Systems) == 1 {
			break
		}
		<-s.changed
	}
	o, _ := s.Fleet.Observe(s.key)
	done := make(chan error, 1)
	err := s.Fleet.Do(s.key, fleet.Job{ID: id, Holder: "BIOSSettings b", Run: func(ctx context.Context, services fleet.Services) error {
		b, err := services.BIOS(ctx, o.Systems[0].URI)
		if err == nil {
			_, err = services.SetBIOS(ctx, b, change, "")
		}
		done <- err
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func onlyProfile(b *metalv1.BIOSSettings) {
	b.Spec.SettingsFlow = []metalv1.SettingsFlowItem{{Name: "only", Priority: 1, Settings: map[string]string{"SystemProfile": "Quiet"}}}
}

func (s *stand) retry(t *testing.T) {
	t.Helper()
	controllertest.Change(t, s.API, "b", func(b *metalv1.BIOSSettings) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationRetry)
	})
}

// TestWhatSomebodyElseLeft at the BMC would be applied along by our reset: it is refused by name, before the server is asked for.
func TestWhatSomebodyElseLeft(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Standard)
	s.leaves(t, "stranger", map[string]any{"BootRetryCount": 7, "SystemProfile": "Balanced"})
	s.Add(t, wanted(onlyProfile))
	b := s.until(t, "an answer", func(b *metalv1.BIOSSettings) bool {
		return b.Status.State == metalv1.BIOSSettingsStateFailed || b.Spec.ServerMaintenanceRef != nil
	})
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, "UnexpectedPendingSettings", "BootRetryCount", metalv1.OperationRetry)
	if b.Spec.ServerMaintenanceRef != nil {
		t.Fatal("a maintenance was asked for")
	}
	s.leaves(t, "withdrawn", map[string]any{"BootRetryCount": 3})
	s.retry(t)
	s.grants(t)
	s.untilState(t, metalv1.BIOSSettingsStateApplied) // what waited of the setting that is asked for was written over
}

// TestWhatSomebodyElseLeavesMeanwhile: it came while the server was waited for.
func TestWhatSomebodyElseLeavesMeanwhile(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Standard)
	s.Add(t, wanted(onlyProfile))
	s.waits(t)
	s.leaves(t, "stranger", map[string]any{"BootRetryCount": 7})
	s.grants(t)
	s.until(t, "an answer", func(b *metalv1.BIOSSettings) bool {
		return b.Status.State == metalv1.BIOSSettingsStateFailed || b.Status.State == metalv1.BIOSSettingsStateApplied
	})
	s.failed(t, "UnexpectedPendingSettings", 1, "BootRetryCount")
}

// TestDriftIsNoticed on a slow poll, without any event.
func TestDriftIsNoticed(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Standard)
	tagged := func(b *metalv1.BIOSSettings) {
		b.Spec.SettingsFlow = []metalv1.SettingsFlowItem{{Name: "only", Priority: 1, Settings: map[string]string{"AssetTag": ""}}}
	}
	s.Add(t, wanted(tagged))
	s.untilState(t, metalv1.BIOSSettingsStateApplied)
	s.leaves(t, "stranger", map[string]any{"AssetTag": "mine"}) // this one needs no reset
	s.clock.forward(lookEvery - time.Hour)
	s.Settle(t, s.Reconciler, "b")
	if b := s.settings(t); b.Status.State != metalv1.BIOSSettingsStateApplied {
		t.Fatalf("looked at before its time: %+v", b.Status)
	}
	s.clock.forward(time.Hour)
	s.waits(t)
}

// firmware is a BIOS in memory whose changes wait.
type firmware struct {
	fleet.Services
	now, waits, sent map[string]any
}

func (f *firmware) BIOS(context.Context, string) (bmc.BIOS, error) {
	return bmc.BIOS{Attributes: maps.Clone(f.now), ApplyTimes: []string{"OnReset"}}, nil
}

func (f *firmware) PendingBIOS(context.Context, bmc.BIOS) (map[string]any, error) {
	return maps.Clone(f.waits), nil
}

func (f *firmware) AttributeRegistry(context.Context, string) (bmc.AttributeRegistry, error) {
	return nil, &bmc.Error{Kind: bmc.KindUnsupported}
}

func (f *firmware) SetBIOS(_ context.Context, _ bmc.BIOS, change map[string]any, _ string) (bmc.Task, error) {
	f.sent = change
	return bmc.Task{}, nil
}

// TestWhatIsSent: beside what is asked for, what an earlier spec left to wait is taken back; whose something is that waits is known by
// what was sent. Numbers and their texts are one, and what the BIOS does not show cannot be told to be a change.
func TestWhatIsSent(t *testing.T) {
	for name, tc := range map[string]struct {
		waits  map[string]any
		wrote  []string
		sent   map[string]any
		reason string
	}{
		"nothing waits":                  {sent: map[string]any{"SystemProfile": "Quiet"}},
		"ours waits":                     {waits: map[string]any{"SystemProfile": "Quiet"}, wrote: []string{"SystemProfile"}},
		"another value of it":            {waits: map[string]any{"SystemProfile": "Balanced"}, sent: map[string]any{"SystemProfile": "Quiet"}},
		"what a later part asks for":     {waits: map[string]any{"QuietBoot": true}, sent: map[string]any{"SystemProfile": "Quiet"}},
		"an earlier spec's":              {waits: map[string]any{"BootRetryCount": int64(7)}, wrote: []string{"BootRetryCount"}, sent: map[string]any{"SystemProfile": "Quiet", "BootRetryCount": int64(3)}},
		"a stranger's":                   {waits: map[string]any{"BootRetryCount": int64(7)}, reason: reasonUnexpectedPending},
		"the same as text":               {waits: map[string]any{"BootRetryCount": "3"}, sent: map[string]any{"SystemProfile": "Quiet"}},
		"what the BIOS does not show":    {waits: map[string]any{"SetupPassword": nil}, sent: map[string]any{"SystemProfile": "Quiet"}},
		"a stranger's beside an earlier": {waits: map[string]any{"BootRetryCount": int64(7), "AssetTag": "x"}, wrote: []string{"BootRetryCount"}, reason: reasonUnexpectedPending},
	} {
		t.Run(name, func(t *testing.T) {
			f := &firmware{now: has("Performance", 3).Attributes, waits: tc.waits}
			l := &look{wrote: tc.wrote}
			one := map[string]string{"SystemProfile": "Quiet"}
			err := l.write(t.Context(), f, "/s", one, map[string]string{"SystemProfile": "Quiet", "QuietBoot": "true"})
			if got := reasonOf(err, ""); got != tc.reason || tc.reason == "" && err != nil {
				t.Fatalf("reason %q of %v, want %q", got, err, tc.reason)
			}
			if diff := cmp.Diff(tc.sent, f.sent); diff != "" {
				t.Errorf("sent (-want +got)\n%s", diff)
			}
		})
	}
}
