package server

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	if v.comesToNothing(&p, v.Policy.DiscoveryTimeout) {
		v.bootAgain(&p)
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "Booting", "%s", p.Event.Message)
		return p
	}
	if !v.boot(&p, bootWay{cold: true, force: true}) {
		p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, "Booting", "The probe is being booted")
		if !v.Attempt.Begun() && p.Attempt == nil && v.Boot.Status.State != metalv1.ServerBootConfigurationStateError {
			p.brief(v.Now, v.Boot.CreationTimestamp.Time, v.firstWord())
		}
		return p
	}
	deadline := v.Attempt.Since().Add(v.Policy.DiscoveryTimeout)
	if v.Now.Before(deadline) {
		p.after(v.Now, deadline)
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
