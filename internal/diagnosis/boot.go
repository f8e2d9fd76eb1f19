package diagnosis

import (
	"fmt"
	"net/http"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
)

// Reasons of answers about a boot: the first step that did not happen.
const (
	ReasonNotOff     = "MachineNotOff"
	ReasonNotOn      = "MachineNotOn"
	ReasonNoRequest  = "NoRequest"
	ReasonNoScript   = "NoScript"
	ReasonNoImage    = "NoImage"
	ReasonNoIgnition = "NoIgnition"
	ReasonNoReport   = "NoProbeReport"
	// ReasonStepRefused: the machine asked, and the boot server refused.
	ReasonStepRefused = "StepRefused"
)

// hop is a step of a boot, in the order in which they happen.
type hop struct {
	reason, step string
	usual        time.Duration
	cause, next  string
	causes       []string
	// proof are the deliveries that prove that it happened, and conditions those that outlive the memory of the boot server.
	proof      []bootview.DeliveryKind
	conditions []string
}

// hops are the steps after the machine was seen on. A delivery of a later step proves the earlier ones.
var hops = []hop{
	{
		reason: ReasonNoRequest, step: "the first request of the machine, to DHCP or to the boot server", usual: 10 * time.Minute,
		cause: "The machine of {server} was switched on and has asked for nothing since, neither DHCP nor the boot server.",
		next:  "Look at its console: does it try to boot from the network? Then check switch port, VLAN and DHCP of its boot interface (docs/dhcp.md).",
		causes: []string{
			"The boot interface is in a VLAN without DHCP, or the DHCP server does not name Farrier's boot program.",
			"The network boot is switched off in the firmware, or for that interface.",
			"The machine is still in its power-on self test, which takes ten minutes on large ones.",
			"The BMC says that it has switched the machine on, and has not.",
		},
		proof: []bootview.DeliveryKind{bootview.DeliveredBoot, bootview.DeliveredProgram, bootview.DeliveredChainload},
	},
	{
		reason: ReasonNoScript, step: "the request for the boot script, or for the UKI", usual: 5 * time.Minute,
		cause: "The machine of {server} asked what to boot, and never asked for its boot script.",
		next:  "Look at its console for the last words of iPXE; check that it reaches the boot URL from its network.",
		causes: []string{
			"The boot program cannot reach the boot server: no route, a firewall, or a wrong --boot-url.",
			"Secure Boot refuses the boot program.",
			"The boot program has no driver for the network card.",
		},
		proof: []bootview.DeliveryKind{bootview.DeliveredScript}, conditions: []string{bootv1.ConditionIPXEScriptFetched},
	},
	{
		reason: ReasonNoImage, step: "the request for the kernel, or for the UKI", usual: 5 * time.Minute,
		cause: "The machine of {server} has its boot script, and has not fetched the image that it names.",
		next:  "Look at its console for the last words of iPXE; check that it reaches the image URL from its network.",
		causes: []string{
			"The machine cannot reach the image URL (--image-server-url).",
			"The registry is slow, and the machine has given up.",
			"The machine has too little memory for the image.",
		},
		proof: []bootview.DeliveryKind{bootview.DeliveredArtifact}, conditions: []string{bootv1.ConditionKernelFetched, bootv1.ConditionUKIFetched},
	},
	{
		reason: ReasonNoIgnition, step: "the request for the ignition", usual: 10 * time.Minute,
		cause: "The machine of {server} has fetched its image, and has not fetched its ignition.",
		next:  "Look at its console: does the kernel start, and does it have the network? The ignition URL is on its command line.",
		causes: []string{
			"The kernel panics, or Secure Boot refuses it.",
			"The initramfs has no driver for the network card, or gets no address.",
			"The image has no ignition, or reads it from elsewhere.",
		},
		proof: []bootview.DeliveryKind{bootview.DeliveredIgnition}, conditions: []string{bootv1.ConditionIgnitionDataFetched},
	},
	{
		reason: ReasonNoReport, step: "the report of the probe", usual: 10 * time.Minute,
		cause: "The probe runs on the machine of {server}, and has not reported.",
		next:  "Look at its console for what the probe says; check that the machine reaches the boot server over HTTPS.",
		causes: []string{
			"The probe does not trust the certificate of the boot server (--registry-ca-file).",
			"The probe image does not start the agent, or an old one.",
			"A disk or a driver hangs while the probe looks at the hardware.",
		},
		proof: []bootview.DeliveryKind{bootview.ReceivedReport},
	},
}

// usualPower is how long a power command usually takes.
const usualPower = 5 * time.Minute

// boot says which step of the present boot is missing; nil: none is, or nothing boots.
func (f *Facts) boot() *Answer {
	a := bootattempt.Of(f.Config)
	switch {
	case f.Server == nil, !a.Begun(), a.Exits(), f.runs(a), f.Claim != nil && f.Claim.Spec.Power == metalv1.PowerOff:
		return nil
	case a.Started == nil && !f.asked(a.ID):
		return f.notOn(a)
	}
	since := *a.Ordered
	if a.Started != nil {
		since = *a.Started
	}
	return f.missing(a.ID, since)
}

// lastBoot is boot for a server whose boot has failed and was removed: by the newest boot that is remembered.
func (f *Facts) lastBoot() *Answer {
	if len(f.Boots) == 0 || f.Server == nil {
		return nil
	}
	last := f.Boots[len(f.Boots)-1]
	if len(last.Steps) == 0 {
		return nil
	}
	return f.missing(last.Attempt, last.Steps[0].First)
}

// runs reports whether the machine has told that it runs what it booted.
func (f *Facts) runs(a *bootattempt.Attempt) bool {
	return a.Concerns(f.Config.Status.BootStateAttempt, apimeta.FindStatusCondition(f.Config.Status.Conditions, metalv1.ConditionBootStateReceived))
}

func (f *Facts) asked(attempt string) bool {
	_, step := f.proven(attempt, time.Time{})
	return step >= 0
}

func (f *Facts) notOn(a *bootattempt.Attempt) *Answer {
	h := hop{
		reason: ReasonNotOn, step: "the machine on, as its BMC reports it", usual: usualPower,
		cause:  "{server} was told to switch on, and its BMC has not reported it on since.",
		next:   "Look at the console of the BMC, and try the power button there.",
		causes: []string{"The BMC is slow, or says that it has done what it has not.", "The machine has no power.", "The BMC waits for the end of an update."},
	}
	since := *a.Ordered
	if a.Off == nil && f.Server.Status.PowerState != metalv1.PowerStateOff {
		h.reason, h.step = ReasonNotOff, "the machine off, as its BMC reports it"
		h.cause = "{server} has to be off before it boots, and its BMC has not reported it off since it was told."
	} else if a.Off != nil {
		since = *a.Off
	}
	return f.answer(h, since)
}

// missing says which step of an attempt did not happen after the machine was on; nil: all did that count.
func (f *Facts) missing(attempt string, started time.Time) *Answer {
	since, proven := f.proven(attempt, started)
	next := proven + 1
	if next < len(hops) && hops[next].reason == ReasonNoIgnition && f.Config != nil && f.Config.Spec.IgnitionSecretRef == nil {
		next++
	}
	if next >= len(hops) || hops[next].reason == ReasonNoReport && !f.OfProbe {
		return nil
	}
	if refused := f.refused(attempt, next); refused != nil {
		return refused
	}
	return f.answer(hops[next], since)
}

// proven is the last step that happened, and when; -1: none did, since the machine was on.
func (f *Facts) proven(attempt string, started time.Time) (since time.Time, at int) {
	since, at = started, -1
	note := func(i int, when time.Time) {
		if i >= at {
			at = i
			if when.After(since) {
				since = when
			}
		}
	}
	for _, b := range f.Boots {
		if b.Attempt != attempt {
			continue
		}
		for _, s := range b.Steps {
			if i := hopOf(s.Kind); i >= 0 && s.Status < http.StatusBadRequest {
				note(i, s.Last)
			}
		}
	}
	if a := bootattempt.Of(f.Config); a != nil && a.ID == attempt {
		for i, h := range hops {
			for _, kind := range h.conditions {
				if c := apimeta.FindStatusCondition(f.Config.Status.Conditions, kind); a.Concerns(f.Config.Status.DeliveryAttempt, c) {
					note(i, c.LastTransitionTime.Time)
				}
			}
		}
	}
	return since, at
}

// hopOf is the step that a delivery proves; -1: none. What firmware fetches itself is the image.
func hopOf(kind bootview.DeliveryKind) int {
	for i, h := range hops {
		for _, proof := range h.proof {
			if proof == kind || kind.IsFile() && proof == bootview.DeliveredArtifact {
				return i
			}
		}
	}
	return -1
}

// refused says that the machine asked for what is missing, and was refused; nil: it was not.
func (f *Facts) refused(attempt string, missing int) *Answer {
	for _, b := range f.Boots {
		if b.Attempt != attempt {
			continue
		}
		for i := len(b.Steps) - 1; i >= 0; i-- {
			s := b.Steps[i]
			if s.Status < http.StatusBadRequest || hopOf(s.Kind) != missing {
				continue
			}
			h := hops[missing]
			answer := f.answer(h, s.First)
			answer.Reason, answer.Standing = ReasonStepRefused, Trouble
			answer.Cause = fmt.Sprintf("The machine of Server %s asked for %s and got %d %s.", f.Server.Name, kindNames[s.Kind], s.Status, http.StatusText(s.Status))
			answer.Next, answer.Usual = "Look at the log of the boot server for that request; a boot that is ordered again has a new token.", refusedBy(s.Status)
			return answer
		}
	}
	return nil
}

// refusedBy are usual causes of a status.
func refusedBy(status int) []string {
	switch {
	case status >= http.StatusInternalServerError:
		return usuallyRegistry
	case status == http.StatusForbidden:
		return []string{"The request came from another address, or with another token, than this boot has (docs/boot-server.md).", "The machine has read its secrets already: they are given once.", "--boot-secrets-deadline has passed."}
	}
	return []string{"The machine asks with the script of an earlier boot."}
}

var kindNames = map[bootview.DeliveryKind]string{
	bootview.DeliveredBoot: "DHCP", bootview.DeliveredProgram: "the boot program", bootview.DeliveredChainload: "the chainload script", bootview.DeliveredScript: "the boot script",
	bootview.DeliveredUKI: "the UKI", bootview.DeliveredArtifact: "a layer of its image", bootview.DeliveredIgnition: "the ignition", bootview.ReceivedReport: "the storage of its report",
}

// answer is about a step that did not happen since then.
func (f *Facts) answer(h hop, since time.Time) *Answer {
	names := f.names(nil)
	waited := f.Now.Sub(since)
	m := &Missing{Step: h.step, Since: since, Usual: Duration(h.usual)}
	a := &Answer{Standing: Waiting, Reason: h.reason, Since: since, Cause: names.Replace(h.cause), Next: names.Replace(h.next), Missing: m, Usual: h.causes}
	if waited > h.usual {
		m.Overdue, a.Standing = Duration(waited-h.usual), Trouble
	}
	return a
}

// patient puts the rest of the usual time before the next step, where that has not passed.
func (a *Answer) patient(now time.Time) {
	if a.Standing != Waiting || a.Missing == nil {
		return
	}
	rest := a.Missing.Since.Add(time.Duration(a.Missing.Usual)).Sub(now)
	a.Next = fmt.Sprintf("Wait %s more. Then: %s", Duration(rest.Round(time.Second)), a.Next)
}
