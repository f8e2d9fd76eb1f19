package bmcsettings

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// patience is how long anything may take: the machine runs other tests beside this one.
const patience = 3 * time.Minute

// marker is a Secret that nobody may see.
const marker = "hush-4711"

// stand is the controller before one simulated BMC with two servers, with a test in the place of all others.
type stand struct {
	*controllertest.API
	*Reconciler
	rack    *sim.Rack
	key     fleet.Key
	changed chan struct{}
	clock   *skewed
	version string
	mu      sync.Mutex
	told    strings.Builder
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
		Servers: 2, SystemsPerBMC: 2, Address: "127.0.0.1:0", Username: "admin", Password: "secret", Vendors: []sim.Vendor{vendor},
		Timing: sim.Timing{ManagerReset: 300 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rack.Stop(context.WithoutCancel(t.Context())) })
	s := &stand{API: controllertest.NewAPI(t), rack: rack, changed: make(chan struct{}, 1), clock: &skewed{}}
	s.API.Logger = funcr.New(s.tell, funcr.Options{Verbosity: 9})
	f := fleet.New(fleet.Options{Clock: s.clock, FastPoll: 50 * time.Millisecond, PollInterval: time.Second, Logger: s.API.Logger})
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
		Client: s.API, APIReader: s.API, Fleet: f, Registry: registry, KeyOf: func(string) (fleet.Key, bool) { return s.key, true },
		Recorder: s, Clock: s.clock, Namespace: "farrier-system",
	}
	s.Add(t, &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "bmc"}})
	for _, name := range []string{"s1", "s2"} {
		s.Add(t, &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: metalv1.ServerSpec{BMCRef: &metalv1.LocalObjectReference{Name: "bmc"}}})
	}
	s.Add(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "secret"}, Data: map[string][]byte{"password": []byte(marker)}})
	s.Add(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "site"}, Data: map[string]string{"domain": "example.org", "name": "$(HOST).$(DOMAIN)"}})
	s.version = s.observed(t).Manager.FirmwareVersion
	t.Cleanup(func() {
		if s.mu.Lock(); strings.Contains(s.told.String(), marker) {
			t.Error("a Secret is in a log or in an event")
		}
		s.mu.Unlock()
	})
	return s
}

// observed waits until the BMC has told of itself.
func (s *stand) observed(t *testing.T) fleet.Observation {
	t.Helper()
	deadline := time.After(patience)
	for {
		if o, _ := s.Fleet.Observe(s.key); o.Manager.FirmwareVersion != "" {
			return o
		}
		select {
		case <-s.changed:
		case <-deadline:
			t.Fatal("the BMC does not tell of itself")
		}
	}
}

func (s *stand) tell(prefix, args string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told.WriteString(prefix + args + "\n")
}

// Eventf makes the stand an event recorder.
func (s *stand) Eventf(_, _ runtime.Object, kind, reason, action, note string, args ...any) {
	s.tell(kind+reason+action, fmt.Sprintf(note, args...))
}

// wanted are settings of a Dell; the tests of others put theirs in.
func wanted(change ...func(*metalv1.BMCSettings)) *metalv1.BMCSettings {
	b := &metalv1.BMCSettings{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	b.Spec.BMCRef = &metalv1.LocalObjectReference{Name: "bmc"}
	b.Spec.Version = "1.0"
	b.Spec.SettingsMap = map[string]string{"SysLog.1.Server1": "log.$(DOMAIN)", "SysLog.1.SysLogEnable": "Enabled"}
	b.Spec.Variables = []metalv1.Variable{
		{Key: "HOST", ValueFrom: &metalv1.VariableSource{ObjectFieldRef: &metalv1.ObjectFieldRefSelector{Kind: "BMC", Name: "bmc", FieldPath: "metadata.name"}}},
		{Key: "DOMAIN", ValueFrom: &metalv1.VariableSource{ConfigMapKeyRef: &metalv1.NamespacedKeySelector{Namespace: "ns", Name: "site", Key: "domain"}}},
		{Key: "NAME", ValueFrom: &metalv1.VariableSource{ConfigMapKeyRef: &metalv1.NamespacedKeySelector{Namespace: "ns", Name: "site", Key: "name"}}},
		{Key: "PASSWORD", ValueFrom: &metalv1.VariableSource{SecretKeyRef: &metalv1.NamespacedKeySelector{Namespace: "ns", Name: "secret", Key: "password"}}},
	}
	b.Spec.RetryPolicy = &metalv1.RetryPolicy{MaxAttempts: ptr.To(int32(0))}
	for _, c := range change {
		c(b)
	}
	return b
}

// asks has the object ask for these settings and no others.
func asks(pairs ...string) func(*metalv1.BMCSettings) {
	return func(b *metalv1.BMCSettings) {
		b.Spec.SettingsMap = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			b.Spec.SettingsMap[pairs[i]] = pairs[i+1]
		}
	}
}

// adds creates settings for the version that the BMC has.
func (s *stand) adds(t *testing.T, change ...func(*metalv1.BMCSettings)) {
	t.Helper()
	s.Add(t, wanted(append([]func(*metalv1.BMCSettings){func(b *metalv1.BMCSettings) { b.Spec.Version = s.version }}, change...)...))
}

func (s *stand) settings(t *testing.T) *metalv1.BMCSettings {
	t.Helper()
	return controllertest.Read[metalv1.BMCSettings](t, s.API, "b")
}

// until reconciles, whenever the fleet has news, until a condition holds.
func (s *stand) until(t *testing.T, what string, ok func(*metalv1.BMCSettings) bool) *metalv1.BMCSettings {
	t.Helper()
	return s.awaits(t, what, s.Settle, ok)
}

// awaits has the object looked at in some way, until it is as it should be.
func (s *stand) awaits(t *testing.T, what string, look func(testing.TB, reconcile.Reconciler, string) reconcile.Result, ok func(*metalv1.BMCSettings) bool) *metalv1.BMCSettings {
	t.Helper()
	deadline := time.After(patience)
	for {
		result := look(t, s.Reconciler, "b")
		b := s.settings(t)
		if strings.Contains(fmt.Sprintf("%+v", b), marker) {
			t.Fatalf("a Secret is in the object: %+v", b)
		}
		if ok(b) {
			return b
		}
		if result.RequeueAfter > 0 && result.RequeueAfter < lookEvery/2 {
			s.clock.forward(min(result.RequeueAfter, 10*time.Second)) // what time alone brings about is brought about, and not at once
		}
		again := time.NewTimer(100 * time.Millisecond)
		select {
		case <-s.changed:
		case <-again.C:
		case <-deadline:
			t.Fatalf("%s: not within %s; progress %s, status %+v", what, patience, b.Annotations[annotationProgress], b.Status)
		}
		again.Stop()
	}
}

func (s *stand) untilState(t *testing.T, state metalv1.BMCSettingsState) *metalv1.BMCSettings {
	t.Helper()
	return s.until(t, string(state), func(b *metalv1.BMCSettings) bool { return b.Status.State == state })
}

func (s *stand) untilReason(t *testing.T, reason string) *metalv1.BMCSettings {
	t.Helper()
	return s.until(t, reason, func(b *metalv1.BMCSettings) bool {
		return len(b.Status.Conditions) > 0 && b.Status.Conditions[0].Reason == reason
	})
}

// untilStep looks once at a time: a step may last from one write to the next alone, if the BMC is fast.
func (s *stand) untilStep(t *testing.T, at step) *metalv1.BMCSettings {
	t.Helper()
	return s.awaits(t, string(at), s.Step, func(b *metalv1.BMCSettings) bool {
		p := progressOf(b, "")
		return p != nil && p.Step == at
	})
}

// grants is the controller of maintenances: both servers are given.
func (s *stand) grants(t *testing.T) {
	t.Helper()
	b := s.until(t, "asked for maintenances", func(b *metalv1.BMCSettings) bool { return len(b.Spec.ServerMaintenanceRefs) == 2 })
	for i, name := range []string{"s1", "s2"} {
		ref := *b.Spec.ServerMaintenanceRefs[i].ServerMaintenanceRef
		if m := controllertest.Read[metalv1.ServerMaintenance](t, s.API, ref.Namespace+"/"+ref.Name); m.Spec.ServerRef.Name != name {
			t.Fatalf("maintenance %s is of %s", ref.Name, m.Spec.ServerRef.Name)
		}
		controllertest.Change(t, s.API, name, func(o *metalv1.Server) { o.Spec.ServerMaintenanceRef = &ref })
	}
}

// returns is the controller of maintenances: the servers are given back.
func (s *stand) returns(t *testing.T) {
	t.Helper()
	for _, name := range []string{"s1", "s2"} {
		controllertest.Change(t, s.API, name, func(o *metalv1.Server) { o.Spec.ServerMaintenanceRef = nil })
	}
}

// givenBack checks that nothing is kept: no server, and not the BMC.
func (s *stand) givenBack(t *testing.T) {
	t.Helper()
	for _, name := range []string{"farrier-system/bmc-b-s1", "farrier-system/bmc-b-s2"} {
		if !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, name) {
			t.Errorf("maintenance %s is there still", name)
		}
	}
	deadline := time.After(patience)
	for {
		o, _ := s.Fleet.Observe(s.key)
		if o.LockedBy == "" {
			return
		}
		select {
		case <-s.changed:
		case <-deadline:
			t.Fatalf("the BMC is locked by %s", o.LockedBy)
		}
	}
}

// goesWrong injects a fault into the BMC, and returns how it is ended.
func (s *stand) goesWrong(t *testing.T, spec fault.Spec) (end func()) {
	t.Helper()
	spec.Share = 1
	e, err := s.rack.InjectFault(spec)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := s.rack.ClearFault(e.ID); err != nil {
			t.Error(err)
		}
	}
}

// does runs something at the BMC that the controller has no part in.
func (s *stand) does(t *testing.T, id string, run func(ctx context.Context, services fleet.Services) error) {
	t.Helper()
	done := make(chan error, 1)
	err := s.Fleet.Do(s.key, fleet.Job{ID: id, Holder: "BMCSettings b", Run: func(ctx context.Context, services fleet.Services) error {
		err := run(ctx, services)
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
