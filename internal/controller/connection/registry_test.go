package connection

import (
	"context"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// listening is a source with a queue that can be looked into.
func listening(t *testing.T) (*trigger.Source, func() []string) {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	source := &trigger.Source{}
	if err := source.Start(context.Background(), queue); err != nil {
		t.Fatal(err)
	}
	return source, func() []string {
		var names []string
		for queue.Len() > 0 {
			req, _ := queue.Get()
			names = append(names, req.Name)
			queue.Done(req)
		}
		slices.Sort(names)
		return names
	}
}

func TestAnObservationWakesThoseItIsAbout(t *testing.T) {
	r := NewRegistry(fleet.New(fleet.Options{}))
	bmcs, wokenBMCs := listening(t)
	servers, wokenServers := listening(t)
	r.Bind(bmcs, "b", "k1")
	r.Bind(bmcs, "other", "k2")
	r.Bind(servers, "s1", "k1")
	r.Bind(servers, "s2", "k1")
	r.notify("k1")
	r.notify("nobody's")
	if got := wokenBMCs(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("BMCs woken: %v", got)
	}
	if got := wokenServers(); !slices.Equal(got, []string{"s1", "s2"}) {
		t.Errorf("Servers woken: %v", got)
	}
}

func TestTheLastListenerIsToldSo(t *testing.T) {
	r := NewRegistry(fleet.New(fleet.Options{}))
	bmcs, woken := listening(t)
	servers, _ := listening(t)
	if _, last := r.Bind(bmcs, "b", "k1"); last {
		t.Error("a first binding ends nothing")
	}
	r.Bind(servers, "s", "k1")
	if _, last := r.Bind(bmcs, "b", "k1"); last {
		t.Error("the same binding again ends nothing")
	}
	if before, last := r.Bind(bmcs, "b", "k2"); before != "k1" || last {
		t.Errorf("moved from %s, last=%v, and the server still listens", before, last)
	}
	if key, last := r.Unbind(servers, "s"); key != "k1" || !last {
		t.Errorf("the server listened to %s, last=%v", key, last)
	}
	if before, last := r.Bind(bmcs, "b", "k3"); before != "k2" || !last {
		t.Errorf("moved from %s, last=%v", before, last)
	}
	if key, ok := r.Key(bmcs, "b"); key != "k3" || !ok {
		t.Errorf("bound to %s", key)
	}
	r.notify("k1")
	r.notify("k2")
	if got := woken(); len(got) != 0 {
		t.Errorf("woken by what it was bound to before: %v", got)
	}
	if key, last := r.Unbind(bmcs, "never bound"); key != "" || last {
		t.Errorf("what was never bound was bound to %q", key)
	}
}

// TestTheRegistryMayBeUsedByMany is for the race detector.
func TestTheRegistryMayBeUsedByMany(t *testing.T) {
	r := NewRegistry(fleet.New(fleet.Options{}))
	source, _ := listening(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 100 {
				name := string(rune('a' + (n+i)%5))
				r.Bind(source, name, fleet.Key(rune('k'+n%3)))
				r.notify("k")
				r.Unbind(source, name)
			}
		})
	}
	all.Wait()
}
