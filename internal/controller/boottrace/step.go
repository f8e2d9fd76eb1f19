package boottrace

import "github.com/farrier-dev/farrier/internal/bootview"

// step is a step of a boot attempt, in the order in which boots take them.
type step int

const (
	ordered step = iota
	poweredOff
	biosDefaults
	poweredOn
	dhcp
	program
	chainload
	script
	file
	kernel
	initramfs
	artifact
	ignition
	report
	bootState
	steps // how many there are
)

// names of steps are those of spans, and labels of metrics.
var names = [steps]string{
	ordered: "order", poweredOff: "power_off", biosDefaults: "bios_defaults", poweredOn: "power_on", dhcp: "dhcp", program: "program",
	chainload: "chainload", script: "script", file: "file", kernel: "kernel", initramfs: "initramfs", artifact: "artifact", ignition: "ignition",
	report: "report", bootState: "boot_state",
}

// rootName is the name of the span of the whole boot.
const rootName = "boot"

// stepOf is the step that an answer to a machine, or a word of it, is.
func stepOf(d *bootview.Delivery) step {
	switch d.Kind {
	case bootview.DeliveredBoot:
		return dhcp
	case bootview.DeliveredProgram:
		return program
	case bootview.DeliveredChainload:
		return chainload
	case bootview.DeliveredScript:
		return script
	case bootview.DeliveredArtifact:
		switch d.What {
		case "kernel":
			return kernel
		case "initrd", "initramfs":
			return initramfs
		}
		return artifact
	case bootview.DeliveredIgnition:
		return ignition
	case bootview.ReceivedReport:
		return report
	case bootview.ReceivedBootState:
		return bootState
	}
	return file // a UKI, or what other boot methods deliver
}

// last reports whether nothing is expected after a step: the machine has said what it came to.
func (s step) last() bool { return s == report || s == bootState }
