package subscription

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
)

const (
	base    = "http://192.0.2.1:9000"
	systems = "/redfish/v1/Systems/1"
	uid     = "uid-b"
)

var testKey = []byte(strings.Repeat("k", 32))

// stand is the controller in front of a fake API and a fleet with one fake BMC, "b" at 10.0.0.1.
type stand struct {
	*controllertest.API
	*Reconciler
	t     *testing.T
	bmc   *fakeBMC
	key   fleet.Key
	stop  func()
	notes []string
}

// stands runs a test in a bubble, in which "the fleet has nothing left to do" can be waited for.
func stands(t *testing.T, test func(*testing.T, *stand)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: uid}}
		b.Spec.Access = &metalv1.InlineEndpoint{IP: "10.0.0.1"}
		b.Spec.Protocol = metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTP, Port: 8000}
		s := &stand{API: controllertest.NewAPI(t, b), t: t, bmc: &fakeBMC{}}
		s.start()
		defer func() { s.stop() }()
		test(t, s)
	})
}

// start is what a process does: nothing is known.
func (s *stand) start() {
	s.t.Helper()
	f := fleet.New(fleet.Options{Clock: s.API.Clock, Logger: logr.Discard(), Seed: 1, NewClient: func(fleet.Spec) fleet.Client { return s.bmc }})
	paths := bmcevents.NewPaths(testKey)
	s.Reconciler = &Reconciler{
		Client: s.API, Fleet: f, Registry: connection.NewRegistry(f), Paths: paths, URL: base, Clock: s.API.Clock, Recorder: s,
		Receiver: bmcevents.New(bmcevents.Options{Paths: paths, Clock: s.API.Clock}),
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	s.stop = func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("the fleet ended with %v", err)
		}
	}
	s.key = f.Ensure(fleet.Spec{Endpoint: bmc.Endpoint{Scheme: "http", Host: "10.0.0.1", Port: 8000}})
}

// Eventf implements events.EventRecorder.
func (s *stand) Eventf(regarding, _ runtime.Object, _, reason, _, note string, args ...any) {
	switch obj := regarding.(type) {
	case *metalv1.BMC:
		if obj.Name != "b" || obj.UID != uid {
			s.t.Errorf("an event about %v", regarding)
		}
	case *metalv1.Server:
		if obj.Name != "inline" || obj.UID != uidInline {
			s.t.Errorf("an event about %v", regarding)
		}
	default:
		s.t.Errorf("an event about %v", regarding)
	}
	s.notes = append(s.notes, reason+": "+fmt.Sprintf(note, args...))
}

// pass lets time pass, in steps, so that what follows from one thing is done before the next is due.
func (s *stand) pass(d time.Duration) {
	step := max(time.Second, d/200)
	for ; d > 0; d -= step {
		s.API.Clock.Step(min(step, d))
		synctest.Wait()
	}
}

// settle lets the fleet and the controller do what there is to do.
func (s *stand) settle() *metalv1.BMC {
	s.t.Helper()
	for range 4 {
		s.pass(time.Second)
		s.Settle(s.t, s.Reconciler, "b")
	}
	return controllertest.Read[metalv1.BMC](s.t, s.API, "b")
}

func (s *stand) destination(channel bmcevents.Channel, uid string) bmc.Secret {
	return s.Paths.Destination(base, channel, uid)
}

// fakeBMC has an event service.
type fakeBMC struct {
	fleet.Services // nothing else is asked for

	mu          sync.Mutex
	there       []bmc.Subscription
	next        int
	calls       []string
	power       bmc.PowerState // empty: off
	polls       int
	inventories int
	err         error                     // of every answer
	listing     error                     // of the event service
	refuses     map[bmc.EventFormat]error // of new subscriptions
	undeletable bool
	busy, gone  int // that many requests to delete a subscription fail so
}

func (f *fakeBMC) change(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
}

// done returns what was changed at the BMC since it was asked last.
func (f *fakeBMC) done() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

func (f *fakeBMC) polled() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.polls
}

func (f *fakeBMC) SystemURIs(context.Context) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return []string{systems}, f.err
}

func (f *fakeBMC) System(context.Context, string) (bmc.System, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.polls++
	system := controllertest.System(systems, "")
	if f.power != "" {
		system.PowerState = f.power
	}
	return system, f.err
}

func (f *fakeBMC) Manager(context.Context) (bmc.Manager, error) { return bmc.Manager{URI: "/m"}, nil }

func (f *fakeBMC) Inventory(context.Context, string) (bmc.Inventory, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inventories++
	return bmc.Inventory{}, nil
}

func (f *fakeBMC) Reset(context.Context, bmc.System, bmc.ResetType) error      { return nil }
func (f *fakeBMC) SetBoot(context.Context, bmc.System, bmc.BootOverride) error { return nil }
func (f *fakeBMC) Close(context.Context) error                                 { return nil }

func (f *fakeBMC) Subscriptions(_ context.Context, mine func(string) bool) ([]bmc.Subscription, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, "list")
	if f.err != nil || f.listing != nil {
		return nil, cmpErr(f.err, f.listing)
	}
	return slices.DeleteFunc(slices.Clone(f.there), func(s bmc.Subscription) bool { return !mine(s.Destination.Reveal()) }), nil
}

func (f *fakeBMC) Subscribe(_ context.Context, s bmc.Subscription) (bmc.Subscription, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, "subscribe "+string(s.Format))
	if err := cmpErr(f.err, f.refuses[s.Format]); err != nil {
		return s, err
	}
	f.next++
	s.URI, s.State = fmt.Sprintf("/s/%d", f.next), "Enabled"
	f.there = append(f.there, s)
	return s, nil
}

func (f *fakeBMC) Unsubscribe(_ context.Context, s bmc.Subscription) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, "unsubscribe "+s.URI)
	if f.undeletable {
		return &bmc.Error{Kind: bmc.KindRejected, Op: "DELETE", StatusCode: 403}
	}
	if f.gone > 0 {
		f.gone--
		return &bmc.Error{Kind: bmc.KindConnection, Op: "DELETE"}
	}
	if f.busy > 0 {
		f.busy--
		return &bmc.Error{Kind: bmc.KindServer, Op: "DELETE", StatusCode: 503}
	}
	if f.err == nil {
		f.there = slices.DeleteFunc(f.there, func(t bmc.Subscription) bool { return t.URI == s.URI })
	}
	return f.err
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
