package bmc_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

func TestNearestReset(t *testing.T) {
	for _, test := range []struct {
		name    string
		allowed []string
		power   bmc.PowerState
		ask     bmc.ResetType
		want    bmc.ResetType // "": none
	}{
		{"allowed", []string{"On", "ForceOff"}, bmc.PowerOff, bmc.ResetOn, bmc.ResetOn},
		{"in another spelling", []string{"on"}, bmc.PowerOff, bmc.ResetOn, bmc.ResetOn},
		{"not told", nil, bmc.PowerOff, bmc.ResetOn, bmc.ResetOn},
		{"ForceOn for On", []string{"ForceOn", "ForceOff"}, bmc.PowerOff, bmc.ResetOn, bmc.ResetForceOn},
		{"button for On", []string{"PushPowerButton"}, bmc.PowerOff, bmc.ResetOn, bmc.ResetPushPowerButton},
		{"button for a shutdown", []string{"PushPowerButton"}, bmc.PowerOn, bmc.ResetGracefulShutdown, bmc.ResetPushPowerButton},
		{"no button where its effect is unknown", []string{"PushPowerButton"}, bmc.PowerUnknown, bmc.ResetOn, ""},
		{"never harder: no ForceOff for a shutdown", []string{"ForceOff"}, bmc.PowerOn, bmc.ResetGracefulShutdown, ""},
		{"nothing for ForceOff", []string{"GracefulShutdown", "PowerCycle"}, bmc.PowerOn, bmc.ResetForceOff, ""},
		{"restarts", []string{"PowerCycle"}, bmc.PowerOn, bmc.ResetGracefulRestart, bmc.ResetPowerCycle},
		{"power cycle", []string{"ForceRestart"}, bmc.PowerOn, bmc.ResetPowerCycle, bmc.ResetForceRestart},
	} {
		s := bmc.System{ResetTypes: test.allowed, PowerState: test.power}
		got, ok := s.NearestReset(test.ask)
		if got != test.want || ok != (test.want != "") {
			t.Errorf("%s: %q, %v, want %q", test.name, got, ok, test.want)
		}
	}
}

func TestReset(t *testing.T) {
	const standard = "POST " + bmctest.System + "/Actions/ComputerSystem.Reset"
	reset := func(r bmctest.Resource) bmctest.Resource {
		return r["Actions"].(bmctest.Resource)["#ComputerSystem.Reset"].(bmctest.Resource)
	}
	for _, test := range []struct {
		name   string
		change func(bmctest.Resource)
		ask    bmc.ResetType
		at     string
		want   string
		kind   bmc.Kind
	}{
		{"allowed", func(bmctest.Resource) {}, bmc.ResetOn, standard, "On", ""},
		{"nearest", func(bmctest.Resource) {}, bmc.ResetPowerCycle, standard, "ForceRestart", ""},
		{"not allowed", func(r bmctest.Resource) {
			reset(r)["ResetType@Redfish.AllowableValues"] = []any{"On"}
		}, bmc.ResetForceOff, "", "", bmc.KindUnsupported},
		{"target of the BMC's own", func(r bmctest.Resource) { reset(r)["target"] = "/redfish/v1/go" }, bmc.ResetOn, "POST /redfish/v1/go", "On", ""},
		{"no actions", func(r bmctest.Resource) { delete(r, "Actions") }, bmc.ResetOn, standard, "On", ""},
		{"values in the ActionInfo", func(r bmctest.Resource) {
			delete(reset(r), "ResetType@Redfish.AllowableValues")
			reset(r)["@Redfish.ActionInfo"] = "/redfish/v1/Info"
		}, bmc.ResetOn, standard, "ForceOn", ""},
		{"ActionInfo that is not there", func(r bmctest.Resource) {
			delete(reset(r), "ResetType@Redfish.AllowableValues")
			reset(r)["@Redfish.ActionInfo"] = "/redfish/v1/Nothing"
		}, bmc.ResetOn, standard, "On", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bmctest.New(t)
			s.Update(bmctest.System, test.change)
			s.Set("/redfish/v1/Info", bmctest.Resource{"Parameters": []any{
				bmctest.Resource{"Name": "Other", "AllowableValues": []any{"On"}},
				bmctest.Resource{"Name": "ResetType", "AllowableValues": []any{"ForceOn"}},
			}})
			s.Handle("POST /redfish/v1/go", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
			c := client(t, s)
			system, err := c.System(t.Context(), bmctest.System)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Reset(t.Context(), system, test.ask); bmc.KindOf(err) != test.kind || (err == nil) != (test.kind == "") {
				t.Fatalf("error %v", err)
			}
			at, sent := "", ""
			for _, r := range s.Requests() {
				if r.Method == http.MethodPost && r.String() != login {
					var body struct{ ResetType string }
					_ = json.Unmarshal([]byte(r.Body), &body)
					at, sent = r.String(), body.ResetType
				}
			}
			if at != test.at || sent != test.want {
				t.Errorf("sent %q to %q, want %q to %q", sent, at, test.want, test.at)
			}
		})
	}
}
