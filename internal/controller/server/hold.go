package server

import (
	"strings"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// holdDelay is how long a cleanup is held until it is believed that no probe wipes: several times what a boot server gives a
// report that is being stored, in which the hold was not seen.
const holdDelay = time.Minute

// held is since when probes of an attempt are not told any more to wipe; empty: they are.
func (v *View) held() (attemptID string, since time.Time) {
	id, at, _ := strings.Cut(v.Server.Annotations[metalv1.AnnotationCleanupHeld], "@")
	since, err := time.Parse(time.RFC3339, at)
	if err != nil || v.inFuture(since) {
		return "", time.Time{} // somebody else's writing; it is written anew
	}
	return id, since
}

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

// release lets probes wipe again.
func release(s *metalv1.Server) { delete(s.Annotations, metalv1.AnnotationCleanupHeld) }
