package server

import (
	"errors"
	"strings"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/derivedboot"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/probeboot"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// Policy is what an installation configures for all its servers.
type Policy struct {
	// DiscoveryTimeout is how long a probe may take from power-on to its report.
	DiscoveryTimeout time.Duration
	// DiscoveryRetries is how often discovery is repeated after a timeout.
	DiscoveryRetries int
	// PowerOffBudget is how long an operating system may take to shut down.
	PowerOffBudget time.Duration
	// EnforcePowerOff forces the machine off when the budget is spent, in release and cleanup.
	EnforcePowerOff bool
	// ProbeImage is the OCI image that is booted for discovery and cleanup.
	ProbeImage string
	// Cleanup is how thoroughly every server is cleaned at least; empty: not at all.
	Cleanup inspection.CleanMode
	// CleanupTimeout is how long a probe may take from power-on to the record of its cleanup.
	CleanupTimeout time.Duration
	// BMCIdentity tells machines apart by a token in the URL that their BMC is given.
	BMCIdentity bool
	// ForeignBoot means that another controller makes boot configurations ready. It may not say for which generation.
	ForeignBoot bool
}

// View is everything that a decision may look at. Decisions neither read nor write anything else, so that each can be tested as a
// table.
type View struct {
	Now    time.Time
	Policy Policy
	Server *metalv1.Server
	// Key names the BMC in the fleet; empty: the server has none, or it cannot be resolved.
	Key fleet.Key
	// Claim is the claim that owns the server: the one that serverClaimRef names, with the UID that was remembered when it was
	// bound, and not being deleted.
	Claim *metalv1.ServerClaim
	// Maintenance has the server; nil: none has, or it has ended. EndingMaintenance has ended and still has the server.
	Maintenance, EndingMaintenance *metalv1.ServerMaintenance
	// Next is the maintenance that has the server after one that has ended; nil: none waits.
	Next *metalv1.ServerMaintenance
	// Foreign is the maintenance of another API group that has the server.
	Foreign foreign
	// Boot is the boot configuration that bootRef names, if it exists and is the server's.
	Boot *metalv1.ServerBootConfiguration
	// BootOfAnother means that it is another machine's.
	BootOfAnother bool
	// BootInternal means that Boot is our own, for discovery and cleanup.
	BootInternal bool
	// Made are the boot configs made for Boot, in the order of the boot methods.
	Made []bootmethod.Made
	// Deriving means that they are derived, and not known yet. BootImage is what they boot, where they are derived.
	Deriving  bool
	BootImage derivedboot.Image
	// Attempt is the boot attempt of Boot.
	Attempt *bootattempt.Attempt
	// BMCToken is part of the URL that the BMC is given; empty: it is given none.
	BMCToken string
	// Acknowledged means that a boot server knows the attempt.
	Acknowledged bool
	// Answering is since when boot servers answer machines; zero: they do not yet.
	Answering time.Time
	// System is what the BMC last reported of this server; nil while nothing is known.
	System *fleet.SystemObservation
	// Missing means that the BMC answered and has no such system.
	Missing bool
	// MetBy is until when the BMC may take to be met after a start; zero: it has been met, or there is none.
	MetBy time.Time
	// Unreachable is why the BMC, or this system of it, does not answer; nil when it does.
	Unreachable error
	// OverriddenBy is the object whose credentials are used for the inline BMC in place of this server's; empty: its own are.
	OverriddenBy string
	// Counts is the object whose credentials are used for the inline BMC.
	Counts connection.Candidate
	// Inspected is the ID of the attempt whose report is stored, and InspectedAt when it was; empty: none is.
	Inspected   string
	InspectedAt time.Time
	// ReportedUUID is the system UUID in that report; empty: none that identifies the machine. UUIDTakenBy is the Server that has
	// it already, where this one has none.
	ReportedUUID, UUIDTakenBy string
	// DuplicateOf is the Server of the same machine that has precedence over this one, which is not discovered yet; empty: none.
	DuplicateOf string
	// Capabilities are what the agent of that report can do.
	Capabilities []inspection.Capability
	// Cleaned is the record of the cleanup after the last claim; nil: none.
	Cleaned *machinerecord.CleanupMeta
	// Defaults and BootOrder are the newest orders to restore those of the BIOS in this cleanup.
	Defaults, BootOrder fleet.CommandStatus
	// Reset is the reset that annotation operation-started tells of.
	Reset resetView
	// Deferred is why a requested operation waits, as far as an event has told.
	Deferred string
	// NewID makes the unpredictable ID of a new attempt.
	NewID func() string
}

// resetView is how far a reset on request has come.
type resetView struct {
	// Begun and Ordered mean that this process began it and gave it to an actor.
	Begun, Ordered bool
	// Known means that the actor knows the command. Status is how it stands.
	Known  bool
	Status fleet.CommandStatus
}

// foreign is a maintenance of another API group. Its zero value: there is none.
type foreign struct {
	// group is the API group of the object; empty: the object was not found.
	group string
	// why is why it was not found.
	why string
	// looked is the time of the lookup.
	looked time.Time
}

// has reports whether it has the server.
func (f foreign) has() bool { return f.group != "" || f.why != "" }

// foreignRepeat is how long the result of a lookup is used. An operator that ends its maintenance removes the reference, which is
// seen at once; this is for those that do not.
const foreignRepeat = 30 * time.Second

func (v *View) on() bool  { return v.System != nil && v.System.PowerState == bmc.PowerOn }
func (v *View) off() bool { return v.System != nil && v.System.PowerState == bmc.PowerOff }

// running reports whether the machine is known to be in another power state than off.
func (v *View) running() bool {
	return v.System != nil && !v.off() && v.System.PowerState != bmc.PowerUnknown && v.System.PowerState != ""
}

// settledOff reports whether the machine is off and no power command is under way. A power-on for the last claim would
// otherwise boot the machine for the next one.
func (v *View) settledOff() bool {
	return v.off() && (v.System.Command.ID == "" || v.System.Command.State.Ended())
}

// comingOn reports whether the machine is off and a power-on is under way.
func (v *View) comingOn() bool {
	return v.off() && v.System.Command.Kind == fleet.PowerOn && !v.settledOff()
}

// unsettled reports whether the machine was seen off before the last power command, whose outcome is unknown.
func (v *View) unsettled() bool {
	last := v.System.Command
	return v.off() && (!v.settledOff() || last.State == fleet.Failed && !v.System.Seen.After(last.End))
}

// seenSince reports whether the BMC answered after t. What it said before must not be taken for the effect of what was done at t.
func (v *View) seenSince(t *time.Time) bool {
	return v.System != nil && t != nil && v.System.Seen.After(*t)
}

// started reports whether the boot of v.Boot has begun and the machine was seen on.
func (v *View) started() bool { return v.Attempt.Begun() && v.Attempt.Started != nil }

func (v *View) attemptID() string {
	if v.Attempt == nil {
		return "none"
	}
	return v.Attempt.ID
}

func (v *View) claimedBy() string { return v.Server.Annotations[metalv1.AnnotationClaimedBy] }

func (v *View) hasTaint(key string) bool {
	for _, t := range v.Server.Spec.Taints {
		if t.Key == key {
			return true
		}
	}
	return false
}

// wipeSuspended is since when probes of an attempt are no longer told to wipe; an empty ID: they are.
func (v *View) wipeSuspended() (attemptID string, since time.Time) {
	id, at, _ := strings.Cut(v.Server.Annotations[metalv1.AnnotationCleanupHeld], "@")
	since, err := time.Parse(time.RFC3339, at)
	if err != nil || v.inFuture(since) {
		return "", time.Time{} // not ours, or written while the clock was wrong: it is written again
	}
	return id, since
}

// inspected reports whether a probe has reported, since the boot of one was last asked for.
func (v *View) inspected() bool { return v.Inspected != "" && !v.reportAwaited() }

// reportAwaited reports whether a boot of the probe was asked for and has begun, and the report on record is that of an earlier one.
func (v *View) reportAwaited() bool {
	b := probeboot.Of(v.Server)
	return b.Pending() && b.Before == v.Inspected
}

// clockTolerance is how far in the future a stored time may lie: the clocks of managers that take turns differ by less. What lies
// further ahead was written while the clock was wrong, and would be waited for, for years perhaps.
const clockTolerance = 5 * time.Minute

// inFuture reports whether a time was written by a clock that has been set back since.
func (v *View) inFuture(t time.Time) bool { return t.After(v.Now.Add(clockTolerance)) }

// rewound is the boot attempt with now in place of times in the future; nil: none lies there.
func (v *View) rewound() *bootattempt.Attempt {
	if v.Attempt == nil {
		return nil
	}
	a, wrong := *v.Attempt, false
	for _, t := range []**time.Time{&a.First, &a.Ordered, &a.Off, &a.Started, &a.Defaults, &a.Installed} {
		if *t != nil && v.inFuture(**t) {
			*t, wrong = &v.Now, true
		}
	}
	if !wrong {
		return nil
	}
	return &a
}

// reason is the reason of a Terminal error, or the given one.
func reason(err error, otherwise string) string {
	var terminal reconcileerror.Terminal
	if errors.As(err, &terminal) {
		return terminal.Reason
	}
	return otherwise
}
