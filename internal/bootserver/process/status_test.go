package process

import (
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootstream"
)

func TestReadiness(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	heard := func(ago time.Duration) bootstream.State {
		return bootstream.State{Heard: now.Add(-ago), SecretsUntil: now.Add(time.Hour - ago), Epoch: "e", Counter: 1}
	}
	synced := func(s bootstream.State) bootstream.State { s.Synced = true; return s }
	following := func(s bootstream.State) bootstream.State { s.Manager = "manager:1"; return s }
	for name, c := range map[string]struct {
		state   bootstream.State
		stale   time.Duration
		says    string // empty: ready
		expired bool
	}{
		"nothing yet":                       {bootstream.State{}, time.Hour, "no manager has sent the view yet", true},
		"a snapshot is under way":           {following(bootstream.State{}), time.Hour, "has not sent the whole view", true},
		"a manager":                         {following(synced(heard(time.Second))), 0, "", false},
		"a manager that is quiet":           {following(synced(heard(time.Hour))), 0, "", false},
		"no manager, strict":                {synced(heard(time.Second)), 0, "--serve-stale=0s", false},
		"no manager, a young view":          {synced(heard(time.Minute)), 10 * time.Minute, "", false},
		"no manager, an old view":           {synced(heard(11 * time.Minute)), 10 * time.Minute, "--serve-stale=10m0s", false},
		"a view from disk":                  {heard(time.Minute), 10 * time.Minute, "", false},
		"an old view from disk":             {heard(10 * time.Minute), 10 * time.Minute, "--serve-stale", false},
		"a snapshot over a view":            {following(heard(time.Minute)), 10 * time.Minute, "", false},
		"a snapshot over an old view":       {following(heard(time.Hour)), 10 * time.Minute, "has not sent the whole view", false},
		"secrets that nobody can vouch for": {synced(heard(2 * time.Hour)), 10 * time.Hour, "", true},
	} {
		s := newStatus(clocktesting.NewFakePassiveClock(now), c.stale)
		s.moved(c.state)
		err := s.ready()
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if s.secretsExpired() != c.expired {
			t.Errorf("%s: secrets expired: %v", name, !c.expired)
		}
	}
}

// TestTheRevisionIsMadeOnce for each change, and not for each request.
func TestTheRevisionIsMadeOnce(t *testing.T) {
	s := newStatus(clocktesting.NewFakePassiveClock(time.Now()), 0)
	if got := s.revision(); len(got) != 1 || got[0] != "none" {
		t.Errorf("without a view: %q", got)
	}
	s.moved(bootstream.State{Epoch: "e", Counter: 7})
	first := s.revision()
	s.moved(bootstream.State{Epoch: "e", Counter: 7, Manager: "manager:1"})
	if second := s.revision(); first[0] != "e/7" || &first[0] != &second[0] {
		t.Errorf("%q, and again %q", first, second)
	}
	if allocations := testing.AllocsPerRun(100, func() { s.revision(); s.secretsExpired(); _ = s.fresh() }); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}
