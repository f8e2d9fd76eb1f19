package subscription

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

const password = "marker-password-4"

var vendors = []sim.Vendor{sim.Standard, sim.Dell, sim.HPE, sim.Lenovo, sim.Supermicro, sim.AMI}

// site is a simulated rack, one BMC a vendor, with everything real that speaks to it: fleet, receiver,
// HTTP both ways. Only the API is a fake.
type site struct {
	*Reconciler
	t       *testing.T
	api     *controllertest.API
	rack    *sim.Rack
	objects []*metalv1.BMC
	keys    []fleet.Key

	mu      sync.Mutex
	changed chan struct{}
}

func newSite(t *testing.T, poll time.Duration) *site {
	t.Helper()
	s := &site{t: t, changed: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := s.rack.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	var err error
	s.rack, err = sim.Start(ctx, sim.Options{
		Servers: len(vendors), Vendors: vendors, Username: "admin", Password: password, Seed: 1,
		BootURL: func() string { return "http://127.0.0.1:1/ipxe/" },
	})
	if err != nil {
		t.Fatal(err)
	}
	f := fleet.New(fleet.Options{PollInterval: poll, FastPoll: 10 * time.Millisecond, RequestTimeout: 20 * time.Second})
	f.Subscribe(func(fleet.Key) { s.happened() })
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.api = controllertest.NewAPI(t)
	paths := bmcevents.NewPaths(testKey)
	s.Reconciler = &Reconciler{
		Client: s.api, Fleet: f, Registry: connection.NewRegistry(f), Paths: paths, URL: "http://" + l.Addr().String(), Clock: clock.RealClock{},
	}
	s.Receiver = bmcevents.New(bmcevents.Options{Paths: paths, Logger: logr.Discard(), Notify: s.Heard})
	for _, info := range s.rack.BMCs() {
		b := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: info.Name}}
		b.Spec.Access = &metalv1.InlineEndpoint{IP: info.IP.String()}
		b.Spec.Protocol = metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTP, Port: int32(info.Port)}
		s.api.Add(t, b)
		s.objects = append(s.objects, b)
		s.keys = append(s.keys, f.Ensure(fleet.Spec{Endpoint: s.endpoint(info), Credentials: bmc.Credentials{Username: "admin", Password: password}}))
	}
	running.Go(func() { _ = f.Run(ctx) })
	running.Go(func() { _ = s.Receiver.Serve(ctx, l) })
	return s
}

func (s *site) endpoint(info sim.BMCInfo) bmc.Endpoint {
	return bmc.Endpoint{Scheme: "http", Host: info.IP.String(), Port: info.Port}
}

func (s *site) happened() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// until waits for changes of observations until ok.
func (s *site) until(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond) // what is no observation: a scrape
	defer tick.Stop()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-deadline:
			s.t.Fatalf("%s: not within 30 s", what)
		}
	}
}

// subscribe reconciles until every BMC is subscribed.
func (s *site) subscribe() {
	s.t.Helper()
	for _, b := range s.objects {
		s.until(b.Name+" is subscribed", func() bool {
			s.api.Settle(s.t, s.Reconciler, b.Name)
			status := controllertest.Read[metalv1.BMC](s.t, s.api, b.Name).Status
			return status.EventsSubscriptionLink != "" && status.MetricsReportSubscriptionLink != ""
		})
	}
}

func (s *site) power(i int) bmc.PowerState {
	o, _ := s.Fleet.Observe(s.keys[i])
	if len(o.Systems) == 0 {
		return bmc.PowerUnknown
	}
	return o.Systems[0].PowerState
}

// destinations counts the subscriptions that a BMC has.
func (s *site) destinations(i int) int {
	s.t.Helper()
	c := bmc.NewClient(s.endpoint(s.rack.BMCs()[i]), bmc.Credentials{Username: "admin", Password: password}, bmc.Options{})
	defer func() { _ = c.Close(s.t.Context()) }()
	list, err := c.Subscriptions(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return len(list)
}

func (s *site) value(family string, labels map[string]string) (float64, bool) {
	s.t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s.Receiver)
	families, err := registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			found := f.GetName() == family
			for _, l := range m.GetLabel() {
				want, asked := labels[l.GetName()]
				found = found && (!asked || want == l.GetValue())
			}
			if found {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue(), true
			}
		}
	}
	return 0, false
}

// TestRack: somebody presses the power button; the next poll is an hour away, and Farrier knows at once.
func TestRack(t *testing.T) {
	s := newSite(t, time.Hour)
	s.subscribe()
	for i, b := range s.objects {
		s.until(b.Name+" is off", func() bool { return s.power(i) == bmc.PowerOff })
		if _, err := s.rack.Machine(i).Reset("On"); err != nil {
			t.Fatal(err)
		}
		s.until(b.Name+" is seen to be no longer off", func() bool { return s.power(i) != bmc.PowerOff })
		s.until(b.Name+" has told that it was counted", func() bool {
			n, _ := s.value("farrier_bmc_events_total", map[string]string{"bmc": b.Name, "message": "ResourceEvent.ResourcePowerStateChanged", "severity": "OK"})
			return n >= 1
		})
		if n := s.rack.SendMetricReport(i); n != 1 {
			t.Errorf("%s sends reports to %d", b.Name, n)
		}
		s.until(b.Name+" has reported watts", func() bool {
			watts, _ := s.value("farrier_bmc_metric", map[string]string{"bmc": b.Name, "metric": "PowerConsumedWatts"})
			return watts > 0
		})
	}
	for i, b := range s.objects {
		if n := s.destinations(i); n != 2 {
			t.Errorf("%s has %d subscriptions", b.Name, n)
		}
		s.until(b.Name+" is left", func() bool {
			over, err := s.Unsubscribe(controllertest.Read[metalv1.BMC](t, s.api, b.Name), s.keys[i])
			if err != nil {
				t.Fatal(err)
			}
			return over
		})
		if n := s.destinations(i); n != 0 {
			t.Errorf("%s has %d subscriptions left", b.Name, n)
		}
	}
}

// TestARestartMakesNoSecondSubscription: nothing was remembered, and all is found again.
func TestARestartMakesNoSecondSubscription(t *testing.T) {
	s := newSite(t, time.Hour)
	s.subscribe()
	for _, b := range s.objects {
		controllertest.ChangeStatus(t, s.api, b.Name, func(b *metalv1.BMC) { b.Status = metalv1.BMCStatus{} })
		delete(s.known, b.Name)
	}
	s.subscribe()
	for i, b := range s.objects {
		if n := s.destinations(i); n != 2 {
			t.Errorf("%s has %d subscriptions", b.Name, n)
		}
	}
}

// TestPollingIsTheFloor: events are accepted and never come.
func TestPollingIsTheFloor(t *testing.T) {
	s := newSite(t, 300*time.Millisecond)
	if _, err := s.rack.InjectFault(fault.Spec{Kind: fault.DropEvents, Share: 1}); err != nil {
		t.Fatal(err)
	}
	s.subscribe()
	for i, b := range s.objects {
		s.until(b.Name+" is off", func() bool { return s.power(i) == bmc.PowerOff })
		if _, err := s.rack.Machine(i).Reset("On"); err != nil {
			t.Fatal(err)
		}
		s.until(b.Name+" is seen to be no longer off", func() bool { return s.power(i) != bmc.PowerOff })
		if n, _ := s.value("farrier_bmc_events_total", map[string]string{"bmc": b.Name}); n != 0 {
			t.Errorf("%s sent %v events", b.Name, n)
		}
	}
}
