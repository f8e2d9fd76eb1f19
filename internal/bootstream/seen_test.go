package bootstream

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// TestSeenTakesOnce: a number counts once for each peer and instance, and only if it was taken.
func TestSeenTakesOnce(t *testing.T) {
	var s Seen
	broken := errors.New("broken")
	for i, c := range []struct {
		peer, instance string
		number         uint64
		fails          error
		want           bool // taken or tried
	}{
		{peer: "a", instance: "1", number: 1, fails: broken, want: true},
		{peer: "a", instance: "1", number: 1, want: true},
		{peer: "a", instance: "1", number: 1},
		{peer: "a", instance: "2", number: 1, want: true},
		{peer: "b", instance: "1", number: 1, want: true},
		{peer: "a", instance: "1", number: 7, want: true}, // the numbers between were refused, or another manager took them
		{peer: "a", instance: "1", number: 6},
	} {
		tried := false
		err := s.Once(t.Context(), c.peer, c.instance, c.number, func() error { tried = true; return c.fails })
		if tried != c.want || !errors.Is(err, c.fails) {
			t.Errorf("%d: tried %v, %v; want %v, %v", i, tried, err, c.want, c.fails)
		}
	}
}

// TestSeenLetsRepetitionsWait: a repetition is answered when what it repeats has been taken.
func TestSeenLetsRepetitionsWait(t *testing.T) {
	var s Seen
	entered, leave := make(chan struct{}), make(chan struct{})
	first := make(chan error)
	go func() {
		first <- s.Once(context.Background(), "a", "1", 1, func() error { close(entered); <-leave; return nil })
	}()
	<-entered
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Once(gone, "a", "1", 1, func() error { t.Error("taken twice"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("answered while it is not taken: %v", err)
	}
	close(leave)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if err := s.Once(t.Context(), "a", "1", 1, func() error { t.Error("taken twice"); return nil }); err != nil {
		t.Error(err)
	}
}

// TestSeenIsBounded: a peer with many instances takes the places of its own alone.
func TestSeenIsBounded(t *testing.T) {
	var s Seen
	take := func(peer, instance string) (tried bool) {
		if err := s.Once(t.Context(), peer, instance, 1, func() error { tried = true; return nil }); err != nil {
			t.Error(err)
		}
		return tried
	}
	take("quiet", "1")
	for i := range 10 * mostInstances {
		take("busy", fmt.Sprint(i))
	}
	if take("quiet", "1") {
		t.Error("forgotten for another peer")
	}
	instances, _ := s.by.Get("busy")
	n := 0
	for range instances.Values() {
		n++
	}
	if n != mostInstances {
		t.Errorf("%d instances are kept", n)
	}
}
