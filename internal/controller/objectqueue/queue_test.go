package objectqueue

import (
	"runtime"
	"strconv"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func object(i int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: strconv.Itoa(i)}}
}

func newQueue(t *testing.T) *Queue {
	t.Helper()
	q := New(t.Name(), workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	return q
}

// TestNoWorkerStaysBehind: queues end while workers take, finish and add objects. Each time, all of them come home.
func TestNoWorkerStaysBehind(t *testing.T) {
	const workers = 8
	for round := range 300 {
		q := newQueue(t)
		var all sync.WaitGroup
		started := make(chan struct{}, workers)
		for i := range workers {
			all.Go(func() {
				q.Add(object(i))
				for at := i; ; at += workers {
					q.Add(object(at))
					request, shutdown := q.Get()
					if shutdown {
						return
					}
					if request.Name[0] == '/' {
						t.Errorf("round %d: a worker was given %q", round, request.Name)
					}
					q.Done(request)
					if at == i {
						started <- struct{}{}
					}
				}
			})
		}
		for range round % workers { // none, or some, have work in hand
			<-started
		}
		q.ShutDown()
		all.Wait() // hangs where a worker stays behind
		if !q.ShuttingDown() {
			t.Error("the queue is over, and says that it is not")
		}
	}
}

// TestAfterTheEnd: whoever comes then neither blocks nor gets anything.
func TestAfterTheEnd(t *testing.T) {
	q := newQueue(t)
	q.Add(object(1))
	q.ShutDownWithDrain()
	q.ShutDown()
	q.Add(object(2))
	if request, shutdown := q.Get(); !shutdown || request.Name != "" {
		t.Errorf("got %v, over: %v", request, shutdown)
	}
	q.Done(object(1))
}

// TestWaitingWorkersAreToldOfTheEnd: there is nothing to do, and they wait.
func TestWaitingWorkersAreToldOfTheEnd(t *testing.T) {
	q := newQueue(t)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if request, shutdown := q.Get(); !shutdown {
				t.Errorf("a worker was given %q", request.Name)
			}
		})
	}
	for {
		q.mu.Lock()
		waiting := q.waiting
		q.mu.Unlock()
		if waiting == 5 {
			break
		}
		runtime.Gosched()
	}
	q.ShutDown()
	all.Wait()
}
