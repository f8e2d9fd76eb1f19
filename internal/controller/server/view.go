package server

import (
	"errors"
	"strings"
	"time"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// Policy holds what an installation decides for all its servers.
type Policy struct {
	// DiscoveryTimeout is how long a probe may take from power-on to its report.
	DiscoveryTimeout time.Duration
	// DiscoveryRetries is how often discovery may time out before a person is needed.
	DiscoveryRetries int
	// PowerOffBudget is how long an operating system may take to shut down.
	PowerOffBudget time.Duration
	// EnforcePowerOff forces the machine off when the budget is spent, in release and cleanup.
	EnforcePowerOff bool
	// ProbeImage is the OCI image that is booted for discovery and cleanup.
	ProbeImage string
	// Cleanup is what every server is cleaned by, at least; empty: by nothing.
	Cleanup inspection.CleanMode
	// CleanupTimeout is how long a probe may take from power-on to the record of its cleanup.
	CleanupTimeout time.Duration
	// BMCIdentity: machines are told apart by a token in the URL that their BMC is given.
	BMCIdentity bool
	// ForeignBoot: somebody else makes boot configurations Ready, who may not say for which generation.
	ForeignBoot bool
}

// View is everything that a decision may look at. Decisions neither read nor write
// anything else, so that each can be tested as a table.
type View struct {
	Now    time.Time
	Policy Policy
	Server *metalv1.Server
	// Claim is the claim that owns the server: the one that serverClaimRef names, with
	// the UID that was remembered when it was bound, and not being deleted.
	Claim *metalv1.ServerClaim
	// Maintenance is the one that has the server; nil where none has, or it has ended. EndingMaintenance is one that
	// has ended and has not been let go of.
	Maintenance, EndingMaintenance *metalv1.ServerMaintenance
	// Next is the maintenance that has the server after one that has ended; nil: none waits.
	Next *metalv1.ServerMaintenance
	// Foreign is what is known of a maintenance of another API group that has the server.
	Foreign foreign
	// Boot is the boot configuration that bootConfigurationRef names, if it exists.
	Boot *metalv1.ServerBootConfiguration
	// BootInternal says that Boot is our own, for discovery.
	BootInternal bool
	// HTTPBoot is the HTTPBootConfig made for Boot, PXEBoot says that there is an IPXEBootConfig.
	HTTPBoot *bootv1.HTTPBootConfig
	PXEBoot  bool
	// Attempt is the boot attempt of Boot.
	Attempt *bootattempt.Attempt
	// BMCToken is given to the BMC with the URL that the machine boots; empty: it is given none.
	BMCToken string
	// Acknowledged says that a boot server knows the attempt.
	Acknowledged bool
	// Answering is since when boot servers answer machines; zero: they do not yet.
	Answering time.Time
	// System is what the BMC last said of this server; nil while nothing is known.
	System *fleet.SystemObservation
	// Missing says that the BMC was asked and shows no such system.
	Missing bool
	// Unreachable is why the BMC, or this system of it, does not answer; nil when it does.
	Unreachable error
	// OverriddenBy is the object that names the inline BMC with other credentials, which are used instead of this server's.
	OverriddenBy string
	// Inspected is the ID of the attempt whose report is stored, and InspectedAt when it was; empty: none is.
	Inspected   string
	InspectedAt time.Time
	// Told is the UUID that the machine has by that report; empty: none that identifies it. Namesake is the Server that
	// has it already, where this one has none.
	Told, Namesake string
	// Twin is the Server that stands for the same machine and comes before this one, which is about to be discovered; empty: none.
	Twin string
	// Capabilities are what the agent of that report can do.
	Capabilities []inspection.Capability
	// Cleaned is what is on record of the cleanup after the last claim; nil: nothing.
	Cleaned *machinerecord.CleanupMeta
	// Defaults and BootOrder are how the orders stand to restore those of the BIOS in this cleanup.
	Defaults, BootOrder fleet.CommandStatus
	// NewID makes the unpredictable ID of a new attempt.
	NewID func() string
}

func (v *View) on() bool { return v.System != nil && v.System.PowerState == bmc.PowerOn }

func (v *View) off() bool { return v.System != nil && v.System.PowerState == bmc.PowerOff }

// running says that the machine is not off, and not unknown to be.
func (v *View) running() bool {
	return v.System != nil && !v.off() && v.System.PowerState != bmc.PowerUnknown && v.System.PowerState != ""
}

// seenSince says whether the BMC was asked after t. What it said before must not be
// taken for the effect of what was done at t.
func (v *View) seenSince(t *time.Time) bool {
	return v.System != nil && t != nil && v.System.Seen.After(*t)
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

// foreign is what is known of a maintenance that is not ours. Its zero value: there is none, or there is none any more.
type foreign struct {
	// group is that of the object; empty: it was not found.
	group string
	// why is why it was not found.
	why string
	// looked is when.
	looked time.Time
}

// has reports whether it has the server.
func (f foreign) has() bool { return f.group != "" || f.why != "" }

// foreignRepeat is how long what was found out of a foreign maintenance holds. Its operator removes the reference when it is over,
// which is seen at once; this is for where it does not.
const foreignRepeat = 30 * time.Second

// ahead is how far in the future a moment may lie that was written down: clocks of managers that take turns differ by less. What lies
// further off was written while the clock was wrong. It would be waited for until then, for years perhaps.
const ahead = 5 * time.Minute

// inFuture says that a moment was written by a clock that has been set back since.
func (v *View) inFuture(t time.Time) bool { return t.After(v.Now.Add(ahead)) }

// rewound is the boot attempt with the moments that lie in the future set to now, so that its times begin now; nil: none does.
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

// released says that the machine is off and that nothing is under way that switches it on: an order of
// the claim that is gone would otherwise come true for the next one.
func (v *View) released() bool {
	return v.off() && (v.System.Command.ID == "" || v.System.Command.State.Ended())
}

// comingOn says that an order to switch the machine on is under way, which was not seen on yet.
func (v *View) comingOn() bool {
	return v.off() && v.System.Command.Kind == fleet.PowerOn && !v.released()
}

// unsettled says that the machine was seen off before the last order about its power, of which it is not known what it came to.
func (v *View) unsettled() bool {
	last := v.System.Command
	return v.off() && (!v.released() || last.State == fleet.Failed && !v.System.Seen.After(last.End))
}

func (v *View) attemptID() string {
	if v.Attempt == nil {
		return "none"
	}
	return v.Attempt.ID
}

// started says that the boot of v.Boot has begun and that the machine was seen on.
func (v *View) started() bool { return v.Attempt.Begun() && v.Attempt.Started != nil }

// held is since when probes of an attempt are not told any more to wipe; empty: they are.
func (v *View) held() (attemptID string, since time.Time) {
	id, at, _ := strings.Cut(v.Server.Annotations[metalv1.AnnotationCleanupHeld], "@")
	since, err := time.Parse(time.RFC3339, at)
	if err != nil || v.inFuture(since) {
		return "", time.Time{} // somebody else's writing; it is written anew
	}
	return id, since
}

// reason is the reason that a Terminal error names, or otherwise what is given.
func reason(err error, otherwise string) string {
	var terminal reconcileerror.Terminal
	if errors.As(err, &terminal) {
		return terminal.Reason
	}
	return otherwise
}
