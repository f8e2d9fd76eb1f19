package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bmc"
)

const systemURI = "/redfish/v1/Systems/1"

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeBMC is a Client that keeps a diary. It is used by one goroutine.
type fakeBMC struct {
	Services // those below only
	clock    *clocktesting.FakeClock
	takes    time.Duration // how long a request lasts
	systems  []*bmc.System
	manager  bmc.Manager
	parts    bmc.Inventory
	chosen   string // UUID of the manager that is meant

	// fail, if set, is asked before every call, named as in the diary.
	fail func(call string) error
	// reset, if set, does what a reset does; by default power follows at once.
	reset func(s *bmc.System, t bmc.ResetType)

	diary []entry
}

type entry struct {
	at   time.Time
	call string
}

func newFakeBMC(clock *clocktesting.FakeClock) *fakeBMC {
	return &fakeBMC{
		clock: clock,
		systems: []*bmc.System{{
			URI: systemURI, UUID: "u", SerialNumber: "sn", PowerState: bmc.PowerOff,
			ResetTypes: []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart"},
			Boot:       bmc.BootState{Target: "None"},
		}},
		manager: bmc.Manager{URI: "/redfish/v1/Managers/1", FirmwareVersion: "1"},
	}
}

func (b *fakeBMC) call(ctx context.Context, format string, args ...any) error {
	name := fmt.Sprintf(format, args...)
	b.diary = append(b.diary, entry{b.clock.Now(), name})
	if b.takes > 0 {
		b.clock.Step(b.takes)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.fail != nil {
		return b.fail(name)
	}
	return nil
}

func (b *fakeBMC) find(uri string) *bmc.System {
	i := slices.IndexFunc(b.systems, func(s *bmc.System) bool { return s.URI == uri })
	if i < 0 {
		return nil
	}
	return b.systems[i]
}

func (b *fakeBMC) SystemURIs(ctx context.Context) ([]string, error) {
	if err := b.call(ctx, "list"); err != nil {
		return nil, err
	}
	var uris []string
	for _, s := range b.systems {
		uris = append(uris, s.URI)
	}
	return uris, nil
}

func (b *fakeBMC) System(ctx context.Context, uri string) (bmc.System, error) {
	if err := b.call(ctx, "system%s", tail(uri)); err != nil {
		return bmc.System{}, err
	}
	if s := b.find(uri); s != nil {
		return *s, nil
	}
	return bmc.System{}, &bmc.Error{Kind: bmc.KindRejected, Op: "GET " + uri, StatusCode: 404}
}

// tail is what tells a system apart from the usual one.
func tail(uri string) string { return strings.TrimPrefix(uri, systemURI) }

func (b *fakeBMC) Manager(ctx context.Context) (bmc.Manager, error) {
	return b.manager, b.call(ctx, "manager")
}

func (b *fakeBMC) ChooseManager(ctx context.Context, uuid string) error {
	if uuid == b.chosen {
		return nil
	}
	b.chosen = uuid
	return b.call(ctx, "choose %s", uuid)
}

func (b *fakeBMC) Inventory(ctx context.Context, uri string) (bmc.Inventory, error) {
	return b.parts, b.call(ctx, "inventory%s", tail(uri))
}

func (b *fakeBMC) SetIndicator(ctx context.Context, s bmc.System, to bmc.Indicator) error {
	err := b.call(ctx, "indicator%s %s", tail(s.URI), to)
	if err == nil {
		b.find(s.URI).IndicatorLED = string(to)
	}
	return err
}

func (b *fakeBMC) SetBootOrder(ctx context.Context, s bmc.System, order []string) error {
	return b.call(ctx, "order%s %v", tail(s.URI), order)
}

func (b *fakeBMC) ResetManager(ctx context.Context, t bmc.ResetType) (bmc.ResetType, error) {
	return t, b.call(ctx, "reset manager %s", t)
}

func (b *fakeBMC) Firmware(ctx context.Context) ([]bmc.Firmware, error) {
	return nil, b.call(ctx, "firmware")
}

func (b *fakeBMC) Reset(ctx context.Context, s bmc.System, t bmc.ResetType) error {
	if err := b.call(ctx, "reset%s %s", tail(s.URI), t); err != nil {
		return err
	}
	system := b.find(s.URI)
	if b.reset != nil {
		b.reset(system, t)
		return nil
	}
	switch t {
	case bmc.ResetOn, bmc.ResetForceOn:
		system.PowerState = bmc.PowerOn
	case bmc.ResetForceOff, bmc.ResetGracefulShutdown:
		system.PowerState = bmc.PowerOff
	}
	return nil
}

func (b *fakeBMC) SetBoot(ctx context.Context, s bmc.System, o bmc.BootOverride) error {
	return b.call(ctx, "boot%s %q", tail(s.URI), string(o.Target))
}

func (b *fakeBMC) Close(ctx context.Context) error { return b.call(ctx, "close") }

// calls returns the diary without times, and empties it.
func (b *fakeBMC) calls() []string {
	var list []string
	for _, e := range b.diary {
		list = append(list, e.call)
	}
	b.diary = nil
	return list
}

// stand is an actor that is driven by hand.
type stand struct {
	t       *testing.T
	clock   *clocktesting.FakeClock
	bmc     *fakeBMC
	fleet   *Fleet
	key     Key
	actor   *actor
	clients int // made so far
	told    int // notifications so far
}

func newStand(t *testing.T, change func(*Options)) *stand {
	t.Helper()
	clock := clocktesting.NewFakeClock(start)
	s := &stand{t: t, clock: clock, bmc: newFakeBMC(clock)}
	o := Options{Clock: clock, Logger: logr.Discard(), Seed: 7, NewClient: func(Spec) Client { s.clients++; return s.bmc }}
	if change != nil {
		change(&o)
	}
	s.fleet = New(o)
	s.fleet.Subscribe(func(Key) { s.told++ })
	s.key = s.fleet.Ensure(Spec{
		Endpoint:    bmc.Endpoint{Scheme: "http", Host: "127.0.0.5", Port: 8000},
		Credentials: bmc.Credentials{Username: "admin", Password: "marker"},
	})
	s.actor = s.fleet.actors[s.key]
	return s
}

// met is a stand whose actor has had its first look.
func met(t *testing.T, change func(*Options)) *stand {
	t.Helper()
	s := newStand(t, change)
	s.runFor(time.Second)
	s.bmc.calls()
	s.told = 0
	return s
}

// step takes one turn and returns how long the actor wants to rest.
func (s *stand) step() time.Duration {
	next := s.actor.step(s.t.Context())
	return next.Sub(s.clock.Now())
}

// runFor lets the actor have its turns for d.
func (s *stand) runFor(d time.Duration) {
	s.t.Helper()
	end := s.clock.Now().Add(d)
	for turns := 0; ; turns++ {
		next := s.actor.step(s.t.Context())
		select {
		case <-s.actor.woken: // mail came during the turn
			continue
		default:
		}
		if next.After(end) {
			s.clock.SetTime(end)
			return
		}
		if next.After(s.clock.Now()) {
			s.clock.SetTime(next)
			turns = 0
		}
		if turns > 100 {
			s.t.Fatal("the actor does not rest")
		}
	}
}

func (s *stand) observation() Observation {
	o, ok := s.fleet.Observe(s.key)
	if !ok {
		s.t.Fatal("not observed")
	}
	return o
}

func (s *stand) submit(c Command) {
	s.t.Helper()
	if c.System == "" {
		c.System = systemURI
	}
	if err := s.fleet.Submit(s.key, c); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stand) status(id string) CommandStatus {
	s.t.Helper()
	status, ok := s.fleet.Command(s.key, id)
	if !ok {
		s.t.Fatalf("command %q is not known", id)
	}
	return status
}

func failing(err error) func(string) error { return func(string) error { return err } }

// failOn fails the calls with this prefix.
func failOn(prefix string, err error) func(string) error {
	return func(call string) error {
		if strings.HasPrefix(call, prefix) {
			return err
		}
		return nil
	}
}

var (
	errTimeout = &bmc.Error{Kind: bmc.KindTimeout, Op: "GET", Message: "no answer in time"}
	errRefused = &bmc.Error{Kind: bmc.KindConnection, Op: "GET", Message: "connection refused"}
	errServer  = &bmc.Error{Kind: bmc.KindServer, Op: "GET", StatusCode: 500}
	errAuth    = &bmc.Error{Kind: bmc.KindAuthentication, Op: "POST", StatusCode: 401}
)
