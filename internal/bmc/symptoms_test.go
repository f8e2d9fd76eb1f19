package bmc_test

import (
	"net/http"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

func ask(t *testing.T, c *bmc.Client, times int) {
	t.Helper()
	for range times {
		if _, err := c.Systems(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLostSessionsAreNoticed(t *testing.T) {
	r := newRack(t, sim.Standard, 1)
	c := r.client(bmc.Options{})
	ask(t, c, 1)
	if got := c.Symptoms(); got != (bmc.Symptoms{}) {
		t.Errorf("a healthy BMC has %+v", got)
	}
	e, err := r.InjectFault(fault.Spec{Kind: fault.SessionLoss, Share: 1})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, c, 3)
	if got := c.Symptoms(); !got.LosesSessions {
		t.Errorf("sessions that are lost with each request: %+v", got)
	}
	if err := r.ClearFault(e.ID); err != nil {
		t.Fatal(err)
	}
	ask(t, c, 1)
	if got := c.Symptoms(); got.LosesSessions {
		t.Errorf("sessions that are kept again: %+v", got)
	}
}

func TestAClockThatIsWrongIsNoticed(t *testing.T) {
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	clock := testclock.NewFakeClock(now)
	s := bmctest.New(t)
	var date string
	s.Handle(getSystem, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		if date != "" {
			w.Header().Set("Date", date)
		}
		_, _ = w.Write([]byte(`{"@odata.id":"` + bmctest.System + `"}`))
	})
	c := bmc.NewClient(s.Endpoint(), s.Credentials(), bmc.Options{Clock: clock})
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	for _, step := range []struct {
		ahead time.Duration // of now
		silly string
		want  time.Duration
	}{
		{ahead: 4 * time.Minute},
		{ahead: -24*time.Hour + 31*time.Second, want: -24*time.Hour + time.Minute},
		{ahead: -24*time.Hour + 29*time.Second, want: -24*time.Hour + time.Minute}, // no news
		{silly: "yesterday", want: -24*time.Hour + time.Minute},
		{ahead: -23 * time.Hour, want: -23 * time.Hour},
		{ahead: time.Second},
	} {
		if date = step.silly; date == "" {
			date = now.Add(step.ahead).Format(http.TimeFormat)
		}
		if _, err := c.System(t.Context(), bmctest.System); err != nil {
			t.Fatal(err)
		}
		if got := c.Symptoms().ClockSkew; got != step.want {
			t.Errorf("Date %q: skew %s, want %s", date, got, step.want)
		}
	}
}

// A BMC is slow when it is so again and again, by the clock that the client was given.
func TestSlowAnswersAreNoticed(t *testing.T) {
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	s := bmctest.New(t)
	takes := 6 * time.Second
	s.Handle(getSystem, func(w http.ResponseWriter, _ *http.Request) {
		clock.Step(takes)
		_, _ = w.Write([]byte(`{"@odata.id":"` + bmctest.System + `"}`))
	})
	c := bmc.NewClient(s.Endpoint(), s.Credentials(), bmc.Options{Clock: clock, RequestTimeout: 10 * time.Second})
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	for i, want := range []bool{false, false, true, true, false} {
		if i == 4 {
			takes = 0
		}
		if _, err := c.System(t.Context(), bmctest.System); err != nil {
			t.Fatal(err)
		}
		if got := c.Symptoms().Slow; got != want {
			t.Errorf("after answer %d: slow %v", i+1, got)
		}
	}
}
