package fleet

import (
	"context"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// Key names a BMC in the fleet: scheme, host and port. Whoever names the same
// BMC gets the same actor.
type Key string

// Spec is how a BMC is reached.
type Spec struct {
	Endpoint    bmc.Endpoint
	Credentials bmc.Credentials
	// Login says how to go about credentials that may be wrong. It counts for the client that is made with them.
	Login bmc.LoginPolicy
	// Certificate is the one that a person has accepted; zero: authorities decide, or nobody does.
	Certificate bmc.AcceptedCertificate
	// MACAddress is that of the BMC where it is known; empty: the BMC is asked for it.
	MACAddress string
	// ManagerUUID says which manager is meant where the BMC shows several; empty: its own choice.
	ManagerUUID string
}

// Client is what the fleet needs of a BMC. *bmc.Client is one.
type Client interface {
	SystemURIs(ctx context.Context) ([]string, error)
	System(ctx context.Context, uri string) (bmc.System, error)
	Manager(ctx context.Context) (bmc.Manager, error)
	Inventory(ctx context.Context, systemURI string) (bmc.Inventory, error)
	Reset(ctx context.Context, s bmc.System, t bmc.ResetType) error
	SetBoot(ctx context.Context, s bmc.System, o bmc.BootOverride) error
	Close(ctx context.Context) error
}

// Options of a fleet; the zero value is the default of each.
type Options struct {
	Clock  clock.Clock
	Logger logr.Logger

	PollInterval      time.Duration // between polls of an idle system: 2 m
	FastPoll          time.Duration // first poll after a power change was ordered, and first back-off: 5 s
	RefreshInterval   time.Duration // between lists of systems: 2 h
	InventoryInterval time.Duration // between inventories: 24 h
	RequestTimeout    time.Duration // deadline of a request: 10 s
	MaxBackoff        time.Duration // longest pause after failures: 10 m
	AuthBackoff       time.Duration // pause after a refused password: 10 m
	ForceBudget       time.Duration // how long ForceOff may take to be seen: 2 m
	IdleTimeout       time.Duration // how long an unused connection is kept: 30 s
	ShutdownTimeout   time.Duration // for deleting all sessions at the end: 10 s

	InsecureSkipVerify bool
	RootCAs            *x509.CertPool
	// Throttle delays commands of accounts that make no progress; nil: no command is delayed.
	Throttle Throttle
	// Sent, where set, is told of every request that has been sent to a BMC and answered, or not. It must not block.
	Sent func(bmc.Request)
	// Seed makes the jitter repeatable; zero: it is not.
	Seed int64
	// NewClient replaces the Redfish client.
	NewClient func(Spec) Client
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&o.PollInterval, 2*time.Minute)
	set(&o.FastPoll, 5*time.Second)
	set(&o.RefreshInterval, 2*time.Hour)
	set(&o.InventoryInterval, 24*time.Hour)
	set(&o.RequestTimeout, 10*time.Second)
	set(&o.MaxBackoff, 10*time.Minute)
	set(&o.AuthBackoff, 10*time.Minute)
	set(&o.ForceBudget, forceBudget)
	set(&o.IdleTimeout, 30*time.Second)
	set(&o.ShutdownTimeout, 10*time.Second)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Seed == 0 {
		o.Seed = rand.Int64()
	}
	return o
}

// maxClosing is how many sessions are deleted at a time on shutdown.
const maxClosing = 256

// ErrStarted is returned by a second Run.
var ErrStarted = errors.New("fleet was started before")

// Fleet is all BMCs. It is a prometheus.Collector of what it does.
type Fleet struct {
	options       Options
	metrics       *metrics
	closing       chan struct{} // one token for each session being deleted
	firstContacts *firstContactLimiter
	turns         *turnLimiter

	mu          sync.RWMutex
	ctx         context.Context // of Run, nil before
	began       time.Time       // when Run did
	stopped     bool
	actors      map[Key]*actor
	leaving     map[Key]*actor // removed, not done yet
	subscribers []func(Key)
	running     sync.WaitGroup
}

// New returns a fleet without BMCs. Nothing is sent before Run.
func New(options Options) *Fleet {
	f := &Fleet{
		options: options.withDefaults(),
		metrics: newMetrics(),
		closing: make(chan struct{}, maxClosing),
		actors:  map[Key]*actor{},
		leaving: map[Key]*actor{},
	}
	busy := newPressure(f.options.Clock).busy
	f.firstContacts, f.turns = newFirstContactLimiter(f.options.Clock, busy), newTurnLimiter(f.options.Clock, busy)
	if f.options.NewClient == nil {
		f.options.NewClient = f.redfish()
	}
	return f
}

// redfish returns a function that makes the real client. All clients share one transport.
func (f *Fleet) redfish() func(Spec) Client {
	o := bmc.Options{
		RequestTimeout:     f.options.RequestTimeout,
		IdleTimeout:        f.options.IdleTimeout,
		InsecureSkipVerify: f.options.InsecureSkipVerify,
		RootCAs:            f.options.RootCAs,
		Clock:              f.options.Clock,
		OnRequest:          f.sent,
	}
	o.Transport = bmc.NewTransport(o)
	return func(s Spec) Client {
		own := o
		own.Certificate, own.MACAddress, own.Login = s.Certificate, s.MACAddress, s.Login
		return bmc.NewClient(s.Endpoint, s.Credentials, own)
	}
}

// sent notes a request.
func (f *Fleet) sent(r bmc.Request) {
	f.metrics.request(r)
	if f.options.Sent != nil {
		f.options.Sent(r)
	}
}

// Run works until ctx ends, then deletes the sessions and returns.
func (f *Fleet) Run(ctx context.Context) error {
	f.mu.Lock()
	if f.ctx != nil {
		f.mu.Unlock()
		return ErrStarted
	}
	f.ctx, f.began = ctx, f.options.Clock.Now()
	for _, a := range f.actors {
		f.start(ctx, a)
	}
	f.mu.Unlock()

	<-ctx.Done()
	f.mu.Lock()
	f.stopped = true // from here on nothing is added to running
	f.mu.Unlock()
	f.running.Wait()
	return nil
}

// start lets an actor run, after the one that had its BMC before. f.mu is held.
func (f *Fleet) start(ctx context.Context, a *actor) {
	before := f.leaving[a.key]
	a.started = true
	f.running.Go(func() {
		if before != nil {
			<-before.done
		}
		a.run(ctx)
		f.mu.Lock()
		if f.leaving[a.key] == a {
			delete(f.leaving, a.key)
		}
		f.mu.Unlock()
	})
}

// Ensure sees to it that the BMC is looked after with these credentials, and is trusted for this certificate. Where
// either is new to it, it is tried at once.
func (f *Fleet) Ensure(s Spec) Key {
	key := Key(s.Endpoint.Key())
	f.mu.Lock()
	defer f.mu.Unlock()
	if a, ok := f.actors[key]; ok {
		a.setSpec(s)
		return key
	}
	a := newActor(f, key, s, len(f.actors))
	f.actors[key] = a
	if f.ctx != nil && !f.stopped {
		f.start(f.ctx, a)
	}
	return key
}

// Remove forgets the BMC; its session is deleted.
func (f *Fleet) Remove(key Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.actors[key]
	if !ok {
		return
	}
	delete(f.actors, key)
	if a.started {
		f.leaving[key] = a
		a.forget()
	}
}

// Observe returns the last observation of a BMC. It never blocks on the BMC.
func (f *Fleet) Observe(key Key) (Observation, bool) {
	a, ok := f.actor(key)
	if !ok {
		return Observation{}, false
	}
	return *a.observation(), true
}

// MetBy is until when what was known of a BMC before the start still counts, as nothing is known since; zero: something is. A fleet that said of each BMC
// that it is unknown, and a moment later that it is as before, would write everything twice at each start. A BMC that the fleet does not have yet counts as one
// that it had from the start.
func (f *Fleet) MetBy(key Key) time.Time {
	if a, ok := f.actor(key); ok {
		return a.observation().MetBy()
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.began.IsZero() {
		return time.Time{}
	}
	return f.began.Add(meetingTime)
}

// Submit queues a command. What was submitted under the same ID before is not
// repeated, whatever became of it.
func (f *Fleet) Submit(key Key, c Command) error {
	if err := c.validate(); err != nil {
		return err
	}
	a, ok := f.actor(key)
	if !ok {
		return ErrUnknownBMC
	}
	return a.submit(order{Command: c})
}

// Command tells how a command stands. The last ones of each BMC are remembered.
func (f *Fleet) Command(key Key, id string) (CommandStatus, bool) {
	a, ok := f.actor(key)
	if !ok {
		return CommandStatus{}, false
	}
	return a.command(id)
}

// Refresh has the manager, the list of systems and the inventory read again
// soon.
func (f *Fleet) Refresh(key Key) {
	if a, ok := f.actor(key); ok {
		a.askRefresh()
	}
}

// PollSoon polls the BMC before its next regular poll, for example because it sent an event. Many calls count as one.
func (f *Fleet) PollSoon(key Key) {
	if a, ok := f.actor(key); ok {
		a.pollSoon()
	}
}

// Subscribe has fn called after each changed observation, by the goroutine of
// its BMC: fn must not block. Subscribe before Run.
func (f *Fleet) Subscribe(fn func(Key)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers = append(f.subscribers, fn)
}

func (f *Fleet) actor(key Key) (*actor, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	a, ok := f.actors[key]
	return a, ok
}

func (f *Fleet) notify(key Key) {
	f.mu.RLock()
	subscribers := f.subscribers
	f.mu.RUnlock()
	for _, fn := range subscribers {
		fn(key)
	}
}
