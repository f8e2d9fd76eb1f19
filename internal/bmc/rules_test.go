package bmc_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
	"github.com/farrier-dev/farrier/test/await"
)

// What the client costs a BMC, and how it takes what a BMC does to it, counted at the simulator.

func (r *rack) strike(s fault.Spec) (end func()) {
	r.t.Helper()
	s.BMCs = []int{1}
	e, err := r.InjectFault(s)
	if err != nil {
		r.t.Fatal(err)
	}
	return func() {
		r.t.Helper()
		if err := r.ClearFault(e.ID); err != nil {
			r.t.Fatal(err)
		}
	}
}

func TestOneOfEverythingAtATime(t *testing.T) {
	r := newRack(t, sim.Standard, 1)
	c := r.client(bmc.Options{})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, err := c.Systems(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s := r.Stats(0); s.MaxConnections != 1 || s.MaxRequests != 1 || s.Logins != 1 || s.Connections != 1 {
		t.Errorf("the BMC counted %+v", s)
	}
}

// An unused connection is closed; the session is kept, and used again over the next.
func TestTheSessionOutlivesTheConnection(t *testing.T) {
	r := newRack(t, sim.Standard, 1)
	c := r.client(bmc.Options{IdleTimeout: 20 * time.Millisecond})
	ask(t, c, 1)
	await.True(t, "the connection is closed", func() bool { return r.Stats(0).OpenConnections == 0 })
	ask(t, c, 1)
	if s := r.Stats(0); s.Logins != 1 || s.MaxConnections != 1 || s.Connections < 2 {
		t.Errorf("the BMC counted %+v", s)
	}
}

// A session that is lost is made again, once; Basic authentication never takes its place.
func TestALostSessionMeansOneLoginMore(t *testing.T) {
	r := newRack(t, sim.Standard, 1)
	c := r.client(bmc.Options{})
	ask(t, c, 1)
	r.ForgetSessions(0)
	ask(t, c, 1)
	if s := r.Stats(0); s.Logins != 2 || s.Refused != 1 || s.BasicLogins != 0 {
		t.Errorf("the BMC counted %+v", s)
	}
	r.SetPassword(0, "changed-by-hand.8")
	before := r.Stats(0)
	if _, err := c.Systems(t.Context()); bmc.KindOf(err) != bmc.KindAuthentication {
		t.Errorf("error %v", err)
	}
	if s := r.Stats(0); s.Requests != before.Requests+2 || s.Refused != before.Refused+2 || s.BasicLogins != 0 {
		t.Errorf("for a password that was changed: %+v, before %+v", s, before)
	}
}

// Where the session table is full, each vendor in its own words, sessions that an earlier process of ours left make room.
// Those of others are left alone.
func TestRoomInAFullSessionTable(t *testing.T) {
	for _, v := range sim.Vendors() {
		for context, mine := range map[string]bool{"farrier": true, "somebody": false} {
			t.Run(string(v)+" "+context, func(t *testing.T) {
				r := newRack(t, v, 1)
				r.strike(fault.Spec{Kind: fault.SessionTableFull, Value: context})
				_, err := r.client(bmc.Options{}).Systems(t.Context())
				s := r.Stats(0)
				if mine && (err != nil || s.Logins != 1 || s.BasicLogins == 0) {
					t.Errorf("error %v; the BMC counted %+v", err, s)
				}
				if !mine && (err == nil || s.Logins != 0 || bmc.KindOf(err) == bmc.KindAuthentication) {
					t.Errorf("error %v; the BMC counted %+v", err, s)
				}
			})
		}
	}
}

func TestBasicWhereThereAreNoSessions(t *testing.T) {
	r := newRack(t, sim.Standard, 1, fault.NoSessions)
	c := r.client(bmc.Options{})
	ask(t, c, 2)
	if s := r.Stats(0); s.Logins != 0 || s.BasicLogins == 0 || s.Refused != 0 {
		t.Errorf("the BMC counted %+v", s)
	}
}

func TestWhatTheBMCAsksForIsHeard(t *testing.T) {
	for kind, status := range map[fault.Kind]int{fault.Unavailable: 503, fault.TooManyRequests: 429} {
		r := newRack(t, sim.Standard, 1)
		c := r.client(bmc.Options{})
		ask(t, c, 1)
		end := r.strike(fault.Spec{Kind: kind, Value: "30"})
		before := r.Stats(0).Requests
		_, err := c.Systems(t.Context())
		e, ok := errors.AsType[*bmc.Error](err)
		if !ok || e.Kind != bmc.KindServer || e.StatusCode != status || e.RetryAfter != 30*time.Second {
			t.Errorf("%s: %#v", kind, err)
		}
		if n := r.Stats(0).Requests - before; n != 1 {
			t.Errorf("%s: asked %d times", kind, n)
		}
		end()
		ask(t, c, 1)
	}
}

// Every request has a deadline, the body included; and a BMC that hung is asked over a new connection.
func TestHangingCostsNoMoreThanTheDeadline(t *testing.T) {
	for kind, says := range map[fault.Kind]string{fault.Hang: "no answer in time", fault.HangBody: "the answer stopped in the middle"} {
		r := newRack(t, sim.Standard, 1)
		c := r.client(bmc.Options{RequestTimeout: time.Second})
		end := r.strike(fault.Spec{Kind: kind})
		_, err := c.Systems(t.Context())
		if e, ok := errors.AsType[*bmc.Error](err); !ok || e.Kind != bmc.KindTimeout || e.Message != says {
			t.Errorf("%s: %v", kind, err)
		}
		end()
		c = r.client(bmc.Options{})
		ask(t, c, 1)
		if s := r.Stats(0); s.MaxConnections > 2 {
			t.Errorf("%s: the BMC counted %+v", kind, s)
		}
	}
}
