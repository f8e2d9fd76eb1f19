package acceptance

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// ownedBy makes an object the Endpoint's, as older installations do.
func (p *running) ownedBy(obj client.Object, e *metalv1.Endpoint) {
	p.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":%q,"kind":"Endpoint","name":%q,"uid":%q,"controller":true,"blockOwnerDeletion":true}]}}`,
		metalv1.GroupVersion.String(), e.Name, e.UID)
	if err := p.Patch(p.t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("manager")); err != nil {
		p.t.Fatal(err)
	}
}

// TestAPasswordOutlivesAnEndpointThatOwnedIt: what another installation made of an Endpoint is owned by it. The Endpoint is deleted and garbage is
// collected; the password is still there, and so is one that a tool keeps which writes it anew at each of its rounds.
func TestAPasswordOutlivesAnEndpointThatOwnedIt(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	l.discover(p)
	name := l.BMCs()[0].Name
	b := p.bmcIs(name, metalv1.ConditionReady, metalv1.ReasonConnected)
	endpoint, secret := &metalv1.Endpoint{ObjectMeta: objectMeta("", name)}, &metalv1.BMCSecret{ObjectMeta: objectMeta("", name)}
	if err := p.Get(t.Context(), client.ObjectKeyFromObject(endpoint), endpoint); err != nil {
		t.Fatal(err)
	}
	p.ownedBy(secret, endpoint)
	p.ownedBy(b, endpoint)
	p.Eventually("nothing is owned by the Endpoint", func(ctx context.Context) error {
		for _, obj := range []client.Object{&metalv1.BMCSecret{}, &metalv1.BMC{}} {
			if err := p.Get(ctx, client.ObjectKey{Name: name}, obj); err != nil || len(obj.GetOwnerReferences()) > 0 {
				return errors.Join(fmt.Errorf("%T is owned by %v", obj, obj.GetOwnerReferences()), err)
			}
		}
		return nil
	})
	canary := &corev1.ConfigMap{ObjectMeta: objectMeta("default", "canary")}
	if err := p.Create(t.Context(), canary); err != nil {
		t.Fatal(err)
	}
	p.ownedBy(canary, endpoint)
	if err := p.Delete(t.Context(), endpoint); err != nil {
		t.Fatal(err)
	}
	p.gone(endpoint, endpoint.UID)
	p.gone(canary, canary.UID) // garbage was collected
	for _, obj := range []client.Object{&metalv1.BMCSecret{}, &metalv1.BMC{}} {
		if err := p.Get(t.Context(), client.ObjectKey{Name: name}, obj); err != nil || obj.GetDeletionTimestamp() != nil {
			t.Fatalf("%T went with the Endpoint: %v", obj, err)
		}
	}
}

// TestAPasswordThatAnotherToolWrites: it sets the data of the BMCSecret at each of its rounds, and the BMC goes on with its new password.
func TestAPasswordThatAnotherToolWrites(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	l.discover(p)
	name := l.BMCs()[0].Name
	tool := client.FieldOwner("argora")
	made := &metalv1.BMCSecret{}
	if err := p.Get(t.Context(), client.ObjectKey{Name: name}, made); err != nil {
		t.Fatal(err)
	}
	theirs := &metalv1.BMCSecret{ObjectMeta: objectMeta("", "theirs"), Data: made.Data}
	if err := p.Create(t.Context(), theirs, tool); err != nil {
		t.Fatal(err)
	}
	b := p.bmcIs(name, metalv1.ConditionReady, metalv1.ReasonConnected)
	if err := p.Patch(t.Context(), b, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"bmcSecretRef":{"name":"theirs"}}}`))); err != nil {
		t.Fatal(err)
	}
	p.annotated(b, metalv1.AnnotationOperation, metalv1.OperationRotateCredentials)
	b = p.bmcIs(name, metalv1.ConditionRotated, metalv1.ReasonRotated)
	said := p.says(b, func() []metav1.Condition { return b.Status.Conditions }, metalv1.ConditionRotated, metalv1.ReasonRotated)
	if b.Spec.BMCSecretRef.Name != name+"-credentials" {
		t.Fatalf("the BMC has BMCSecret %q: %s", b.Spec.BMCSecretRef.Name, said)
	}
	if want := fmt.Sprintf(`The BMC has a new password, stored in BMCSecret %q. BMCSecret "theirs" is also written by argora and stays as it is`, name+"-credentials"); said != want {
		t.Errorf("it is said: %s", said)
	}
	p.event(name, metalv1.ReasonSecretReplaced)
	// Its next round.
	patch := client.MergeFrom(theirs.DeepCopy())
	theirs.Data, theirs.Labels = made.Data, map[string]string{"round": "2"}
	if err := p.Patch(t.Context(), theirs, patch, tool); err != nil {
		t.Fatal(err)
	}
	p.annotated(b, metalv1.AnnotationOperation, metalv1.OperationRetry) // asks anew, with what is stored
	p.event(name, "Retried")
	p.bmcIs(name, metalv1.ConditionReady, metalv1.ReasonConnected)
}
