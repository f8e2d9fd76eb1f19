package firmwareversion

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/firmwareimage"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// patience is how long anything may take: the machine runs other tests beside this one.
const patience = 4 * time.Minute

// unhurried is how far the clock is put forward where nothing has news: the controller looks at a BMC every ten seconds, and nobody waits that long here.
const unhurried = 2 * time.Second

// stand is the controller of one kind before one simulated BMC, with a test in the place of all others.
type stand struct {
	*controllertest.API
	*Reconciler
	rack    *sim.Rack
	key     fleet.Key
	changed chan struct{}
	clock   *skewed
	images  *httptest.Server
	// farrier is where BMCs fetch images from Farrier; store has those.
	farrier *httptest.Server
	store   *firmwareimage.Store
	// fetched counts requests to images, passedOn those to farrier.
	fetched, passedOn atomic.Int32
	// posted counts the updates that the BMC was asked for; steps are those that were seen.
	posted atomic.Int32
	// pushed counts the images that the BMC was sent.
	pushed atomic.Int32
	steps  []step
	// killed is the step at which the manager was killed last.
	killed string
}

// skewed is the real clock, and may be put forward: what takes half an hour here takes that long nowhere else.
type skewed struct {
	clock.RealClock
	by atomic.Int64
}

func (c *skewed) Now() time.Time                  { return c.RealClock.Now().Add(time.Duration(c.by.Load())) }
func (c *skewed) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *skewed) forward(d time.Duration)         { c.by.Add(int64(d)) }

func newStand(t *testing.T, kind *Kind, vendor sim.Vendor, change ...func(*sim.Options)) *stand {
	t.Helper()
	options := sim.Options{
		Servers: 1, Address: "127.0.0.1:0", Username: "admin", Password: "secret", Vendors: []sim.Vendor{vendor},
		Timing: sim.Timing{POST: 100 * time.Millisecond, Update: 50 * time.Millisecond, ManagerReset: 300 * time.Millisecond},
	}
	for _, c := range change {
		c(&options)
	}
	rack, err := sim.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rack.Stop(context.WithoutCancel(t.Context())) })
	s := &stand{API: controllertest.NewAPI(t), rack: rack, changed: make(chan struct{}, 1), clock: &skewed{}}
	s.images = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "missing") {
			http.NotFound(w, r)
			return
		}
		s.fetched.Add(1)
		_, _ = w.Write([]byte("firmware"))
	}))
	t.Cleanup(s.images.Close)
	s.counts()
	s.keepsImages(t, false)
	f := fleet.New(fleet.Options{Clock: s.clock, FastPoll: 50 * time.Millisecond, PollInterval: time.Second})
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
	s.Reconciler = s.process(kind, f, connection.NewRegistry(f))
	s.Add(t, &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "m"}})
	s.Add(t, &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: metalv1.ServerSpec{
		SystemUUID: info.UUID, BMCRef: &metalv1.LocalObjectReference{Name: "m"},
	}})
	return s
}

// process is a manager that knows nothing.
func (s *stand) process(kind *Kind, f *fleet.Fleet, registry *connection.Registry) *Reconciler {
	return &Reconciler{
		Client: s.API, Kind: kind, Fleet: f, Registry: registry, KeyOf: func(string) (fleet.Key, bool) { return s.key, true }, Recorder: s,
		Clock: s.clock, Namespace: "farrier-system", EnforcePowerOff: true, Images: s.store,
	}
}

// keepsImages starts a store of images, from which BMCs may fetch some or not.
func (s *stand) keepsImages(t *testing.T, serves bool) {
	t.Helper()
	options := firmwareimage.Options{Dir: t.TempDir(), Limit: 1 << 20, Key: make([]byte, 32), Clock: s.clock}
	s.farrier = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.passedOn.Add(1)
		s.store.ServeHTTP(w, r)
	}))
	t.Cleanup(s.farrier.Close)
	if serves {
		options.BaseURL = s.farrier.URL
	}
	store, err := firmwareimage.New(options)
	if err != nil {
		t.Fatal(err)
	}
	store.Subscribe(func(string) {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- store.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	s.store = store
	if s.Reconciler != nil {
		s.Images = store
	}
}

// counts counts the updates that the BMC is asked for.
func (s *stand) counts() {
	s.rack.SetFault(0, sim.FaultFunc(func(r *http.Request) sim.Effect {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "UpdateService.SimpleUpdate") {
			s.posted.Add(1)
		}
		if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
			s.pushed.Add(1)
		}
		return sim.EffectNone
	}))
}

// Eventf makes the stand an event recorder.
func (*stand) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

// wanted is an object of the kind that asks for 2.5.0.
func (s *stand) wanted(change ...func(*metalv1.VersionTemplate)) client.Object {
	template := metalv1.VersionTemplate{
		Version: "2.5.0", Image: metalv1.ImageSpec{URI: s.images.URL + "/bios-2.5.0.bin"}, RetryPolicy: &metalv1.RetryPolicy{MaxAttempts: ptr.To(int32(0))},
	}
	if s.Kind.ofBMC {
		template.Image.URI = s.images.URL + "/bmc-2.5.0.bin"
	}
	for _, c := range change {
		c(&template)
	}
	if s.Kind.ofBMC {
		v := &metalv1.BMCVersion{ObjectMeta: metav1.ObjectMeta{Name: "v"}}
		v.Spec.VersionTemplate, v.Spec.BMCRef = template, &metalv1.LocalObjectReference{Name: "m"}
		return v
	}
	v := &metalv1.BIOSVersion{ObjectMeta: metav1.ObjectMeta{Name: "v"}}
	v.Spec.VersionTemplate, v.Spec.ServerRef = template, &metalv1.LocalObjectReference{Name: "s"}
	return v
}

func (s *stand) version(t *testing.T) *item {
	t.Helper()
	obj := s.Kind.new()
	if err := s.API.Get(t.Context(), client.ObjectKey{Name: "v"}, obj); err != nil {
		t.Fatal(err)
	}
	return s.Kind.of(obj)
}

// until reconciles, whenever the fleet has news, until a condition holds.
func (s *stand) until(t *testing.T, what string, ok func(*item) bool) *item {
	t.Helper()
	deadline := time.After(patience)
	for {
		for range 4 {
			s.Step(t, s.Reconciler, "v")
			if p := progressOf(s.version(t)); p != nil && (len(s.steps) == 0 || s.steps[len(s.steps)-1] != p.Step) {
				s.steps = append(s.steps, p.Step)
			}
			if i := s.version(t); ok(i) {
				return i
			}
		}
		again := time.NewTimer(100 * time.Millisecond) // what time alone brings about wakes nobody here
		select {
		case <-s.changed:
		case <-again.C:
			s.clock.forward(unhurried) // until the next look
		case <-deadline:
			i := s.version(t)
			t.Fatalf("%s: not within %s; progress %s, status %+v", what, patience, i.GetAnnotations()[annotationProgress], i.status)
		}
		again.Stop()
	}
}

func (s *stand) untilState(t *testing.T, state metalv1.VersionState) *item {
	t.Helper()
	return s.until(t, string(state), func(i *item) bool { return i.status.State == state })
}

// maintenance is the name of the maintenance that is asked for.
func (s *stand) maintenance() string {
	if s.Kind.ofBMC {
		return "bmcv-v-s"
	}
	return "biosv-v"
}

// waits takes the object to where it waits for its maintenance.
func (s *stand) waits(t *testing.T) {
	t.Helper()
	s.until(t, "asked for a maintenance", func(i *item) bool { return len(i.maintenances()) > 0 })
	m := controllertest.Read[metalv1.ServerMaintenance](t, s.API, "farrier-system/"+s.maintenance())
	if m.Spec.ServerRef.Name != "s" {
		t.Fatalf("maintenance %+v", m.Spec)
	}
}

// grants is the controller of maintenances.
func (s *stand) grants(t *testing.T) {
	t.Helper()
	s.waits(t)
	controllertest.Change(t, s.API, "s", func(o *metalv1.Server) {
		o.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "farrier-system", Name: s.maintenance()}
	})
}

// returned fails unless the server is given back.
func (s *stand) returned(t *testing.T, i *item) {
	t.Helper()
	if len(i.maintenances()) != 0 || !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "farrier-system/"+s.maintenance()) {
		t.Errorf("the maintenance is there still: %v", i.maintenances())
	}
	s.until(t, "free for others", func(*item) bool {
		o, _ := s.Fleet.Observe(s.key)
		return o.LockedBy == ""
	})
}

func (s *stand) goesWrong(t *testing.T, spec fault.Spec) string {
	t.Helper()
	spec.Share = 1
	e, err := s.rack.InjectFault(spec)
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}

// observedPower is the power state that the BMC has told last.
func (s *stand) observedPower() bmc.PowerState {
	o, _ := s.Fleet.Observe(s.key)
	if len(o.Systems) != 1 {
		return ""
	}
	return o.Systems[0].PowerState
}
