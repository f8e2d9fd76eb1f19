package bmc

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

// That a BMC takes its default credentials must outlive this process, or the next one would count its logins as
// attempts and leave the BMC alone for an hour after two of them. A new BMC is about to be given the UUID that it says it
// has, and that write takes the fact along; in any other case it is written into the trial.

// keepAccepted writes into the trial what was learned just now, unless it is about to be written with the UUID. A process that ends
// before either has made one attempt of unknown end, which counts.
func (r *Reconciler) keepAccepted(ctx context.Context, s *scope) error {
	if !s.login.accepted {
		return nil
	}
	coming := r.Clock.Now().Before(s.firstStatusDue(s.obj.Status.State)) // its manager
	if s.obj.Spec.BMCUUID == "" && s.rotating == nil && (s.observation.Manager.UUID != "" || coming) {
		return nil
	}
	s.login.accepted = false
	return r.writeTrial(ctx, s, s.login.trial, s.login.defaults)
}

// mark has a BMC say that it takes the default credentials that its BMCSecret has, if that is to be written down.
func (l login) mark(obj *metalv1.BMC, secret *metalv1.BMCSecret) {
	if l.accepted {
		metav1.SetMetaDataAnnotation(&obj.ObjectMeta, metalv1.AnnotationCredentialsAccepted, l.trial.Mark(secret.UID))
	}
}

// marked reports whether a BMC with this BMCSecret, which may be shared, says that it takes the credentials that the trial is at.
func (r *Reconciler) marked(ctx context.Context, obj *metalv1.BMC, secret *metalv1.BMCSecret, t bmcsecret.Trial) (bool, error) {
	mark := t.Mark(secret.UID)
	if t.Outcome == bmcsecret.Accepted || obj.Annotations[metalv1.AnnotationCredentialsAccepted] == mark {
		return true, nil
	}
	var users metalv1.BMCList
	if err := r.List(ctx, &users, client.MatchingFields{index.BMCBySecret: secret.Name}); err != nil {
		return false, fmt.Errorf("list the BMCs with BMCSecret %q: %w", secret.Name, err)
	}
	for i := range users.Items {
		if users.Items[i].Annotations[metalv1.AnnotationCredentialsAccepted] == mark {
			return true, nil
		}
	}
	return false, nil
}

// untaken says that the credentials are default ones of which it is not known that the BMC takes them.
func (r *Reconciler) untaken(ctx context.Context, obj *metalv1.BMC, secret *metalv1.BMCSecret) (bool, error) {
	text, tried := secret.Annotations[metalv1.AnnotationDefaultCredentials]
	trial, err := bmcsecret.Parse(text)
	if !tried || err != nil {
		return false, nil
	}
	marked, err := r.marked(ctx, obj, secret, trial)
	return !marked, err
}

// handOver writes into the trial what a BMC that is being deleted knows of it: the BMCSecret outlives it, and whoever uses it
// next shall not have to try again.
func (r *Reconciler) handOver(ctx context.Context, obj *metalv1.BMC) error {
	mark := obj.Annotations[metalv1.AnnotationCredentialsAccepted]
	if mark == "" {
		return nil
	}
	var secret metalv1.BMCSecret
	if err := r.APIReader.Get(ctx, client.ObjectKey{Name: obj.Spec.BMCSecretRef.Name}, &secret); err != nil {
		return client.IgnoreNotFound(err)
	}
	trial, err := bmcsecret.Parse(secret.Annotations[metalv1.AnnotationDefaultCredentials])
	if err != nil || trial.Outcome == bmcsecret.Accepted || trial.Mark(secret.UID) != mark {
		return nil
	}
	before := secret.DeepCopy()
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, metalv1.AnnotationDefaultCredentials, trial.Accept().String())
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err = r.Patch(ctx, &secret, patch, client.FieldOwner(metalv1.FieldManager))
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return nil // trying once more is no reason to keep a BMC that shall go
	}
	return client.IgnoreNotFound(err)
}
