package bmc

import (
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

const (
	// rotationPatience is how long a BMC may not answer before a rotation that has not chosen a password yet is
	// given up. One that has is never given up for that: the BMC may have the password.
	rotationPatience = 15 * time.Minute
	// rotationPause doubles, up to maxRotationPause, after each attempt of which nobody knows what it came to.
	rotationPause    = 30 * time.Second
	maxRotationPause = 10 * time.Minute
	// rotationAttempts is how often a new password is sent to a BMC that goes on with the old one.
	rotationAttempts = 5
	// rotationLock outlasts a job with all that it waits for.
	rotationLock = 10 * time.Minute
	// rotationCheck is how often is looked at what wakes nobody.
	rotationCheck = 15 * time.Second
	// rotationRest is how long a BMC that refused both passwords is left alone: accounts lock.
	rotationRest = time.Hour
)

// rotation is what this process knows of a rotation of a BMC's credentials. It is lost with the process: what
// must not be is in annotations, and a new password is stored before the BMC hears of it.
type rotation struct {
	// started is the value of the annotation that says so, since when this process knew.
	started string
	since   time.Time
	// job is the one under way, with its work; jobs counts them.
	job  string
	work *rotationWork
	jobs int
	// chosen is the new password, once it has been stored: whoever writes the secret too may take it away there, and the
	// BMC may have it.
	chosen bmc.Secret
	// next says that the BMC is asked with the new password, because it refused the old one.
	next bool
	// doubt says that the BMC may have the new password though it did not say so.
	doubt     bool
	attempts  int // without a certain end, in a row
	notBefore time.Time
}

// rotationView is what a decision about a rotation looks at.
type rotationView struct {
	now time.Time
	// done says that the password in use is this rotation's.
	done bool
	// overriddenBy is the object whose other credentials are used for this BMC.
	overriddenBy string
	// alone says that the credentials may be changed where they are: no other BMC has them, nobody else writes them, and they
	// are not immutable.
	alone bool
	// stored says that a new password is stored; unsafe that somebody else writes there, or has taken one away that was.
	stored, unsafe bool
	observation    fleet.Observation
	// ended says that the job under way has come to its end, with that error; lost that nobody knows it any more.
	ended, lost bool
	err         error
}

// rotationStep is what to do next about a rotation.
type rotationStep string

const (
	rotateAwait   rotationStep = "Await"   // be woken, or look again
	rotateReplace rotationStep = "Replace" // give the BMC credentials of its own that can be changed
	rotateMeasure rotationStep = "Measure" // ask the BMC what passwords it takes, and make one
	rotateStore   rotationStep = "Store"   // write the new password down
	rotateSet     rotationStep = "Set"     // tell it to the BMC
	rotateTryNext rotationStep = "TryNext" // go on with the new password
	rotatePromote rotationStep = "Promote" // it is the password
	rotateRest    rotationStep = "Rest"    // neither is taken
	rotateFail    rotationStep = "Fail"    // the old one stays
	rotateDone    rotationStep = "Done"
)

// decide says what to do next, how it stands then, and why in words for people.
func (p rotation) decide(v rotationView) (rotationStep, rotation, string) {
	refused := bmc.KindOf(v.observation.Err) == bmc.KindAuthentication
	answered := v.observation.Sequence > 0 && v.observation.Err == nil
	switch {
	case v.done:
		return rotateDone, p, ""
	case v.unsafe:
		return rotateReplace, p, ""
	case p.job != "":
		return p.follow(v)
	case p.next && answered:
		return rotatePromote, p, ""
	case p.next && refused:
		p.next, p.doubt = false, true
		return rotateRest, p, "the BMC refuses both the old and the new password"
	case refused && v.stored:
		p.next = true
		return rotateTryNext, p, "the BMC refuses the old password"
	case v.overriddenBy != "" && !v.stored:
		return rotateFail, p, v.overriddenBy + " names the same BMC, and its credentials are used"
	case refused:
		return rotateFail, p, "the BMC refuses the current password"
	case !answered && !v.stored && v.now.Sub(p.since) >= rotationPatience:
		return rotateFail, p, "the BMC does not answer"
	case !answered:
		return rotateAwait, p, "the BMC does not answer"
	case v.now.Before(p.notBefore):
		return rotateAwait, p, "the result of the last attempt is unknown"
	case !v.stored && !v.alone:
		return rotateReplace, p, ""
	case !v.stored:
		return rotateMeasure, p, "reading the BMC's password rules"
	}
	return rotateSet, p, "setting the new password"
}

// follow looks at the job under way.
func (p rotation) follow(v rotationView) (rotationStep, rotation, string) {
	work := p.work
	switch {
	case v.lost:
		p.job, p.work, p.doubt = "", nil, v.stored
		return rotateAwait, p, "connecting again"
	case !v.ended:
		return rotateAwait, p, "waiting for the BMC"
	}
	p.job, p.work = "", nil
	switch work.end {
	case passwordMade:
		p.attempts, p.work = 0, work
		return rotateStore, p, ""
	case passwordSet:
		return rotatePromote, p, ""
	case passwordRefused:
		return rotateFail, p, v.err.Error()
	case passwordsRefused:
		p.doubt = true
		return rotateRest, p, "the BMC refuses both the old and the new password"
	}
	return p.again(v)
}

// again waits after an attempt that has no certain end.
func (p rotation) again(v rotationView) (rotationStep, rotation, string) {
	reason := "the result of the attempt is unknown"
	if v.err != nil {
		reason = v.err.Error()
	}
	p.doubt = v.stored
	if p.attempts++; p.attempts >= rotationAttempts && !v.stored {
		return rotateFail, p, reason
	}
	p.notBefore = v.now.Add(min(rotationPause<<min(p.attempts-1, 10), maxRotationPause))
	return rotateAwait, p, reason
}
