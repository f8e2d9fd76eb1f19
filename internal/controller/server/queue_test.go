package server

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestWhatIsUnderWayGoesBeforeWhatIsNew(t *testing.T) {
	request := func(name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
	}
	r := &Reconciler{}
	queue, ok := r.newQueue("line", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()).(*line)
	if !ok {
		t.Fatal("no line")
	}
	defer queue.ShutDown()
	r.begun.add("prepared")
	r.begun.add("reserved")

	queue.Add(request("new"))
	queue.AddRateLimited(request("initial"))
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(-100)}, request("listed"), request("prepared"))
	queue.AddAfter(request("reserved"), time.Millisecond)
	// It was new when it was queued, and is not when it is queued again.
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(notBegun)}, request("prepared"))

	got := map[string]int{}
	for range 5 {
		item, priority, _ := queue.GetWithPriority()
		got[item.Name] = priority
		queue.Done(item)
	}
	want := map[string]int{"new": notBegun, "initial": notBegun, "listed": -100, "prepared": 0, "reserved": 0}
	for name, priority := range want {
		if got[name] != priority {
			t.Errorf("%s has priority %d, want %d", name, got[name], priority)
		}
	}
	r.begun.forget("prepared")
	if r.begun.has("prepared") {
		t.Error("it is under way for ever")
	}
}
