package bmc_test

import (
	"testing"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

// A blade's light is that of its chassis, if it has one to itself.
func TestTheLightOfTheChassis(t *testing.T) {
	const chassis = "/redfish/v1/Chassis/1"
	for _, test := range []struct {
		name string
		body bmctest.Resource
		want string
		kind bmc.Kind
	}{
		{"one", bmctest.Resource{"IndicatorLED": "Off", "Links": bmctest.Resource{"ComputerSystems": []any{bmctest.Ref(bmctest.System)}}}, "Lit", ""},
		{"a newer one", bmctest.Resource{"LocationIndicatorActive": false}, "Lit", ""},
		{"none", bmctest.Resource{"ChassisType": "Blade"}, "Unknown", bmc.KindUnsupported},
		{"that of several systems", bmctest.Resource{"IndicatorLED": "Off", "Links": bmctest.Resource{"ComputerSystems": []any{bmctest.Ref(bmctest.System), bmctest.Ref("/2")}}}, "Unknown", bmc.KindUnsupported},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bmctest.New(t)
			s.Update(bmctest.System, func(r bmctest.Resource) {
				delete(r, "IndicatorLED")
				r["Links"] = bmctest.Resource{"Chassis": []any{bmctest.Ref(chassis)}}
			})
			s.Set(chassis, test.body)
			c := client(t, s)
			system, err := c.System(t.Context(), bmctest.System)
			if err != nil || system.IndicatorLED != "Unknown" {
				t.Fatalf("before: %s, %v", system.IndicatorLED, err)
			}
			if err := c.SetIndicator(t.Context(), system, bmc.IndicatorLit); bmc.KindOf(err) != test.kind {
				t.Fatalf("%v", err)
			}
			if system, err = c.System(t.Context(), bmctest.System); err != nil || system.IndicatorLED != test.want || system.Shows(bmc.IndicatorLit) != (test.kind == "") {
				t.Errorf("shows %s, %v", system.IndicatorLED, err)
			}
		})
	}
}
