package sim

import (
	"net/http"
	"testing"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// TestManagerSettings: attributes are at a Dell alone, some of them wait for a restart, passwords are not shown, and the faults of settings refuse
// them or let them pass without effect.
func TestManagerSettings(t *testing.T) {
	rack := startRack(t, Options{Servers: 2, Vendors: []Vendor{Dell, HPE}})
	const attributes = "/redfish/v1/Managers/iDRAC.Embedded.1/Oem/Dell/DellAttributes/iDRAC.Embedded.1"
	dell, hpe := rack.client(t, 0), rack.client(t, 1)
	change := func(want int, values object) {
		t.Helper()
		if r := dell.do(http.MethodPatch, attributes, object{"Attributes": values}); r.status != want {
			t.Errorf("%v: status %d, want %d: %v", values, r.status, want, r.body)
		}
	}
	shows := func(name string, want any) {
		t.Helper()
		all, _ := dell.do(http.MethodGet, attributes, nil).body["Attributes"].(object)
		if got := all[name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	change(http.StatusBadRequest, object{"Typo.1.X": "1"})
	change(http.StatusBadRequest, object{"Info.1.HWModel": "other"})
	change(http.StatusBadRequest, object{"SysLog.1.SysLogEnable": "Enabled", "WebServer.1.Timeout": "soon"})
	shows("SysLog.1.SysLogEnable", "Disabled")
	change(http.StatusOK, object{"SysLog.1.SysLogEnable": "Enabled", "WebServer.1.Timeout": 600, "LDAP.1.BindPassword": "x"})
	shows("SysLog.1.SysLogEnable", "Enabled")
	shows("WebServer.1.Timeout", 1800.0)
	shows("LDAP.1.BindPassword", nil)
	dell.do(http.MethodPost, "/redfish/v1/Managers/iDRAC.Embedded.1/Actions/Manager.Reset", object{"ResetType": "GracefulRestart"})
	shows("WebServer.1.Timeout", 600.0)
	shows("LDAP.1.BindPassword", nil)
	id := rack.inject(t, fault.Spec{Kind: fault.SettingsIgnored})
	change(http.StatusOK, object{"SysLog.1.Server1": "a"})
	shows("SysLog.1.Server1", "")
	rack.clear(t, id)
	rack.inject(t, fault.Spec{Kind: fault.SettingsRefused})
	change(http.StatusBadRequest, object{"SysLog.1.Server1": "a"})

	const protocol = "/redfish/v1/Managers/1/NetworkProtocol"
	ntp := func() any {
		all, _ := hpe.do(http.MethodGet, protocol, nil).body["NTP"].(object)
		return all["ProtocolEnabled"]
	}
	if r := hpe.do(http.MethodPatch, protocol, object{"NTP": object{"ProtocolEnabled": true}}); r.status != http.StatusOK || ntp() != false {
		t.Errorf("status %d, NTP is %v before the restart", r.status, ntp())
	}
	hpe.do(http.MethodPost, "/redfish/v1/Managers/1/Actions/Manager.Reset", object{"ResetType": "ForceRestart"})
	if ntp() != true {
		t.Error("the protocol is not taken over at the restart")
	}
	for _, wrong := range []object{{"NTP": object{"Typo": 1}}, {"NTP": true}, {"HTTP": object{"Port": 81}}, {"SSH": object{"Port": "x"}}} {
		if r := hpe.do(http.MethodPatch, protocol, wrong); r.status != http.StatusBadRequest {
			t.Errorf("%v: status %d", wrong, r.status)
		}
	}
	if r := hpe.do(http.MethodGet, attributes, nil); r.status != http.StatusNotFound {
		t.Errorf("attributes of an HPE: status %d", r.status)
	}
}
