package sim

import (
	"net/http"
	"testing"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// TestFewBootTargets: an override among three targets, that lasts.
func TestFewBootTargets(t *testing.T) {
	rack := startRack(t, Options{})
	c, m := rack.client(t, 0), rack.Machine(0)
	id := rack.inject(t, fault.Spec{Kind: fault.FewBootTargets})
	set := func(status int, boot object) {
		t.Helper()
		c.want(status, http.MethodPatch, systemURI, object{"Boot": boot})
	}
	told := func(target BootTarget) {
		t.Helper()
		boot, _ := c.want(http.StatusOK, http.MethodGet, systemURI, nil).body["Boot"].(object)
		values, _ := boot["BootSourceOverrideTarget@Redfish.AllowableValues"].([]any)
		if boot["BootSourceOverrideTarget"] != string(target) || boot["BootSourceOverrideEnabled"] != overrideContinuous || len(values) != len(few) {
			t.Errorf("Boot %v, want %s", boot, target)
		}
	}
	told(BootDisk)
	set(http.StatusOK, object{"BootSourceOverrideTarget": "Pxe", "BootSourceOverrideEnabled": "Once"})
	told(BootPXE)
	if _, err := m.Reset("On"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the machine boots", func() bool { return m.PowerState() == PowerOn })
	told(BootPXE)
	set(http.StatusInternalServerError, object{"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"})
	set(http.StatusBadRequest, object{"BootSourceOverrideEnabled": "Disabled"})
	told(BootPXE)
	set(http.StatusOK, object{"BootSourceOverrideTarget": "Cd"})
	told(BootCD)
	rack.clear(t, id)

	id = rack.inject(t, fault.Spec{Kind: fault.FewBootTargets, Value: "taken"})
	set(http.StatusOK, object{"BootSourceOverrideEnabled": "Disabled"})
	told(BootDisk)
	rack.clear(t, id)
}

// TestOverrideIgnored: the BMC shows what it was told, and the machine boots from disk.
func TestOverrideIgnored(t *testing.T) {
	rack := startRack(t, Options{Faults: []fault.Spec{{Kind: fault.OverrideIgnored, Share: 1}}})
	m := rack.Machine(0)
	orderNetworkBoot(t, m)
	if record := settled(t, m); record.Outcome != OutcomeFirmware || len(record.Fetches) != 0 || record.Boot.Enabled != overrideDisabled {
		t.Errorf("outcome %q by %+v, fetched %v", record.Outcome, record.Boot, record.Fetches)
	}
}
