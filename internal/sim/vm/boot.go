package vm

import (
	"slices"

	"github.com/farrier-dev/farrier/internal/sim"
)

// plan is what one start of the firmware boots.
type plan struct {
	// uefi: OVMF starts, else SeaBIOS.
	uefi bool
	// order are the devices, the first of them first: BootPXE or BootUEFIHTTP for the network card, and BootDisk for the first disk.
	order []sim.BootTarget
	// uri is what firmware is told to boot over HTTP; empty: what DHCP names.
	uri string
}

// planBoot decides what a machine boots: what the boot override says, and then what is left of the boot order, as servers do.
func planBoot(firmware Firmware, b sim.Boot) plan {
	p := plan{uefi: firmware.uefi()}
	target := b.Override.Target
	overridden := target != sim.BootNone && target != ""
	if overridden && b.Override.Mode == sim.ModeLegacy && firmware != SecureBoot {
		p.uefi = false
	}
	if target == sim.BootUEFIHTTP && !p.uefi {
		overridden = false // a firmware that does not know it goes on with its boot order
	}
	if overridden {
		p.order = append(p.order, target)
	}
	if overridden && target == sim.BootUEFIHTTP {
		p.uri = b.Override.HTTPURI
	}
	for _, next := range b.Order {
		// There is one network card, and it boots one way at a time.
		taken := slices.ContainsFunc(p.order, func(t sim.BootTarget) bool { return (t == sim.BootDisk) == (next == sim.BootDisk) })
		if !taken {
			p.order = append(p.order, next)
		}
	}
	return p
}

// index is the place of a device in the boot order.
func (p plan) index(match ...sim.BootTarget) int {
	return slices.IndexFunc(p.order, func(t sim.BootTarget) bool { return slices.Contains(match, t) })
}
