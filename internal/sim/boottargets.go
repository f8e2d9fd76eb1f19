package sim

import (
	"context"
	"maps"
	"slices"
)

// BootTarget is ComputerSystem.BootSource of DSP0268.
type BootTarget string

// The boot targets that a simulated system knows.
const (
	BootNone     BootTarget = "None"
	BootPXE      BootTarget = "Pxe"
	BootUEFIHTTP BootTarget = "UefiHttp"
	BootDisk     BootTarget = "Hdd"
	BootCD       BootTarget = "Cd" // there is never one in it
	BootSetup    BootTarget = "BiosSetup"
)

// way is what the firmware does at a boot target; nil: it boots the disk.
type way struct {
	target BootTarget
	boot   func(*network, context.Context, BootOverride) (Outcome, string)
}

// ways are the boot targets, in the order in which a BMC lists them. This is hardware: it knows nothing of the boot methods of Farrier.
var ways = []way{
	{BootNone, nil},
	{BootPXE, (*network).bootPXE},
	{BootDisk, nil},
	{BootCD, nil},
	{BootUEFIHTTP, (*network).bootHTTP},
	{BootSetup, (*network).setup},
}

// bootTargets are those that a BMC lists.
func bootTargets() []BootTarget {
	targets := make([]BootTarget, 0, len(ways))
	for _, way := range ways {
		targets = append(targets, way.target)
	}
	return targets
}

// few is a Boot object as services before virtual machines have it: what is overridden is the boot device of the machine
// itself, which has no value for "none" and does not go back by itself.
var few = lasting{BootPXE, BootCD, BootDisk}

// lasting are the targets of an override that lasts.
type lasting []BootTarget

// show changes what is said of an override: where there is none, the disk it is.
func (l lasting) show(boot object, o BootOverride) {
	boot["BootSourceOverrideTarget@Redfish.AllowableValues"] = []BootTarget(l)
	delete(boot, "BootSourceOverrideEnabled@Redfish.AllowableValues")
	boot["BootSourceOverrideEnabled"] = overrideContinuous
	if !slices.Contains(l, o.Target) {
		boot["BootSourceOverrideTarget"] = BootDisk
	}
}

// take reads a change of Boot: how often it is for is ignored. alone reports whether a change without a target is taken.
func (l lasting) take(boot object, alone bool) (object, error) {
	boot = maps.Clone(boot)
	value, sendsTarget := boot["BootSourceOverrideTarget"]
	switch target, _ := value.(string); {
	case sendsTarget && !slices.Contains(l, BootTarget(target)):
		return nil, errInternal
	case sendsTarget:
		boot["BootSourceOverrideEnabled"] = overrideContinuous
	case boot["BootSourceOverrideEnabled"] == nil:
	case !alone:
		return nil, errMissing("BootSourceOverrideTarget")
	case boot["BootSourceOverrideEnabled"] == overrideDisabled:
		boot["BootSourceOverrideTarget"] = string(BootDisk)
		boot["BootSourceOverrideEnabled"] = overrideContinuous
	}
	return boot, nil
}
