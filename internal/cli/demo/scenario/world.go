package scenario

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/cli/demo/show"
)

// World is what the API said last, and the journal of what has changed in it.
type World struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	state   State
	last    map[track]string
	changed chan struct{}
}

// State is the objects as they are, and how they came to be so. Those of namespaces are kept by namespace/name.
type State struct {
	Endpoints map[string]*metalv1.Endpoint
	BMCs      map[string]*metalv1.BMC
	Servers   map[string]*metalv1.Server
	Claims    map[string]*metalv1.ServerClaim
	Configs   map[string]*metalv1.ServerBootConfiguration

	byUUID  map[string]string // name of the Server
	journal []entry
}

// kind is what the journal tells apart.
type kind int

const (
	kindStep kind = iota
	kindEndpoint
	kindBMC
	kindServer
	kindPower
	kindInventory
	kindClaim
	kindBoot
)

// track is one thing that has a value at every moment.
type track struct {
	kind kind
	name string
}

// entry is one line of the journal.
type entry struct {
	track
	at       time.Time
	from, to string
	quiet    bool
}

// gone is the value of what was deleted.
const gone = "deleted"

// NewWorld returns a world in which nothing is known.
func NewWorld(now clock.PassiveClock) *World {
	return &World{
		clock: now,
		state: State{
			Endpoints: map[string]*metalv1.Endpoint{},
			BMCs:      map[string]*metalv1.BMC{},
			Servers:   map[string]*metalv1.Server{},
			Claims:    map[string]*metalv1.ServerClaim{},
			Configs:   map[string]*metalv1.ServerBootConfiguration{},
			byUUID:    map[string]string{},
		},
		last:    map[track]string{},
		changed: make(chan struct{}),
	}
}

// Observe takes an object as it is now.
func (w *World) Observe(obj client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := key(obj)
	switch o := obj.(type) {
	case *metalv1.Endpoint:
		w.state.Endpoints[name] = o
		w.note(track{kindEndpoint, name}, "created", true)
	case *metalv1.BMC:
		w.state.BMCs[name] = o
		w.note(track{kindBMC, name}, string(o.Status.State), o.Status.State != metalv1.BMCStateError)
	case *metalv1.Server:
		w.state.Servers[name] = o
		w.state.byUUID[o.Spec.SystemUUID] = name
		if o.Status.TotalSystemMemory != nil || len(o.Status.Processors) > 0 {
			w.note(track{kindInventory, name}, "read", true)
		}
		w.note(track{kindServer, name}, string(o.Status.State), false)
		w.note(track{kindPower, name}, string(o.Status.PowerState), o.Spec.ServerClaimRef == nil)
	case *metalv1.ServerClaim:
		w.state.Claims[name] = o
		w.note(track{kindClaim, name}, string(o.Status.Phase), false)
	case *metalv1.ServerBootConfiguration:
		w.state.Configs[name] = o
		w.note(track{kindBoot, name}, string(o.Status.State), internal(o))
	}
}

// Forget takes note of an object that was deleted.
func (w *World) Forget(obj client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := key(obj)
	switch o := obj.(type) {
	case *metalv1.Endpoint:
		delete(w.state.Endpoints, name)
	case *metalv1.BMC:
		delete(w.state.BMCs, name)
		w.note(track{kindBMC, name}, gone, false)
	case *metalv1.Server:
		delete(w.state.Servers, name)
		delete(w.state.byUUID, o.Spec.SystemUUID)
		w.note(track{kindServer, name}, gone, false)
	case *metalv1.ServerClaim:
		delete(w.state.Claims, name)
		w.note(track{kindClaim, name}, gone, false)
	case *metalv1.ServerBootConfiguration:
		delete(w.state.Configs, name)
		w.note(track{kindBoot, name}, gone, internal(o))
	}
}

// Step takes note of a step that was done.
func (w *World) Step(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(track{kindStep, ""}, name, false)
}

// note writes a new value into the journal. w.mu is held.
func (w *World) note(t track, value string, quiet bool) {
	if value == "" || w.last[t] == value {
		return
	}
	w.state.journal = append(w.state.journal, entry{track: t, at: w.clock.Now(), from: w.last[t], to: value, quiet: quiet})
	w.last[t] = value
	close(w.changed)
	w.changed = make(chan struct{})
}

// Look calls f with the state, which f must neither change nor keep.
func (w *World) Look(f func(*State)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.state)
}

// Changed is closed when something is written into the journal.
func (w *World) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// Transitions are the entries of the journal but for the first n.
func (w *World) Transitions(n int) []show.Transition {
	w.mu.Lock()
	defer w.mu.Unlock()
	news := make([]show.Transition, 0, len(w.state.journal)-n)
	for _, e := range w.state.journal[n:] {
		news = append(news, e.transition())
	}
	return news
}

func (e *entry) transition() show.Transition {
	t := show.Transition{At: e.at, Subject: e.name, From: e.from, To: e.to, Quiet: e.quiet}
	switch e.kind {
	case kindStep:
		t.Subject, t.From = "step", ""
	case kindEndpoint:
		t.Subject = "Endpoint " + e.name
	case kindBMC:
		t.Subject = "BMC " + e.name
	case kindClaim:
		t.Subject = "claim " + e.name
	case kindBoot:
		t.Subject = "boot configuration " + e.name
	case kindPower:
		t.Aspect = "power"
	case kindInventory:
		t.Aspect = "inventory"
	}
	return t
}

// first is when a track got a value for the first time at or after a moment; zero: it has not.
func (s *State) first(t track, value string, from time.Time) time.Time {
	for i := range s.journal {
		if e := &s.journal[i]; e.track == t && e.to == value && !e.at.Before(from) {
			return e.at
		}
	}
	return time.Time{}
}

// server finds a Server by the UUID of its system; nil: there is none.
func (s *State) server(uuid string) *metalv1.Server { return s.Servers[s.byUUID[uuid]] }

// internal says that a boot configuration is of the system itself.
func internal(o *metalv1.ServerBootConfiguration) bool {
	return o.Annotations[metalv1.AnnotationType] == metalv1.TypeInternal
}

func key(obj metav1.Object) string {
	if obj.GetNamespace() == "" {
		return obj.GetName()
	}
	return obj.GetNamespace() + "/" + obj.GetName()
}
