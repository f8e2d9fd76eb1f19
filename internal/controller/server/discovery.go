package server

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// decideDiscovery boots the probe from cold and waits for its report. The report
// itself ends this state: once it is on record, derive says Available.
func decideDiscovery(v *View) Plan {
	var p Plan
	if v.Boot == nil {
		p.Prepare = true
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "Preparing", "The boot of the probe is being prepared")
		return p
	}
	silent := v.silentAt()
	anew := !silent.IsZero() && !v.Now.Before(silent) && v.Now.Before(v.Attempt.Started.Add(v.Policy.DiscoveryTimeout))
	if !v.boot(&p, bootWay{cold: true, force: true, anew: anew}) {
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "Booting", "The probe is being booted")
		if !v.Attempt.Begun() && p.Attempt == nil {
			p.brief(v.Now, v.Boot.CreationTimestamp.Time)
		}
		return p
	}
	deadline := v.Attempt.Started.Add(v.Policy.DiscoveryTimeout)
	if v.Now.Before(deadline) {
		p.after(v.Now, deadline)
		if !silent.IsZero() {
			p.after(v.Now, silent)
		}
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "WaitingForReport", "The probe was booted and has not reported yet")
		return p
	}
	failures := discoveryFailures(v.Server) + 1
	p.Remove = true
	p.Facts = func(s *metalv1.Server) {
		s.Spec.BootConfigurationRef = nil
		annotate(s, annotationDiscoveryFailures, strconv.Itoa(failures))
		annotate(s, annotationDiscoveryNotBefore, v.Now.Add(discoveryDelay(failures)).UTC().Format(time.RFC3339))
	}
	p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "TimedOut", "No report came within %s (%d of %d tries)", v.Policy.DiscoveryTimeout, failures, v.Policy.DiscoveryRetries+1)
	p.Event = Event{corev1.EventTypeWarning, "DiscoveryTimedOut", "No report of the probe came in time"}
	return p
}

const (
	// silence is how long a machine that was switched on may give no sign of life: power-on self tests of large machines take
	// ten minutes. One that found no boot server, because that was being replaced, asks no second time: iPXE hands back to the
	// firmware, and that waits at a prompt or boots a disk.
	silence = 15 * time.Minute
	// silentBoots is how many boots there are in one discovery; the last one waits for the deadline.
	silentBoots = 2
)

// silentAt is when the boot of the probe will have come to nothing, because the machine has fetched nothing of it; zero:
// it has, or this is the last boot, or somebody else serves it and need not tell. What was fetched and not written down costs a boot too many.
func (v *View) silentAt() time.Time {
	a := v.Attempt
	if v.Policy.ForeignBoot || !a.Begun() || a.Started == nil || a.Number >= silentBoots {
		return time.Time{}
	}
	for _, kind := range []string{metalv1.ConditionIPXEScriptFetched, metalv1.ConditionIgnitionDataFetched} {
		c := apimeta.FindStatusCondition(v.Boot.Status.Conditions, kind)
		if c != nil && c.Status == metav1.ConditionTrue && slices.Contains(strings.Fields(c.Message), a.ID) {
			return time.Time{}
		}
	}
	return a.Started.Add(min(silence, v.Policy.DiscoveryTimeout/2))
}

// discoveryDelay doubles with each discovery that times out.
func discoveryDelay(failures int) time.Duration {
	const first, longest = time.Minute, time.Hour
	return min(first<<min(failures-1, 10), longest)
}

// discoveryNotBefore is when discovery may be tried again; zero: at any time.
func discoveryNotBefore(server *metalv1.Server) time.Time {
	t, err := time.Parse(time.RFC3339, server.Annotations[annotationDiscoveryNotBefore])
	if err != nil {
		return time.Time{}
	}
	return t
}

// forgetFailures lets discovery begin as if it had never failed.
func forgetFailures(s *metalv1.Server) {
	delete(s.Annotations, annotationDiscoveryFailures)
	delete(s.Annotations, annotationDiscoveryNotBefore)
}

func annotate(s *metalv1.Server, key, value string) {
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[key] = value
}

func setOrDelete(s *metalv1.Server, key, value string) {
	if value == "" {
		delete(s.Annotations, key)
		return
	}
	annotate(s, key, value)
}
