package bmc_test

import (
	"errors"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// TestACarefulClientTellsAPasswordOnce: however often it is asked, the BMC hears a wrong one once. One that is right works as with any client.
func TestACarefulClientTellsAPasswordOnce(t *testing.T) {
	for name, test := range map[string]struct {
		struck *fault.Spec
		login  bmc.LoginPolicy
	}{
		"sessions":           {nil, bmc.LoginOnce},
		"no sessions":        {&fault.Spec{Kind: fault.NoSessions, Value: "404"}, bmc.LoginOnce},
		"no sessions, 401":   {&fault.Spec{Kind: fault.NoSessions, Value: "401"}, bmc.LoginOnce},
		"no token":           {&fault.Spec{Kind: fault.NoToken}, bmc.LoginOnce},
		"refused sessions":   {&fault.Spec{Kind: fault.SessionsRefused}, bmc.LoginOnceBasic},
		"Basic, by the way":  {nil, bmc.LoginOnceBasic},
		"a full table of us": {&fault.Spec{Kind: fault.SessionTableFull, Value: "farrier"}, bmc.LoginOnce},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRack(t, sim.Standard, 1)
			if test.struck != nil {
				r.strike(*test.struck)
			}
			c := r.client(bmc.Options{Login: test.login})
			ask(t, c, 2)
			if s := r.Stats(0); s.WrongPasswords != 0 {
				t.Errorf("with the right password: %+v", s)
			}
			r.SetPassword(0, "changed-by-hand.8")
			c = r.client(bmc.Options{Login: test.login})
			for range 3 {
				if _, err := c.Systems(t.Context()); bmc.KindOf(err) != bmc.KindAuthentication {
					t.Errorf("error %v", err)
				}
			}
			if s := r.Stats(0); s.WrongPasswords != 1 {
				t.Errorf("with a wrong one: %+v", s)
			}
		})
	}
}

// TestACarefulClientDoesNotRepeatALoginWithoutAnAnswer: the BMC may have refused it.
func TestACarefulClientDoesNotRepeatALoginWithoutAnAnswer(t *testing.T) {
	r := newRack(t, sim.Standard, 1)
	end := r.strike(fault.Spec{Kind: fault.Hang, Path: "Sessions"})
	c := r.client(bmc.Options{Login: bmc.LoginOnce, RequestTimeout: 50 * time.Millisecond})
	for range 3 {
		if _, err := c.Systems(t.Context()); bmc.KindOf(err) != bmc.KindTimeout || !errors.Is(err, bmc.ErrLoginUnanswered) {
			t.Errorf("error %v", err)
		}
	}
	if s := r.Stats(0); s.Requests != 1 {
		t.Errorf("the BMC counted %+v", s)
	}
	end()
	if _, err := c.Systems(t.Context()); !errors.Is(err, bmc.ErrLoginUnanswered) {
		t.Errorf("error %v", err)
	}
	ask(t, r.client(bmc.Options{Login: bmc.LoginOnce}), 1)
}

// TestALoginThatWasNotSentIsRepeated: nobody has looked at the password.
func TestALoginThatWasNotSentIsRepeated(t *testing.T) {
	r := newRack(t, sim.Standard, 1)
	info := r.BMCs()[0]
	away := bmc.NewClient(bmc.Endpoint{Scheme: "http", Host: info.IP.String(), Port: 1}, bmc.Credentials{Username: "admin", Password: simPassword}, bmc.Options{Login: bmc.LoginOnce})
	for range 2 {
		if _, err := away.Systems(t.Context()); bmc.KindOf(err) != bmc.KindConnection || errors.Is(err, bmc.ErrLoginUnanswered) {
			t.Errorf("error %v", err)
		}
	}
}

// TestAChangeWithoutAnAnswerMakesCareful: the client that told a BMC a new password and heard nothing tells the old one once, where its session is gone.
func TestAChangeWithoutAnAnswerMakesCareful(t *testing.T) {
	r := newRack(t, sim.Standard, 1)
	c := r.client(bmc.Options{RequestTimeout: 200 * time.Millisecond})
	account, _, err := c.FindAccount(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	end := r.strike(fault.Spec{Kind: fault.Hang, Path: "Accounts/"})
	if err := c.SetPassword(t.Context(), account, "another-password.8"); bmc.KindOf(err) != bmc.KindTimeout {
		t.Fatalf("error %v", err)
	}
	end()
	r.SetPassword(0, "another-password.8") // it has heard it, and ends the sessions
	for range 3 {
		if _, err := c.Systems(t.Context()); bmc.KindOf(err) != bmc.KindAuthentication {
			t.Errorf("error %v", err)
		}
	}
	if s := r.Stats(0); s.WrongPasswords != 1 {
		t.Errorf("the BMC counted %+v", s)
	}
	if err := c.SetPassword(t.Context(), account, "another-password.9"); bmc.KindOf(err) != bmc.KindAuthentication {
		t.Errorf("error %v", err)
	}
}

// TestARefusedVerificationIsNotRepeated: a BMC that took a password, and refuses a login with it, need not hear it again when it has ended the session.
func TestARefusedVerificationIsNotRepeated(t *testing.T) {
	r := newRack(t, sim.Standard, 1)
	c := r.client(bmc.Options{})
	ask(t, c, 1)
	r.SetPassword(0, "cut-off.8")
	if err := c.Verify(t.Context(), bmc.Credentials{Username: "admin", Password: simPassword}); bmc.KindOf(err) != bmc.KindAuthentication {
		t.Errorf("error %v", err)
	}
	for range 2 {
		if _, err := c.Systems(t.Context()); bmc.KindOf(err) != bmc.KindAuthentication {
			t.Errorf("error %v", err)
		}
	}
	if s := r.Stats(0); s.WrongPasswords != 1 {
		t.Errorf("the BMC counted %+v", s)
	}
}
