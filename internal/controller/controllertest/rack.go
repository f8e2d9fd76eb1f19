package controllertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Rack is a running fleet whose BMCs are fakes.
type Rack struct {
	Fleet *fleet.Fleet
	Clock *clocktesting.FakeClock

	stop func()
	mu   sync.Mutex
	bmcs map[string]*BMC
}

// StartRack starts a fleet. It has to be called in a bubble of testing/synctest, and ends with it.
func StartRack(t *testing.T, clock *clocktesting.FakeClock) *Rack {
	t.Helper()
	r := &Rack{Clock: clock, bmcs: map[string]*BMC{}}
	r.start(t)
	t.Cleanup(func() { r.stop() })
	return r
}

// Restart ends the fleet and starts another, which knows nothing, before the same BMCs.
func (r *Rack) Restart(t *testing.T) {
	t.Helper()
	r.stop()
	r.start(t)
}

func (r *Rack) start(t *testing.T) {
	t.Helper()
	r.Fleet = fleet.New(fleet.Options{
		Clock: r.Clock, Logger: logr.Discard(), Seed: 1,
		NewClient: func(s fleet.Spec) fleet.Client {
			return &connection{BMC: r.BMC(s.Endpoint.Key()), password: s.Credentials.Password.Reveal(), accepted: s.Certificate}
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	running := r.Fleet
	go func() { done <- running.Run(ctx) }()
	r.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the fleet ended with %v", err)
		}
	}
	synctest.Wait()
}

// Wait returns when every actor has done what is due at this time.
func (r *Rack) Wait() { synctest.Wait() }

// Pass lets time pass, a second at a time, so that what follows from one thing is done before the next is due.
func (r *Rack) Pass(d time.Duration) {
	synctest.Wait() // whoever was begun just now has set its timers
	for step := time.Second; d > 0; d -= step {
		step = min(step, d)
		r.Clock.Step(step)
		synctest.Wait()
	}
}

// Look has a BMC asked about everything now.
func (r *Rack) Look(key fleet.Key) {
	r.Fleet.Refresh(key)
	r.Pass(time.Second)
}

// BMC returns the BMC at a key such as "http://10.0.0.1:8000", which begins to exist when it is
// first spoken of.
func (r *Rack) BMC(key string) *BMC {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.bmcs[key]
	if b == nil {
		b = &BMC{manager: bmc.Manager{
			URI: "/redfish/v1/Managers/1", Manufacturer: "ACME", Model: "Controller 7", SerialNumber: "M-1",
			FirmwareVersion: "7.1", State: "Enabled", PowerState: "On", MACAddress: "02:00:00:00:00:01",
		}}
		r.bmcs[key] = b
	}
	return b
}

// BMC is a BMC that obeys at once.
type BMC struct {
	mu        sync.Mutex
	manager   bmc.Manager
	systems   []bmc.System
	parts     bmc.Inventory
	password  string
	shows     string // fingerprint of a certificate that no authority has signed, "": an authority has
	err       error
	resets    []string
	overrides []string
	refusal   error

	firmware
	restarts   []bmc.ResetType
	restartErr error
	asked      map[string]int // requests by password
	hidden     chan error     // what is said of the manager, once it is
	stubborn   bool
	settings   int
	onPassword func(string) (bool, error)
	sets       int
	accounts   Accounts
}

// Ignores makes the systems of the BMC ignore a graceful shutdown.
func (b *BMC) Ignores(graceful bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stubborn = graceful
}

// Overrides returns what the next boots were set to, as "<system> <target>".
func (b *BMC) Overrides() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.overrides)
}

// System is a server that is off.
func System(uri, uuid string) bmc.System {
	return bmc.System{
		URI: uri, UUID: uuid, Manufacturer: "ACME", Model: "Box 9", SerialNumber: "SN-" + uri[len(uri)-1:], PowerState: bmc.PowerOff,
		ResetTypes: []string{"On", "ForceOff", "GracefulShutdown"}, Boot: bmc.BootState{Target: "None", Targets: []string{"None", "Pxe", "UefiHttp"}},
	}
}

// Set changes what the BMC is; the fleet finds out when it asks.
func (b *BMC) Set(systems ...bmc.System) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.systems = slices.Clone(systems)
}

// Holds sets the inventory of every system.
func (b *BMC) Holds(parts bmc.Inventory) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parts = parts
}

// Power sets the power state of a system, as somebody does who stands before it.
func (b *BMC) Power(uri string, state bmc.PowerState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.systems {
		if b.systems[i].URI == uri {
			b.systems[i].PowerState = state
		}
	}
}

// Fails makes every answer this error, until it is nil.
func (b *BMC) Fails(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

// Refuses makes the answer to every reset this error, until it is nil.
func (b *BMC) Refuses(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refusal = err
}

// Shows gives the BMC a certificate that no authority has signed, with a fingerprint; "": one that an authority has signed.
func (b *BMC) Shows(fingerprint string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shows = fingerprint
}

// Wants makes the BMC refuse every other password.
func (b *BMC) Wants(password string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.password = password
}

// Resets returns what the BMC was told to do, as "<system> <reset type>".
func (b *BMC) Resets() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.resets)
}

// connection is a client of a fake BMC.
type connection struct {
	*BMC
	services
	password string
	accepted bmc.AcceptedCertificate
}

func (c *connection) answer(op string) error {
	if trusted := c.shows == "" && c.accepted.IsZero() || c.shows != "" && c.accepted == bmc.AcceptCertificate(c.shows); !trusted && c.err == nil {
		return &bmc.Error{Kind: bmc.KindUntrusted, Op: op, Message: "the certificate is not good", Certificate: c.shows, Accepted: c.accepted}
	}
	if c.asked == nil {
		c.asked = map[string]int{}
	}
	c.asked[c.password]++
	switch {
	case c.err != nil:
		return c.err
	case c.BMC.password != "" && c.BMC.password != c.password:
		return &bmc.Error{Kind: bmc.KindAuthentication, Op: op, StatusCode: 401}
	}
	return nil
}

func (c *connection) SystemURIs(context.Context) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var uris []string
	for _, s := range c.systems {
		uris = append(uris, s.URI)
	}
	return uris, c.answer("GET /redfish/v1/Systems")
}

func (c *connection) System(_ context.Context, uri string) (bmc.System, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.systems {
		if s.URI == uri {
			return s, c.answer("GET " + uri)
		}
	}
	return bmc.System{}, &bmc.Error{Kind: bmc.KindRejected, Op: "GET " + uri, StatusCode: 404}
}

func (c *connection) Manager(ctx context.Context) (bmc.Manager, error) {
	if err := c.hide(ctx); err != nil {
		return bmc.Manager{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.manager, c.answer("GET " + c.manager.URI)
}

func (c *connection) Inventory(_ context.Context, uri string) (bmc.Inventory, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parts, c.answer("GET " + uri + "/Storage")
}

func (c *connection) Reset(_ context.Context, s bmc.System, reset bmc.ResetType) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.answer("POST " + s.URI); err != nil {
		return err
	}
	if c.refusal != nil {
		return c.refusal
	}
	reset, ok := s.NearestReset(reset)
	if !ok {
		return &bmc.Error{Kind: bmc.KindUnsupported, Op: "POST " + s.URI, Message: "reset type not offered"}
	}
	c.resets = append(c.resets, fmt.Sprintf("%s %s", s.URI, reset))
	for i := range c.systems {
		if c.systems[i].URI != s.URI {
			continue
		}
		switch {
		case reset == bmc.ResetOn, reset == bmc.ResetForceOn:
			c.systems[i].PowerState = bmc.PowerOn
		case reset == bmc.ResetForceOff, reset == bmc.ResetGracefulShutdown && !c.stubborn:
			c.systems[i].PowerState = bmc.PowerOff
		}
	}
	return nil
}

func (c *connection) SetBoot(_ context.Context, s bmc.System, o bmc.BootOverride) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.overrides = append(c.overrides, fmt.Sprintf("%s %s", s.URI, o.Target))
	return c.answer("PATCH")
}

func (c *connection) Close(context.Context) error { return nil }
