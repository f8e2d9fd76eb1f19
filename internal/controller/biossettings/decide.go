package biossettings

import (
	"errors"
	"fmt"
	"strings"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/maintenancerequest"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Reasons of the condition Ready beside those of flow.go.
const (
	reasonServerRefMissing      = "ServerRefMissing"
	reasonServerNotFound        = "ServerNotFound"
	reasonAnotherGoesFirst      = "AnotherBIOSSettings"
	reasonBMCUnreachable        = "BMCUnreachable"
	reasonVersionMismatch       = "VersionMismatch"
	reasonReading               = "ReadingSettings"
	reasonNotReadable           = "SettingsNotReadable"
	reasonWaitingForMaintenance = "WaitingForMaintenance"
	reasonWaitingForBMC         = "WaitingForBMC"
	reasonApplying              = "Applying"
	reasonRetrying              = "Retrying"
	reasonApplied               = "SettingsApplied"
	reasonDeleted               = "Deleted"
	// reasonUnexpectedPending: settings wait at the BMC that the next reset would apply along, and that nobody asked for here.
	reasonUnexpectedPending = "UnexpectedPendingSettings"
)

const (
	// lookEvery is how long settings that were seen right are believed to be: people change them at the console.
	lookEvery = 6 * time.Hour
	// lookRetry is how long a BMC is left alone that did not tell its settings.
	lookRetry = time.Minute
	// pendingRetry is how soon a BMC is looked at again where settings wait that are somebody else's.
	pendingRetry = 10 * time.Minute
)

// view is everything that decisions look at.
type view struct {
	now  time.Time
	obj  *metalv1.BIOSSettings
	flow []metalv1.SettingsFlowItem
	// asked tells what obj asks for from what it asked for before.
	asked string
	// server is nil where there is none, first the BIOSSettings that has it, if that is another.
	server *metalv1.Server
	first  string
	// system is nil until its BMC has told of it; unreachable is why it does not now.
	system      *fleet.SystemObservation
	unreachable error
	progress    *progress
	// looked is what the last job found; busy says that one is under way.
	looked *look
	busy   bool
	// maintenance is how it stands with the maintenance that the server is had by.
	maintenance maintenancerequest.Standing
	// rollout names the RolloutPolicy that has not let it begin, if one is in its way.
	rollout string
	// power is how the power command of the present step stands.
	power fleet.CommandStatus
	// locked is why the exclusive lock cannot be taken now.
	locked error
	// enforce lets a machine be forced off that does not shut down.
	enforce bool
	// deleting says that the object goes as soon as nothing is under way.
	deleting bool
}

// plan is what is to be done. State, reason and message go into status.
type plan struct {
	state           metalv1.BIOSSettingsState
	reason, message string
	// quiet leaves status as it is: what is to be found out is known in a moment.
	quiet bool
	// progress is written where it is not what is there.
	progress *progress
	// look and write are the job that is ordered.
	look, write bool
	power       fleet.CommandKind
	// maintain asks for the maintenance, release ends it.
	maintain, release bool
	after             time.Duration
}

func (p *plan) say(state metalv1.BIOSSettingsState, reason, format string, args ...any) plan {
	p.state, p.reason, p.message = state, reason, fmt.Sprintf(format, args...)
	return *p
}

// wake asks to be looked at again at t.
func (p *plan) wake(now, t time.Time) {
	if d := max(t.Sub(now), time.Millisecond); p.after == 0 || d < p.after {
		p.after = d
	}
}

// decide says what to do.
func (v *view) decide() plan {
	p := plan{progress: v.progress}
	if v.progress.active() {
		return v.advance(&p)
	}
	p.release = true // unless it is found to be needed
	pending := metalv1.BIOSSettingsStatePending
	switch ref := v.obj.Spec.ServerRef; {
	case ref == nil || ref.Name == "":
		return p.say(pending, reasonServerRefMissing, "spec.serverRef names no Server")
	case v.names() != nil:
		return p.say(metalv1.BIOSSettingsStateFailed, reasonDuplicateName, "%v", v.names())
	case v.server == nil:
		return p.say(pending, reasonServerNotFound, "spec.serverRef: Server %q does not exist", ref.Name)
	case v.first != "":
		return p.say(pending, reasonAnotherGoesFirst, "BIOSSettings %q is older and has the same Server; Farrier applies one at a time", v.first)
	case v.progress != nil && v.progress.Step == stepFailed && v.progress.Asked == v.asked:
		return p.say(metalv1.BIOSSettingsStateFailed, v.progress.Reason, "%s (after %d attempts; to try again, set the annotation %s=retry)", v.progress.Message, v.progress.Failures, metalv1.AnnotationOperation)
	case v.unreachable != nil:
		return p.say(pending, reasonBMCUnreachable, "%v", v.unreachable)
	case v.system == nil:
		return p.say(pending, reasonBMCUnreachable, "Waiting for the BMC's first answer")
	case !isFor(&v.obj.Spec.BIOSSettingsTemplate, v.system.BIOSVersion):
		return p.say(pending, reasonVersionMismatch, "The BIOS has version %q, and spec.version is %q", v.system.BIOSVersion, v.obj.Spec.Version)
	}
	return v.compare(&p)
}

// isFor reports whether settings are for the version that a BIOS has.
func isFor(spec *metalv1.BIOSSettingsTemplate, installed string) bool {
	return bmc.CompareVersions(installed, spec.Version) == 0
}

// Forecast is the state and the reason that new settings start with under a RolloutPolicy, if the BIOS has the version that the API shows and some of
// the settings differ. Only the BMC knows whether they do.
func Forecast(spec *metalv1.BIOSSettingsTemplate, installed string) (metalv1.BIOSSettingsState, string) {
	switch {
	case checkNames(spec.SettingsFlow) != nil:
		return metalv1.BIOSSettingsStateFailed, reasonDuplicateName
	case installed == "":
		return metalv1.BIOSSettingsStatePending, reasonReading
	case !isFor(spec, installed):
		return metalv1.BIOSSettingsStatePending, reasonVersionMismatch
	}
	return metalv1.BIOSSettingsStatePending, metalv1.ReasonWaitingForRollout
}

// names is what is wrong with the names of the flow, in the order in which they stand in spec.
func (v *view) names() error { return checkNames(v.obj.Spec.SettingsFlow) }

// compare reads the settings where that was not done lately, and says what follows.
func (v *view) compare(p *plan) plan {
	l := v.looked
	known := l != nil && l.asked == v.asked
	age := lookEvery
	if known && l.err != nil {
		age = lookRetry
	} else if known && len(l.foreign) > 0 {
		age = pendingRetry
	}
	if !known || !v.now.Before(l.begun.Add(age)) {
		p.look, p.release = !v.busy, false
		p.quiet = v.obj.Status.State != "" && v.obj.Status.ObservedGeneration == v.obj.Generation
		return p.say(metalv1.BIOSSettingsStatePending, reasonReading, "Reading the settings")
	}
	p.wake(v.now, l.begun.Add(age))
	if l.err != nil {
		return p.say(metalv1.BIOSSettingsStatePending, reasonNotReadable, "%v", l.err)
	}
	wanted := final(v.flow)
	names := differing(wanted, l.bios.Attributes)
	if len(names) == 0 {
		if v.progress == nil || v.progress.Asked != v.asked || v.progress.Step != stepDone {
			p.progress = &progress{Asked: v.asked, Step: stepDone, Since: v.now.UTC()}
		}
		return p.say(metalv1.BIOSSettingsStateApplied, reasonApplied, "The BIOS has all %d settings", len(wanted))
	}
	if err := v.check(l); err != nil {
		return p.say(metalv1.BIOSSettingsStateFailed, reasonOf(err, reasonInvalidValue), "%v", err)
	}
	if len(l.foreign) > 0 {
		return p.say(metalv1.BIOSSettingsStateFailed, reasonUnexpectedPending, "%v; to check again, set the annotation %s=retry", l.unexpected(), metalv1.AnnotationOperation)
	}
	if v.rollout != "" {
		return p.say(metalv1.BIOSSettingsStatePending, metalv1.ReasonWaitingForRollout, "%s differ; RolloutPolicy %q has not let it begin", strings.Join(names, ", "), v.rollout)
	}
	p.release, p.maintain = false, true
	if !v.maintenance.Granted() {
		return p.say(metalv1.BIOSSettingsStatePending, reasonWaitingForMaintenance, "%s differ; %s", strings.Join(names, ", "), v.maintenance.Waiting())
	}
	p.progress = &progress{Asked: v.asked, Step: stepBegin, Since: v.now.UTC(), Wrote: v.progress.wrote()}
	return p.say(metalv1.BIOSSettingsStateInProgress, reasonApplying, "%s differ", strings.Join(names, ", "))
}

// check looks at every part of the flow before the first is applied: half of a flow is nothing that anybody asked for.
func (v *view) check(l *look) error {
	for _, item := range v.flow {
		if _, err := change(differing(item.Settings, l.bios.Attributes), item.Settings, l); err != nil {
			return reconcileerror.Terminal{Reason: reasonOf(err, reasonInvalidValue), Err: fmt.Errorf("spec.settingsFlow %q: %w", item.Name, err)}
		}
	}
	return nil
}

// reasonOf is the reason that a Terminal names, or otherwise what is given.
func reasonOf(err error, otherwise string) string {
	if terminal, ok := errors.AsType[reconcileerror.Terminal](err); ok {
		return terminal.Reason
	}
	return otherwise
}
