package main

import (
	"testing"
	"time"
)

func TestAsManyMachinesStayDue(t *testing.T) {
	const machines = 1_000
	c, now := changes{machines: machines}, time.Unix(7, 0)
	dueNow := map[string]bool{}
	for i := range due(machines) {
		e, err := machine(i, true, 0)
		if err != nil {
			t.Fatal(err)
		}
		dueNow[e.Name] = true
	}
	last := map[string]int{}
	for i := range 5 * machines {
		e, err := c.next(now)
		if err != nil {
			t.Fatal(err)
		}
		if e.Attempt.Open == dueNow[e.Name] {
			t.Fatalf("change %d of %s changes nothing", i, e.Name)
		}
		if e.Attempt.Open {
			dueNow[e.Name] = true
		} else {
			delete(dueNow, e.Name)
		}
		if got := len(dueNow) - due(machines); got != 0 && got != 1 {
			t.Fatalf("%d more machines are due after %d changes", got, i+1)
		}
		if before, known := last[e.Name]; known && i-before < ahead {
			t.Fatalf("%s changes again after %d changes, and a burst is %d ahead", e.Name, i-before, ahead)
		}
		last[e.Name] = i
		if at, ok := orderedAt(e.Attempt.ID); !ok || !at.Equal(now) {
			t.Fatalf("attempt %q was ordered at %v, %v", e.Attempt.ID, at, ok)
		}
	}
}

func TestQuantile(t *testing.T) {
	seen := map[int64]int{1: 90, 5: 9, 100: 1}
	for q, want := range map[float64]time.Duration{0: unit, 0.5: unit, 0.95: 5 * unit, 1: 100 * unit} {
		if got := quantile(seen, 100, q); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
}
