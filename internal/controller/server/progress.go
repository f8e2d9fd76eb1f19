package server

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
)

// stage is how far a machine has come in a boot, by what it has fetched.
type stage int

const (
	stageNothing stage = iota // it may be in its power-on self test
	stageScript               // iPXE runs and has its script
	stageKernel               // it has fetched a kernel, or a unified kernel image
	stageSystem               // an operating system runs and has its ignition
)

// patience is how long a boot of the probe may stay in a stage until it counts as failed. Power-on self tests of large machines take
// ten minutes; an image and an initramfs take seconds, on a slow network minutes. A machine that runs an operating system has until
// the deadline: the probe repeats its report.
var patience = map[stage]time.Duration{
	stageNothing: 15 * time.Minute,
	stageScript:  10 * time.Minute,
	stageKernel:  10 * time.Minute,
}

const (
	// absence is how long a machine has to come back that asked while no boot server answered, because it was being replaced. The
	// scripts of Farrier try again, and so does much firmware; the rest waits at a prompt, or has booted a disk.
	absence = 5 * time.Minute
	// mostBoots is the number of boots in one discovery or cleanup; the last one has until the deadline.
	mostBoots = 3
)

// stages are the conditions of a boot configuration that prove a stage, by any boot method.
var stages = func() map[string]stage {
	proven := map[string]stage{}
	for _, m := range bootmethod.Methods {
		for kind, conditions := range m.Conditions {
			proven[conditions[0]] = stageOf(kind)
		}
	}
	return proven
}()

// stageOf is the stage that a delivery proves.
func stageOf(kind bootview.DeliveryKind) stage {
	switch {
	case kind == bootview.DeliveredScript:
		return stageScript
	case kind == bootview.DeliveredArtifact, kind.IsFile():
		return stageKernel
	case kind == bootview.DeliveredIgnition:
		return stageSystem
	}
	return stageNothing
}

// progress is how far the boot of v.Boot, which has started, has come, and since when.
func (v *View) progress() (stage, time.Time) {
	at, since := stageNothing, *v.Attempt.Started
	for condition, proven := range stages {
		c := apimeta.FindStatusCondition(v.Boot.Status.Conditions, condition)
		if !v.Attempt.Concerns(v.Boot.Status.DeliveryAttempt, c) {
			continue
		}
		at = max(at, proven)
		if c.LastTransitionTime.After(since) { // a machine may be seen on after it has fetched its script
			since = c.LastTransitionTime.Time
		}
	}
	return at, since
}

// silentAt is when the boot of the probe counts as failed if the machine fetches nothing more; zero: never, because it goes on, this is
// the last boot, or another controller serves it and need not tell. Each boot has twice the time of the one before. A delivery that
// was not written down costs one boot too many.
func (v *View) silentAt() time.Time {
	a := v.Attempt
	if v.Policy.ForeignBoot || !v.started() || a.Number >= mostBoots {
		return time.Time{}
	}
	at, since := v.progress()
	limit, limited := patience[at]
	if !limited {
		return time.Time{}
	}
	wait := func(d time.Duration) time.Duration {
		return min(d, v.Policy.DiscoveryTimeout/2) << (max(a.Number, 1) - 1)
	}
	silent := since.Add(wait(limit))
	if missed := v.Answering.Add(wait(absence)); since.Before(v.Answering) && missed.Before(silent) {
		return missed
	}
	return silent
}

// bootFailed reports whether the boot of the probe is to be repeated. That is of use until limit after the first start. Otherwise the
// plan asks for a reconcile when it may be so.
func (v *View) bootFailed(p *Plan, limit time.Duration) bool {
	silent := v.silentAt()
	if silent.IsZero() || !v.Now.Before(v.Attempt.Since().Add(limit)) {
		return false
	}
	if v.Now.Before(silent) {
		p.after(v.Now, silent)
		return false
	}
	return true
}

// bootAgain prepares the boot of the probe again: each attempt has its own token.
func (v *View) bootAgain(p *Plan) {
	at, since := v.progress()
	v.prepare(p)
	p.Again = v.Attempt
	p.warning("ProbeBootedAgain", "The probe of boot %d has reported nothing for %s after %s; booting it again", v.Attempt.Number, v.Now.Sub(since).Round(time.Second), at)
}

func (s stage) String() string {
	return map[stage]string{
		stageNothing: "it was switched on", stageScript: "it fetched its script", stageKernel: "it fetched its image", stageSystem: "it fetched its ignition",
	}[s]
}
