package resolver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// fill makes a queue and runs it in a bubble until the test ends.
func fill(t *testing.T, before func(a, b string) bool) *queue[string] {
	t.Helper()
	q := newQueue[string](clock.RealClock{}, before)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		q.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return q
}

func (q *queue[K]) mustGet(t *testing.T) K {
	t.Helper()
	key, ok := q.get()
	if !ok {
		t.Fatal("the queue has ended")
	}
	return key
}

func TestKeysBecomeDueInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, begun := fill(t, nil), time.Now()
		q.add("late", 3*time.Second)
		q.add("soon", time.Second)
		q.add("late", 5*time.Second) // the earlier time counts
		q.add("soon", 500*time.Millisecond)
		q.add("now", 0)
		for _, want := range []struct {
			key   string
			after time.Duration
		}{{"now", 0}, {"soon", 500 * time.Millisecond}, {"late", 3 * time.Second}} {
			if key := q.mustGet(t); key != want.key || time.Since(begun) != want.after {
				t.Errorf("%s after %s, want %s after %s", key, time.Since(begun), want.key, want.after)
			}
		}
		synctest.Wait()
		if len(q.ready)+len(q.waiting)+len(q.by)+len(q.marked) != 0 {
			t.Errorf("something is left: %v %v %v", q.ready, q.by, q.marked)
		}
	})
}

func TestAKeyHasOneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := fill(t, nil)
		q.add("a", 0)
		q.add("a", 0)
		if key := q.mustGet(t); key != "a" {
			t.Fatal(key)
		}
		q.add("a", 0) // while it is being worked on
		q.add("a", 0)
		q.add("b", 0)
		if key := q.mustGet(t); key != "b" {
			t.Errorf("%s is handed out while a worker has it", key)
		}
		q.done("a")
		if key := q.mustGet(t); key != "a" {
			t.Errorf("%s", key)
		}
		q.done("a")
		q.done("b")
		if len(q.ready)+len(q.marked)+len(q.taken) != 0 {
			t.Errorf("something is left: %v %v %v", q.ready, q.marked, q.taken)
		}
	})
}

func TestTheFirstKeyComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := fill(t, func(a, b string) bool { return a < b })
		for _, key := range []string{"b", "c", "a"} {
			q.add(key, 0)
		}
		for _, want := range []string{"a", "b", "c"} {
			if key := q.mustGet(t); key != want {
				t.Errorf("%s, want %s", key, want)
			}
		}
	})
}

func TestTheQueueEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string](clock.RealClock{}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		waits := make(chan bool)
		for range 3 {
			go func() {
				_, ok := q.get()
				waits <- ok
			}()
		}
		go q.run(ctx)
		synctest.Wait()
		cancel()
		for range 3 {
			if <-waits {
				t.Error("a key of a queue that has ended")
			}
		}
		q.add("late", 0) // does not wait for anybody
	})
}
