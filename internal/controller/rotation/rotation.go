package rotation

import (
	"errors"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

const (
	// patience is how long a BMC may not answer before a rotation that has not chosen a password yet is
	// given up. One that has is never given up for that: the BMC may have the password.
	patience = 15 * time.Minute
	// pause doubles, up to maxPause, after each attempt of which nobody knows what it came to.
	pause    = 30 * time.Second
	maxPause = 10 * time.Minute
	// MaxAttempts is how often a new password is sent to a BMC that goes on with the old one.
	MaxAttempts = 5
	// LockTime outlasts a job with all that it waits for.
	LockTime = 10 * time.Minute
	// CheckEvery is how often is looked at what wakes nobody.
	CheckEvery = 15 * time.Second
	// Rest is how long a BMC that refused both passwords is left alone: accounts lock.
	Rest = time.Hour
)

// Rotation is what this process knows of a rotation of a BMC's credentials. It is lost with the process: what
// must not be is in annotations, and a new password is stored before the BMC hears of it.
type Rotation struct {
	// Started is the value of the annotation that says so, Since when this process knew.
	Started string
	Since   time.Time
	// Job is the one under way, with its Work; Jobs counts them.
	Job  string
	Work *Work
	Jobs int
	// Chosen is the new password, once it has been stored: whoever writes the secret too may take it away there, and the
	// BMC may have it.
	Chosen bmc.Secret
	// Next says that the BMC is asked with the new password, and not with the old one.
	Next bool
	// Noted says that other processes can find out that the BMC is asked with this one: see Tries.
	Noted bool
	// Fresh says that the BMC has been logged in to anew since it was last told a new password: its answer shows which one it has.
	Fresh bool
	// Cleared says that the BMC has taken the old password since the last login was noted that it may have refused.
	Cleared bool
	// OldRefused and NextRefused are what the BMC said to them since it answered last.
	OldRefused, NextRefused bool
	// Doubt says that the BMC may have the new password though it did not say so.
	Doubt     bool
	Attempts  int // without a certain end, in a row
	NotBefore time.Time
}

// View is what a decision about a rotation looks at.
type View struct {
	Now time.Time
	// Separate says that the account is not the one that Farrier logs in with: what the BMC says to Farrier's login says nothing of the
	// password.
	Separate bool
	// Done says that the password in use is this rotation's.
	Done bool
	// OverriddenBy is the object whose other credentials are used for this BMC.
	OverriddenBy string
	// Alone says that the credentials may be changed where they are: no other BMC has them, nobody else writes them, and they
	// are not immutable.
	Alone bool
	// Stored says that a new password is stored; Unsafe that somebody else writes there, or has taken one away that was.
	Stored, Unsafe bool
	Observation    fleet.Observation
	// Ended says that the job under way has come to its end, with that error; Lost that nobody knows it any more.
	Ended, Lost bool
	Err         error
}

// Step is what to do next about a rotation.
type Step string

const (
	StepAwait    Step = "Await"    // be woken, or look again
	StepReplace  Step = "Replace"  // give the BMC credentials of its own that can be changed
	StepMeasure  Step = "Measure"  // ask the BMC what passwords it takes, and make one
	StepStore    Step = "Store"    // write the new password down
	StepSet      Step = "Set"      // tell it to the BMC
	StepTryNext  Step = "TryNext"  // go on with the new password
	StepTryOld   Step = "TryOld"   // go on with the old password
	StepAskAgain Step = "AskAgain" // log in once more, with whichever is due
	StepPromote  Step = "Promote"  // it is the password
	StepRest     Step = "Rest"     // neither is taken
	StepFail     Step = "Fail"     // the old one stays
	StepDone     Step = "Done"
)

// Decide says what to do next, how it stands then, and why in words for people.
func (p Rotation) Decide(v View) (Step, Rotation, string) {
	refused := !v.Separate && bmc.KindOf(v.Observation.Err) == bmc.KindAuthentication
	answered := v.Observation.Sequence > 0 && v.Observation.Err == nil
	if answered {
		p.OldRefused, p.NextRefused = false, false
	}
	switch {
	case v.Done:
		return StepDone, p, ""
	case v.Unsafe:
		return StepReplace, p, ""
	case p.Job != "":
		return p.follow(v)
	case p.Next && answered:
		return StepPromote, p, ""
	case refused && (p.Next && p.OldRefused || !p.Next && p.NextRefused):
		p.Next, p.Noted, p.Doubt, p.OldRefused, p.NextRefused = false, false, true, false, false
		return StepRest, p, "the BMC refuses both the old and the new password"
	case refused && p.Next:
		p.Next, p.Noted, p.NextRefused = false, false, true
		return StepTryOld, p, "the BMC refuses the new password"
	case refused && v.Stored:
		p.Next, p.Noted, p.OldRefused = true, false, true
		return StepTryNext, p, "the BMC refuses the old password"
	case v.OverriddenBy != "" && !v.Stored:
		return StepFail, p, v.OverriddenBy + " names the same BMC, and its credentials are used"
	case refused:
		return StepFail, p, "the BMC refuses the current password"
	case v.Stored && !v.Separate && errors.Is(v.Observation.Err, bmc.ErrLoginUnanswered):
		return p.askAgain(v)
	case !answered && !v.Stored && !v.Separate && v.Now.Sub(p.Since) >= patience:
		return StepFail, p, "the BMC does not answer"
	case !answered:
		return StepAwait, p, "the BMC does not answer"
	case v.Now.Before(p.NotBefore):
		return StepAwait, p, "the result of the last attempt is unknown"
	case !v.Stored && !v.Alone:
		return StepReplace, p, ""
	case !v.Stored:
		return StepMeasure, p, "reading the BMC's password rules"
	case p.Fresh && p.Doubt && p.Attempts >= MaxAttempts:
		return StepFail, p, errKept.Error()
	}
	p.Doubt = p.Doubt && !p.Fresh
	return StepSet, p, "setting the new password"
}

// follow looks at the job under way.
func (p Rotation) follow(v View) (Step, Rotation, string) {
	work := p.Work
	switch {
	case v.Lost:
		p.Job, p.Work, p.Doubt = "", nil, v.Stored
		return StepAwait, p, "connecting again"
	case !v.Ended:
		return StepAwait, p, "waiting for the BMC"
	}
	p.Job = ""
	switch work.End {
	case Made:
		p.Attempts = 0
		return StepStore, p, ""
	case Set:
		p.Work = nil
		return StepPromote, p, ""
	case Refused:
		p.Work = nil
		return StepFail, p, v.Err.Error()
	case BothRefused:
		p.Work, p.Noted, p.Doubt = nil, false, true
		return StepRest, p, "the BMC refuses both the old and the new password"
	}
	return p.again(v)
}

// askAgain waits a little after a login that the BMC did not answer. It may have refused it, so the next one has to be noted too.
func (p Rotation) askAgain(v View) (Step, Rotation, string) {
	const why = "the BMC did not answer a login"
	if v.Now.Sub(v.Observation.ErrSince) < pause {
		return StepAwait, p, why
	}
	p.Noted = false
	return StepAskAgain, p, why
}

// again waits after an attempt that has no certain end.
func (p Rotation) again(v View) (Step, Rotation, string) {
	reason := "the result of the attempt is unknown"
	if v.Err != nil {
		reason = v.Err.Error()
	}
	p.Doubt = v.Stored
	p.Cleared = p.Cleared || p.Work != nil && p.Work.OldHolds
	p.Work = nil
	if p.Attempts++; p.Attempts >= MaxAttempts && !v.Stored {
		return StepFail, p, reason
	}
	p.NotBefore = v.Now.Add(min(pause<<min(p.Attempts-1, 10), maxPause))
	return StepAwait, p, reason
}
