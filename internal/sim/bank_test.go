package sim

import (
	"net/http"
	"testing"
)

// TestBanksChangeWithAStart: the bank that is chosen runs after the next start and not before; nothing else can be chosen.
func TestBanksChangeWithAStart(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	m := rack.Machine(0)
	m.newBIOS, m.biosBackup.version = "2.5.0", biosVersion
	m.bmc.newFirmware, m.bmc.ownBackup.version = "2.0.0", bmcVersion
	for _, uri := range []string{m.bmc.managerURI(), biosURI} {
		for _, bad := range []any{"x", object{"ActiveSoftwareImage": "x"}, object{"ActiveSoftwareImage": link(firmwareURI + "/x")}, object{"SoftwareImages": []object{}}} {
			c.want(http.StatusBadRequest, http.MethodPatch, uri, object{"Links": bad})
		}
		images := c.want(http.StatusOK, http.MethodGet, uri, nil).body["Links"].(object)["SoftwareImages"].([]any)
		if len(images) != 2 {
			t.Fatalf("%d banks of %s", len(images), uri)
		}
		for _, image := range images {
			c.want(http.StatusOK, http.MethodGet, image.(object)["@odata.id"].(string), nil)
		}
		c.want(http.StatusOK, http.MethodPatch, uri, object{"Links": object{"ActiveSoftwareImage": images[1]}})
	}
	if m.biosVersion() != "2.5.0" || m.bmc.firmwareVersion() != "2.0.0" {
		t.Error("the other bank runs before a start")
	}
	m.bmc.restart()
	m.mu.Lock()
	m.startBIOSLocked()
	m.mu.Unlock()
	if m.biosVersion() != biosVersion || m.bmc.firmwareVersion() != bmcVersion {
		t.Errorf("BIOS %s, BMC %s", m.biosVersion(), m.bmc.firmwareVersion())
	}
	if version, next := m.bmc.backup(firmwareBMC); version != "2.0.0" || next {
		t.Errorf("the other bank has %s, %t", version, next)
	}
}

// TestAPreviousImageIsInstalledFromTheInventory: iDRAC has one after an update, and no other image can be named.
func TestAPreviousImageIsInstalledFromTheInventory(t *testing.T) {
	rack := startRack(t, Options{Vendors: []Vendor{Dell}})
	c := rack.client(t, 0)
	b := rack.Machine(0).bmc
	before := len(b.firmwareIDs())
	b.newFirmware, b.ownBackup.version = "2.0.0", bmcVersion
	ids := b.firmwareIDs()
	if len(ids) != before+1 {
		t.Fatalf("inventory %q", ids)
	}
	kept := firmwareURI + "/" + ids[len(ids)-1]
	if got := c.want(http.StatusOK, http.MethodGet, kept, nil).body["Version"]; got != bmcVersion {
		t.Errorf("it has %v", got)
	}
	c.want(http.StatusBadRequest, http.MethodPost, simpleUpdateURI, object{"ImageURI": firmwareURI + "/BMC"})
	c.want(http.StatusNotFound, http.MethodGet, firmwareURI+"/Previous-9.9__BMC", nil)
	c.want(http.StatusAccepted, http.MethodPost, simpleUpdateURI, object{"ImageURI": kept})
}
