package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// decideCleanup makes a server clean: the BIOS gets its defaults back and the probe is booted, which wipes
// the disks; its results are the record; then the boot order is restored. The mark of the last claim is
// removed only when all of that is so, and there is no other way from here to Available.
func decideCleanup(v *View) Plan {
	var p Plan
	want := v.wantedCleaning()
	switch {
	case len(want.unknown) > 0:
		v.notClean(&p, metalv1.ReasonCleanupUnknown, "Annotation %s or %s has words that mean nothing: %s", metalv1.AnnotationCleanup, metalv1.AnnotationClaimCleanup, strings.Join(want.unknown, ", "))
		v.once(&p, corev1.EventTypeWarning, metalv1.ReasonCleanupUnknown)
	case v.clean(want):
		v.finishCleanup(&p, want)
	case v.cleanedInAttempt() && v.Cleaned.Outcome != machinerecord.Clean:
		v.failCleanup(&p, v.Cleaned.Summary)
	case want.mode == inspection.CleanNone:
		v.passThrough(&p, want)
	case !v.cleaningBoot(), v.Attempt.Started == nil && v.Attempt.Clean != want.mode:
		v.prepareCleaning(&p, want.mode)
	default:
		v.wipe(&p, want)
	}
	return p
}

// passThrough ends a cleanup that wipes nothing.
func (v *View) passThrough(p *Plan, want cleaning) {
	v.notClean(p, reasonCleaning, "The server is being cleaned (mode none)")
	if !want.biosDefaults || v.restoreDefaults(p) {
		p.Record = v.passedThrough()
	} else if err := v.refused(v.Defaults); err != nil {
		v.failCleanup(p, "The defaults of the BIOS could not be restored: "+err.Error())
	}
}

// prepareCleaning makes the boot of a probe that cleans.
func (v *View) prepareCleaning(p *Plan, mode inspection.CleanMode) {
	if v.Policy.ProbeImage == "" {
		v.notClean(p, "ProbeImageMissing", "No probe image is configured (--probe-os-image), so the disks cannot be wiped")
		return
	}
	p.Prepare, p.Clean = true, mode
	v.notClean(p, reasonCleaning, "The boot of the probe is being prepared (mode %s)", mode)
}

// wipe boots the probe from cold and waits for what it says of each disk.
func (v *View) wipe(p *Plan, want cleaning) {
	registered, capable := v.registered()
	if registered && !capable {
		v.cannotClean(p)
		return
	}
	if v.bootAgainBeforeWipe(p, want.mode, registered) {
		return
	}
	started := v.boot(p, bootWay{cold: true, force: v.Policy.EnforcePowerOff, defaults: want.biosDefaults})
	if err := v.refused(v.Defaults); want.biosDefaults && err != nil {
		v.failCleanup(p, "The defaults of the BIOS could not be restored: "+err.Error())
		return
	}
	if !started {
		v.notClean(p, reasonCleaning, "The probe is being booted (mode %s)", v.Attempt.Clean)
		return
	}
	began, limit, missing := *v.Attempt.Started, v.Policy.CleanupTimeout, "The probe has not finished within %s of its boot"
	if !registered {
		began, limit, missing = v.Attempt.Since(), min(limit, v.Policy.DiscoveryTimeout), "The probe has not registered within %s of its boot"
	}
	deadline := began.Add(limit)
	switch {
	case !v.Now.Before(deadline):
		v.failCleanup(p, fmt.Sprintf(missing, limit))
		return
	case v.off() && v.seenSince(v.Attempt.Started):
		// Somebody switched it off. A wipe is begun again, by the same order, for as long as there is time.
		v.powerOn(p, "resume")
		v.notClean(p, reasonCleaning, "The machine went off while it was being cleaned, and is switched on again")
	case registered:
		v.notClean(p, reasonCleaning, "The disks are being wiped (mode %s)", v.Attempt.Clean)
	default:
		v.notClean(p, reasonCleaning, "The probe was booted and has not registered yet (mode %s)", v.Attempt.Clean)
	}
	p.after(v.Now, deadline)
}

// cannotClean waits for another probe image, or for a person: to boot the same one again would be of no use.
func (v *View) cannotClean(p *Plan) {
	if image := v.Policy.ProbeImage; image != "" && v.Boot.Spec.Image != image {
		v.prepareCleaning(p, v.Attempt.Clean)
		return
	}
	v.notClean(p, metalv1.ReasonProbeCannotClean,
		"The probe image %s cannot clean (mode %s): its agent does not list %q. With another image (--probe-os-image), or by %s=retry, it is tried again",
		v.Boot.Spec.Image, v.Attempt.Clean, inspection.CleanOrder{Mode: v.Attempt.Clean}.Capability(), metalv1.AnnotationOperation)
	v.once(p, corev1.EventTypeWarning, metalv1.ReasonProbeCannotClean)
}

// hopeless says that this cleanup goes on only when a person has changed something.
func (v *View) hopeless() bool {
	registered, capable := v.registered()
	return v.cleaningBoot() && registered && !capable
}

// finishCleanup hands a server whose record says that it is clean on to be Available.
func (v *View) finishCleanup(p *Plan, want cleaning) {
	if want.bootOrder && !v.restoreBootOrder(p) {
		v.notClean(p, reasonCleaning, "The boot order is being restored")
		if err := v.refused(v.BootOrder); err != nil {
			v.failCleanup(p, "The boot order could not be restored: "+err.Error())
		}
		return
	}
	reason := metalv1.ReasonCleaned
	if v.Cleaned.Mode == inspection.CleanNone {
		reason = metalv1.ReasonPassedThrough
	}
	p.condition(metalv1.ConditionCleaned, metav1.ConditionTrue, reason, "%s", v.Cleaned.Summary)
	p.Event = Event{corev1.EventTypeNormal, reason, v.Cleaned.Summary}
	p.Remove, p.Prune = v.BootInternal, true
	p.Facts = func(s *metalv1.Server) {
		delete(s.Annotations, metalv1.AnnotationClaimedBy)
		delete(s.Annotations, metalv1.AnnotationClaimCleanup)
		delete(s.Annotations, metalv1.AnnotationInstalled)
		release(s)
		s.Spec.BootConfigurationRef = nil // the probe's, or still the claim's, where its reference was removed by hand
	}
}

// failCleanup taints a server that could not be made clean, which means Error. That is remembered before its boot is removed:
// without either it would be cleaned again though nobody asked for that, and a probe that still wipes would be switched off.
func (v *View) failCleanup(p *Plan, why string) {
	*p = Plan{}
	v.notClean(p, metalv1.ReasonCleanupFailed, "%s", why)
	p.Event = Event{corev1.EventTypeWarning, metalv1.ReasonCleanupFailed, why}
	p.Facts = func(s *metalv1.Server) {
		s.Spec.Taints = append(withoutTaint(s.Spec.Taints, metalv1.TaintNotClean), metalv1.Taint{Key: metalv1.TaintNotClean, Effect: metalv1.TaintEffectNoBind})
		annotate(s, annotationNotClean, why)
		release(s)
	}
}

// passedThrough is what is on record of a cleanup that wipes nothing.
func (v *View) passedThrough() *machinerecord.Cleanup {
	return &machinerecord.Cleanup{
		Server: v.Server.Name, Claim: v.claimedBy(), Attempt: v.claimedBy(), Mode: inspection.CleanNone, Started: v.Now.UTC(), Ended: v.Now.UTC(),
		Outcome: machinerecord.Clean, Summary: "No disk was wiped: that is switched off", Disks: []inspection.DiskCleanup{},
	}
}

// once tells an event with the condition that p has, unless status says the same already.
func (v *View) once(p *Plan, kind, reason string) {
	if c := apimeta.FindStatusCondition(v.Server.Status.Conditions, metalv1.ConditionCleaned); c == nil || c.Reason != reason {
		p.Event = Event{kind, reason, p.Conditions[len(p.Conditions)-1].Message}
	}
}

func (v *View) notClean(p *Plan, reason, format string, args ...any) {
	p.condition(metalv1.ConditionCleaned, metav1.ConditionFalse, reason, format, args...)
}

// cleaning is what a cleanup is to do.
type cleaning struct {
	mode                    inspection.CleanMode
	bootOrder, biosDefaults bool
	// unknown are words that mean nothing. Whoever wrote one wanted something: until it is
	// known what, nothing is clean enough.
	unknown []string
}

// wantedCleaning is what the installation does, and what the server and its last claim ask for
// beyond that. They may ask for more, never for less.
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

// clean says whether the disks are as clean as is wanted, and that is on record.
func (v *View) clean(c cleaning) bool {
	return v.Cleaned != nil && v.Cleaned.Outcome == machinerecord.Clean && v.Cleaned.Mode.Covers(c.mode)
}

// cleaningBoot says whether the boot configuration boots a probe that cleans and has not been heard
// of to the end.
func (v *View) cleaningBoot() bool {
	return v.BootInternal && v.Boot != nil && v.Attempt != nil && v.Attempt.Clean != "" && !v.cleanedInAttempt()
}

// cleanedInAttempt says whether there is a record of this boot.
func (v *View) cleanedInAttempt() bool {
	return v.Cleaned != nil && v.Attempt != nil && v.Cleaned.Attempt == v.Attempt.ID
}

// registered says whether the probe of this boot has told who it is; capable, whether it can do
// what this boot is for.
func (v *View) registered() (yes, capable bool) {
	if v.Attempt == nil || v.Inspected != v.Attempt.ID {
		return false, false
	}
	return true, slices.Contains(v.Capabilities, inspection.CleanOrder{Mode: v.Attempt.Clean}.Capability())
}

// holdDelay is how long a cleanup is held until it is believed that no probe wipes: several times what a boot server gives a
// report that is being stored, in which the hold was not seen.
const holdDelay = time.Minute

// bootAgainBeforeWipe makes the boot of a probe again that is to clean and was not heard of, and says that this is all there is to
// do now. A wipe is never interrupted. So first it is written that no probe of this boot is told any more to wipe, which whoever
// stores reports reads past caches; when none has registered by then, the boot is prepared anew; and when the machine is seen off,
// the next boot may wipe.
func (v *View) bootAgainBeforeWipe(p *Plan, mode inspection.CleanMode, registered bool) bool {
	id, since := v.held()
	switch {
	case id == "":
		if registered || !v.comesToNothing(p, min(v.Policy.CleanupTimeout, v.Policy.DiscoveryTimeout)) {
			return false
		}
		p.Facts = func(s *metalv1.Server) {
			annotate(s, metalv1.AnnotationCleanupHeld, v.Attempt.ID+"@"+v.Now.UTC().Format(time.RFC3339))
		}
	case id != v.Attempt.ID && v.Attempt.Off == nil:
		return false // it is on its way off
	case registered, id != v.Attempt.ID:
		p.Facts = release
	case v.Now.Before(since.Add(holdDelay)):
		p.after(v.Now, since.Add(holdDelay))
	default:
		if v.prepareCleaning(p, mode); p.Prepare {
			v.bootAgain(p)
		}
		return true
	}
	v.notClean(p, reasonCleaning, "The probe was booted and was not heard of; it is booted again unless it is (mode %s)", v.Attempt.Clean)
	return true
}
