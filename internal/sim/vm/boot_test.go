package vm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/sim"
)

// What a boot override and the boot order of a BMC come to at the next start.
func TestPlanBoot(t *testing.T) {
	const uri = "http://192.0.2.1/a.efi"
	networkFirst, diskFirst := []sim.BootTarget{sim.BootPXE, sim.BootDisk}, []sim.BootTarget{sim.BootDisk, sim.BootPXE}
	type row struct {
		firmware Firmware
		override sim.BootOverride
		order    []sim.BootTarget
		want     plan
	}
	once := func(target sim.BootTarget, mode string) sim.BootOverride {
		return sim.BootOverride{Enabled: "Once", Target: target, Mode: mode, HTTPURI: uri}
	}
	for name, c := range map[string]row{
		"no override":                    {UEFI, sim.BootOverride{Enabled: "Disabled", Target: sim.BootNone, Mode: "UEFI"}, networkFirst, plan{uefi: true, order: networkFirst}},
		"no override, disk first":        {BIOS, sim.BootOverride{Enabled: "Disabled", Target: sim.BootNone, Mode: "Legacy"}, diskFirst, plan{order: diskFirst}},
		"network over disk":              {BIOS, once(sim.BootPXE, "Legacy"), diskFirst, plan{order: networkFirst}},
		"disk over network":              {UEFI, once(sim.BootDisk, "UEFI"), networkFirst, plan{uefi: true, order: diskFirst}},
		"HTTP takes the network card":    {UEFI, once(sim.BootUEFIHTTP, "UEFI"), networkFirst, plan{uefi: true, order: []sim.BootTarget{sim.BootUEFIHTTP, sim.BootDisk}, uri: uri}},
		"HTTP needs UEFI":                {UEFI, once(sim.BootUEFIHTTP, "Legacy"), networkFirst, plan{order: networkFirst}},
		"HTTP is unknown to a BIOS":      {BIOS, once(sim.BootUEFIHTTP, "Legacy"), networkFirst, plan{order: networkFirst}},
		"legacy mode of UEFI firmware":   {UEFI, once(sim.BootPXE, "Legacy"), networkFirst, plan{order: networkFirst}},
		"legacy mode with no override":   {UEFI, sim.BootOverride{Enabled: "Disabled", Target: sim.BootNone, Mode: "Legacy"}, networkFirst, plan{uefi: true, order: networkFirst}},
		"Secure Boot has no legacy mode": {SecureBoot, once(sim.BootPXE, "Legacy"), networkFirst, plan{uefi: true, order: networkFirst}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, planBoot(c.firmware, sim.Boot{Override: c.override, Order: c.order}), cmp.AllowUnexported(plan{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
