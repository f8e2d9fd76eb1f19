package ratelimit

import (
	"net/netip"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

var now = time.Unix(1_700_000_000, 0)

func TestLimiter(t *testing.T) {
	c := clocktesting.NewFakePassiveClock(now)
	l := New(2, 3, c)
	a, b := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2") // one host
	if !l.Left(a) || !l.Allow(a) || !l.Allow(b) || !l.Left(a) || !l.Allow(a) {
		t.Error("one of three was turned away")
	}
	if l.Left(b) || l.Allow(b) {
		t.Error("the fourth was let through")
	}
	if other := netip.MustParseAddr("2001:db8:0:1::1"); !l.Left(other) || !l.Allow(other) {
		t.Error("another host was turned away")
	}
	c.SetTime(now.Add(500 * time.Millisecond))
	if !l.Allow(a) || l.Allow(a) {
		t.Error("want one more after half a second")
	}
}

// TestReserve: what is one too many waits its turn, and what would wait too long is counted by nobody.
func TestReserve(t *testing.T) {
	c := clocktesting.NewFakePassiveClock(now)
	l := New(2, 2, c)
	a := netip.MustParseAddr("192.0.2.1")
	for i, want := range []time.Duration{0, 0, 500 * time.Millisecond, time.Second} {
		if wait, ok := l.Reserve(a, time.Second); !ok || wait != want {
			t.Errorf("number %d waits %s (%t), want %s", i, wait, ok, want)
		}
	}
	for range 3 {
		if wait, ok := l.Reserve(a, time.Second); ok {
			t.Errorf("one that would wait %s is let in", wait)
		}
	}
	if wait, ok := l.Reserve(netip.MustParseAddr("192.0.2.2"), time.Second); !ok || wait != 0 {
		t.Errorf("another address waits %s", wait)
	}
	c.SetTime(now.Add(500 * time.Millisecond))
	if wait, ok := l.Reserve(a, time.Second); !ok || wait != time.Second {
		t.Errorf("half a second later it waits %s (%t)", wait, ok)
	}
}

// TestMemory: there are never more buckets than that, and who has done nothing yet is let through.
func TestMemory(t *testing.T) {
	l := New(1, 10, clocktesting.NewFakePassiveClock(now))
	for i := range 3 * maxBuckets {
		a := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		if !l.Left(a) || !l.Allow(a) {
			t.Fatalf("%v is turned away at its first request", a)
		}
	}
	if len(l.buckets) > maxBuckets {
		t.Errorf("%d buckets", len(l.buckets))
	}
}
