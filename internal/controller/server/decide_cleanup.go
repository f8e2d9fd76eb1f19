package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// decideCleanup makes a server clean: the BIOS gets its defaults back; the probe is booted and wipes the disks; its results are the
// record; the boot order is restored. Only then the mark of the last claim is removed, and there is no other way to Available.
func decideCleanup(v *View) Plan {
	want := v.wantedCleaning()
	switch {
	case len(want.unknown) > 0:
		return v.unknownCleaning(want.unknown)
	case v.clean(want):
		return v.finishCleanup(want)
	case v.cleanedInAttempt() && v.Cleaned.Outcome != machinerecord.Clean:
		return v.cleanupFailed(v.Cleaned.Summary)
	case want.mode == inspection.CleanNone:
		return v.skipWipe(want)
	case !v.cleaningBoot(), v.Attempt.Started == nil && v.Attempt.Clean != want.mode:
		return v.prepareCleaning(want.mode)
	}
	return v.wipe(want)
}

// unknownCleaning waits for a person to correct the annotations.
func (v *View) unknownCleaning(words []string) Plan {
	var p Plan
	v.notClean(&p, metalv1.ReasonCleanupUnknown, "Annotation %s or %s has unknown values: %s", metalv1.AnnotationCleanup, metalv1.AnnotationClaimCleanup, strings.Join(words, ", "))
	v.warnOnce(&p)
	return p
}

// skipWipe ends a cleanup that wipes nothing.
func (v *View) skipWipe(want cleaning) Plan {
	if why := v.defaultsFailure(want); why != "" {
		return v.cleanupFailed(why)
	}
	var p Plan
	v.notClean(&p, reasonCleaning, "Cleanup running (mode none)")
	if !want.biosDefaults || v.restoreDefaults(&p) {
		p.Record = v.skippedWipe()
	}
	return p
}

// defaultsFailure is why the BIOS defaults cannot be restored; empty: they can, or nobody wants them.
func (v *View) defaultsFailure(want cleaning) string {
	if err := v.refused(v.Defaults); want.biosDefaults && err != nil {
		return "The BIOS defaults could not be restored: " + err.Error()
	}
	return ""
}

// prepareCleaning prepares the boot of a probe that cleans.
func (v *View) prepareCleaning(mode inspection.CleanMode) Plan {
	var p Plan
	if v.Policy.ProbeImage == "" {
		v.notClean(&p, "ProbeImageMissing", "The disks cannot be wiped without a probe image: set --probe-os-image")
		return p
	}
	v.prepare(&p)
	p.Clean = mode
	v.notClean(&p, reasonCleaning, "Preparing the boot of the probe (mode %s)", mode)
	return p
}

// wipe boots the probe from cold and waits for its result of each disk.
func (v *View) wipe(want cleaning) Plan {
	registered, capable := v.registered()
	if registered && !capable {
		return v.cannotClean()
	}
	p, again := v.bootAgainBeforeWipe(want.mode, registered)
	if again {
		return p
	}
	if why := v.defaultsFailure(want); why != "" {
		return v.cleanupFailed(why)
	}
	deadline, late := v.wipeDeadline(registered)
	if v.started() && !v.Now.Before(deadline) {
		return v.cleanupFailed(late)
	}
	if !v.boot(&p, bootOptions{cold: true, force: v.Policy.EnforcePowerOff, defaults: want.biosDefaults}) {
		v.notClean(&p, reasonCleaning, "Booting the probe (mode %s)", v.Attempt.Clean)
		return p
	}
	switch {
	case v.off() && v.seenSince(v.Attempt.Started):
		// Somebody switched it off. The same order begins the wipe again, for as long as there is time.
		v.powerOn(&p, "resume")
		v.notClean(&p, reasonCleaning, "The machine went off during its cleanup; switching it on again")
	case registered:
		v.notClean(&p, reasonCleaning, "Wiping the disks (mode %s)", v.Attempt.Clean)
	default:
		v.notClean(&p, reasonCleaning, "Waiting for the probe to register (mode %s)", v.Attempt.Clean)
	}
	p.after(v.Now, deadline)
	return p
}

// wipeDeadline is when a probe that was started must have registered, or finished, and the failure if it has not.
func (v *View) wipeDeadline(registered bool) (deadline time.Time, late string) {
	limit := v.Policy.CleanupTimeout
	if !registered {
		limit = min(limit, v.Policy.DiscoveryTimeout)
		return v.Attempt.Since().Add(limit), fmt.Sprintf("The probe did not register within %s of its boot", limit)
	}
	if v.Attempt.Started != nil {
		deadline = v.Attempt.Started.Add(limit)
	}
	return deadline, fmt.Sprintf("The probe did not finish within %s of its boot", limit)
}

// cannotClean waits for another probe image, or for a person: the same image would not clean either.
func (v *View) cannotClean() Plan {
	if image := v.Policy.ProbeImage; image != "" && v.Boot.Spec.Image != image {
		return v.prepareCleaning(v.Attempt.Clean)
	}
	var p Plan
	v.notClean(&p, metalv1.ReasonProbeCannotClean,
		"The probe image %s cannot clean (mode %s): its agent does not list %q. Set another image (--probe-os-image), or retry with the annotation %s=retry",
		v.Boot.Spec.Image, v.Attempt.Clean, inspection.CleanOrder{Mode: v.Attempt.Clean}.Capability(), metalv1.AnnotationOperation)
	v.warnOnce(&p)
	return p
}

// hopeless reports whether this cleanup goes on only after a person has changed something.
func (v *View) hopeless() bool {
	registered, capable := v.registered()
	return v.cleaningBoot() && registered && !capable
}

// finishCleanup makes a server Available whose record says that it is clean.
func (v *View) finishCleanup(want cleaning) Plan {
	var p Plan
	if want.bootOrder {
		if order, needed := v.bootOrderToRestore(); needed {
			if err := v.refused(v.BootOrder); err != nil {
				return v.cleanupFailed("The boot order could not be restored: " + err.Error())
			}
			v.restoreBootOrder(&p, order)
			v.notClean(&p, reasonCleaning, "Restoring the boot order")
			return p
		}
	}
	reason := metalv1.ReasonCleaned
	if v.Cleaned.Mode == inspection.CleanNone {
		reason = metalv1.ReasonPassedThrough
	}
	p.condition(metalv1.ConditionCleaned, metav1.ConditionTrue, reason, "%s", v.Cleaned.Summary)
	p.event(reason, "%s", v.Cleaned.Summary)
	p.Remove, p.Prune = v.BootInternal, true
	p.edit(
		removeAnnotation(metalv1.AnnotationClaimedBy),
		removeAnnotation(metalv1.AnnotationClaimCleanup),
		removeAnnotation(metalv1.AnnotationInstalled),
		removeAnnotation(metalv1.AnnotationCleanupHeld),
		removeBoot(), // the probe's, or still the claim's, where its reference was removed by hand
	)
	return p
}

// cleanupFailed taints a server, which means Error. That is remembered before its boot is removed: without both it would be cleaned
// again though nobody asked for that, and a probe that still wipes would be switched off.
func (v *View) cleanupFailed(why string) Plan {
	var p Plan
	v.notClean(&p, metalv1.ReasonCleanupFailed, "%s", why)
	p.warning(metalv1.ReasonCleanupFailed, "%s", why)
	p.edit(setTaint{metalv1.TaintNotClean}, setAnnotation{annotationNotClean, why}, removeAnnotation(metalv1.AnnotationCleanupHeld))
	return p
}

// skippedWipe is the record of a cleanup that wipes nothing.
func (v *View) skippedWipe() *machinerecord.Cleanup {
	return &machinerecord.Cleanup{
		Server: v.Server.Name, Claim: v.claimedBy(), Attempt: v.claimedBy(), Mode: inspection.CleanNone, Started: v.Now.UTC(), Ended: v.Now.UTC(),
		Outcome: machinerecord.Clean, Summary: "No disk was wiped: the cleanup mode is none", Disks: []inspection.DiskCleanup{},
	}
}

// warnOnce makes an event of the plan's condition Cleaned, unless status has its reason already.
func (v *View) warnOnce(p *Plan) {
	is := p.Conditions[len(p.Conditions)-1]
	if was := apimeta.FindStatusCondition(v.Server.Status.Conditions, metalv1.ConditionCleaned); was == nil || was.Reason != is.Reason {
		p.warning(is.Reason, "%s", is.Message)
	}
}

func (v *View) notClean(p *Plan, reason, format string, args ...any) {
	p.condition(metalv1.ConditionCleaned, metav1.ConditionFalse, reason, format, args...)
}

// cleaning is what a cleanup has to do.
type cleaning struct {
	mode                    inspection.CleanMode
	bootOrder, biosDefaults bool
	// unknown are words that mean nothing. Whoever wrote one wanted something: until that is known, no server is clean enough.
	unknown []string
}

// wantedCleaning is what the installation, the server and its last claim ask for. Server and claim may ask for more than the
// installation, never for less.
func (v *View) wantedCleaning() cleaning {
	c := cleaning{mode: cmp.Or(v.Policy.Cleanup, inspection.CleanNone)}
	for _, list := range []string{v.Server.Annotations[metalv1.AnnotationCleanup], v.Server.Annotations[metalv1.AnnotationClaimCleanup]} {
		for word := range strings.SplitSeq(list, ",") {
			c.add(strings.TrimSpace(word))
		}
	}
	return c
}

func (c *cleaning) add(word string) {
	switch word {
	case "":
	case metalv1.CleanupNone, metalv1.CleanupMetadata, metalv1.CleanupFull:
		if mode := inspection.CleanMode(word); !c.mode.Covers(mode) {
			c.mode = mode
		}
	case metalv1.CleanupBootOrder:
		c.bootOrder = true
	case metalv1.CleanupBIOSDefaults:
		c.biosDefaults = true
	default:
		c.unknown = append(c.unknown, word)
	}
}

// clean reports whether a record says that the disks are as clean as wanted.
func (v *View) clean(c cleaning) bool {
	return v.Cleaned != nil && v.Cleaned.Outcome == machinerecord.Clean && v.Cleaned.Mode.Covers(c.mode)
}

// cleaningBoot reports whether the boot configuration boots a probe that cleans and has no record yet.
func (v *View) cleaningBoot() bool {
	return v.BootInternal && v.Boot != nil && v.Attempt != nil && v.Attempt.Clean != "" && !v.cleanedInAttempt()
}

// cleanedInAttempt reports whether there is a record of this boot.
func (v *View) cleanedInAttempt() bool {
	return v.Cleaned != nil && v.Attempt != nil && v.Cleaned.Attempt == v.Attempt.ID
}

// registered reports whether the probe of this boot has registered, and whether it is capable of the cleaning that it was booted for.
func (v *View) registered() (yes, capable bool) {
	if v.Attempt == nil || v.Inspected != v.Attempt.ID {
		return false, false
	}
	return true, slices.Contains(v.Capabilities, inspection.CleanOrder{Mode: v.Attempt.Clean}.Capability())
}

// suspendDelay is how long after a wipe was suspended no probe can begin one: several times what a boot server takes to store a
// report, in which it did not see the suspension.
const suspendDelay = time.Minute

// bootAgainBeforeWipe repeats the boot of a probe that is to clean and does not register. It reports whether that is all there is to
// do now. A wipe is never interrupted, so three steps follow each other. The wipe is suspended: an annotation says that no probe of
// this attempt is told to wipe, and the report intake reads it past caches. If no probe has registered a while later, the boot is
// prepared again. When the machine was seen off, the next probe may wipe.
func (v *View) bootAgainBeforeWipe(mode inspection.CleanMode, registered bool) (p Plan, again bool) {
	id, since := v.wipeSuspended()
	switch {
	case id == "":
		if registered || !v.bootFailed(&p, min(v.Policy.CleanupTimeout, v.Policy.DiscoveryTimeout)) {
			return p, false
		}
		p.edit(setAnnotation{metalv1.AnnotationCleanupHeld, v.Attempt.ID + "@" + v.Now.UTC().Format(time.RFC3339)})
	case id != v.Attempt.ID && v.Attempt.Off == nil:
		return p, false // it is on its way off
	case registered, id != v.Attempt.ID:
		p.edit(removeAnnotation(metalv1.AnnotationCleanupHeld))
	case v.Now.Before(since.Add(suspendDelay)):
		p.after(v.Now, since.Add(suspendDelay))
	default:
		if p = v.prepareCleaning(mode); p.Prepare {
			v.bootAgain(&p)
		}
		return p, true
	}
	v.notClean(&p, reasonCleaning, "The probe does not register; booting it again (mode %s)", v.Attempt.Clean)
	return p, true
}
