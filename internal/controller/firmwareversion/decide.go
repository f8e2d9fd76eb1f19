package firmwareversion

import (
	"fmt"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/maintenancerequest"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Reasons of the condition Ready while nothing is under way.
const (
	reasonServerRefMissing      = "ServerRefMissing"
	reasonBMCRefMissing         = "BMCRefMissing"
	reasonServerNotFound        = "ServerNotFound"
	reasonBMCNotFound           = "BMCNotFound"
	reasonAnotherGoesFirst      = "AnotherVersionObject"
	reasonInvalidImage          = "InvalidImage"
	reasonImageCredentials      = "ImageCredentialsMissing"
	reasonFirmwareImageNotFound = "FirmwareImageNotFound"
	reasonRollbackNotOffered    = "RollbackNotOffered"
	reasonBMCUnreachable        = "BMCUnreachable"
	reasonFetchingImage         = "FetchingImage"
	reasonImageUnavailable      = "ImageUnavailable"
	reasonImageDigest           = "ImageDigestMismatch"
	reasonReading               = "ReadingVersion"
	reasonNotReadable           = "VersionNotReadable"
	reasonWaitingForMaintenance = "WaitingForMaintenance"
	reasonWaitingForBMC         = "WaitingForBMC"
	reasonUpdating              = "Updating"
	reasonRetrying              = "Retrying"
	reasonReached               = "VersionReached"
	reasonRolledBack            = "RolledBack"
	reasonDeleted               = "Deleted"
)

// Reasons for which an attempt fails.
const (
	reasonAnotherUpdate     = "AnotherUpdate"
	reasonNoIsolationBoot   = "NoIsolationBoot"
	reasonUpdateRefused     = "UpdateRefused"
	reasonPowerFailed       = "PowerFailed"
	reasonTaskFailed        = "TaskFailed"
	reasonTaskStuck         = "TaskStuck"
	reasonTaskVanished      = "TaskVanished"
	reasonTimedOut          = "UpdateTimedOut"
	reasonUnchanged         = "VersionUnchanged"
	reasonWrongVersion      = "WrongVersion"
	reasonMachineNotStarted = "MachineDidNotStart"
	reasonBMCNotBack        = "BMCDidNotReturn"
)

// reasonRollbackRefused is the reason of an event: the operation asks for a rollback, and there is none.
const reasonRollbackRefused = "RollbackRefused"

const (
	// lookAge is for how long a version that was read is believed before servers are asked for.
	lookAge = 10 * time.Minute
	// lookRetry is how long a BMC is left alone that did not tell its version.
	lookRetry = time.Minute
)

// view is everything that decisions look at.
type view struct {
	now  time.Time
	item *item
	// asked tells what the object asks for from what it asked for before. process names this process.
	asked, process string
	// catalog is what is known of images. goal is what is to be there in the end, and hop what is installed next on the way there.
	catalog   catalog
	goal, hop hop
	// image is that of hop, with credentials; problem is why it cannot be installed.
	image    image
	username string
	password bmc.Secret
	problem  error
	fetched  fetched
	// found says that there is what the object is for; first is the object that has it, if that is another.
	found bool
	first string
	// servers are had while the update is under way; maintenance is how that stands.
	servers     []string
	maintenance maintenancerequest.Standing
	// rollout names the RolloutPolicy that has not let it begin, if one is in its way.
	rollout string
	// answered says that the BMC has told of component, and installed is the version that it told last; unreachable is why it does not now.
	answered    bool
	installed   string
	unreachable error
	// silentSince is since when it does not answer.
	silentSince time.Time
	component   component
	// system is the one whose BIOS is updated; nil: there is none, or not yet.
	system   *fleet.SystemObservation
	skew     time.Duration
	progress *progress
	// looked is what the last job found; busy says that one is under way.
	looked *look
	busy   bool
	// command is how the command of the present step stands.
	command fleet.CommandStatus
	// locked is why the exclusive lock cannot be taken now.
	locked error
	// enforce lets a machine be forced off that does not shut down.
	enforce bool
}

// plan is what is to be done. State, reason and message go into status.
type plan struct {
	state           metalv1.VersionState
	reason, message string
	// quiet leaves status as it is: what is to be found out is known in a moment.
	quiet bool
	// progress is written where it is not what is there.
	progress *progress
	// look and start are the job that is ordered, command what else is.
	look, start bool
	command     fleet.CommandKind
	// maintain asks for the maintenances, release ends them.
	maintain, release bool
	after             time.Duration
}

func (p *plan) say(state metalv1.VersionState, reason, format string, args ...any) plan {
	p.state, p.reason, p.message = state, reason, fmt.Sprintf(format, args...)
	return *p
}

// wake asks to be looked at again at t.
func (p *plan) wake(now, t time.Time) {
	if d := max(t.Sub(now), time.Millisecond); p.after == 0 || d < p.after {
		p.after = d
	}
}

// reached reports whether a version is the one that is to be there in the end.
func (v *view) reached(version string) bool {
	return isVersion(version, v.goal.version)
}

// isVersion reports whether a version is there, and the wanted one.
func isVersion(version, wanted string) bool {
	return version != "" && bmc.CompareVersions(version, wanted) == 0
}

// Forecast is the state and the reason that a new object starts with under a RolloutPolicy, if the firmware has the version that the API shows.
func Forecast(spec *metalv1.VersionTemplate, installed string) (metalv1.VersionState, string) {
	switch {
	case installed == "":
		return metalv1.VersionStatePending, reasonReading
	case isVersion(installed, spec.Version):
		return metalv1.VersionStateCompleted, reasonReached
	}
	return metalv1.VersionStatePending, metalv1.ReasonWaitingForRollout
}

// decide says what to do.
func (v *view) decide() plan {
	p := plan{progress: v.progress}
	if v.progress.active() {
		return v.advance(&p)
	}
	p.release = true // unless it is found to be needed
	k, target := v.item.kind, v.item.target
	pending := metalv1.VersionStatePending
	known := v.progress != nil && v.progress.Asked == v.asked
	back := v.goesBack() // what the fleet has observed may be the version before, from before the update
	switch {
	case target == "":
		return p.say(pending, k.either(reasonServerRefMissing, reasonBMCRefMissing), "%s names no %s", k.refField(), k.target())
	case !v.found:
		return p.say(pending, k.either(reasonServerNotFound, reasonBMCNotFound), "%s: %s %q does not exist", k.refField(), k.target(), target)
	case v.first != "":
		return p.say(pending, reasonAnotherGoesFirst, "%s %q is older and has the same %s; delete one of them", k.Name, v.first, k.target())
	case !back && (v.answered && v.reached(v.installed) || known && v.progress.Step == stepDone && v.unreachable != nil):
		return v.complete(&p)
	case back && v.progress.Reason == reasonRolledBack:
		return p.say(metalv1.VersionStateFailed, reasonRolledBack, "%s", v.progress.Message)
	case known && v.progress.Step == stepFailed:
		return p.say(metalv1.VersionStateFailed, v.progress.Reason, "%s (after %d attempts; to try again, set the annotation %s=retry)", v.progress.Message, v.progress.Failures, metalv1.AnnotationOperation)
	case v.problem != nil:
		return p.say(metalv1.VersionStateFailed, reasonOf(v.problem, reasonInvalidImage), "%v", v.problem)
	case v.unreachable != nil:
		return p.say(pending, reasonBMCUnreachable, "%v", v.unreachable)
	case !v.answered:
		return p.say(pending, reasonBMCUnreachable, "Waiting for the BMC's first answer")
	}
	return v.compare(&p)
}

// complete says that the firmware has the version.
func (v *view) complete(p *plan) plan {
	if v.progress == nil || v.progress.Asked != v.asked || v.progress.Step != stepDone {
		p.progress = &progress{Asked: v.asked, Step: stepDone, Since: v.now.UTC()}
		if v.progress != nil && v.progress.Asked == v.asked {
			p.progress.Rollback = v.progress.Rollback
		}
	}
	return p.say(metalv1.VersionStateCompleted, reasonReached, "The %s has version %q", v.item.kind.firmware, v.installed)
}

// compare reads the version where that was not done lately, and says what follows: what the fleet has observed may be hours old.
func (v *view) compare(p *plan) plan {
	l := v.looked
	age := lookAge
	if l != nil && l.err != nil {
		age = lookRetry
	}
	waiting := v.maintenance.Asked() && len(v.servers) > 0 // what is known was read before they were asked for
	back := v.goesBack()
	old := l != nil && (back && l.begun.Before(v.progress.Since) || v.needsBanks() && l.err == nil && !l.banksRead)
	if l == nil || l.asked != v.asked || old || !v.now.Before(l.begun.Add(age)) && (l.err != nil || !waiting) {
		p.look, p.release = !v.busy, false
		p.quiet = v.item.status.State != "" && v.item.status.ObservedGeneration == v.item.GetGeneration()
		return p.say(metalv1.VersionStatePending, reasonReading, "Reading the version")
	}
	if l.err != nil {
		p.wake(v.now, l.begun.Add(age))
		return p.say(metalv1.VersionStatePending, reasonNotReadable, "%v", l.err)
	}
	switch v.installed = l.version; {
	case v.reached(l.version) && back:
		return v.rolledBack(p)
	case v.reached(l.version):
		return v.complete(p)
	}
	if err := v.unbanked(l); err != nil {
		return p.say(metalv1.VersionStateFailed, reasonRollbackNotOffered, "%v", err)
	}
	differs := v.differs(l.version)
	switch {
	case v.missing() && v.fetched.hopeless():
		return p.say(metalv1.VersionStateFailed, reasonOf(v.fetched.err, reasonInvalidImage), "%v", v.fetched.err)
	case v.missing() && v.fetched.err != nil:
		return p.say(metalv1.VersionStatePending, reasonImageUnavailable, "%s; %v", differs, v.fetched.err)
	case v.missing():
		return p.say(metalv1.VersionStatePending, reasonFetchingImage, "%s; Farrier fetches the image", differs)
	}
	if v.rollout != "" && !back {
		return p.say(metalv1.VersionStatePending, metalv1.ReasonWaitingForRollout, "%s; RolloutPolicy %q has not let it begin", differs, v.rollout)
	}
	p.release, p.maintain = false, true
	if !v.maintenance.Granted() {
		return p.say(metalv1.VersionStatePending, reasonWaitingForMaintenance, "%s; %s", differs, v.maintenance.Waiting())
	}
	p.progress = (&progress{Asked: v.asked}).attempt(v.now)
	if back {
		p.progress.Rollback = v.progress.Rollback
	}
	return p.say(metalv1.VersionStateInProgress, reasonUpdating, "%s", differs)
}

// differs says what is there, what is to be, and how that goes.
func (v *view) differs(version string) string {
	if v.goesBack() {
		return fmt.Sprintf("The %s has version %q, and goes back to version %q", v.item.kind.firmware, version, v.goal.version)
	}
	return fmt.Sprintf("The %s has version %q, and spec.version is %q", v.item.kind.firmware, version, v.item.spec.Version) + v.before() + v.hop.says()
}

// either is what of two things is meant for the kind.
func (k *Kind) either(ofServer, ofBMC string) string {
	if k.ofBMC {
		return ofBMC
	}
	return ofServer
}

func (k *Kind) target() string   { return k.either("Server", "BMC") }
func (k *Kind) refField() string { return k.either("spec.serverRef", "spec.bmcRef") }
