package records

import (
	"flag"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// TestMain makes the properties the same run every time. Others come with
// -rapid.seed and -rapid.checks; a failure prints its seed.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.seed": "20240501", "rapid.checks": "200"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run()) // which parses the command line, over what was set here
}

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// shelf is an image cache that only remembers what is pinned.
type shelf struct {
	pins     map[string]registry.Pin
	pinned   func(string, registry.Pin)
	unpinned func(string)
}

func (s *shelf) ObservePins(pinned func(string, registry.Pin), unpinned func(string)) {
	s.pinned, s.unpinned = pinned, unpinned
}

func (s *shelf) Pin(owner string, pin registry.Pin) error {
	s.pins[owner] = pin
	if s.pinned != nil {
		s.pinned(owner, pin)
	}
	return nil
}

func (s *shelf) Unpin(owner string) {
	delete(s.pins, owner)
	if s.unpinned != nil {
		s.unpinned(owner)
	}
}

// end is one end of the stream: everything that is answered from.
type end struct {
	machines  *bootview.View
	profiles  *profile.View
	instances *bootview.Instances
	blobs     *shelf
}

func newEnd() end {
	return end{bootview.New(), profile.NewView(clocktesting.NewFakePassiveClock(now), nil), &bootview.Instances{}, &shelf{pins: map[string]registry.Pin{}}}
}

func (e end) views() *Views { return NewViews(e.machines, e.profiles, e.instances, e.blobs) }

// wire carries records as the boot stream does: in bytes. It keeps the newest of each key.
type wire struct {
	t interface {
		Helper()
		Fatalf(string, ...any)
	}
	to *Views // nil: nobody listens

	mu     sync.Mutex
	newest map[string][]byte
	sites  map[string]string
	puts   int
}

func (w *wire) Put(site string, r *streampb.Record) {
	w.t.Helper()
	data, err := proto.Marshal(r)
	if err != nil {
		w.t.Fatalf("record %s: %v", r.GetKey(), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.newest[r.GetKey()], w.sites[r.GetKey()] = data, site
	w.puts++
	if w.to != nil {
		w.apply(w.to, data)
	}
}

func (w *wire) Delete(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.newest, key)
	delete(w.sites, key)
	if w.to != nil {
		w.to.Delete(key)
	}
}

func (w *wire) apply(to *Views, data []byte) {
	w.t.Helper()
	var r streampb.Record
	if err := proto.Unmarshal(data, &r); err != nil {
		w.t.Fatalf("%v", err)
	}
	if err := to.Apply(&r); err != nil {
		w.t.Fatalf("%v", err)
	}
}

// late gives to whoever comes late the newest record of each key, in the order of less.
func (w *wire) late(to *Views, keys []string) {
	w.t.Helper()
	for _, key := range keys {
		w.apply(to, w.newest[key])
	}
	to.SetSynced(true)
}

func (w *wire) keys() []string { return slices.Sorted(maps.Keys(w.newest)) }

// connect returns a manager's end, and a boot server's that is told of its changes.
func connect(t interface {
	Helper()
	Fatalf(string, ...any)
}) (manager end, source *Source, w *wire, server end, views *Views) {
	manager, server = newEnd(), newEnd()
	views = server.views()
	w = &wire{t: t, to: views, newest: map[string][]byte{}, sites: map[string]string{}}
	source = NewSource(w)
	source.ObserveView(manager.machines)
	source.ObserveProfiles(manager.profiles)
	source.ObserveInstances(manager.instances)
	source.ObservePins(manager.blobs)
	manager.machines.SetSynced(true)
	manager.profiles.SetSynced(true)
	manager.instances.SetSynced(true)
	views.SetSynced(true)
	return manager, source, w, server, views
}

// record is the newest record of a key.
func (w *wire) record(t *testing.T, key string) *streampb.Record {
	t.Helper()
	data, ok := w.newest[key]
	if !ok {
		t.Fatalf("no record %s; there are %q", key, w.keys())
	}
	var r streampb.Record
	if err := proto.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// pinned is an image of a UKI alone.
func pinned() registry.Pin {
	return registry.Pin{Version: 7, Plan: registry.Plan{
		Registry: "ghcr.io", Repository: "org/os", Tag: "1", Digest: digest, UKI: &registry.Layer{Digest: digest, MediaType: "application/x", Size: 3},
	}}
}
