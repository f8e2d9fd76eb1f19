package fleet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
)

func TestSupersession(t *testing.T) {
	t.Run("one that has not begun", func(t *testing.T) {
		s := met(t, nil)
		s.submit(Command{ID: "1", Kind: PowerOn})
		s.submit(Command{ID: "2", Kind: PowerOff})
		s.step()
		if len(changes(s)) != 0 || s.status("1").State != Superseded || s.status("2").State != Succeeded {
			t.Errorf("%+v, %+v", s.status("1"), s.status("2"))
		}
	})
	t.Run("force-off during a graceful wait", func(t *testing.T) {
		s := met(t, nil)
		isOn(s)
		later(s, time.Hour, true)
		s.submit(Command{ID: "1", Kind: PowerOff})
		s.runFor(30 * time.Second)
		s.submit(Command{ID: "2", Kind: Reset, Reset: bmc.ResetForceOff})
		s.runFor(10 * time.Second)
		if diff := cmp.Diff([]string{"reset GracefulShutdown", "reset ForceOff"}, changes(s)); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if s.status("1").State != Superseded || s.status("2").State != Succeeded {
			t.Errorf("%+v, %+v", s.status("1"), s.status("2"))
		}
		if got := s.observation().Systems[0].Command; got.ID != "2" {
			t.Errorf("newest command is %q", got.ID)
		}
	})
	t.Run("off while an ordered on does not show yet", func(t *testing.T) {
		s := met(t, nil)
		later(s, 12*time.Second, true)
		s.submit(Command{ID: "1", Kind: PowerOn})
		s.step()
		s.submit(Command{ID: "2", Kind: PowerOff}) // the machine still reads Off
		s.runFor(time.Minute)
		if diff := cmp.Diff([]string{`boot ""`, "reset On", "reset GracefulShutdown"}, changes(s)); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if o := s.observation(); o.Systems[0].PowerState != bmc.PowerOff || s.status("2").State != Succeeded {
			t.Errorf("power %s, %+v", o.Systems[0].PowerState, s.status("2"))
		}
	})
	t.Run("off while an ordered on never shows", func(t *testing.T) {
		s := met(t, nil)
		later(s, time.Hour, true)
		s.submit(Command{ID: "1", Kind: PowerOn})
		s.step()
		s.submit(Command{ID: "2", Kind: PowerOff})
		s.runFor(time.Minute)
		if got := s.status("2"); got.State != Succeeded || got.End.Sub(got.Start) < 20*time.Second {
			t.Errorf("%+v", got)
		}
	})
	t.Run("on during a shutdown", func(t *testing.T) {
		s := met(t, nil)
		isOn(s)
		later(s, 40*time.Second, true)
		s.submit(Command{ID: "1", Kind: PowerOff})
		s.step()
		s.submit(Command{ID: "2", Kind: PowerOn}) // the machine still reads On
		s.runFor(3 * time.Minute)
		if diff := cmp.Diff([]string{"reset GracefulShutdown", `boot ""`, "reset On"}, changes(s)); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if o := s.observation(); o.Systems[0].PowerState != bmc.PowerOn || s.status("2").State != Succeeded {
			t.Errorf("power %s, %+v", o.Systems[0].PowerState, s.status("2"))
		}
	})
	t.Run("not another system's", func(t *testing.T) {
		s := newStand(t, nil)
		second := *s.bmc.systems[0]
		second.URI = systemURI + "/b"
		s.bmc.systems = append(s.bmc.systems, &second)
		s.runFor(time.Second)
		s.submit(Command{ID: "1", Kind: PowerOn})
		s.submit(Command{ID: "2", Kind: PowerOn, System: second.URI})
		s.runFor(time.Minute)
		if s.status("1").State != Succeeded || s.status("2").State != Succeeded {
			t.Errorf("%+v, %+v", s.status("1"), s.status("2"))
		}
	})
}
