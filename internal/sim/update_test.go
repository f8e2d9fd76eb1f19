package sim

import (
	"net/http"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// updating asks for an update and returns the URI of its task.
func (c *client) updating(image string) string {
	c.t.Helper()
	return c.want(http.StatusAccepted, http.MethodPost, simpleUpdateURI, object{"ImageURI": image, "Password": "marker"}).body["@odata.id"].(string)
}

// taskState is what the task says of itself; 404 where it has none.
func (c *client) taskState(uri string) string {
	c.t.Helper()
	r := c.do(http.MethodGet, uri, nil)
	if r.status != http.StatusOK {
		return http.StatusText(r.status)
	}
	state, _ := r.body["TaskState"].(string)
	return state
}

// TestBadUpdates: each way in which an update goes wrong, at the BIOS.
func TestBadUpdates(t *testing.T) {
	site := newBootSite(t)
	for how, want := range map[string]struct{ state, version string }{
		"fails":    {"Exception", biosVersion},
		"vanishes": {"Not Found", biosVersion},
		"other":    {"Completed", otherVersion},
		"keeps":    {"Completed", biosVersion},
		"bricks":   {"Completed", biosVersion},
	} {
		t.Run(how, func(t *testing.T) {
			rack := startRack(t, Options{})
			c := rack.client(t, 0)
			rack.inject(t, fault.Spec{Kind: fault.BadUpdate, Value: how})
			task := c.updating(site.URL + "/kernel?2.5.0")
			eventually(t, want.state, func() bool { return c.taskState(task) == want.state })
			if r := c.want(http.StatusOK, http.MethodGet, systemURI, nil); r.body["BiosVersion"] != want.version {
				t.Errorf("BIOS %v, want %s", r.body["BiosVersion"], want.version)
			}
			c.want(http.StatusNoContent, http.MethodPost, resetURI, object{"ResetType": "On"})
			if how != "bricks" {
				eventually(t, "the machine starts", func() bool { return rack.Machine(0).PowerState() == PowerOn })
			} else if state := rack.Machine(0).PowerState(); state != PoweringOn {
				t.Errorf("a machine without firmware is %s", state)
			}
		})
	}
}

// TestAStuckUpdate keeps others from updating, until the BMC is reset.
func TestAStuckUpdate(t *testing.T) {
	site := newBootSite(t)
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	id := rack.inject(t, fault.Spec{Kind: fault.BadUpdate, Value: "stalls"})
	task := c.updating(site.URL + "/kernel?2.5.0")
	eventually(t, "the image is there", func() bool {
		return c.want(http.StatusOK, http.MethodGet, task, nil).body["PercentComplete"] == 50.0
	})
	body := c.want(http.StatusOK, http.MethodGet, task, nil).body
	payload, _ := body["Payload"].(object)["JsonBody"].(string)
	if !strings.Contains(payload, site.URL+"/kernel?2.5.0") || strings.Contains(payload, "marker") {
		t.Errorf("payload %s", payload)
	}
	c.wantError(http.StatusConflict, "ResourceInUse", http.MethodPost, simpleUpdateURI, object{"ImageURI": site.URL + "/kernel"})
	rack.clear(t, id)
	c.want(http.StatusNoContent, http.MethodPost, managerResetURI, object{"ResetType": "ForceRestart"})
	if state := c.taskState(task); state != "Not Found" {
		t.Errorf("after a reset the task is %s", state)
	}
	c.updating(site.URL + "/kernel?2.5.0")
	eventually(t, "the new version", func() bool {
		return c.want(http.StatusOK, http.MethodGet, systemURI, nil).body["BiosVersion"] == "2.5.0"
	})
}

// TestUpdateOfTheBMC: it restarts, which may take long, and some never come back.
func TestUpdateOfTheBMC(t *testing.T) {
	for _, bricks := range []bool{false, true} {
		clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
		site := newBootSite(t)
		rack := startRack(t, Options{Clock: clock, Timing: Timing{ManagerReset: time.Minute}})
		c := rack.client(t, 0)
		rack.inject(t, fault.Spec{Kind: fault.SlowReset})
		if bricks {
			rack.inject(t, fault.Spec{Kind: fault.BadUpdate, Value: "bricks"})
		}
		c.want(http.StatusAccepted, http.MethodPost, simpleUpdateURI, object{"ImageURI": site.URL + "/kernel?1.80", "Targets": []string{firmwareURI + "/BMC"}})
		answers := func() bool { _, _, err := c.fetch(t.Context(), rootURI); return err == nil }
		eventually(t, "the BMC is away", func() bool { return !answers() })
		clock.Step(2*time.Minute + 59*time.Second)
		if answers() {
			t.Error("it is back early")
		}
		clock.Step(time.Second)
		if answers() == bricks {
			t.Fatalf("after its time, answers: %v", !bricks)
		}
		if bricks {
			continue
		}
		if v := c.want(http.StatusOK, http.MethodGet, managerURI, nil).body["FirmwareVersion"]; v != "1.80" {
			t.Errorf("version %v", v)
		}
	}
}

// TestUpdatesThatNeedAStart: what the vendors do until the machine starts.
func TestUpdatesThatNeedAStart(t *testing.T) {
	for vendor, before := range map[Vendor]string{Dell: "Pending", HPE: "Completed"} {
		t.Run(string(vendor), func(t *testing.T) {
			site := newBootSite(t)
			_, c, m := vendorRack(t, vendor, withMode, Options{})
			task := c.updating(site.URL + "/kernel?2.5.0")
			eventually(t, before, func() bool { return c.taskState(task) == before })
			version := func() any { return c.want(http.StatusOK, http.MethodGet, m.systemURI(), nil).body["BiosVersion"] }
			if v := version(); v != biosVersion {
				t.Errorf("before the start: %v", v)
			}
			if _, err := m.Reset("On"); err != nil {
				t.Fatal(err)
			}
			if v, state := version(), c.taskState(task); v != "2.5.0" || state != "Completed" {
				t.Errorf("after the start: %v, task %s", v, state)
			}
		})
	}
}
