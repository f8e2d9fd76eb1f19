package fleet

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// reading is what came of asking for one system.
type reading struct {
	uri    string
	system bmc.System
	err    error
}

// poll reads the systems where that is due, and their list before where that is, or where no system is known: a BMC that is asked nothing has not answered.
func (a *actor) poll(ctx context.Context) error {
	now := a.options.Clock.Now()
	listing := !now.Before(a.schedule.list.at)
	if !listing && now.Before(a.schedule.pollAt) {
		return nil
	}
	listing = listing || len(a.watched) == 0
	var readings []reading
	var err error
	if listing {
		readings, err = a.find(ctx)
	} else {
		readings, err = a.read(ctx, a.uris())
	}
	if err != nil {
		return err
	}
	now = a.options.Clock.Now()
	a.schedule.polledNow(now)
	if slices.ContainsFunc(readings, func(r reading) bool { return r.err == nil && isMoving(r.system.PowerState) }) {
		a.schedule.moves(now)
	} else {
		a.schedule.rests()
	}
	var others []string
	var unread error
	if listing {
		readings, others, unread = a.watch(readings, now)
	}
	symptoms := a.symptoms()
	a.publish(func(o *Observation) {
		if listing {
			o.keepOnly(readings)
			o.Others, o.Unread = others, unread
		}
		a.answered(o, now)
		o.Symptoms = symptoms
		for _, r := range readings {
			a.enter(o, r, now)
		}
	})
	return nil
}

// uris are those of the systems that are watched.
func (a *actor) uris() []string {
	uris := make([]string, 0, len(a.watched))
	for _, w := range a.watched {
		uris = append(uris, w.uri)
	}
	return uris
}

// find lists the systems and asks for each, at once where the client can.
func (a *actor) find(ctx context.Context) ([]reading, error) {
	c, ok := a.client.(interface {
		FindSystems(ctx context.Context) ([]bmc.Found, error)
	})
	if !ok {
		uris, err := a.client.SystemURIs(ctx)
		if err != nil {
			return nil, err
		}
		return a.read(ctx, uris)
	}
	found, err := c.FindSystems(ctx)
	if err != nil {
		return nil, err
	}
	readings := make([]reading, 0, len(found))
	for _, f := range found {
		readings = append(readings, reading{uri: f.URI, system: f.System, err: f.Err})
	}
	return readings, only(readings)
}

// only is the first error of readings that all have one.
func only(readings []reading) error {
	if slices.ContainsFunc(readings, func(r reading) bool { return r.err == nil }) || len(readings) == 0 {
		return nil
	}
	return readings[0].err
}

// read asks for each system. One broken system does not hide the others: its error
// stays with it, unless there is no other.
func (a *actor) read(ctx context.Context, uris []string) ([]reading, error) {
	readings := make([]reading, 0, len(uris))
	for _, uri := range uris {
		s, err := a.client.System(ctx, uri)
		if err != nil && (ctx.Err() != nil || bmc.Unreachable(err)) {
			return nil, err
		}
		readings = append(readings, reading{uri: uri, system: s, err: err})
	}
	return readings, only(readings)
}

// watch takes over a new list of systems. What is no server is left out, and named; what
// could not be read yet is too, and looked for again soon, as is a list without
// any: a BMC that starts shows its systems late. The error is that of the first that could not.
func (a *actor) watch(readings []reading, now time.Time) (servers []reading, others []string, unread error) {
	readings = slices.DeleteFunc(readings, func(r reading) bool {
		if a.watching(r.uri) != nil {
			return false
		}
		if unread == nil {
			unread = r.err
		}
		if r.err == nil && !r.system.IsServer() {
			others = append(others, r.uri)
			return true
		}
		return r.err != nil
	})
	watching := make([]*watched, 0, len(readings))
	for _, r := range readings {
		w := a.watching(r.uri)
		if w == nil {
			w = &watched{uri: r.uri}
		}
		watching = append(watching, w)
	}
	a.watched = watching
	if unread != nil || len(readings) == 0 {
		a.schedule.tryAgain(&a.schedule.list, now, a.options.RefreshInterval)
	} else {
		a.schedule.done(&a.schedule.list, now, a.options.RefreshInterval)
	}
	return readings, others, unread
}

// symptoms are what the client has noticed, if it is one that does.
func (a *actor) symptoms() bmc.Symptoms {
	if c, ok := a.client.(interface{ Symptoms() bmc.Symptoms }); ok {
		return c.Symptoms()
	}
	return bmc.Symptoms{}
}

func (a *actor) watching(uri string) *watched {
	for _, w := range a.watched {
		if w.uri == uri {
			return w
		}
	}
	return nil
}

// answered notes a success of the BMC.
func (a *actor) answered(o *Observation, now time.Time) {
	o.Sequence++
	o.Certificate = a.certificate
	o.Time, o.Err, o.ErrSince = now, nil, time.Time{}
	o.Circuit, o.Retry, o.Failures = CircuitClosed, time.Time{}, 0
}

// keepOnly brings the systems into the order of a new list.
func (o *Observation) keepOnly(readings []reading) {
	systems := make([]SystemObservation, 0, len(readings))
	for _, r := range readings {
		s := SystemObservation{System: bmc.System{URI: r.uri, PowerState: bmc.PowerUnknown}}
		if old, ok := o.System(r.uri); ok {
			s = *old
		}
		systems = append(systems, s)
	}
	o.Systems = systems
}

// enter puts a reading into the observation.
func (a *actor) enter(o *Observation, r reading, now time.Time) {
	s, ok := o.System(r.uri)
	if !ok {
		return
	}
	if s.Err = r.err; r.err != nil {
		return
	}
	if s.Seq != 0 && changedParts(s.System, r.system) {
		if w := a.watching(r.uri); w != nil {
			w.inventory.at = now
		}
	}
	if s.UUID != "" && r.system.UUID != "" && s.UUID != r.system.UUID {
		// Another machine at this URI, and perhaps behind another BMC at this address: whose, is to be asked.
		o.Manager = bmc.Manager{}
		a.schedule.refresh(now)
	}
	s.System, s.Seen, s.Seq = r.system, now, o.Sequence
}

// changedParts says that the inventory of a system cannot be what it was.
func changedParts(old, s bmc.System) bool {
	return old.SerialNumber != s.SerialNumber || old.MemoryBytes != s.MemoryBytes || old.BIOSVersion != s.BIOSVersion
}

// readManager reads the manager where that is due. A BMC without a readable one can
// still be worked with.
func (a *actor) readManager(ctx context.Context) error {
	now := a.options.Clock.Now()
	if now.Before(a.schedule.manager.at) {
		return nil
	}
	m, err := a.client.Manager(ctx)
	if err != nil {
		return a.partFailed(ctx, "manager", &a.schedule.manager, err)
	}
	now = a.options.Clock.Now()
	a.schedule.done(&a.schedule.manager, now, a.options.RefreshInterval)
	a.publish(func(o *Observation) {
		a.answered(o, now)
		o.Manager = m
	})
	return nil
}

// readInventory reads the inventories that are due.
func (a *actor) readInventory(ctx context.Context) error {
	for _, w := range a.watched {
		now := a.options.Clock.Now()
		if now.Before(w.inventory.at) {
			continue
		}
		if until, locked := a.lockedUntil(now); locked {
			w.inventory.at = until
			continue
		}
		// It is dozens of requests; a command does not wait for them.
		inv, err := a.client.Inventory(bmc.Interruptible(ctx, a.mail), w.uri)
		if errors.Is(err, bmc.ErrInterrupted) {
			return nil
		}
		if err != nil {
			return a.partFailed(ctx, "inventory of "+w.uri, &w.inventory, err)
		}
		now = a.options.Clock.Now()
		interval := a.options.InventoryInterval
		if len(inv.Missing) > 0 {
			interval = min(interval, a.options.RefreshInterval)
		}
		a.schedule.done(&w.inventory, now, interval)
		a.publish(func(o *Observation) {
			a.answered(o, now)
			if s, ok := o.System(w.uri); ok && (s.Inventory == nil || !reflect.DeepEqual(*s.Inventory, inv)) {
				s.Inventory = &inv
			}
		})
	}
	return nil
}

// partFailed has a part of the BMC read again later. Whether the BMC as a whole
// is ill is not for the part to say: one disk that hangs its resource would make a
// healthy BMC a dead one. A poll of the systems follows at once and tells.
func (a *actor) partFailed(ctx context.Context, part string, d *due, err error) error {
	if ctx.Err() != nil || bmc.KindOf(err) == bmc.KindAuthentication {
		return err
	}
	now := a.options.Clock.Now()
	a.schedule.tryAgain(d, now, a.options.RefreshInterval)
	if bmc.Unreachable(err) {
		a.schedule.pollAt = now
	}
	a.log().V(1).Info("part of the BMC not read", "part", part, "error", err)
	return nil
}
