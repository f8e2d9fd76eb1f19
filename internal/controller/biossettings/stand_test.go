package biossettings

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
)

// patience is how long anything may take: the machine runs other tests beside this one.
const patience = 3 * time.Minute

// stand is the controller before one simulated BMC, with a test in the place of all others.
type stand struct {
	*controllertest.API
	*Reconciler
	rack    *sim.Rack
	key     fleet.Key
	changed chan struct{}
	clock   *skewed
	once    sync.Mutex
	told    []string
	items   []string // the parts of the flow that were seen under way
}

// skewed is the real clock, and may be put forward: what takes half an hour here takes that long nowhere else.
type skewed struct {
	clock.RealClock
	by atomic.Int64
}

func (c *skewed) Now() time.Time                  { return c.RealClock.Now().Add(time.Duration(c.by.Load())) }
func (c *skewed) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *skewed) forward(d time.Duration)         { c.by.Add(int64(d)) }

func newStand(t *testing.T, vendor sim.Vendor) *stand {
	t.Helper()
	rack, err := sim.Start(t.Context(), sim.Options{
		Servers: 1, Address: "127.0.0.1:0", Username: "admin", Password: "secret", Vendors: []sim.Vendor{vendor},
		Timing: sim.Timing{POST: 200 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rack.Stop(context.WithoutCancel(t.Context())) })
	s := &stand{API: controllertest.NewAPI(t), rack: rack, changed: make(chan struct{}, 1), clock: &skewed{}}
	f := fleet.New(fleet.Options{Clock: s.clock, FastPoll: 50 * time.Millisecond, PollInterval: time.Second})
	registry := connection.NewRegistry(f)
	f.Subscribe(func(fleet.Key) {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	info := rack.BMCs()[0]
	s.key = f.Ensure(fleet.Spec{
		Endpoint:    bmc.Endpoint{Scheme: "http", Host: info.IP.String(), Port: info.Port},
		Credentials: bmc.Credentials{Username: "admin", Password: "secret"},
	})
	s.Reconciler = &Reconciler{
		Client: s.API, Fleet: f, Registry: registry, KeyOf: func(string) (fleet.Key, bool) { return s.key, true }, Recorder: s,
		Clock: s.clock, Namespace: "farrier-system", EnforcePowerOff: true,
	}
	s.Add(t, &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: metalv1.ServerSpec{SystemUUID: info.UUID}})
	return s
}

// Eventf makes the stand an event recorder.
func (s *stand) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	s.once.Lock()
	defer s.once.Unlock()
	s.told = append(s.told, reason)
}

func wanted(change ...func(*metalv1.BIOSSettings)) *metalv1.BIOSSettings {
	b := &metalv1.BIOSSettings{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	b.Spec.ServerRef = &metalv1.LocalObjectReference{Name: "s"}
	b.Spec.Version = "2.4.1"
	b.Spec.SettingsFlow = []metalv1.SettingsFlowItem{
		{Name: "second", Priority: 2, Settings: map[string]string{"QuietBoot": "true", "AssetTag": "rack 7"}},
		{Name: "first", Priority: 1, Settings: map[string]string{"SystemProfile": "Quiet", "BootRetryCount": "5"}},
	}
	b.Spec.RetryPolicy = &metalv1.RetryPolicy{MaxAttempts: ptr.To(int32(0))}
	for _, c := range change {
		c(b)
	}
	return b
}

func (s *stand) settings(t *testing.T) *metalv1.BIOSSettings {
	t.Helper()
	return controllertest.Read[metalv1.BIOSSettings](t, s.API, "b")
}

// until reconciles, whenever the fleet has news, until a condition holds.
func (s *stand) until(t *testing.T, what string, ok func(*metalv1.BIOSSettings) bool) *metalv1.BIOSSettings {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.Settle(t, s.Reconciler, "b")
		b := s.settings(t)
		if p := progressOf(b); p != nil && p.Item != "" && (len(s.items) == 0 || s.items[len(s.items)-1] != p.Item) {
			s.items = append(s.items, p.Item)
		}
		if ok(b) {
			return b
		}
		again := time.NewTimer(200 * time.Millisecond) // what time alone brings about wakes nobody here
		select {
		case <-s.changed:
		case <-again.C:
		case <-deadline:
			t.Fatalf("%s: not within %s; progress %s, status %+v", what, patience, b.Annotations[annotationProgress], b.Status)
		}
		again.Stop()
	}
}

func (s *stand) untilState(t *testing.T, state metalv1.BIOSSettingsState) *metalv1.BIOSSettings {
	t.Helper()
	return s.until(t, string(state), func(b *metalv1.BIOSSettings) bool { return b.Status.State == state })
}

// waits takes the settings to where they wait for their maintenance.
func (s *stand) waits(t *testing.T) {
	t.Helper()
	b := s.until(t, "asked for a maintenance", func(b *metalv1.BIOSSettings) bool { return b.Spec.ServerMaintenanceRef != nil })
	m := controllertest.Read[metalv1.ServerMaintenance](t, s.API, "farrier-system/bios-b")
	if m.Spec.ServerRef.Name != "s" || b.Spec.ServerMaintenanceRef.Name != m.Name {
		t.Fatalf("maintenance %+v, reference %v", m.Spec, b.Spec.ServerMaintenanceRef)
	}
}

// grants is the controller of maintenances.
func (s *stand) grants(t *testing.T) {
	t.Helper()
	s.waits(t)
	s.grant(t)
}

// grant gives the server to the maintenance.
func (s *stand) grant(t *testing.T) {
	t.Helper()
	controllertest.Change(t, s.API, "s", func(o *metalv1.Server) {
		o.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "farrier-system", Name: "bios-b"}
	})
}
