package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream/sealed"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
)

// saveEvery is how often what is new is written.
const saveEvery = time.Second

// Config is what an Outbox is made of.
type Config struct {
	// Dir is where it is kept; nil: in memory alone. Key seals it.
	Dir    *sealed.Dir
	Key    sealed.Key
	Logger logr.Logger
	Clock  clock.WithTicker // nil: the real one
}

// Outbox holds what waits for a manager. It is safe for concurrent use.
type Outbox struct {
	logger   logr.Logger
	clock    clock.WithTicker
	instance string
	news     chan struct{}
	limits   [classes]int

	// mu is for moments: those who answer machines take it.
	mu      sync.Mutex
	by      map[key]*item
	queues  [classes]queue
	lastID  uint64
	dropped [classes]uint64
	// tracking is off where nothing is written; changed and removed are what is to be written, noted since the round began.
	tracking bool
	round    uint64
	changed  []*item
	removed  []uint64
	// anew says that the file has to be written as a whole.
	anew bool

	// files is taken before mu, and held while the disk works.
	files    sync.Mutex
	disk     disk
	inFlight *streampb.TellRequest
	number   uint64
}

// Open returns an outbox with what waited when the process before ended. It always returns one: Problems says what could not be read.
func Open(cfg Config) *Outbox {
	o := &Outbox{
		logger: cfg.Logger, clock: cfg.Clock, instance: rand.Text(), news: make(chan struct{}, 1), limits: limits,
		by: map[key]*item{}, round: 1, tracking: cfg.Dir != nil, disk: disk{dir: cfg.Dir, key: cfg.Key},
	}
	if o.clock == nil {
		o.clock = clock.RealClock{}
	}
	o.load()
	return o
}

// Run writes what is new every second until the context ends.
func (o *Outbox) Run(ctx context.Context) {
	ticker := o.clock.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
			_ = o.Save() // Problems says it
		case <-ctx.Done():
			return
		}
	}
}

// Close writes what is new and closes the file.
func (o *Outbox) Close() error {
	err := o.Save()
	o.files.Lock()
	defer o.files.Unlock()
	if o.disk.log != nil {
		err = errors.Join(err, o.disk.log.Close())
		o.disk = disk{}
	}
	return err
}

// News has a value when something waits that did not.
func (o *Outbox) News() <-chan struct{} { return o.news }

// Deliver adds an answer to a machine.
func (o *Outbox) Deliver(d bootview.Delivery) {
	k := key{
		class: deliveries, kind: string(d.Kind), entry: clip(d.Entry), what: clip(d.What), uuid: clip(d.UUID), attempt: clip(d.Attempt), address: clip(d.Addr),
		status: int32(d.Status), stranger: d.Stranger,
	}
	k = k.classified()
	o.mu.Lock()
	defer o.mu.Unlock()
	if it, known := o.by[k]; known {
		extend(it.message.(*streampb.Delivery), d)
		o.touch(it)
		return
	}
	// The address and the name are cut out of a request, which must not stay for them.
	k.address, k.what = strings.Clone(k.address), strings.Clone(k.what)
	at := timestamppb.New(d.Time)
	o.insert(k, &streampb.Delivery{
		Kind: k.kind, Entry: k.entry, What: k.what, Uuid: k.uuid, Attempt: k.attempt, Address: k.address, Mac: clip(d.MAC), Stranger: k.stranger,
		First: at, Last: &timestamppb.Timestamp{Seconds: at.Seconds, Nanos: at.Nanos}, Status: k.status, Bytes: d.Bytes, Count: 1,
	})
}

// extend adds an answer to those that are like it.
func extend(m *streampb.Delivery, d bootview.Delivery) {
	set := func(t *timestamppb.Timestamp) { t.Seconds, t.Nanos = d.Time.Unix(), int32(d.Time.Nanosecond()) }
	if before(d.Time, m.First) {
		set(m.First)
	}
	if !before(d.Time, m.Last) {
		set(m.Last)
	}
	if d.MAC != "" {
		m.Mac = clip(d.MAC)
	}
	m.Bytes += d.Bytes
	m.Count++
}

func before(t time.Time, o *timestamppb.Timestamp) bool {
	return t.Unix() < o.Seconds || t.Unix() == o.Seconds && int32(t.Nanosecond()) < o.Nanos
}

// Alarm adds an alarm; of those that are alike the first counts.
func (o *Outbox) Alarm(a bootview.Alarm) {
	m := &streampb.Alarm{
		Server: clip(a.Server), Uuid: clip(a.UUID), Attempt: clip(a.Attempt), What: string(a.What), Caller: callerOf(a.Caller), Bound: callerOf(a.Bound),
		Why: clip(a.Why), Time: timestamppb.New(a.Time),
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if k := alarmKey(m); o.by[k] == nil {
		o.insert(k, m)
	}
}

// Sight adds a machine that asked and that there was nothing for; of a host the last one counts.
func (o *Outbox) Sight(u bootview.UnknownMachine) {
	text := func(s string) string { return strings.Clone(clip(s)) }
	m := &streampb.Sighting{
		Address: text(u.Address), Uuid: text(u.UUID), Mac: text(u.MAC), Serial: text(u.Serial), Path: text(u.Path), Time: timestamppb.New(u.Last),
		Architecture: text(u.Architecture), Count: uint32(min(max(u.Times, 0), math.MaxUint32)),
	}
	if !u.First.IsZero() {
		m.First = timestamppb.New(u.First)
	}
	o.replace(sightingKey(m), m)
}

// maxHeld is how many addresses of a client are told: it has one in each subnet.
const maxHeld = 16

// Lease adds a client of DHCP that has an address; the last one counts. That it is a machine is worth nothing to who has not heard of it.
func (o *Outbox) Lease(l *streampb.Lease) {
	m := &streampb.Lease{Mac: clip(l.GetMac()), Address: clip(l.GetAddress()), Machine: l.GetMachine(), Addresses: l.GetAddresses(), Host: clip(l.GetHost()), Vendor: clip(l.GetVendor())}
	for _, held := range l.GetHeld()[:min(len(l.GetHeld()), maxHeld)] {
		m.Held = append(m.Held, clip(held))
	}
	k := leaseKey(m)
	o.mu.Lock()
	_, waits := o.by[k]
	o.mu.Unlock()
	if waits || !m.GetMachine() {
		o.replace(k, m)
	}
}

// Bind adds who boots by an entry; the last one counts.
func (o *Outbox) Bind(entry, attempt string, c bootview.Caller, proven bool) {
	m := &streampb.Binding{Entry: clip(entry), Attempt: clip(attempt), Caller: callerOf(c), Proven: proven}
	o.replace(bindingKey(m), m)
}

// Early adds a Server whose machine asked before its BMC has shown it on.
func (o *Outbox) Early(server string) {
	k := earlyKey(clip(server))
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by[k] == nil {
		o.insert(k, nil)
	}
}

// replace puts a message in the place of the one that is like it.
func (o *Outbox) replace(k key, m proto.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if it, known := o.by[k]; known {
		it.message = m
		o.touch(it)
		return
	}
	o.insert(k, m)
}

// insert adds an item; the oldest of its class makes room. mu is held.
func (o *Outbox) insert(k key, m proto.Message) {
	o.lastID++
	it := &item{id: o.lastID, key: k, message: m}
	o.enter(it)
	o.touch(it)
	select {
	case o.news <- struct{}{}:
	default:
	}
}

func (o *Outbox) enter(it *item) {
	q := &o.queues[it.key.class]
	if q.len() >= o.limits[it.key.class] {
		o.dropped[it.key.class]++
		o.forget(q.pop())
	}
	q.push(it)
	o.by[it.key] = it
}

// touch has an item written. mu is held.
func (o *Outbox) touch(it *item) {
	if it.changed == o.round || !o.tracking || o.anew {
		return // when all is written anew, it is as well
	}
	it.changed = o.round
	o.changed = append(o.changed, it)
	o.boundTracking()
}

// forget removes an item that has left its queue. mu is held.
func (o *Outbox) forget(it *item) {
	it.gone = true
	delete(o.by, it.key)
	if it.saved && o.tracking && !o.anew {
		o.removed = append(o.removed, it.id)
		o.boundTracking()
	}
}

// mostTracked bounds what is noted for the next write: beyond it everything is written anew.
const mostTracked = 1 << 15

func (o *Outbox) boundTracking() {
	if len(o.changed)+len(o.removed) > mostTracked {
		o.writeAnew()
	}
}

// writeAnew gives up the notes of what has changed. mu is held.
func (o *Outbox) writeAnew() {
	o.changed, o.removed, o.anew = nil, nil, true
	o.round++
}
