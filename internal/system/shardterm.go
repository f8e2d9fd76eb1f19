package system

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/controller/bootrelay"
	"github.com/farrier-dev/farrier/internal/controller/server"
	"github.com/farrier-dev/farrier/internal/controller/shardfilter"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Where BMCs are divided among managers, a process has a term for each shard that it holds (sharding.go), with a fleet and with the controllers that look
// after BMCs and servers. What decides for all servers is in the term of the leader, which can be another process. Both terms write into the same objects,
// as the controllers of one term do. What one of them knows and the API does not, package bootrelay carries over.

// shards are the terms of the shards that this process holds. Its zero value has none.
type shards struct {
	mu    sync.Mutex
	terms map[int]*term
	// events takes the events of BMCs for all of them; nil: nobody may send any, or nothing is held yet.
	events *bmcevents.Receiver
	// opened has what serves BMCs in all of these terms begin, once.
	opened sync.Once
}

func (h *shards) put(i int, t *term) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.terms == nil {
		h.terms = map[int]*term{}
	}
	if t == nil {
		delete(h.terms, i)
		return
	}
	h.terms[i] = t
}

func (h *shards) all() []*term {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.terms))
}

// holdShards holds shards from when the caches are full until nothing acts any more.
func (s *System) holdShards() {
	select {
	case <-s.synced:
	case <-s.turns.Done():
		return
	}
	all := prometheus.NewGauge(prometheus.GaugeOpts{Name: "farrier_shards", Help: "Shards that BMCs are divided into."})
	all.Set(float64(s.settings.Shards))
	if err := metrics.Registry.Register(all); err != nil {
		s.fail(fmt.Errorf("metrics of shards: %w", err))
		return
	}
	defer metrics.Registry.Unregister(all)
	s.sharding.run(s.turns)
}

// runShard acts on a shard until ctx ends, and returns when everything has ended.
func (s *System) runShard(ctx context.Context, i int) error {
	if s.contact.await(ctx) != nil { // the caches are as new as the API
		return nil
	}
	filter := shardfilter.Filter{Shard: i, Shards: s.settings.Shards, Servers: s.controllers.acting.GetClient()}
	t := &term{
		System: s, mgr: newTermManager(s.controllers.acting), shard: &filter, alarms: &alarm.Board{Wake: func(string) {}},
		metrics: prometheus.WrapRegistererWith(prometheus.Labels{"shard": strconv.Itoa(i)}, metrics.Registry),
	}
	t.seen = filter.Manager(t.mgr)
	if err := t.setUp([]func(ctrl.Manager) error{t.addFleet, t.addRecorded}); err != nil {
		return err
	}
	held := prometheus.NewGauge(prometheus.GaugeOpts{Name: "farrier_shard_held", Help: "1 for each shard that this process holds."})
	held.Set(1)
	if err := t.metrics.Register(held); err != nil {
		return fmt.Errorf("metrics of the shard: %w", err)
	}
	defer t.metrics.Unregister(held)
	s.shards.opened.Do(s.openForBMCs)
	s.shards.put(i, t)
	defer func() {
		s.shards.put(i, nil)
		s.handOver(filter)
	}()
	err := t.mgr.Start(ctx)
	if t.subscriptions != nil {
		t.subscriptions.Leave()
	}
	return err
}

// handOver has the relay look at the Servers of a shard that this process has given up: whoever gets it next does not know what this process knows.
func (s *System) handOver(filter shardfilter.Filter) {
	t := s.term.Load()
	if t == nil || t.relay == nil {
		return
	}
	var all metalv1.ServerList
	if err := s.controllers.acting.GetClient().List(context.Background(), &all, client.UnsafeDisableDeepCopy); err != nil {
		return // a cache that has ended
	}
	for i := range all.Items {
		if filter.Covers(context.Background(), &all.Items[i]) {
			t.relay.Wake.Wake("", all.Items[i].Name)
		}
	}
}

// openForBMCs begins what all shards of this process have in common. It goes on until the system stops.
func (s *System) openForBMCs() {
	for name, run := range map[string]func(context.Context) error{
		"receiver of BMC events":              s.serveSharedEvents,
		"firmware images for BMCs":            func(ctx context.Context) error { return s.serveFirmware(ctx, http.HandlerFunc(s.sharedFirmware)) },
		"reports of objects without progress": s.throttled(s.controllers.direct, s.controllers.direct.GetClient()),
	} {
		s.run(name, run)
	}
}

// sharedFirmware gives a BMC an image that a shard of this process needs.
func (s *System) sharedFirmware(w http.ResponseWriter, r *http.Request) {
	for _, t := range s.shards.all() {
		if t.firmware != nil && t.firmware.Has(r.URL.Path) {
			t.firmware.ServeHTTP(w, r)
			return
		}
	}
	http.NotFound(w, r)
}

// addRecorded has the consoles of the machines of a shard recorded, if that is wanted.
func (t *term) addRecorded(mgr ctrl.Manager) error {
	if !t.settings.RecordConsoles {
		return nil
	}
	consoles := t.consoles(mgr)
	if err := mgr.Add(named("serial consoles", consoles.Run)); err != nil {
		return err
	}
	return t.recordConsoles(mgr, consoles)
}

// addRelay adds what tells managers that hold shards of boots.
func (t *term) addRelay(mgr ctrl.Manager) error {
	t.relay = &bootrelay.Relay{
		Client: mgr.GetClient(), Acknowledged: t.controllers.delivery.Acknowledged, Alarms: t.controllers.alarms, Workers: workers,
		Elsewhere: func(s *metalv1.Server) bool { return t.holderOf(s) == nil },
	}
	return t.relay.SetupWithManager(mgr)
}

// holderOf is the term of this process that looks after a Server; nil: it has none.
func (s *System) holderOf(of *metalv1.Server) *term {
	if s.settings.Shards == 0 {
		return s.term.Load()
	}
	for _, t := range s.shards.all() {
		if t.shard.Covers(context.Background(), of) {
			return t
		}
	}
	return nil
}

// holderOfNamed is holderOf by the name of a Server, with the Server where that matters.
func (s *System) holderOfNamed(name string) *term {
	if s.settings.Shards == 0 {
		return s.term.Load()
	}
	var of metalv1.Server
	if err := s.controllers.acting.GetClient().Get(context.Background(), client.ObjectKey{Name: name}, &of); err != nil {
		return nil
	}
	return s.holderOf(&of)
}

// wakeServer has the controller of servers look at one. Where no term of this process does, the next one looks at all; or it is told by the relay.
func (s *System) wakeServer(name string) {
	if t := s.holderOfNamed(name); t != nil {
		if newest, raised := s.controllers.alarms.Of(name); raised && t.shard != nil {
			t.alarms.Put(name, newest)
			s.controllers.alarms.Done(name, newest)
		}
		t.servers.Wake.Wake("", name)
		return
	}
	if t := s.term.Load(); t != nil && t.relay != nil {
		t.relay.Wake.Wake("", name)
	}
}

// pollSoon has the BMC of a server asked soon, if a term of this process looks after it.
func (s *System) pollSoon(name string) {
	t := s.holderOfNamed(name)
	if t == nil {
		return
	}
	if key, known := t.registry.Key(&t.servers.Wake, name); known {
		t.fleet.PollSoon(key)
	}
}

// boots is what the controller of servers asks about boots: what this process knows, and where another may lead, only while it leads itself.
func (t *term) boots() server.Boots {
	if t.shard == nil {
		return t.controllers.delivery
	}
	return &leadersBoots{t.System}
}

// leadersBoots is what the leader knows of boots, as far as another process can say. That it has a boot attempt is in the boot configuration, too.
type leadersBoots struct{ s *System }

// Acknowledged implements server.Boots.
func (b *leadersBoots) Acknowledged(attempt string) bool {
	return b.s.leadership.Leads() && b.s.controllers.delivery.Acknowledged(attempt)
}

// Answering implements server.Boots. The leader answers from when it leads.
func (b *leadersBoots) Answering() time.Time {
	if b.s.leadership.Leads() {
		return b.s.controllers.delivery.Answering()
	}
	d, _ := b.s.divided.known()
	return d.since
}

// Observe returns what a fleet of this process last observed of a BMC. It implements consoletarget.Observer.
func (h *shards) Observe(key fleet.Key) (fleet.Observation, bool) {
	for _, t := range h.all() {
		if o, known := t.fleet.Observe(key); known {
			return o, true
		}
	}
	return fleet.Observation{}, false
}
