package bmcuser

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// gather reads everything that the decision looks at.
func (r *Reconciler) gather(ctx context.Context, s *scope) error {
	s.now, s.progress, s.deleting = r.Clock.Now(), progressOf(s.obj), !s.obj.DeletionTimestamp.IsZero()
	if err := r.gatherBMC(ctx, s); err != nil {
		return err
	}
	if err := r.gatherSecrets(ctx, s); err != nil {
		return err
	}
	s.looked, s.looking = r.looks.take(s.obj.UID, r.Fleet, s.key)
	if begun, failed, _ := r.looks.result(s.obj.UID); failed > 0 {
		s.lookAfter = begun.Add(min(lookPause<<min(failed-1, 8), lookEvery))
	}
	return nil
}

// gatherBMC finds the BMC, and who else has an account of this name there.
func (r *Reconciler) gatherBMC(ctx context.Context, s *scope) error {
	ref := s.obj.Spec.BMCRef
	if ref == nil || ref.Name == "" {
		return nil
	}
	var found metalv1.BMC
	if err := r.Get(ctx, client.ObjectKey{Name: ref.Name}, &found); apierrors.IsNotFound(err) {
		r.forsake(s.obj)
		return nil
	} else if err != nil {
		return fmt.Errorf("BMC %q: %w", ref.Name, err)
	}
	s.hasBMC = true
	if s.key, s.connected = r.KeyOf(ref.Name); s.connected {
		if old, last := r.Registry.Bind(&r.Wake, s.obj.Name, s.key); last {
			r.Fleet.Remove(old)
		}
		s.observation, _ = r.Fleet.Observe(s.key)
		s.silent = s.observation.Err
		s.answers = s.observation.Sequence > 0 && s.silent == nil
	}
	return r.gatherFirst(ctx, s)
}

// forsake lets go of a BMC whose object was deleted: others may use it, and what was read of it says nothing of another one.
func (r *Reconciler) forsake(obj *metalv1.BMCUser) {
	if key, bound := r.Registry.Key(&r.Wake, obj.Name); bound {
		r.Fleet.Unlock(key, holder(obj))
	}
	r.looks.forget(obj.UID)
	r.Registry.Release(&r.Wake, obj.Name)
}

// gatherFirst names the BMCUser that has the account before this one: the older one. Two BMC objects may be one BMC.
func (r *Reconciler) gatherFirst(ctx context.Context, s *scope) error {
	var list metalv1.BMCUserList
	if err := r.List(ctx, &list, client.MatchingFields{index.BMCUserByBMC: s.obj.Spec.BMCRef.Name}); err != nil {
		return fmt.Errorf("list the BMCUsers of BMC %q: %w", s.obj.Spec.BMCRef.Name, err)
	}
	if s.connected {
		for _, name := range r.Registry.Bound(&r.Wake, s.key) {
			var other metalv1.BMCUser
			if err := r.Get(ctx, client.ObjectKey{Name: name}, &other); err == nil {
				list.Items = append(list.Items, other)
			} else if !apierrors.IsNotFound(err) {
				return fmt.Errorf("BMCUser %q: %w", name, err)
			}
		}
	}
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID != s.obj.UID && other.Spec.UserName == s.obj.Spec.UserName && older(other, s.obj) {
			s.first = other.Name
		}
	}
	return nil
}

func older(a, b *metalv1.BMCUser) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

func (r *Reconciler) gatherSecrets(ctx context.Context, s *scope) error {
	var err error
	if s.effective, err = r.readSecret(ctx, s.obj, s.progress.Secret); err != nil {
		return err
	}
	if s.next, err = r.readSecret(ctx, s.obj, s.progress.Next); err != nil {
		return err
	}
	if chosen := r.rotations.Of(s.obj.UID, s.progress.Next, s.now).Chosen; chosen != "" && s.next.password != chosen {
		s.next.mine = false // somebody has changed it since it was stored
	}
	for _, name := range []string{s.progress.Secret, s.progress.Next, s.progress.Old} {
		if name == "" {
			continue
		}
		users, err := connection.UsersOf(ctx, r.Client, name)
		if err != nil {
			return err
		}
		for _, u := range users {
			s.users = append(s.users, u.String())
		}
	}
	s.asked = fmt.Sprint(s.obj.Generation)
	ref := s.obj.Spec.BMCSecretRef
	if ref == nil || ref.Name == "" {
		return nil
	}
	secrets := connection.Secrets{Reader: r.APIReader, Namespace: r.Namespace}
	secret, credentials, err := secrets.Read(ctx, ref.Name)
	if reconcileerror.IsTransient(err) {
		return err
	}
	s.given, s.givenErr = credentials.Password, err
	if secret != nil {
		s.asked += "/" + secret.ResourceVersion
	}
	return nil
}

// readSecret reads a BMCSecret that is, or is to be, an account's.
func (r *Reconciler) readSecret(ctx context.Context, obj *metalv1.BMCUser, name string) (stored, error) {
	if name == "" {
		return stored{}, nil
	}
	var secret metalv1.BMCSecret
	if err := r.APIReader.Get(ctx, client.ObjectKey{Name: name}, &secret); apierrors.IsNotFound(err) {
		return stored{}, nil
	} else if err != nil {
		return stored{}, fmt.Errorf("BMCSecret %q: %w", name, err)
	}
	password := bmc.Secret(secret.Data[metalv1.BMCSecretPasswordKey])
	mine := metav1.IsControlledBy(&secret, obj) && secret.Immutable != nil && *secret.Immutable &&
		password != "" && string(secret.Data[metalv1.BMCSecretUsernameKey]) == obj.Spec.UserName
	return stored{there: true, mine: mine, password: password}, nil
}

// reasonOf is the reason that a terminal error has.
func reasonOf(err error) string {
	var terminal reconcileerror.Terminal
	if errors.As(err, &terminal) {
		return terminal.Reason
	}
	return metalv1.ReasonUnknownError
}
