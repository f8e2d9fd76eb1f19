package bmcuser

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/rotation"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// act carries a plan out. It reports whether the object is gone.
func (r *Reconciler) act(ctx context.Context, s *scope, p *plan) (gone bool, err error) {
	switch p.step {
	case stepBegin:
		return false, r.begin(ctx, s, p.cause)
	case stepRename:
		return false, r.rename(ctx, s)
	case stepRotate:
		return false, r.advance(ctx, s, p)
	case stepRetire:
		return false, r.retire(ctx, s)
	case stepExpiry:
		return false, r.remember(ctx, s, func(p *progress) { p.Expires = s.expiryLooked() })
	case stepLook:
		return false, r.look(s)
	case stepRemove:
		over, err := r.remove(ctx, s, p)
		if !over || err != nil {
			return false, err
		}
		return true, r.letGo(ctx, s)
	case stepLetGo:
		return true, r.letGo(ctx, s)
	}
	return false, nil
}

// begin notes which BMCSecret a rotation makes, before anything is done.
func (r *Reconciler) begin(ctx context.Context, s *scope, why cause) error {
	name, err := r.freeName(ctx, s)
	if err != nil {
		return err
	}
	return r.remember(ctx, s, func(p *progress) {
		p.Next, p.Cause, p.Since, p.Failed, p.Refused = name, why, ptr.To(r.Clock.Now().UTC().Truncate(1e9)), nil, nil
	})
}

// rename gives the next BMCSecret another name, because somebody else has made an object of the one that was noted.
func (r *Reconciler) rename(ctx context.Context, s *scope) error {
	name, err := r.freeName(ctx, s)
	if err != nil {
		return err
	}
	taken := s.progress.Next
	r.rotations.Forget(s.obj.UID)
	if err := r.remember(ctx, s, func(p *progress) { p.Next, p.Replaced = name, taken }); err != nil {
		return err
	}
	r.event(s.obj, corev1.EventTypeWarning, metalv1.ReasonSecretReplaced, fmt.Sprintf("BMCSecret %q is not as Farrier has made it. It stays, and the password goes into BMCSecret %q", taken, name))
	return nil
}

// maxNames bounds the names that are tried for a secret.
const maxNames = 32

func (r *Reconciler) freeName(ctx context.Context, s *scope) (string, error) {
	for n := 1; n <= maxNames; n++ {
		name := fmt.Sprintf("%s-%d", s.obj.Name, n)
		var secret metalv1.BMCSecret
		err := r.APIReader.Get(ctx, client.ObjectKey{Name: name}, &secret)
		if apierrors.IsNotFound(err) {
			return name, nil
		}
		if err != nil {
			return "", fmt.Errorf("BMCSecret %q: %w", name, err)
		}
	}
	return "", fmt.Errorf("no name is free for a secret of BMCUser %q", s.obj.Name)
}

// store makes the next BMCSecret. It is never changed.
func (r *Reconciler) store(ctx context.Context, s *scope, password bmc.Secret) error {
	secret := &metalv1.BMCSecret{
		ObjectMeta: metav1.ObjectMeta{Name: s.progress.Next},
		Immutable:  ptr.To(true),
		Data: map[string][]byte{
			metalv1.BMCSecretUsernameKey: []byte(s.obj.Spec.UserName),
			metalv1.BMCSecretPasswordKey: []byte(password.Reveal()),
		},
		Type: string(corev1.SecretTypeBasicAuth),
	}
	if err := controllerutil.SetControllerReference(s.obj, secret, r.Scheme()); err != nil {
		return fmt.Errorf("own BMCSecret %q: %w", secret.Name, err)
	}
	if err := r.Create(ctx, secret, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return fmt.Errorf("create BMCSecret %q: %w", secret.Name, err)
	}
	s.next = stored{there: true, mine: true, password: password}
	return nil
}

// retire deletes the BMCSecret that is no longer in use, so that they do not pile up.
func (r *Reconciler) retire(ctx context.Context, s *scope) error {
	if err := r.deleteSecret(ctx, s, s.progress.Old); err != nil {
		return err
	}
	return r.remember(ctx, s, func(p *progress) { p.Old = "" })
}

// deleteSecret deletes a BMCSecret of this object's, and no other.
func (r *Reconciler) deleteSecret(ctx context.Context, s *scope, name string) error {
	if name == "" {
		return nil
	}
	var secret metalv1.BMCSecret
	if err := r.APIReader.Get(ctx, client.ObjectKey{Name: name}, &secret); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("BMCSecret %q: %w", name, err)
	}
	if !metav1.IsControlledBy(&secret, s.obj) {
		return nil
	}
	if err := r.Delete(ctx, &secret, client.Preconditions{UID: &secret.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete BMCSecret %q: %w", name, err)
	}
	return nil
}

func (r *Reconciler) other(s *scope) *rotation.Other {
	return &rotation.Other{
		Work: rotation.Work{Username: s.obj.Spec.UserName, Old: s.effective.password, Next: s.next.password}, Role: s.obj.Spec.RoleID, Given: s.given,
	}
}

// look has the account read.
func (r *Reconciler) look(s *scope) error {
	other := r.other(s)
	id := r.looks.begin(s.obj.UID, other, s.now)
	return r.Fleet.Do(s.key, fleet.Job{ID: id, Account: throttle.Account(throttle.KindBMCUser, s.obj.Name), Run: other.Look})
}

// remove has the account deleted. over: it is.
func (r *Reconciler) remove(ctx context.Context, s *scope, p *plan) (over bool, _ error) {
	if s.looking {
		return false, nil
	}
	_, _, err := r.looks.result(s.obj.UID)
	removed := r.removals.ended(s.obj.UID)
	switch {
	case removed && err == nil:
		return true, nil
	case removed && errors.Is(err, rotation.ErrOwnAccount):
		p.reason = metalv1.ReasonOwnAccount
	}
	if removed {
		p.message = "The account could not be removed: " + err.Error()
		if wait := s.lookAfter.Sub(s.now); wait > 0 {
			s.again(wait)
			return false, nil
		}
	}
	switch err := r.Fleet.Lock(s.key, holder(s.obj), rotation.LockTime); {
	case errors.Is(err, fleet.ErrLocked), errors.Is(err, fleet.ErrBusy):
		p.message = "Waiting for the BMC to remove the account: " + err.Error()
		s.again(rotation.CheckEvery)
		return false, nil
	case err != nil:
		return false, fmt.Errorf("lock the BMC: %w", err)
	}
	other := r.other(s)
	id := r.looks.begin(s.obj.UID, other, s.now)
	r.removals.begin(s.obj.UID)
	return false, r.Fleet.Do(s.key, fleet.Job{
		ID: id, Budget: rotation.LockTime / 2, Holder: holder(s.obj), Account: throttle.Account(throttle.KindBMCUser, s.obj.Name), Run: other.Remove,
	})
}

func holder(obj *metalv1.BMCUser) string { return "BMCUser " + obj.Name }

// letGo deletes the BMCSecrets and takes the finalizer away.
func (r *Reconciler) letGo(ctx context.Context, s *scope) error {
	if len(s.users) == 0 {
		for _, name := range []string{s.progress.Next, s.progress.Old, s.progress.Secret} {
			if err := r.deleteSecret(ctx, s, name); err != nil {
				return err
			}
		}
	}
	if s.progress.Made && !s.hasBMC {
		r.event(s.obj, corev1.EventTypeWarning, metalv1.ReasonAccountRemains, fmt.Sprintf("The BMC object is gone, so account %q stays at the BMC", s.obj.Spec.UserName))
	}
	if s.connected {
		r.Fleet.Unlock(s.key, holder(s.obj))
	}
	r.Registry.Release(&r.Wake, s.obj.Name)
	r.looks.forget(s.obj.UID)
	r.removals.forget(s.obj.UID)
	r.rotations.Forget(s.obj.UID)
	before := s.obj.DeepCopy()
	controllerutil.RemoveFinalizer(s.obj, metalv1.FinalizerBMCUser)
	return client.IgnoreNotFound(r.patch(ctx, s.obj, before))
}
