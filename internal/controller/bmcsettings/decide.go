package bmcsettings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/maintenancerequest"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Reasons of the condition Ready.
const (
	reasonBMCRefMissing         = "BMCRefMissing"
	reasonBMCNotFound           = "BMCNotFound"
	reasonAnotherGoesFirst      = "AnotherBMCSettings"
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
)

// Reasons for which settings cannot be what is asked for, whatever is tried.
const (
	reasonUnknownAttribute  = "UnknownAttribute"
	reasonReadOnlyAttribute = "ReadOnlyAttribute"
	reasonInvalidValue      = "InvalidValue"
	reasonNoAttributes      = "NoAttributes"
	reasonInvalidMethod     = "InvalidMethod"
	reasonInvalidURI        = "InvalidURI"
	reasonInvalidDocument   = "InvalidDocument"
	reasonResourceMissing   = "ResourceMissing"
	reasonUnknownVariable   = "UnknownVariable"
	reasonInvalidFieldPath  = "InvalidFieldPath"
	reasonTooLong           = "TooLong"
)

// Reasons for which a variable has no value yet.
const (
	reasonSourceMissing = "VariableSourceMissing"
	reasonKeyMissing    = "VariableKeyMissing"
	reasonFieldMissing  = "VariableFieldMissing"
	reasonSourceRefused = "VariableSourceRefused"
)

const (
	// lookEvery is how long settings that were seen right are believed to be: people change them on the BMC's pages.
	lookEvery = 6 * time.Hour
	// lookRetry is how long a BMC is left alone that did not tell its settings.
	lookRetry = time.Minute
	// configMapsEvery is how often ConfigMaps are read again, configMapsRetry how often those that lack something.
	configMapsEvery = 10 * time.Minute
	configMapsRetry = time.Minute
	// maxNamed bounds how many settings a message names.
	maxNamed = 16
)

// view is everything that decisions look at.
type view struct {
	now time.Time
	obj *metalv1.BMCSettings
	// bmc is nil where there is none, first the BMCSettings that has it, if that is another.
	bmc   *metalv1.BMC
	first string
	// wanted are the settings; invalid is why they are none, a Terminal. asked tells them from others.
	wanted  []setting
	invalid error
	asked   string
	// configMaps says that variables come from ConfigMaps, which nobody watches.
	configMaps bool
	// manager is nil until the BMC has told of itself; unreachable is why it does not now.
	manager     *bmc.Manager
	unreachable error
	progress    *progress
	// looked is what the last job found; busy says that one is under way.
	looked *look
	busy   bool
	// restart is how the restart of the present step stands.
	restart fleet.CommandStatus
	// maintenance is how it stands with the servers of the BMC.
	maintenance maintenancerequest.Standing
	// rollout names the RolloutPolicy that has not let it begin, if one is in its way.
	rollout string
	// locked is why the exclusive lock cannot be taken now.
	locked error
	// deleting says that the object goes as soon as nothing is under way.
	deleting bool
}

// plan is what is to be done. State, reason and message go into status.
type plan struct {
	state           metalv1.BMCSettingsState
	reason, message string
	// quiet leaves status as it is: what is to be found out is known in a moment.
	quiet bool
	// progress is written where it is not what is there.
	progress *progress
	// look, write and restart are the job that is ordered.
	look, write, restart bool
	// maintain asks for the maintenances, release ends them.
	maintain, release bool
	after             time.Duration
}

func (p *plan) say(state metalv1.BMCSettingsState, reason, format string, args ...any) plan {
	p.state, p.reason, p.message = state, reason, bounded(fmt.Sprintf(format, args...))
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
	if v.configMaps {
		p.wake(v.now, v.now.Add(configMapsEvery))
	}
	if v.progress.active() {
		return v.advance(&p)
	}
	p.release = true // unless it is found to be needed
	pending := metalv1.BMCSettingsStatePending
	switch ref := v.obj.Spec.BMCRef; {
	case ref == nil || ref.Name == "":
		return p.say(pending, reasonBMCRefMissing, "spec.BMCRef names no BMC")
	case v.bmc == nil:
		return p.say(pending, reasonBMCNotFound, "spec.BMCRef: BMC %q does not exist", ref.Name)
	case v.first != "":
		return p.say(pending, reasonAnotherGoesFirst, "BMCSettings %q is older and has the same BMC; Farrier applies one at a time", v.first)
	case v.invalid != nil && awaited(v.invalid):
		if v.configMaps {
			p.wake(v.now, v.now.Add(configMapsRetry))
		}
		return p.say(pending, reasonOf(v.invalid, reasonSourceMissing), "%v", v.invalid)
	case v.invalid != nil:
		return p.say(metalv1.BMCSettingsStateFailed, reasonOf(v.invalid, reasonInvalidValue), "%v", v.invalid)
	case v.progress != nil && v.progress.Step == stepFailed && v.progress.Asked == v.asked:
		return p.say(metalv1.BMCSettingsStateFailed, v.progress.Reason, "%s (after %d attempts; to try again, set the annotation %s=retry)", v.progress.Message, v.progress.Failures, metalv1.AnnotationOperation)
	case v.unreachable != nil:
		return p.say(pending, reasonBMCUnreachable, "%v", v.unreachable)
	case v.manager == nil:
		return p.say(pending, reasonBMCUnreachable, "Waiting for the BMC's first answer")
	case !isFor(&v.obj.Spec.BMCSettingsTemplate, v.manager.FirmwareVersion):
		return p.say(pending, reasonVersionMismatch, "The BMC has version %q, and spec.version is %q", v.manager.FirmwareVersion, v.obj.Spec.Version)
	}
	return v.compare(&p)
}

// isFor reports whether settings are for the version that a BMC has.
func isFor(spec *metalv1.BMCSettingsTemplate, installed string) bool {
	return bmc.CompareVersions(installed, spec.Version) == 0
}

// Forecast is the state and the reason that new settings start with under a RolloutPolicy, if the BMC has the version that the API shows and some of
// the settings differ. Only the BMC knows whether they do.
func Forecast(spec *metalv1.BMCSettingsTemplate, installed string) (metalv1.BMCSettingsState, string) {
	switch {
	case installed == "":
		return metalv1.BMCSettingsStatePending, reasonReading
	case !isFor(spec, installed):
		return metalv1.BMCSettingsStatePending, reasonVersionMismatch
	}
	return metalv1.BMCSettingsStatePending, metalv1.ReasonWaitingForRollout
}

// compare reads the settings where that was not done lately, and says what follows.
func (v *view) compare(p *plan) plan {
	l := v.looked
	known := l != nil && l.asked == v.asked
	age := lookEvery
	if known && l.err != nil {
		age = lookRetry
	}
	if !known || !v.now.Before(l.begun.Add(age)) {
		p.look, p.release = !v.busy, false
		p.quiet = v.obj.Status.State != "" && v.obj.Status.ObservedGeneration == v.obj.Generation
		return p.say(metalv1.BMCSettingsStatePending, reasonReading, "Reading the settings")
	}
	p.wake(v.now, l.begun.Add(age))
	if l.err != nil {
		return p.say(metalv1.BMCSettingsStatePending, reasonNotReadable, "%v", l.err)
	}
	if len(l.differing) == 0 {
		if v.progress == nil || v.progress.Asked != v.asked || v.progress.Step != stepDone {
			p.progress = &progress{Asked: v.asked, Step: stepDone, Since: v.now.UTC(), Hidden: l.hidden}
		}
		return p.say(metalv1.BMCSettingsStateApplied, reasonApplied, "%s", v.applied(l))
	}
	if l.refused != nil {
		return p.say(metalv1.BMCSettingsStateFailed, reasonOf(l.refused, reasonInvalidValue), "%v", l.refused)
	}
	if v.rollout != "" {
		return p.say(metalv1.BMCSettingsStatePending, metalv1.ReasonWaitingForRollout, "%s differ; RolloutPolicy %q has not let it begin", named(l.differing), v.rollout)
	}
	p.release, p.maintain = false, true
	if !v.maintenance.Granted() {
		return p.say(metalv1.BMCSettingsStatePending, reasonWaitingForMaintenance, "%s differ; %s", named(l.differing), v.maintenance.Waiting())
	}
	p.progress = &progress{Asked: v.asked, Step: stepBegin, Since: v.now.UTC(), Hidden: l.hidden}
	return p.say(metalv1.BMCSettingsStateInProgress, reasonApplying, "%s differ", named(l.differing))
}

// applied says that all is as asked for, and what nobody can see.
func (v *view) applied(l *look) string {
	out := fmt.Sprintf("The BMC has all %d settings", len(v.wanted))
	if len(l.hidden) > 0 {
		out += fmt.Sprintf("; it does not show %s, which Farrier has sent", named(l.hidden))
	}
	return out
}

// named lists names of settings.
func named(names []string) string {
	var all []string
	for _, name := range names[:min(len(names), maxNamed)] {
		all = append(all, shown(name))
	}
	out := strings.Join(all, ", ")
	if more := len(names) - len(all); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// awaited reports whether what is missing may come.
func awaited(err error) bool {
	return slices.Contains([]string{reasonSourceMissing, reasonKeyMissing, reasonFieldMissing}, reasonOf(err, ""))
}

// reasonOf is the reason that a Terminal names, or otherwise what is given.
func reasonOf(err error, otherwise string) string {
	if terminal, ok := errors.AsType[reconcileerror.Terminal](err); ok {
		return terminal.Reason
	}
	return otherwise
}

// bounded is a text of a condition.
func bounded(s string) string {
	const longest = 1024
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
