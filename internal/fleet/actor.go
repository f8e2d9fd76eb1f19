package fleet

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// actor looks after one BMC.
type actor struct {
	key     Key
	fleet   *Fleet
	options *Options
	woken   chan struct{} // holds one token: look at the mailbox
	done    chan struct{} // closed when run has returned
	started bool          // guarded by Fleet.mu

	mu        sync.Mutex
	forgotten bool               // nobody wants the BMC to be looked after
	endTurn   context.CancelFunc // nil while there is no turn
	seen      *Observation       // what has been published
	spec      *Spec              // a pointer, so that formatting an actor shows no password
	renewed   bool               // spec is newer than the client
	chosen    bool               // it means another manager than the client knows
	refresh   bool               // somebody asked for one
	soon      bool               // somebody asked for an early poll
	exclusive exclusiveLock
	inbox     []order         // submitted, not received
	history   []CommandStatus // the last commands, in the order of submission

	// All below belongs to the actor's goroutine.
	client      Client
	certificate bmc.AcceptedCertificate // that the client trusts
	schedule    schedule
	watched     []*watched
	commands    []*command // not ended, in the order of submission
}

// watched is what the actor keeps of a system besides the observation.
type watched struct {
	uri       string
	inventory due
}

func newActor(f *Fleet, key Key, spec Spec, index int) *actor {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	a := &actor{
		key:     key,
		fleet:   f,
		options: &f.options,
		woken:   make(chan struct{}, 1),
		done:    make(chan struct{}),
		seen:    &Observation{Added: f.options.Clock.Now()},
		spec:    &spec,
		renewed: true,
	}
	a.schedule = newSchedule(a.options, rand.New(rand.NewPCG(uint64(f.options.Seed), h.Sum64())), index)
	return a
}

// run takes turns until ctx ends or the BMC is forgotten, then says goodbye to the BMC.
func (a *actor) run(ctx context.Context) {
	defer close(a.done)
	defer a.leave(ctx)
	for {
		at, more := a.takeTurn(ctx)
		if !more {
			return
		}
		a.sleep(ctx, at)
	}
}

// takeTurn waits until the BMC may be contacted, and does what is due. It returns when the next turn is, unless there is none. A turn has a
// context of its own: one that lasted would take half a KiB, and an actor sleeps nearly always.
func (a *actor) takeTurn(ctx context.Context) (next time.Time, more bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if wanted := a.interruptible(cancel); !wanted || ctx.Err() != nil {
		return time.Time{}, false
	}
	leaveFirst := a.awaitFirstContact(ctx)
	leave := a.awaitRoom(ctx)
	next = a.apart(func() time.Time { return a.turn(ctx) }, leave)
	leaveFirst(a.observation().Sequence > 0)
	wanted := a.interruptible(nil)
	return next, wanted && ctx.Err() == nil
}

// interruptible says what ends the turn that is under way, nil: none is. It reports whether the BMC is still looked after.
func (a *actor) interruptible(end context.CancelFunc) (wanted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endTurn = end
	return !a.forgotten
}

// forget ends the actor, and the turn that it is in.
func (a *actor) forget() {
	a.mu.Lock()
	a.forgotten = true
	end := a.endTurn
	a.mu.Unlock()
	if end != nil {
		end()
	}
	a.wake()
}

// log is for what explains the actor. Ten thousand actors do not keep ten thousand loggers, which seldom say anything.
func (a *actor) log() logr.Logger {
	if !a.options.Logger.V(1).Enabled() {
		return logr.Discard()
	}
	return a.options.Logger.WithValues("bmc", string(a.key))
}

// turn does what is due, and returns when the next turn is.
func (a *actor) turn(ctx context.Context) time.Time {
	at := a.step(ctx)
	a.disconnect(ctx, at)
	return at
}

// awaitFirstContact waits for the limiter if this turn would be the first contact with the BMC.
func (a *actor) awaitFirstContact(ctx context.Context) (leave func(met bool)) {
	if a.observation().Sequence > 0 || a.options.Clock.Now().Before(a.schedule.notBefore) {
		return func(bool) {}
	}
	return a.fleet.firstContacts.enter(ctx)
}

// disconnect closes the connection if nothing is due for longer than an unused connection is kept: the 30 seconds serve
// requests that follow soon, and for ten thousand idle BMCs they would keep thousands of unused connections.
func (a *actor) disconnect(ctx context.Context, at time.Time) {
	if ctx.Err() == nil && at.Sub(a.options.Clock.Now()) > a.options.IdleTimeout {
		a.closeConnection(ctx)
	}
}

// closeConnection closes the connection and keeps the session.
func (a *actor) closeConnection(ctx context.Context) {
	client, ok := a.client.(interface{ Disconnect(context.Context) error })
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.RequestTimeout)
	defer cancel()
	if err := client.Disconnect(ctx); err != nil {
		a.log().V(1).Info("connection not closed", "error", err)
	}
}

// sleep waits until at, for mail, or for the end.
func (a *actor) sleep(ctx context.Context, at time.Time) {
	d := at.Sub(a.options.Clock.Now())
	if d <= 0 {
		return
	}
	timer := a.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-a.woken:
	case <-ctx.Done():
	}
}

// step does what is due and returns when it wants to be called again.
func (a *actor) step(ctx context.Context) time.Time {
	a.receive(ctx)
	now := a.options.Clock.Now()
	if now.Before(a.schedule.notBefore) {
		a.expire(now)
		return a.next()
	}
	if err := a.work(ctx); err != nil {
		if ctx.Err() == nil {
			a.failed(err)
		}
		return a.next()
	}
	a.schedule.succeeded()
	return a.next()
}

// work does what is due, most urgent first. Its error means that the BMC as a
// whole does not answer as it should.
func (a *actor) work(ctx context.Context) error {
	for _, part := range []func(context.Context) error{a.advance, a.poll, a.readManager, a.readInventory} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// failed starts or lengthens the back-off.
func (a *actor) failed(err error) {
	now := a.options.Clock.Now()
	a.schedule.failed(err, now, len(a.commands) > 0)
	for _, c := range a.commands {
		c.cause, c.status.Err = err, err
	}
	a.publish(func(o *Observation) {
		if o.Err == nil {
			o.ErrSince = now
		}
		o.Err, o.Circuit, o.Retry, o.Failures = err, a.schedule.circuit(), a.schedule.notBefore, a.schedule.failures
		if judged(err) {
			o.Certificate = a.certificate
		}
		for _, c := range a.commands {
			a.report(o, c.status)
		}
	})
	a.log().V(1).Info("BMC request failed", "error", err, "retryAt", a.schedule.notBefore)
}

// next is when there is something to do again.
func (a *actor) next() time.Time {
	at := a.schedule.next()
	if until, locked := a.lockedUntil(a.options.Clock.Now()); locked {
		at = earlier(at, until)
	}
	for _, w := range a.watched {
		at = earlier(at, w.inventory.at)
	}
	for _, c := range a.commands {
		at = earlier(at, c.pollAt)
	}
	if at.Before(a.schedule.notBefore) {
		at = a.schedule.notBefore
		for _, c := range a.commands {
			at = earlier(at, c.expires(a.options))
		}
	}
	return at
}

// receive empties the mailbox.
func (a *actor) receive(ctx context.Context) {
	a.mu.Lock()
	spec, renewed, chosen, refresh, soon, inbox := a.spec, a.renewed, a.chosen, a.refresh, a.soon, a.inbox
	a.renewed, a.chosen, a.refresh, a.soon, a.inbox = false, false, false, false, nil
	a.mu.Unlock()

	now := a.options.Clock.Now()
	if renewed {
		a.renew(ctx, *spec, now)
	}
	if renewed || chosen {
		a.choose(ctx, spec.ManagerUUID, now)
	}
	if soon {
		a.schedule.pollSoon(now)
	}
	a.expireLock(now)
	if refresh {
		a.schedule.refresh(now)
		for _, w := range a.watched {
			w.inventory.at = now
		}
	}
	for _, c := range inbox {
		a.enqueue(newCommand(c, now), now)
	}
}

// renew takes over new credentials, and another accepted certificate. Where a job of ours made the credentials so, the client has them
// already, and its session lives.
func (a *actor) renew(ctx context.Context, spec Spec, now time.Time) {
	if a.client != nil {
		a.schedule.reset(now)
		switch {
		case spec.Certificate != a.certificate:
			// Whoever was trusted so far may be so no longer: to delete the session would be to connect once more, and to show its token.
			a.closeConnection(ctx)
		case a.uses(ctx, spec.Credentials):
			return
		default:
			a.hangUp(ctx) // one session at a time
		}
	}
	a.client, a.certificate = a.options.NewClient(spec), spec.Certificate
}

// choose says to the client which manager is meant. The one that was read already is not read again.
func (a *actor) choose(ctx context.Context, uuid string, now time.Time) {
	c, ok := a.client.(interface {
		ChooseManager(ctx context.Context, uuid string) error
	})
	if !ok || c.ChooseManager(ctx, uuid) != nil {
		return
	}
	if read := a.observation().Manager; read.URI != "" && read.UUID != uuid {
		a.schedule.manager.at = now
	}
}

// enqueue adds a command and ends those that it supersedes. A command being
// carried out is only ever met here while it waits: requests are made within
// a turn.
func (a *actor) enqueue(c *command, now time.Time) {
	c.pollAt = now
	a.schedule.hurry(now)
	for _, old := range a.commands {
		if old.Holder == c.Holder || !a.excluded(old, now) && !a.excluded(c, now) {
			a.supersede(c, old)
		}
	}
	a.commands = append(a.live(), c)
}

// supersede ends old where c makes it pointless. While a lock separates the two, that waits until c begins:
// neither the holder of the lock nor another discards a command of the other.
func (a *actor) supersede(c, old *command) {
	if old == c || old.status.State.Ended() || !c.supersedes(old.Command) {
		return
	}
	if c.Kind.power() {
		c.inherit(old, a.options)
	}
	a.end(old, Superseded, nil)
}

func (a *actor) live() []*command {
	return slices.DeleteFunc(a.commands, func(c *command) bool { return c.status.State.Ended() })
}

// expire ends commands that waited too long for a BMC that cannot be asked now.
func (a *actor) expire(now time.Time) {
	for _, c := range a.commands {
		if !now.Before(c.expires(a.options)) {
			a.end(c, Failed, c.late(bmc.PowerUnknown))
		}
	}
	a.commands = a.live()
}

// end gives a command its result.
func (a *actor) end(c *command, state CommandState, err error) {
	c.finish(state, err, a.options.Clock.Now())
	a.publish(func(o *Observation) { a.report(o, c.status) })
	a.log().V(1).Info("command ended", "command", c.ID, "kind", c.Kind, "system", c.System, "state", state, "error", err)
}

// publish makes a new observation of the last one and tells the subscribers if
// they would see a difference. change runs with a.mu held.
func (a *actor) publish(change func(*Observation)) {
	a.mu.Lock()
	old := a.seen
	o := old.clone()
	change(o)
	a.seen = o
	a.mu.Unlock()
	if o.differs(old) {
		a.fleet.notify(a.key)
	}
}

// report enters a command's status where it is looked for. a.mu is held.
func (a *actor) report(o *Observation, s CommandStatus) {
	if i := slices.IndexFunc(a.history, func(h CommandStatus) bool { return h.ID == s.ID }); i >= 0 {
		if s.State.Ended() && !a.history[i].State.Ended() {
			a.fleet.metrics.commands.WithLabelValues(string(s.Kind), string(s.State)).Inc()
		}
		a.history[i] = s
	}
	if o.Job.ID == s.ID {
		o.Job = s
	}
	for i := range o.Systems {
		if o.Systems[i].Command.ID == s.ID {
			o.Systems[i].Command = s
		}
		if o.Systems[i].Setting.ID == s.ID {
			o.Systems[i].Setting = s
		}
	}
}

// leave deletes the session, within the time that shutting down may take. A BMC that did not
// answer before is not waited for; another that begins to hang now gets half of the time, so that
// those behind it have the other half.
func (a *actor) leave(ctx context.Context) {
	if a.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.options.ShutdownTimeout)
	defer cancel()
	select {
	case a.fleet.closing <- struct{}{}:
		defer func() { <-a.fleet.closing }()
		goodbye := a.options.ShutdownTimeout / 2
		if a.schedule.failures > 0 {
			goodbye = a.options.ShutdownTimeout / 20
		}
		ctx, cancel := context.WithTimeout(ctx, goodbye)
		defer cancel()
		a.hangUp(ctx)
	case <-ctx.Done():
	}
}

func (a *actor) hangUp(ctx context.Context) {
	if err := a.client.Close(ctx); err != nil {
		a.log().V(1).Info("session not deleted", "error", err)
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
