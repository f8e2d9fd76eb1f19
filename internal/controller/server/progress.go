package server

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// stage is how far a machine has come in a boot, by what it has fetched.
type stage int

const (
	stageNothing stage = iota // it may be in its power-on self test
	stageScript               // iPXE runs, and has been told what to load
	stageKernel               // it has loaded some of that, or a unified kernel image
	stageSystem               // an operating system runs that has fetched its ignition
)

// patience is how long a boot of the probe may stay in a stage until it is taken to have come to nothing. Power-on self tests of
// large machines take ten minutes; an image and an initramfs take seconds, on a slow network minutes. Whoever runs an operating
// system has until the deadline: the probe repeats its report.
var patience = map[stage]time.Duration{
	stageNothing: 15 * time.Minute,
	stageScript:  10 * time.Minute,
	stageKernel:  10 * time.Minute,
}

const (
	// absence is how long a machine is awaited that has not been heard since nobody answered, because the boot server was being
	// replaced. Scripts that Farrier serves ask again, as much firmware does; the rest waits at a prompt, or has booted a disk.
	absence = 5 * time.Minute
	// mostBoots is how many boots there are in one discovery, or cleanup; the last one waits for the deadline.
	mostBoots = 3
)

// stages tell by which condition of a boot configuration what a machine has come to.
var stages = []struct {
	condition string
	stage     stage
}{
	{metalv1.ConditionIPXEScriptFetched, stageScript},
	{bootv1.ConditionKernelFetched, stageKernel},
	{bootv1.ConditionUKIFetched, stageKernel},
	{metalv1.ConditionIgnitionDataFetched, stageSystem},
}

// progress is how far the boot of v.Boot, which has started, has come, and since when.
func (v *View) progress() (stage, time.Time) {
	at, since := stageNothing, *v.Attempt.Started
	for _, s := range stages {
		c := apimeta.FindStatusCondition(v.Boot.Status.Conditions, s.condition)
		if !v.Attempt.Concerns(v.Boot.Status.DeliveryAttempt, c) {
			continue
		}
		at = max(at, s.stage)
		if c.LastTransitionTime.After(since) { // a boot may be seen on after it has fetched its script
			since = c.LastTransitionTime.Time
		}
	}
	return at, since
}

// silentAt is when the boot of the probe will have come to nothing, because of what the machine has not fetched of it; zero:
// it goes on, or this is the last boot, or somebody else serves it and need not tell. Each boot is awaited twice as long as the one
// before. What was fetched and not written down costs a boot too many.
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

// comesToNothing says that the boot of the probe is to be made again, for as long as that is of use: until limit after the first start
// something else is made of it. Otherwise it asks to be woken when that may be so.
func (v *View) comesToNothing(p *Plan, limit time.Duration) bool {
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

// bootAgain prepares the boot of the probe anew: its token is that of its attempt.
func (v *View) bootAgain(p *Plan) {
	at, since := v.progress()
	p.Prepare, p.Again = true, v.Attempt
	p.Event = Event{corev1.EventTypeWarning, reasonBootAgain, fmt.Sprintf("Nothing was heard of boot %d of the probe for %s, after %s; it is booted again", v.Attempt.Number, v.Now.Sub(since).Round(time.Second), at)}
}

// reasonBootAgain is that of the event.
const reasonBootAgain = "ProbeBootedAgain"

func (s stage) String() string {
	return map[stage]string{
		stageNothing: "it was switched on", stageScript: "it fetched its script", stageKernel: "it fetched its image", stageSystem: "it fetched its ignition",
	}[s]
}
