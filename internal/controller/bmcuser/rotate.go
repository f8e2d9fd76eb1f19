package bmcuser

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/rotation"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// advance takes a rotation as far as it goes now.
func (r *Reconciler) advance(ctx context.Context, s *scope, p *plan) error {
	for {
		state := r.rotations.Of(s.obj.UID, s.progress.Next, s.now)
		v := rotation.View{Now: s.now, Separate: true, Alone: true, Stored: s.next.mine, Observation: s.observation}
		if state.Job != "" {
			status, known := r.Fleet.Command(s.key, state.Job)
			v.Lost, v.Ended, v.Err = !known, status.State.Ended(), status.Err
		}
		other, _ := r.others.of(s.obj.UID)
		step, next, why := state.Decide(v)
		s.said = why
		over, err := r.rotate(ctx, s, step, next, other, v.Err)
		if err != nil || over {
			p.message = "The account gets a password: " + why
			return err
		}
	}
}

// rotate does one step. It reports whether there is nothing more to do now.
func (r *Reconciler) rotate(ctx context.Context, s *scope, step rotation.Step, next rotation.Rotation, other *rotation.Other, failed error) (over bool, _ error) {
	keep := func() { r.rotations.Set(s.obj.UID, next) }
	switch step {
	case rotation.StepAwait:
		keep()
		s.again(max(rotation.CheckEvery, next.NotBefore.Sub(s.now)))
		return true, nil
	case rotation.StepMeasure, rotation.StepSet:
		s.again(rotation.CheckEvery)
		return true, r.order(ctx, s, step == rotation.StepSet, next)
	case rotation.StepStore:
		if next.Chosen != "" { // the one that was made before is gone
			if err := r.remember(ctx, s, func(p *progress) { p.Replaced = p.Next }); err != nil {
				return true, err
			}
			r.event(s.obj, corev1.EventTypeWarning, metalv1.ReasonSecretReplaced, fmt.Sprintf("BMCSecret %q was deleted during the rotation. It is made anew, with another password", s.progress.Next))
		}
		made := next.Work.Made
		next.Work, next.Chosen = nil, made
		if err := r.store(ctx, s, made); err != nil {
			return true, err
		}
		keep()
		return false, nil
	case rotation.StepPromote:
		if other == nil || other.Next != s.next.password { // somebody has replaced the secret since
			keep()
			return false, nil
		}
		return true, r.promote(ctx, s, other)
	case rotation.StepRest:
		keep()
		r.Fleet.Unlock(s.key, holder(s.obj))
		r.event(s.obj, corev1.EventTypeWarning, metalv1.ReasonBothPasswordsRefused, "The account is locked at the BMC. Farrier waits an hour")
		return true, r.remember(ctx, s, func(p *progress) { p.Refused = ptr.To(s.now.UTC().Truncate(time.Second)) })
	case rotation.StepFail:
		return true, r.fail(ctx, s, failed)
	}
	return true, fmt.Errorf("step %s of a rotation of another account", step)
}

// order has the BMC asked for its rules, or told the new password, with everybody else kept off.
func (r *Reconciler) order(ctx context.Context, s *scope, set bool, next rotation.Rotation) error {
	switch err := r.Fleet.Lock(s.key, holder(s.obj), rotation.LockTime); {
	case errors.Is(err, fleet.ErrLocked), errors.Is(err, fleet.ErrBusy):
		s.said = err.Error()
		return nil
	case err != nil:
		return fmt.Errorf("lock the BMC: %w", err)
	}
	if set && !s.progress.Made { // from now on there may be an account to remove
		if err := r.remember(ctx, s, func(p *progress) { p.Made = true }); err != nil {
			return err
		}
	}
	other := r.other(s)
	// A secret that another process has stored may be at the BMC too.
	other.Doubt = next.Doubt || next.Chosen == "" || s.progress.Replaced != ""
	run := other.Measure
	if set {
		run = other.Set
	}
	next.Jobs++
	next.Job, next.Work = fmt.Sprintf("%s/%s/%d/%s", s.obj.UID, next.Started, next.Jobs, s.now.Format(time.RFC3339Nano)), &other.Work
	job := fleet.Job{ID: next.Job, Budget: rotation.LockTime / 2, Holder: holder(s.obj), Account: throttle.Account(throttle.KindBMCUser, s.obj.Name), Run: run}
	if err := r.Fleet.Do(s.key, job); err != nil {
		return fmt.Errorf("change the account: %w", err)
	}
	r.others.set(s.obj.UID, other)
	r.rotations.Set(s.obj.UID, next)
	return nil
}

// promote makes the next BMCSecret the effective one. Only then is the one before it no longer needed.
func (r *Reconciler) promote(ctx context.Context, s *scope, other *rotation.Other) error {
	account, cause := other.Account, s.progress.Cause
	err := r.remember(ctx, s, func(p *progress) {
		p.Old, p.Secret, p.Next, p.Cause, p.Since, p.Refused, p.Failed = p.Secret, p.Next, "", "", nil, nil, nil
		p.Replaced, p.Unsure = "", false
		p.Rotated, p.Account, p.Expires = ptr.To(s.now.UTC().Truncate(time.Second)), account.ID, nil
		if !account.PasswordExpires.IsZero() {
			p.Expires = ptr.To(account.PasswordExpires.UTC().Truncate(time.Second))
		}
	})
	if err != nil {
		return err
	}
	s.effective, s.next = s.next, stored{}
	r.end(s)
	r.looks.set(s.obj.UID, &look{at: s.now, found: true, account: bmc.Account{ID: account.ID, Username: s.obj.Spec.UserName, Role: other.Role, Enabled: true, PasswordExpires: account.PasswordExpires}})
	r.event(s.obj, corev1.EventTypeNormal, metalv1.ReasonRotated, fmt.Sprintf("Account %q has a new password, in BMCSecret %q (%s)", s.obj.Spec.UserName, s.progress.Secret, cause))
	return nil
}

// fail ends a rotation after which the account is as it was, unless nobody can tell.
func (r *Reconciler) fail(ctx context.Context, s *scope, why error) error {
	f := &failure{Asked: s.asked, At: s.now.UTC().Truncate(time.Second), Reason: failureReason(why), Message: why.Error()}
	other, known := r.others.of(s.obj.UID)
	err := r.remember(ctx, s, func(p *progress) {
		p.Unsure = p.Unsure || p.Replaced != "" || known && other.Unsure
		if p.Secret == "" && !p.Unsure && known && !other.Existed {
			p.Made = false // there is no account to remove
		}
		p.Old, p.Next, p.Cause, p.Since, p.Failed, p.Replaced = p.Next, "", "", nil, f, ""
	})
	if err != nil {
		return err
	}
	s.next = stored{}
	r.end(s)
	r.event(s.obj, corev1.EventTypeWarning, f.Reason, f.Message)
	return nil
}

func (r *Reconciler) end(s *scope) {
	r.Fleet.Unlock(s.key, holder(s.obj))
	r.rotations.Forget(s.obj.UID)
	r.others.forget(s.obj.UID)
}

// failureReason is what a rotation failed for, in one word.
func failureReason(err error) string {
	switch {
	case errors.Is(err, rotation.ErrOwnAccount):
		return metalv1.ReasonOwnAccount
	case errors.Is(err, rotation.ErrRoleUnknown):
		return metalv1.ReasonRoleUnknown
	case errors.Is(err, rotation.ErrVerifyRefused):
		return metalv1.ReasonPasswordNotVerified
	case errors.Is(err, bmc.ErrPasswordRules):
		return metalv1.ReasonPasswordRules
	case errors.Is(err, bmc.ErrNoFreeAccount):
		return metalv1.ReasonAccountTableFull
	}
	return metalv1.ReasonRotationFailed
}
