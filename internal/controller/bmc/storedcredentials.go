package bmc

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
)

// storedCredentials are the credentials of a BMC in the API: a BMCSecret, or the core Secret that it refers to.
type storedCredentials struct {
	secret *metalv1.BMCSecret
	core   *corev1.Secret // nil: the BMCSecret itself
}

// readStored reads what a BMCSecret refers to, which connection.Secrets has found to be allowed.
func (r *Reconciler) readStored(ctx context.Context, secret *metalv1.BMCSecret) (storedCredentials, error) {
	key, backed := connection.Backing(secret)
	if !backed {
		return storedCredentials{secret: secret}, nil
	}
	var core corev1.Secret
	if err := r.APIReader.Get(ctx, key, &core); err != nil {
		return storedCredentials{}, fmt.Errorf("Secret %q: %w", key, err)
	}
	return storedCredentials{secret: secret, core: &core}, nil
}

// object is what is written to.
func (v storedCredentials) object() client.Object {
	if v.core != nil {
		return v.core
	}
	return v.secret
}

// String names the object for people.
func (v storedCredentials) String() string {
	if v.core != nil {
		return fmt.Sprintf("Secret %q", client.ObjectKeyFromObject(v.core))
	}
	return fmt.Sprintf("BMCSecret %q", v.secret.Name)
}

func (v storedCredentials) immutable() bool {
	if v.core != nil {
		return v.core.Immutable != nil && *v.core.Immutable
	}
	return v.secret.Immutable != nil && *v.secret.Immutable
}

// next is the new password of a rotation, empty if none is stored.
func (v storedCredentials) next() bmc.Secret {
	if v.core != nil {
		return bmc.Secret(v.core.Data[metalv1.BMCSecretNextPasswordKey])
	}
	return bmc.Secret(v.secret.Data[metalv1.BMCSecretNextPasswordKey])
}

// current is the password as promote has left it.
func (v storedCredentials) current() bmc.Secret {
	if v.core != nil {
		return bmc.Secret(v.core.Data[metalv1.BMCSecretPasswordKey])
	}
	return bmc.Secret(v.secret.Data[metalv1.BMCSecretPasswordKey])
}

// rotated reports whether the password is the result of this rotation.
func (v storedCredentials) rotated(mark string) bool {
	return v.object().GetAnnotations()[metalv1.AnnotationRotated] == mark
}

// instead returns a sentence that says which secret this one replaces and why; empty: it replaces none.
func (v storedCredentials) instead() string {
	if words := v.object().GetAnnotations()[metalv1.AnnotationInsteadOf]; words != "" {
		return ". " + words
	}
	return ""
}

// loginBasic is the value of AnnotationRotationLogin.
const loginBasic = "Basic"

// store keeps a new password beside the one that there is, and how the BMC is logged in to.
func (v storedCredentials) store(next bmc.Secret, why bmc.WhyBasic) {
	v.edit(func(data map[string][]byte) { data[metalv1.BMCSecretNextPasswordKey] = []byte(next.Reveal()) })
	v.annotate(func(annotations map[string]string) {
		delete(annotations, metalv1.AnnotationRotationLogin)
		if why == bmc.BasicSessionsRefused {
			annotations[metalv1.AnnotationRotationLogin] = loginBasic
		}
	})
}

// login is how to log in while it is not known which password the BMC has.
func (v storedCredentials) login() bmc.LoginPolicy {
	switch {
	case v.next() == "":
		return bmc.LoginFreely
	case v.object().GetAnnotations()[metalv1.AnnotationRotationLogin] == loginBasic:
		return bmc.LoginOnceBasic
	}
	return bmc.LoginOnce
}

// drop forgets the new password.
func (v storedCredentials) drop() {
	v.edit(func(data map[string][]byte) { delete(data, metalv1.BMCSecretNextPasswordKey) })
	v.annotate(func(annotations map[string]string) { delete(annotations, metalv1.AnnotationRotationLogin) })
}

// promote makes the new password the password. Credentials that were the make's own are somebody's now.
func (v storedCredentials) promote(mark string) {
	v.edit(func(data map[string][]byte) {
		data[metalv1.BMCSecretPasswordKey] = data[metalv1.BMCSecretNextPasswordKey]
		delete(data, metalv1.BMCSecretNextPasswordKey)
	})
	delete(v.secret.StringData, metalv1.BMCSecretPasswordKey)
	v.annotate(func(annotations map[string]string) {
		annotations[metalv1.AnnotationRotated] = mark
		delete(annotations, metalv1.AnnotationDefaultCredentials)
		delete(annotations, metalv1.AnnotationRotationLogin)
	})
}

func (v storedCredentials) annotate(change func(map[string]string)) {
	annotations := maps.Clone(v.object().GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	change(annotations)
	v.object().SetAnnotations(annotations)
}

func (v storedCredentials) edit(change func(map[string][]byte)) {
	data := &v.secret.Data
	if v.core != nil {
		data = &v.core.Data
	}
	if *data = maps.Clone(*data); *data == nil {
		*data = map[string][]byte{}
	}
	change(*data)
}

// writeStored changes stored credentials, and fails if somebody else has changed them since they were read.
func (r *Reconciler) writeStored(ctx context.Context, v storedCredentials, change func(storedCredentials)) error {
	before, ok := v.object().DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%s: cannot be copied", v)
	}
	change(v)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, v.object(), patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return fmt.Errorf("write %s: %w", v, err)
	}
	return nil
}

// replaceStored makes credentials of its own for a BMC, equal to those that it has, where these cannot be changed: they are
// immutable, or others use or write them too, as instead says. They are of the same kind and in the same namespace as the old ones, with the
// new password if one was chosen. Nothing is deleted with the BMC: its password would be lost.
func (r *Reconciler) replaceStored(ctx context.Context, s *scope, v storedCredentials, instead string) error {
	mine := map[string]string{metalv1.AnnotationCredentialsOf: string(s.obj.UID), metalv1.AnnotationInsteadOf: instead}
	data := map[string][]byte{
		metalv1.BMCSecretUsernameKey: []byte(s.target.Credentials.Username),
		metalv1.BMCSecretPasswordKey: []byte(s.target.Credentials.Password.Reveal()),
	}
	if next := cmp.Or(v.next(), s.rotating.Chosen); next != "" {
		data[metalv1.BMCSecretNextPasswordKey] = []byte(next.Reveal())
		if login := v.object().GetAnnotations()[metalv1.AnnotationRotationLogin]; login != "" {
			mine[metalv1.AnnotationRotationLogin] = login
		}
	}
	name, err := r.freeName(ctx, s.obj, v)
	if err != nil {
		return err
	}
	secret := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: mine}, Data: data}
	if v.core != nil {
		core := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v.core.Namespace, Name: name, Annotations: mine}, Type: v.core.Type, Data: data}
		if err := r.createOrUpdate(ctx, core); err != nil {
			return err
		}
		secret.Annotations, secret.Data = maps.Clone(mine), nil
		secret.Annotations[metalv1.AnnotationSecret] = client.ObjectKeyFromObject(core).String()
	}
	if err := r.createOrUpdate(ctx, secret); err != nil {
		return err
	}
	before := s.obj.DeepCopy()
	s.obj.Spec.BMCSecretRef.Name = name
	return r.patch(ctx, s.obj, before)
}

// createOrUpdate makes a secret, or makes one that an earlier attempt left what it should be.
func (r *Reconciler) createOrUpdate(ctx context.Context, secret client.Object) error {
	existing, ok := secret.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("secret %q: cannot be copied", secret.GetName())
	}
	err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(secret), existing)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("secret %q: %w", secret.GetName(), err)
	case err != nil:
		err = r.Create(ctx, secret, client.FieldOwner(metalv1.FieldManager))
	default:
		secret.SetResourceVersion(existing.GetResourceVersion())
		err = r.Update(ctx, secret, client.FieldOwner(metalv1.FieldManager))
	}
	if err != nil {
		return fmt.Errorf("write secret %q: %w", secret.GetName(), err)
	}
	return nil
}

// maxNames bounds the names that are tried for a secret.
const maxNames = 16

// credentialsName returns the nth name of a secret for a BMC.
func credentialsName(obj *metalv1.BMC, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s-credentials-%d", obj.Name, n)
	}
	return obj.Name + "-credentials"
}

// freeName is the name of a secret for a BMC: one that nobody has, or that an earlier attempt made and did not come to use.
func (r *Reconciler) freeName(ctx context.Context, obj *metalv1.BMC, v storedCredentials) (string, error) {
	for n := 1; n <= maxNames; n++ {
		name := credentialsName(obj, n)
		candidates := []client.Object{&metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: name}}}
		if v.core != nil {
			candidates = append(candidates, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v.core.Namespace, Name: name}})
		}
		free, err := r.free(ctx, obj, candidates)
		if err != nil || free {
			return name, err
		}
	}
	return "", fmt.Errorf("no name is free for a secret of BMC %q", obj.Name)
}

func (r *Reconciler) free(ctx context.Context, obj *metalv1.BMC, candidates []client.Object) (bool, error) {
	for _, c := range candidates {
		err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(c), c)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("secret %q: %w", c.GetName(), err)
		}
		if err != nil {
			continue
		}
		// One that was rotated has been in use, and may be still.
		used := c.GetName() == obj.Spec.BMCSecretRef.Name || c.GetAnnotations()[metalv1.AnnotationRotated] != "" || busy(c)
		if used || c.GetAnnotations()[metalv1.AnnotationCredentialsOf] != string(obj.UID) {
			return false, nil
		}
	}
	return true, nil
}

// busy reports whether a secret must not be written anew: it is immutable, or its new password may be in force.
func busy(obj client.Object) bool {
	var v storedCredentials
	switch o := obj.(type) {
	case *metalv1.BMCSecret:
		v = storedCredentials{secret: o}
	case *corev1.Secret:
		v = storedCredentials{core: o}
	}
	return v.immutable() || v.next() != ""
}
