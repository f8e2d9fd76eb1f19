package trigger

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func newQueue(t *testing.T) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	return queue
}

func TestWhatComesBeforeTheStartIsKept(t *testing.T) {
	var s Source
	s.Wake("", "a")
	s.Wake("", "a")
	s.Wake("ns", "a")
	queue := newQueue(t)
	if err := s.Start(context.Background(), queue); err != nil {
		t.Fatal(err)
	}
	if queue.Len() != 2 {
		t.Errorf("queued: %d", queue.Len())
	}
	s.Wake("", "b")
	s.Wake("", "b")
	if queue.Len() != 3 {
		t.Errorf("queued after the start: %d", queue.Len())
	}
}

func TestNobodyIsLostAroundTheStart(t *testing.T) {
	var s Source
	queue := newQueue(t)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() { s.Wake("", fmt.Sprint(i)) })
	}
	all.Go(func() { _ = s.Start(context.Background(), queue) })
	all.Wait()
	if queue.Len() != 50 {
		t.Errorf("queued: %d of 50", queue.Len())
	}
}

func TestWakingNeverBlocks(t *testing.T) {
	var s Source
	queue := newQueue(t)
	if err := s.Start(context.Background(), queue); err != nil {
		t.Fatal(err)
	}
	queue.ShutDown()
	s.Wake("", "late") // must neither block nor panic
}
