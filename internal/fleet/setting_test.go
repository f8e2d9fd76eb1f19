package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/farrier-dev/farrier/internal/bmc"
)

func TestSettings(t *testing.T) {
	lit := Command{Kind: SetIndicator, Indicator: bmc.IndicatorLit}
	order := Command{Kind: SetBootOrder, BootOrder: []string{"b", "a"}}
	rejected := &bmc.Error{Kind: bmc.KindRejected, StatusCode: 400}
	busy := &bmc.Error{Kind: bmc.KindServer, StatusCode: 503, RetryAfter: 10 * time.Second}
	for _, test := range []struct {
		name    string
		c       Command
		prepare func(*stand)
		want    []string
		state   CommandState
		err     error
	}{
		{"indicator", lit, func(*stand) {}, []string{"indicator Lit"}, Succeeded, nil},
		{"indicator is so", lit, func(s *stand) { s.bmc.systems[0].IndicatorLED = "Lit" }, nil, Succeeded, nil},
		{"indicator refused", lit, func(s *stand) { s.bmc.fail = failOn("indicator", rejected) }, []string{"indicator Lit"}, Failed, rejected},
		{"boot order", order, func(*stand) {}, []string{"order [b a]"}, Succeeded, nil},
		{
			"boot order, busy for a while", order, func(s *stand) {
				s.bmc.fail = func(call string) error {
					if s.clock.Now().Before(start.Add(15 * time.Second)) {
						return failOn("order", busy)(call)
					}
					return nil
				}
			}, []string{"order [b a]", "order [b a]", "order [b a]"}, Succeeded, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := met(t, nil)
			test.prepare(s)
			test.c.ID = "1"
			s.submit(test.c)
			s.runFor(time.Minute)
			if got := s.status("1"); got.State != test.state || !errors.Is(got.Err, test.err) && test.err != nil {
				t.Errorf("%+v", got)
			}
			if diff := cmp.Diff(test.want, changes(s), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if got := s.observation().Systems[0]; got.Setting.ID != "1" || got.Command.ID != "" {
				t.Errorf("setting %+v, command %+v", got.Setting, got.Command)
			}
		})
	}
}

func TestSettingGivesUpInTime(t *testing.T) {
	s := met(t, nil)
	s.bmc.fail = failOn("indicator", &bmc.Error{Kind: bmc.KindServer, StatusCode: 503})
	s.submit(Command{ID: "1", Kind: SetIndicator, Indicator: bmc.IndicatorLit, Budget: time.Minute})
	s.runFor(10 * time.Minute)
	if got := s.status("1"); got.State != Failed || !errors.Is(got.Err, ErrNotTaken) || got.End.Sub(got.Start) != time.Minute {
		t.Errorf("%+v", got)
	}
}

// A setting does not end a power command, nor the other way round; each ends its
// own kind.
func TestSettingsAndPowerLeaveEachOtherAlone(t *testing.T) {
	s := met(t, nil)
	isOn(s)
	later(s, time.Minute, true)
	s.submit(Command{ID: "off", Kind: PowerOff})
	s.step()
	s.submit(Command{ID: "lit", Kind: SetIndicator, Indicator: bmc.IndicatorLit})
	s.submit(Command{ID: "dark", Kind: SetIndicator, Indicator: bmc.IndicatorOff})
	s.runFor(10 * time.Minute)
	for id, want := range map[string]CommandState{"off": Succeeded, "lit": Superseded, "dark": Succeeded} {
		if got := s.status(id); got.State != want {
			t.Errorf("%s: %+v, want %s", id, got, want)
		}
	}
}

func TestResetManager(t *testing.T) {
	c := Command{ID: "1", Kind: ResetManager, Reset: bmc.ResetForceRestart}
	s := met(t, nil)
	if err := s.fleet.Submit(s.key, c); err != nil {
		t.Fatal(err)
	}
	s.runFor(time.Second)
	if got := s.status("1"); got.State != Succeeded || got.Sent != bmc.ResetForceRestart || s.observation().Job.ID != "1" {
		t.Errorf("%+v, job %+v", got, s.observation().Job)
	}
	s.runFor(time.Minute) // and then everything is read again
	if diff := cmp.Diff([]string{"reset manager ForceRestart", "list", "system", "manager"}, s.bmc.calls()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}

	// What may have arrived is not repeated.
	s.bmc.fail = failOn("reset manager", errTimeout)
	c.ID = "2"
	if err := s.fleet.Submit(s.key, c); err != nil {
		t.Fatal(err)
	}
	s.runFor(time.Hour)
	n := 0
	for _, call := range s.bmc.calls() {
		if call == "reset manager ForceRestart" {
			n++
		}
	}
	if got := s.status("2"); got.State != Failed || !errors.Is(got.Err, errTimeout) || n != 1 {
		t.Errorf("%d resets, %+v", n, got)
	}
}

// A client without the services fails what needs them, and says why.
func TestNoServices(t *testing.T) {
	s := met(t, nil)
	s.actor.client = struct{ Client }{s.bmc}
	s.submit(Command{ID: "1", Kind: SetIndicator, Indicator: bmc.IndicatorLit})
	s.runFor(time.Second)
	if got := s.status("1"); got.State != Failed || bmc.KindOf(got.Err) != bmc.KindUnsupported {
		t.Errorf("%+v", got)
	}
}

func TestTheManagerThatIsMeant(t *testing.T) {
	s := met(t, nil)
	spec := Spec{Endpoint: bmc.Endpoint{Scheme: "http", Host: "127.0.0.5", Port: 8000}, Credentials: bmc.Credentials{Username: "admin", Password: "marker"}}
	for _, test := range []struct {
		uuid string
		want []string
	}{
		{"", nil},
		{"u-2", []string{"choose u-2", "manager"}},
		{"u-2", nil},
		{"u-1", []string{"choose u-1"}}, // which is the one that was read
		{"", []string{"choose ", "manager"}},
	} {
		s.bmc.manager.UUID = "u-1"
		spec.ManagerUUID = test.uuid
		s.fleet.Ensure(spec)
		s.runFor(time.Second)
		if diff := cmp.Diff(test.want, s.bmc.calls(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q: (-want +got):\n%s", test.uuid, diff)
		}
	}
	if s.clients != 1 {
		t.Errorf("%d clients", s.clients)
	}
}
