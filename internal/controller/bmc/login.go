package bmc

import (
	"context"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// login is how a BMC is logged in to, where default credentials are being tried.
type login struct {
	trial    *bmcsecret.Trial // nil: the credentials are somebody's own
	defaults []bmc.Credentials
	until    time.Time // of a pause
	// accepted says that the BMC takes them, which is to be written down with its UUID.
	accepted bool
}

// logIn has the fleet ask the BMC with the credentials that are known to be, or may be, right. It writes an
// attempt down before it is made.
func (r *Reconciler) logIn(ctx context.Context, s *scope) error {
	text, tried := s.target.Secret.Annotations[metalv1.AnnotationDefaultCredentials]
	withNext := s.rotating != nil && s.rotating.Next // a rotation's, and nobody's default
	if !tried || withNext || s.obj.Spec.EndpointRef == nil || s.target.Secret.Data == nil || s.target.Secret.Annotations[metalv1.AnnotationSecret] != "" {
		r.observe(s)
		return nil
	}
	trial, defaults, err := r.trialOf(ctx, s, text)
	if err != nil {
		return err
	}
	action, next, until := trial.Decide(r.trialView(s, defaults))
	if action == bmcsecret.Forget {
		if err := r.writeTrial(ctx, s, nil, nil); err != nil {
			return err
		}
		r.observe(s)
		return nil
	}
	s.login = login{trial: &next, defaults: defaults, until: until}
	s.login.accepted = next.Outcome == bmcsecret.Accepted && trial.Outcome != bmcsecret.Accepted
	if next.Outcome != bmcsecret.Accepted {
		if err := r.writeTrial(ctx, s, &next, defaults); err != nil {
			return err
		}
	}
	r.Begun.Spend(s.target.Secret.UID)
	switch action {
	case bmcsecret.Begin:
		r.hangUp(s.obj.Name) // what an earlier actor heard is about other credentials
		s.target.Credentials = defaults[next.Position]
	case bmcsecret.Wait:
		r.hangUp(s.obj.Name)
		s.again(until.Sub(r.Clock.Now()))
		s.unresolved = reconcileerror.Terminalf(metalv1.ReasonAuthenticationFailed, "the default credentials of %s were refused; the next attempt is at %s",
			next.Tried(defaults), until.UTC().Format(time.RFC3339))
		return nil
	}
	r.observe(s)
	return r.keepAccepted(ctx, s)
}

// trialOf is the trial that a BMCSecret tells of, as those know it who use it, and the credentials that it is about.
func (r *Reconciler) trialOf(ctx context.Context, s *scope, text string) (bmcsecret.Trial, []bmc.Credentials, error) {
	trial, err := bmcsecret.Parse(text)
	if err != nil {
		return trial, nil, nil // nobody's trial
	}
	marked, err := r.marked(ctx, s.obj, s.target.Secret, trial)
	if marked {
		trial = trial.Accept()
	}
	return trial, r.defaults(s.target.Address.MAC), err
}

func (r *Reconciler) trialView(s *scope, defaults []bmc.Credentials) bmcsecret.View {
	secret := s.target.Secret
	v := bmcsecret.View{
		Now: r.Clock.Now(), Begun: r.Begun.Has(secret.UID), Defaults: defaults, Current: s.target.Credentials, Fixed: secret.Immutable != nil && *secret.Immutable,
	}
	key, bound := r.Registry.Key(&r.Wake, s.obj.Name)
	if bound && key == fleet.Key(s.target.Endpoint.Key()) {
		if o, ok := r.Fleet.Observe(key); ok {
			v.Asked, v.Answered, v.Refused = true, o.Sequence > 0 && o.Err == nil, bmc.KindOf(o.Err) == bmc.KindAuthentication
		}
	}
	return v
}

// defaults are the default credentials of the make that a MAC address tells.
func (r *Reconciler) defaults(mac string) []bmc.Credentials {
	if r.Prefixes == nil {
		return nil
	}
	entry, _ := r.Prefixes.Lookup(mac)
	var all []bmc.Credentials
	for _, c := range entry.DefaultCredentials {
		all = append(all, bmc.Credentials{Username: c.Username, Password: c.Password})
	}
	return all
}

// hangUp ends the BMC's actor, and all that it knows.
func (r *Reconciler) hangUp(name string) {
	if key, _ := r.Registry.Unbind(&r.Wake, name); key != "" {
		r.Fleet.Remove(key)
	}
}

// writeTrial writes a trial and the credentials that it is at; without a trial it takes its annotation away.
// It fails if somebody has changed the BMCSecret since it was read.
func (r *Reconciler) writeTrial(ctx context.Context, s *scope, t *bmcsecret.Trial, defaults []bmc.Credentials) error {
	secret := s.target.Secret
	before := secret.DeepCopy()
	if t == nil {
		delete(secret.Annotations, metalv1.AnnotationDefaultCredentials)
	} else {
		if before.Annotations[metalv1.AnnotationDefaultCredentials] == t.String() {
			return nil
		}
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, metalv1.AnnotationDefaultCredentials, t.String())
		credentials := defaults[t.Position]
		if credentials != s.target.Credentials {
			secret.Data = maps.Clone(secret.Data)
			secret.Data[metalv1.BMCSecretUsernameKey] = []byte(credentials.Username)
			secret.Data[metalv1.BMCSecretPasswordKey] = []byte(credentials.Password.Reveal())
		}
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, secret, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return fmt.Errorf("write BMCSecret %q: %w", secret.Name, err)
	}
	return nil
}

// condition says how the trial stands; nil if there is none.
func (l login) condition() *metav1.Condition {
	if l.trial == nil {
		return nil
	}
	c := &metav1.Condition{Status: metav1.ConditionUnknown, Reason: metalv1.ReasonCredentialsTried}
	user := l.defaults[l.trial.Position].Username
	switch {
	case l.trial.Outcome == bmcsecret.Accepted:
		c.Status, c.Reason = metav1.ConditionTrue, metalv1.ReasonCredentialsAccepted
		c.Message = fmt.Sprintf("The BMC accepts the default credentials of %s (%d of %d)", user, l.trial.Position+1, len(l.defaults))
	case !l.until.IsZero():
		c.Status, c.Reason = metav1.ConditionFalse, metalv1.ReasonCredentialsRefused
		c.Message = fmt.Sprintf("The BMC refused %s. The next attempt is at %s, because accounts lock", l.trial.Tried(l.defaults), l.until.UTC().Format(time.RFC3339))
	default:
		c.Message = fmt.Sprintf("Trying the default credentials of %s (%d of %d). Refused so far: %s", user, l.trial.Position+1, len(l.defaults), l.trial.Tried(l.defaults))
	}
	return c
}
