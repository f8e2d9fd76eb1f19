package bmc

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/rotation"
)

// While a new password is stored, the BMC may have it or the old one. One of the two is wrong, and BMCs lock accounts after a few wrong ones in
// a row. So each login is noted before it is made, and no more are made than are safe, however soon the processes end that make them.

// chooseLogin chooses the password with which the BMC is asked, and notes it. A process that has chosen and noted one stays with it until the
// BMC has said something to it.
func (r *Reconciler) chooseLogin(ctx context.Context, s *scope) error {
	p := s.rotating
	s.target.Login = p.stored.login()
	if p.stored.next() == "" {
		return nil
	}
	if !p.Noted {
		if chosen, err := r.noteLogin(ctx, s); !chosen || err != nil {
			return err
		}
	}
	if p.Next {
		s.target.Credentials.Password = p.stored.next()
	}
	return nil
}

// noteLogin reports whether there is a password that is safe to ask with, and has noted that it is asked with.
func (r *Reconciler) noteLogin(ctx context.Context, s *scope) (chosen bool, _ error) {
	p, now := s.rotating, r.Clock.Now()
	tries := rotation.ParseTries(s.obj.Annotations[metalv1.AnnotationRotationTried])
	switch {
	case p.OldRefused:
		tries = tries.Refuse(rotation.Old, now)
	case p.NextRefused:
		tries = tries.Refuse(rotation.Next, now)
	}
	password, until := tries.Choose(now)
	if tries.String() == "" && s.obj.Annotations[metalv1.AnnotationRotationRefused] != "" {
		password = rotation.Old // a person was asked to correct that one
	}
	if !until.IsZero() {
		r.hangUp(s.obj.Name)
		r.leaveAlone(s, until)
		s.unresolved = reconcileerror.Terminalf(metalv1.ReasonAuthenticationFailed,
			"it is not known whether the BMC has the password in %s or the new password of a rotation; the next attempt is at %s", p.stored, until.UTC().Format(time.RFC3339))
		return false, nil
	}
	if err := r.writeTries(ctx, s, tries.Note(password, now)); err != nil {
		return false, err
	}
	p.Next, p.OldRefused, p.NextRefused = password == rotation.Next, tries.Refused() == rotation.Old, tries.Refused() == rotation.Next
	p.Noted, p.Fresh, p.Cleared = true, true, false
	r.rotations.Set(s.obj.UID, p.Rotation)
	return true, nil
}

// leaveAlone has a BMC asked no more for a while.
func (r *Reconciler) leaveAlone(s *scope, until time.Time) {
	s.again(until.Sub(r.Clock.Now()))
	s.rotating.say(metav1.ConditionUnknown, metalv1.ReasonRotating,
		"Changing the password: logins before have had no known result. The next one is at "+until.UTC().Format(time.RFC3339)+", because accounts lock")
}

// noteOrder notes that the BMC is about to be told the new password. If it may have it already, it is asked with that first. noteOrder reports
// whether that is safe.
func (r *Reconciler) noteOrder(ctx context.Context, s *scope, next *rotation.Rotation) (noted bool, _ error) {
	now := r.Clock.Now()
	tries := rotation.ParseTries(s.obj.Annotations[metalv1.AnnotationRotationTried])
	if next.Fresh || next.Cleared {
		tries = rotation.Tries{} // the BMC has taken a password since
	}
	if next.Doubt {
		if until := tries.May(rotation.Next, now); !until.IsZero() {
			r.leaveAlone(s, until)
			return false, nil
		}
		tries = tries.Note(rotation.Next, now)
	}
	if err := r.writeTries(ctx, s, tries); err != nil {
		return false, err
	}
	next.Cleared = false
	return true, nil
}

// writeTries writes down what other processes must know of.
func (r *Reconciler) writeTries(ctx context.Context, s *scope, t rotation.Tries) error {
	text := t.String()
	if s.obj.Annotations[metalv1.AnnotationRotationTried] == text {
		return nil
	}
	before := s.obj.DeepCopy()
	if text == "" {
		delete(s.obj.Annotations, metalv1.AnnotationRotationTried)
	} else {
		metav1.SetMetaDataAnnotation(&s.obj.ObjectMeta, metalv1.AnnotationRotationTried, text)
	}
	return r.patch(ctx, s.obj, before)
}
