package bmcuser

import (
	"fmt"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/rotation"
)

const (
	// pauseAfterFailure is how long a rotation is not tried again that failed for what only a person can mend.
	pauseAfterFailure = time.Hour
	// lookEvery is how often the account is read, in case somebody has changed it at the BMC.
	lookEvery = time.Hour
	// lookPause doubles after each attempt that failed.
	lookPause = 30 * time.Second
	// expiryMargin is how long before its end a password is replaced, at most.
	expiryMargin = 24 * time.Hour
)

// stored is a BMCSecret as the account has one.
type stored struct {
	// there says that it exists; mine that it is this object's, immutable, and has a password.
	there, mine bool
	password    bmc.Secret
}

// look is what was read of the account.
type look struct {
	at      time.Time
	found   bool
	account bmc.Account
}

// view is everything that a decision may look at.
type view struct {
	now      time.Time
	obj      *metalv1.BMCUser
	progress progress
	deleting bool
	// hasBMC says that spec.bmcRef names a BMC that exists; connected that the fleet knows it; answers that it does.
	hasBMC, connected, answers bool
	silent                     error // why it does not answer
	// first names the BMCUser that has the account before this one.
	first string
	// users are who logs in with the effective or the next secret.
	users []string
	// asked tells what a failure was about.
	asked string
	// given is the password of spec.bmcSecretRef, and givenErr why there is none.
	given    bmc.Secret
	givenErr error
	// effective is the BMCSecret of progress.Secret, next that of progress.Next.
	effective, next stored
	// looked is what was last read of the account, looking that it is being read; it is not read before lookAfter.
	looked    *look
	looking   bool
	lookAfter time.Time
}

// step is what to do.
type step string

const (
	stepNothing step = "Nothing"
	stepBegin   step = "Begin"  // note that a rotation begins
	stepRename  step = "Rename" // somebody else has the name of the next secret
	stepRotate  step = "Rotate" // take the rotation further
	stepRetire  step = "Retire" // delete the secret that is no longer in use
	stepExpiry  step = "Expiry" // note when the BMC says that the password expires
	stepLook    step = "Look"   // read the account
	stepRemove  step = "Remove" // delete the account
	stepLetGo   step = "LetGo"  // take the finalizer away
)

// plan is a step, with what status says meanwhile.
type plan struct {
	step            step
	cause           cause
	reason, message string
	ready           bool
	after           time.Duration
}

func waits(reason, format string, args ...any) plan {
	return plan{step: stepNothing, reason: reason, message: fmt.Sprintf(format, args...)}
}

// decide says what to do next.
func (v *view) decide() plan {
	if v.deleting {
		return v.remove()
	}
	if p, wrong := v.obstacle(); wrong {
		return p
	}
	p := v.progress
	switch {
	case p.Next != "" && v.next.there && !v.next.mine:
		return plan{step: stepRename, reason: metalv1.ReasonSecretReplaced, message: "Somebody has made or changed the next BMCSecret"}
	case p.Next != "" && p.Refused != nil && v.now.Before(p.Refused.Add(rotation.Rest)):
		until := p.Refused.Add(rotation.Rest)
		w := waits(metalv1.ReasonBothPasswordsRefused, "The account is locked. The next attempt is at %s", until.UTC().Format(time.RFC3339))
		w.after = until.Sub(v.now)
		return w
	case p.Next != "":
		return plan{step: stepRotate, reason: metalv1.ReasonAccountPending, message: "The account gets a password", ready: v.effective.mine && !p.Unsure && p.Replaced == ""}
	case p.Old != "" && len(v.users) == 0:
		return plan{step: stepRetire, reason: metalv1.ReasonAccountReady, message: "Deleting the BMCSecret that is no longer in use", ready: p.Secret != "" && !p.Unsure}
	case v.expiryChanged():
		return plan{step: stepExpiry, reason: metalv1.ReasonAccountReady, message: "Noting when the password expires", ready: !p.Unsure}
	}
	why, after := v.due()
	if why != "" {
		return v.begin(why)
	}
	return v.settled(after)
}

// obstacle says what keeps an account from being as it should, if something does.
func (v *view) obstacle() (plan, bool) {
	switch {
	case v.obj.Spec.BMCRef == nil || v.obj.Spec.BMCRef.Name == "":
		return waits(metalv1.ReasonBMCRefMissing, "spec.bmcRef names no BMC"), true
	case !v.hasBMC:
		return waits(metalv1.ReasonBMCNotFound, "spec.bmcRef: BMC %q does not exist", v.obj.Spec.BMCRef.Name), true
	case v.first != "":
		return waits(metalv1.ReasonAnotherBMCUser, "BMCUser %q is older and names the same account", v.first), true
	case len(v.users) > 0:
		return waits(metalv1.ReasonOwnAccount, "Farrier logs in with this account: %s uses its BMCSecret. The password of such an account is replaced at the BMC object", v.users[0]), true
	case v.givenErr != nil:
		return waits(reasonOf(v.givenErr), "spec.bmcSecretRef: %v", v.givenErr), true
	case !v.connected:
		return waits(metalv1.ReasonAccountPending, "Waiting for the BMC"), true
	}
	return plan{}, false
}

// begin begins a rotation, unless one failed of the same kind not long ago.
func (v *view) begin(why cause) plan {
	if f := v.progress.Failed; f != nil && f.Asked == v.asked && why != causeRequest {
		if until := f.At.Add(pauseAfterFailure); v.now.Before(until) {
			w := waits(f.Reason, "%s. The next attempt is at %s", f.Message, until.UTC().Format(time.RFC3339))
			w.after = until.Sub(v.now)
			w.ready = v.progress.Secret != "" && why != causeSecret && why != causeAccount && why != causeGiven && why != causeUnsure
			return w
		}
	}
	return plan{step: stepBegin, cause: why, reason: metalv1.ReasonAccountPending, message: "The account is to get a password", ready: v.progress.Secret != "" && !v.progress.Unsure}
}

// due says why the account needs a new password now, or when it will.
func (v *view) due() (why cause, after time.Duration) {
	p := v.progress
	switch {
	case p.Secret == "":
		return causeCreation, 0
	case p.Cause == causeRequest:
		return causeRequest, 0
	case !v.effective.mine:
		return causeSecret, 0
	case p.Unsure:
		return causeUnsure, 0
	case v.given != "" && v.given != v.effective.password:
		return causeGiven, 0
	case v.looked != nil && (!v.looked.found || !v.looked.account.Enabled || v.looked.account.Role != v.obj.Spec.RoleID):
		return causeAccount, 0
	case v.given != "" || p.Rotated == nil:
		return "", 0
	}
	wait := time.Duration(-1)
	if period, err := time.ParseDuration(v.obj.Spec.RotationPeriod); err == nil && period > 0 {
		if wait = p.Rotated.Add(period).Sub(v.now); wait <= 0 {
			return causePeriod, 0
		}
	}
	if end := v.passwordEnd(); end != nil {
		left := expires(*p.Rotated, *end).Sub(v.now)
		if left <= 0 {
			return causeExpiry, 0
		}
		if wait < 0 || left < wait {
			wait = left
		}
	}
	return "", max(wait, 0)
}

// passwordEnd is when the BMC takes the password no longer, as it says; nil: never.
func (v *view) passwordEnd() *time.Time {
	if v.looked != nil && v.looked.account.MustChange {
		return &v.looked.at
	}
	return v.progress.Expires
}

// expiryLooked is when the password expires as it was last read; nil: never.
func (v *view) expiryLooked() *time.Time {
	if v.looked == nil || v.looked.account.PasswordExpires.IsZero() {
		return nil
	}
	at := v.looked.account.PasswordExpires.UTC().Truncate(time.Second)
	return &at
}

// expiryChanged reports whether the BMC now names another time than at the rotation: somebody has set how long passwords last.
func (v *view) expiryChanged() bool {
	if v.looked == nil || !v.looked.found || v.progress.Secret == "" {
		return false
	}
	looked, noted := v.expiryLooked(), v.progress.Expires
	return (looked == nil) != (noted == nil) || looked != nil && !looked.Equal(*noted)
}

// expires is when a password is replaced that expires: a day before, or when a quarter of its time is left. A BMC whose clock is
// wrong may call a new password expired; it gets another one in an hour and no sooner.
func expires(rotated, end time.Time) time.Time {
	margin := min(expiryMargin, end.Sub(rotated)/4)
	at := end.Add(-max(margin, 0))
	if earliest := rotated.Add(time.Hour); at.Before(earliest) {
		return earliest
	}
	return at
}

// settled says that all is well, and has the account read now and then.
func (v *view) settled(after time.Duration) plan {
	p := plan{step: stepNothing, reason: metalv1.ReasonAccountReady, message: "The BMC has the account, with the password in BMCSecret " + fmt.Sprintf("%q", v.progress.Secret), ready: true, after: lookEvery}
	if after > 0 {
		p.after = min(p.after, after)
	}
	switch {
	case v.looking || !v.answers:
	case v.now.Before(v.lookAfter):
		p.after = min(p.after, v.lookAfter.Sub(v.now))
	case v.looked == nil || v.now.Sub(v.looked.at) >= lookEvery:
		p.step = stepLook
	default:
		p.after = min(p.after, v.looked.at.Add(lookEvery).Sub(v.now))
	}
	return p
}

// remove says how an account is removed whose object is being deleted. The account that Farrier logs in with never is.
func (v *view) remove() plan {
	operation, _ := metalv1.OperationOf(v.obj)
	switch {
	case len(v.users) > 0: // with the object its BMCSecret would go
		w := waits(metalv1.ReasonOwnAccount, "%s logs in with this account. Give it other credentials first", v.users[0])
		w.after = time.Minute
		return w
	case !v.progress.Made, operation == metalv1.OperationAllowInProgressDelete, !v.hasBMC, v.first != "":
		return plan{step: stepLetGo}
	case !v.connected || !v.answers:
		return waits(metalv1.ReasonRemovingAccount, "Waiting for the BMC to remove the account; the annotation %s=%s leaves it there", metalv1.AnnotationOperation, metalv1.OperationAllowInProgressDelete)
	}
	return plan{step: stepRemove, reason: metalv1.ReasonRemovingAccount, message: "Removing the account"}
}
