package server

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// hangs takes a server to where its claim is gone and its operating system ignores the shutdown.
func (s *stand) hangs(t *testing.T) {
	t.Helper()
	claim := s.reserved(t)
	s.hw.Ignores(true)
	s.ends(t, claim)
	s.settle(t)
}

// TestAManagerThatRestartsOftenDoesNotWaitForEver: the time to shut down is that of the machine, not of a process.
func TestAManagerThatRestartsOftenDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hangs(t)
		for range 3 {
			s.pass(t, 25*time.Second) // the budget is a minute
			s.restart(t)
		}
		s.pass(t, 15*time.Second)
		if got := count(s.hw.Resets(), " ForceOff"); got != 1 {
			t.Errorf("after 90 s the machine was told %v", s.hw.Resets())
		}
		if server := s.is(t, metalv1.ServerStateAvailable); server.Annotations[annotationShutdown] != "" {
			t.Errorf("what is over is remembered: %v", server.Annotations)
		}
	})
}

// TestWhoComesLateAsksOnceMore: a manager that was away for longer than the budget does not pull the plug at once.
func TestWhoComesLateAsksOnceMore(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hangs(t)
		s.pass(t, 20*time.Second)
		before := count(s.hw.Resets(), " GracefulShutdown")
		s.restart(t)
		s.rack.Clock.Step(time.Hour)
		s.rack.Wait()
		s.pass(t, 5*time.Second)
		if asked, forced := count(s.hw.Resets(), " GracefulShutdown")-before, count(s.hw.Resets(), " ForceOff"); asked != 1 || forced != 0 {
			t.Errorf("asked %d times, forced %d times: %v", asked, forced, s.hw.Resets())
		}
		s.pass(t, 15*time.Second)
		if forced := count(s.hw.Resets(), " ForceOff"); forced != 1 {
			t.Errorf("forced %d times: %v", forced, s.hw.Resets())
		}
	})
}

// TestABMCThatIsAwayCostsTheMachineNothing: an operating system that nobody could ask has all of its time before it.
func TestABMCThatIsAwayCostsTheMachineNothing(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.reserved(t)
		s.hw.Ignores(true)
		s.hw.Fails(&bmc.Error{Kind: bmc.KindTimeout, Op: "GET", Message: "no answer in time"})
		s.ends(t, claim)
		s.pass(t, 20*time.Minute)
		before := count(s.hw.Resets(), " GracefulShutdown")
		s.hw.Fails(nil)
		for range 1000 {
			if count(s.hw.Resets(), " GracefulShutdown") > before {
				break
			}
			s.pass(t, time.Second)
		}
		s.pass(t, 50*time.Second)
		if forced := count(s.hw.Resets(), " ForceOff"); forced != 0 {
			t.Errorf("forced off before its time: %v", s.hw.Resets())
		}
		s.pass(t, 30*time.Second)
		if forced := count(s.hw.Resets(), " ForceOff"); forced != 1 {
			t.Errorf("not forced off: %v", s.hw.Resets())
		}
	})
}

// TestEachShutdownHasItsOwnTime: what was remembered of one is not counted for the next.
func TestEachShutdownHasItsOwnTime(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hangs(t)
		s.change(t, func(o *metalv1.Server) { o.Spec.ReclaimPolicy = metalv1.ReclaimPolicyRetain })
		s.pass(t, 2*time.Minute)
		s.is(t, metalv1.ServerStateReleased)
		forced := count(s.hw.Resets(), " ForceOff")
		s.hw.Power(uri, bmc.PowerOn) // its owner looks at it: the release is asked for again
		s.rack.Look(address)
		s.pass(t, 50*time.Second)
		if got := count(s.hw.Resets(), " ForceOff"); got != forced {
			t.Errorf("the second time it is forced off before its time: %v", s.hw.Resets())
		}
		s.pass(t, 30*time.Second)
		s.is(t, metalv1.ServerStateReleased)
	})
}

func TestShutdownBudget(t *testing.T) {
	noted := func(text string) func(*View) {
		return func(v *View) { metav1.SetMetaDataAnnotation(&v.Server.ObjectMeta, annotationShutdown, text) }
	}
	at := func(ago time.Duration) string { return "release-u@" + now.Add(-ago).Format(time.RFC3339) }
	for name, tc := range map[string]struct {
		noted string
		want  time.Duration
	}{
		"nothing":          {"", time.Minute},
		"just now":         {at(0), time.Minute},
		"some time ago":    {at(20 * time.Second), 40 * time.Second},
		"nearly over":      {at(55 * time.Second), shutdownLeast},
		"long over":        {at(time.Hour), shutdownLeast},
		"of another":       {"release-x@" + now.Add(-time.Hour).Format(time.RFC3339), time.Minute},
		"in the future":    {at(-time.Hour), time.Minute},
		"no time":          {"release-u@noon", time.Minute},
		"nothing in front": {"@" + now.Format(time.RFC3339), time.Minute},
		"no form at all":   {"release-u", time.Minute},
	} {
		v := newView(power(bmc.PowerOn), noted(tc.noted))
		if got := v.shutdownBudget("release-u"); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	short := newView(power(bmc.PowerOn), noted(at(time.Hour)))
	short.Policy.PowerOffBudget = time.Second
	if got := short.shutdownBudget("release-u"); got != time.Second {
		t.Errorf("more than the budget: %s", got)
	}
}

// TestWhatIsRememberedOfAShutdown: when the BMC accepted the command, and that only once it lasts.
func TestWhatIsRememberedOfAShutdown(t *testing.T) {
	asked := fleet.CommandStatus{ID: "server-uid/available-/off", Kind: fleet.PowerOff, State: fleet.Running, Start: now.Add(-20 * time.Second), Sent: bmc.ResetGracefulShutdown}
	for name, tc := range map[string]struct {
		change func(*fleet.CommandStatus)
		force  bool
		want   string
	}{
		"it lasts":           {func(*fleet.CommandStatus) {}, true, "available-@2026-03-01T11:59:40Z"},
		"asked a second try": {func(c *fleet.CommandStatus) { c.ID += "~9" }, true, "available-@2026-03-01T11:59:40Z"},
		"never forced":       {func(*fleet.CommandStatus) {}, false, ""},
		"just begun":         {func(c *fleet.CommandStatus) { c.Start = now.Add(-9 * time.Second) }, true, ""},
		"not heard of yet":   {func(c *fleet.CommandStatus) { c.State, c.Start, c.Sent = fleet.Queued, time.Time{}, "" }, true, ""},
		"not taken yet":      {func(c *fleet.CommandStatus) { c.Sent = "" }, true, ""},
		"forced already":     {func(c *fleet.CommandStatus) { c.Forced = true }, true, ""},
		"of another":         {func(c *fleet.CommandStatus) { c.ID = "server-uid/claim-u-a/off" }, true, ""},
	} {
		v, p := newView(power(bmc.PowerOn)), Plan{}
		v.System.Command = asked
		tc.change(&v.System.Command)
		v.powerOff(&p, "available-", tc.force)
		got := ""
		if len(p.Edits) > 0 {
			apply(v.Server, p.Edits)
			got = v.Server.Annotations[annotationShutdown]
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
