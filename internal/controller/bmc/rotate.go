package bmc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/rotation"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// rotating is a rotation in one look at its BMC.
type rotating struct {
	rotation.Rotation
	stored storedCredentials
	// said is the condition that follows.
	said *metav1.Condition
}

// isRotation reports whether the operation that was begun is a rotation.
func isRotation(started string) bool {
	return strings.HasPrefix(started, metalv1.OperationRotateCredentials+"@")
}

// markOf identifies a rotation in the annotation of the secret that it has changed.
func markOf(obj *metalv1.BMC, p rotation.Rotation) string { return string(obj.UID) + "/" + p.Started }

func holderOf(obj *metalv1.BMC) string { return "rotation of " + obj.Name }

// beginRotation records that a rotation has begun. It happens at most once: whoever continues it finds the chosen password in
// the stored credentials.
func (r *Reconciler) beginRotation(ctx context.Context, obj *metalv1.BMC) error {
	before := obj.DeepCopy()
	started := metalv1.OperationRotateCredentials + "@" + obj.ResourceVersion
	delete(obj.Annotations, metalv1.AnnotationOperation)
	delete(obj.Annotations, metalv1.AnnotationRotationRefused)
	delete(obj.Annotations, metalv1.AnnotationRotationTried)
	metav1.SetMetaDataAnnotation(&obj.ObjectMeta, metalv1.AnnotationOperationStarted, started)
	return r.patch(ctx, obj, before)
}

// prepareRotation finds out how a rotation stands, and with which password the BMC is to be asked.
func (r *Reconciler) prepareRotation(ctx context.Context, s *scope) error {
	started := s.obj.Annotations[metalv1.AnnotationOperationStarted]
	if !isRotation(started) {
		return nil
	}
	v, err := r.readStored(ctx, s.target.Secret)
	if err != nil {
		return err
	}
	s.rotating = &rotating{Rotation: r.rotations.Of(s.obj.UID, started, r.Clock.Now()), stored: v}
	if until, resting := s.rests(v); resting && r.Clock.Now().Before(until) {
		r.hangUp(s.obj.Name)
		s.again(until.Sub(r.Clock.Now()))
		s.unresolved = reconcileerror.Terminalf(metalv1.ReasonAuthenticationFailed,
			"the BMC refused the password in %s and the new password of a rotation; the next attempt is at %s", v, until.UTC().Format(time.RFC3339))
		s.rotating.say(metav1.ConditionFalse, metalv1.ReasonBothPasswordsRefused,
			fmt.Sprintf("The BMC refuses the passwords in keys %[1]q and %[3]q of %[2]s. Correct the password, or wait for the next attempt at %[4]s",
				metalv1.BMCSecretPasswordKey, v, metalv1.BMCSecretNextPasswordKey, until.UTC().Format(time.RFC3339)))
		return nil
	}
	return r.chooseLogin(ctx, s)
}

// rests says until when a BMC that refused both passwords is left alone, unless somebody has changed them since.
func (s *scope) rests(v storedCredentials) (until time.Time, resting bool) {
	at, version, ok := strings.Cut(s.obj.Annotations[metalv1.AnnotationRotationRefused], "@")
	since, err := time.Parse(time.RFC3339, at)
	if !ok || err != nil || version != v.object().GetResourceVersion() {
		return time.Time{}, false
	}
	return since.Add(rotation.Rest), true
}

func (p *rotating) say(status metav1.ConditionStatus, reason, message string) {
	p.said = &metav1.Condition{Status: status, Reason: reason, Message: message}
}

// advanceRotation takes a rotation as far as it goes now.
func (r *Reconciler) advanceRotation(ctx context.Context, s *scope) error {
	if s.rotating == nil {
		return nil
	}
	if s.unresolved != nil { // whom to ask, or as whom, is not known
		if s.rotating.said == nil {
			s.rotating.say(metav1.ConditionUnknown, metalv1.ReasonRotating, "Waiting to change the password: "+s.unresolved.Error())
		}
		return nil
	}
	for {
		v, err := r.rotationView(ctx, s)
		if err != nil {
			return err
		}
		step, next, why := s.rotating.Decide(v)
		over, err := r.rotate(ctx, s, step, next, why)
		if err != nil {
			return err
		}
		if over {
			return nil
		}
	}
}

func (r *Reconciler) rotationView(ctx context.Context, s *scope) (rotation.View, error) {
	p := s.rotating
	v := rotation.View{
		Now: r.Clock.Now(), Done: p.stored.rotated(markOf(s.obj, p.Rotation)), Stored: p.stored.next() != "", Observation: s.observation, OverriddenBy: s.overriddenBy,
	}
	v.Unsafe = v.Stored && len(p.stored.writers(s.obj)) > 0 || !v.Stored && p.Chosen != ""
	if s.obj.Annotations[metalv1.AnnotationRotationRefused] != "" {
		v.Unsafe = false // a person was asked to mend the secret
	}
	if p.Job != "" {
		status, known := r.Fleet.Command(fleet.Key(s.target.Endpoint.Key()), p.Job)
		v.Lost, v.Ended, v.Err = !known, status.State.Ended(), status.Err
	}
	if v.Stored || p.Job != "" {
		return v, nil
	}
	why, err := r.fixed(ctx, s)
	v.Alone = why == ""
	return v, err
}

// rotate does one step. It reports whether there is nothing more to do now.
func (r *Reconciler) rotate(ctx context.Context, s *scope, step rotation.Step, next rotation.Rotation, why string) (over bool, err error) {
	p := s.rotating
	key := fleet.Key(s.target.Endpoint.Key())
	keep := func() { p.Rotation = next; r.rotations.Set(s.obj.UID, next) }
	switch step {
	case rotation.StepAwait:
		keep()
		s.again(max(rotation.CheckEvery, next.NotBefore.Sub(r.Clock.Now())))
		p.say(metav1.ConditionUnknown, metalv1.ReasonRotating, "Changing the password: "+why)
		return true, nil
	case rotation.StepReplace:
		return true, r.replace(ctx, s)
	case rotation.StepMeasure:
		p.say(metav1.ConditionUnknown, metalv1.ReasonRotating, "Changing the password: "+why)
		s.again(rotation.CheckEvery)
		return true, r.orderRotation(s, key, false, next)
	case rotation.StepSet:
		p.say(metav1.ConditionUnknown, metalv1.ReasonRotating, "Changing the password: "+why)
		s.again(rotation.CheckEvery)
		if noted, err := r.noteOrder(ctx, s, &next); !noted || err != nil {
			return true, err
		}
		return true, r.orderRotation(s, key, true, next)
	case rotation.StepStore:
		made := next.Work.Made
		next.Work, next.Doubt = nil, false
		why := s.observation.Symptoms.Basic
		if err := r.writeStored(ctx, p.stored, func(v storedCredentials) { v.store(made, why) }); err != nil {
			return true, err // as it was: the BMC has not heard of it
		}
		next.Chosen, next.Noted, next.Fresh = made, true, true // the BMC has taken the old password, and been told no other
		keep()
		return false, nil
	case rotation.StepTryNext, rotation.StepTryOld, rotation.StepAskAgain:
		keep()
		r.hangUp(s.obj.Name) // what it said was about the other password; and nobody asks it again before that is noted
		p.say(metav1.ConditionUnknown, metalv1.ReasonRotating, "Changing the password: "+why)
		s.again(time.Second)
		return true, nil
	case rotation.StepPromote:
		if err := r.writeStored(ctx, p.stored, func(v storedCredentials) { v.promote(markOf(s.obj, p.Rotation)) }); err != nil {
			return true, err
		}
		next.Next = false
		keep()
		s.target.Credentials.Password, s.target.Login = p.stored.current(), bmc.LoginFreely
		r.observe(s)
		return false, nil
	case rotation.StepRest:
		keep()
		return true, r.restRotation(ctx, s)
	case rotation.StepFail:
		return true, r.failRotation(ctx, s, why)
	}
	p.say(metav1.ConditionTrue, metalv1.ReasonRotated, "The BMC has a new password, stored in "+p.stored.String()+p.stored.instead())
	return true, r.endRotation(ctx, s, corev1.EventTypeNormal, metalv1.ReasonRotated)
}

// orderRotation has the BMC asked for its rules, or told the new password, with everybody else kept off.
func (r *Reconciler) orderRotation(s *scope, key fleet.Key, set bool, next rotation.Rotation) error {
	holder := holderOf(s.obj)
	switch err := r.Fleet.Lock(key, holder, rotation.LockTime); {
	case errors.Is(err, fleet.ErrLocked), errors.Is(err, fleet.ErrBusy):
		s.rotating.say(metav1.ConditionUnknown, metalv1.ReasonRotating, "Waiting for the BMC to change the password: "+err.Error())
		return nil
	case err != nil:
		return fmt.Errorf("lock the BMC: %w", err)
	}
	work := &rotation.Work{
		Username: s.target.Credentials.Username, Old: s.target.Credentials.Password, Next: s.rotating.stored.next(),
		Doubt: next.Doubt, Last: next.Attempts >= rotation.MaxAttempts,
	}
	run := work.Measure
	if set {
		run, next.Fresh = work.Set, false
	}
	next.Jobs++
	next.Job, next.Work = fmt.Sprintf("%s/%d/%s", markOf(s.obj, next), next.Jobs, next.Since.Format(time.RFC3339Nano)), work
	if err := r.Fleet.Do(key, fleet.Job{ID: next.Job, Budget: rotation.LockTime / 2, Holder: holder, Account: throttle.Account(throttle.KindBMC, s.obj.Name), Run: run}); err != nil {
		return fmt.Errorf("change the password: %w", err)
	}
	s.rotating.Rotation = next
	r.rotations.Set(s.obj.UID, next)
	return nil
}

// replace gives the BMC credentials of its own, and says why.
func (r *Reconciler) replace(ctx context.Context, s *scope) error {
	old := s.rotating.stored
	why, err := r.fixed(ctx, s)
	if err != nil {
		return err
	}
	if why == "" {
		why = "was written by somebody else during the rotation"
	}
	instead := fmt.Sprintf("%s %s and stays as it is", old, why)
	if err := r.replaceStored(ctx, s, old, instead); err != nil {
		return err
	}
	r.event(s.obj, corev1.EventTypeNormal, metalv1.ReasonSecretReplaced, fmt.Sprintf("%s; the BMC now has BMCSecret %q", instead, s.obj.Spec.BMCSecretRef.Name))
	s.rotating.say(metav1.ConditionUnknown, metalv1.ReasonRotating,
		fmt.Sprintf("Changing the password: the BMC now has its own BMCSecret %q. %s", s.obj.Spec.BMCSecretRef.Name, instead))
	return nil
}

// fixed says why credentials cannot be changed where they are; empty: they can be.
func (r *Reconciler) fixed(ctx context.Context, s *scope) (why string, _ error) {
	if s.rotating.stored.immutable() {
		return "is immutable", nil
	}
	if others, err := r.sharers(ctx, s); err != nil || len(others) > 0 {
		return "is also used by " + some(others), err
	}
	if writers := s.rotating.stored.writers(s.obj); len(writers) > 0 {
		return "is also written by " + some(writers), nil
	}
	return "", nil
}

// some names three of what may be many.
func some(names []string) string {
	text := strings.Join(names[:min(len(names), 3)], ", ")
	if len(names) > 3 {
		text += fmt.Sprintf(" and %d more", len(names)-3)
	}
	return text
}

// restRotation leaves a BMC alone that refuses both passwords.
func (r *Reconciler) restRotation(ctx context.Context, s *scope) error {
	r.unlock(s)
	before := s.obj.DeepCopy()
	refused := r.Clock.Now().UTC().Format(time.RFC3339) + "@" + s.rotating.stored.object().GetResourceVersion()
	metav1.SetMetaDataAnnotation(&s.obj.ObjectMeta, metalv1.AnnotationRotationRefused, refused)
	delete(s.obj.Annotations, metalv1.AnnotationRotationTried)
	if err := r.patch(ctx, s.obj, before); err != nil {
		return err
	}
	r.hangUp(s.obj.Name)
	message := fmt.Sprintf("The BMC refuses both the old and the new password. Both are in %s", s.rotating.stored)
	s.rotating.say(metav1.ConditionFalse, metalv1.ReasonBothPasswordsRefused, message)
	r.event(s.obj, corev1.EventTypeWarning, metalv1.ReasonBothPasswordsRefused, message)
	return nil
}

// failRotation ends a rotation after which the old password holds.
func (r *Reconciler) failRotation(ctx context.Context, s *scope, why string) error {
	if s.rotating.stored.next() != "" {
		if err := r.writeStored(ctx, s.rotating.stored, storedCredentials.drop); err != nil {
			return err
		}
	}
	s.rotating.Chosen = "" // it was dropped on purpose
	r.rotations.Set(s.obj.UID, s.rotating.Rotation)
	s.rotating.say(metav1.ConditionFalse, metalv1.ReasonRotationFailed, "The password was not changed: "+why)
	return r.endRotation(ctx, s, corev1.EventTypeWarning, metalv1.ReasonRotationFailed)
}

// endRotation writes the condition first: a process that ends between the two writes leaves a rotation that ends once more, and no condition
// of a rotation that nobody goes on with.
func (r *Reconciler) endRotation(ctx context.Context, s *scope, kind, reason string) error {
	if err := r.report(ctx, s); err != nil {
		return err
	}
	r.unlock(s)
	before := s.obj.DeepCopy()
	delete(s.obj.Annotations, metalv1.AnnotationOperationStarted)
	delete(s.obj.Annotations, metalv1.AnnotationRotationRefused)
	delete(s.obj.Annotations, metalv1.AnnotationRotationTried)
	if err := r.patch(ctx, s.obj, before); err != nil {
		return err
	}
	r.rotations.Forget(s.obj.UID)
	r.event(s.obj, kind, reason, s.rotating.said.Message)
	return nil
}

func (r *Reconciler) unlock(s *scope) {
	r.Fleet.Unlock(fleet.Key(s.target.Endpoint.Key()), holderOf(s.obj))
}

// sharers names the other objects whose BMCs have these credentials: they would be locked out.
func (r *Reconciler) sharers(ctx context.Context, s *scope) ([]string, error) {
	names, err := r.sharingSecret(ctx, s.rotating.stored)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, name := range names {
		users, err := connection.UsersOf(ctx, r.Client, name)
		if err != nil {
			return nil, err
		}
		for _, u := range users {
			if u.Key != fleet.Key(s.target.Endpoint.Key()) {
				others = append(others, u.String())
			}
		}
	}
	return others, nil
}

// sharingSecret lists the BMCSecrets that refer to the same secret.
func (r *Reconciler) sharingSecret(ctx context.Context, v storedCredentials) ([]string, error) {
	if v.core == nil {
		return []string{v.secret.Name}, nil
	}
	list := metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(metalv1.GroupVersion.WithKind("BMCSecretList"))
	if err := r.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list BMCSecrets: %w", err)
	}
	var names []string
	for i := range list.Items {
		if key, backed := connection.Backing(&list.Items[i]); backed && key == client.ObjectKeyFromObject(v.core) {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, nil
}
