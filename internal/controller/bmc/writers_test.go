package bmc

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// recording is an API that knows who set what of secrets, by their names.
type recording struct {
	client.Reader
	set map[string][]metav1.ManagedFieldsEntry
}

func (r recording) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, obj, opts...)
	switch obj.(type) {
	case *metalv1.BMCSecret, *corev1.Secret:
		obj.SetManagedFields(r.set[key.Name])
	}
	return err
}

// by is an entry of managedFields.
func by(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

const (
	ofLabels   = `{"f:metadata":{"f:labels":{"f:rack":{}}}}`
	ofData     = `{"f:data":{".":{},"f:password":{},"f:username":{}},"f:metadata":{"f:labels":{"f:rack":{}}}}`
	ofPassword = `{"f:data":{"f:password":{}}}`
	ofText     = `{"f:stringData":{"f:password":{}}}`
)

// TestASecretThatSomebodyElseWrites: a tool that sets the data of a BMCSecret at each of its rounds would take the new password away, which is
// nowhere else.
func TestASecretThatSomebodyElseWrites(t *testing.T) {
	for name, fields := range map[string]string{"all of it": ofData, "the password": ofPassword, "in plain text": ofText} {
		t.Run(name, func(t *testing.T) {
			stands(t, func(t *testing.T, s *stand) {
				s.APIReader = recording{s.API, map[string][]metav1.ManagedFieldsEntry{
					"s":             {by(metalv1.FieldManager, ofLabels), by("kubectl-label", ofLabels), by("argora", fields)},
					"b-credentials": {by(metalv1.FieldManager, ofData), by("kubectl-edit", ofPassword)},
				}}
				s.rotates(t)
				b := s.pass(t, 3*time.Minute)
				if b.Spec.BMCSecretRef.Name != "b-credentials" {
					t.Fatalf("the BMC has BMCSecret %q", b.Spec.BMCSecretRef.Name)
				}
				s.rotated(t, "b-credentials", 1)
				controllertest.Says(t, b.Status.Conditions, metalv1.ConditionRotated, metav1.ConditionTrue, metalv1.ReasonRotated,
					`BMCSecret "b-credentials"`, `BMCSecret "s" is also written by argora and stays as it is`)
				if got := s.told(metalv1.ReasonSecretReplaced); len(got) != 1 || !strings.Contains(got[0], "argora") {
					t.Errorf("events %q", got)
				}
				if secret := s.secret(t); string(secret.Data["password"]) != "right" || len(secret.Data) != 2 {
					t.Error("the BMCSecret of the other was changed")
				}
				s.asks(t, metalv1.OperationRotateCredentials)
				if b = s.pass(t, 3*time.Minute); b.Spec.BMCSecretRef.Name != "b-credentials" {
					t.Errorf("what Farrier made is replaced by %q", b.Spec.BMCSecretRef.Name)
				}
				s.rotated(t, "b-credentials", 2)
			})
		})
	}
}

// TestACoreSecretThatSomebodyElseWrites: an operator that fetches Secrets from a vault does the same.
func TestACoreSecretThatSomebodyElseWrites(t *testing.T) {
	core := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "farrier", Name: "vault"}, Data: map[string][]byte{"username": []byte("u"), "password": []byte("right")}}
	stands(t, func(t *testing.T, s *stand) {
		controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) {
			o.Annotations, o.Data = map[string]string{metalv1.AnnotationSecret: "farrier/vault"}, nil
		})
		s.APIReader = recording{s.API, map[string][]metav1.ManagedFieldsEntry{"vault": {by("external-secrets", ofData)}}}
		s.rotates(t)
		b := s.pass(t, 3*time.Minute)
		got := controllertest.Read[corev1.Secret](t, s.API, "farrier/b-credentials")
		if b.Spec.BMCSecretRef.Name != "b-credentials" || string(got.Data["password"]) != s.bmc.Password() || s.bmc.Password() == "right" {
			t.Errorf("the BMC has BMCSecret %s", b.Spec.BMCSecretRef.Name)
		}
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionRotated, metav1.ConditionTrue, metalv1.ReasonRotated, `Secret "farrier/vault"`, "external-secrets")
	}, core)
}

// TestASecretThatNobodyElseWrites: who has labelled it, or who is not known, owns no password.
func TestASecretThatNobodyElseWrites(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		status := by("someone", ofData)
		status.Subresource = "status"
		s.APIReader = recording{s.API, map[string][]metav1.ManagedFieldsEntry{
			"s": {by(metalv1.FieldManager, ofData), by("kubectl-label", ofLabels), by("before-first-apply", ofData), by("odd", `[]`), status, {Manager: "none"}},
		}}
		s.rotates(t)
		s.pass(t, 3*time.Minute)
		s.rotated(t, "s", 1)
	})
}

// TestAPasswordThatIsTakenAwayMeanwhile: where nobody is known to write the BMCSecret and somebody does, the new password is gone from it when the
// BMC has it.
func TestAPasswordThatIsTakenAwayMeanwhile(t *testing.T) {
	for name, answer := range map[string]error{"the BMC answers": nil, "its answer is lost": errHangs} {
		t.Run(name, func(t *testing.T) {
			stands(t, func(t *testing.T, s *stand) {
				s.rotates(t)
				first := true
				s.bmc.OnPassword(func(string) (bool, error) {
					if !first {
						return true, nil
					}
					first = false
					controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) {
						o.Data = map[string][]byte{"username": []byte("u"), "password": []byte("right")}
					})
					return true, answer
				})
				b := s.pass(t, 5*time.Minute)
				if b.Spec.BMCSecretRef.Name != "b-credentials" {
					t.Fatalf("the BMC has BMCSecret %q", b.Spec.BMCSecretRef.Name)
				}
				s.rotated(t, "b-credentials", 1)
				if got := s.told(metalv1.ReasonSecretReplaced); len(got) != 1 || !strings.Contains(got[0], "somebody else") {
					t.Errorf("events %q", got)
				}
			})
		})
	}
}

// TestASecretThatSomebodyBeginsToWriteMeanwhile: the new password goes where nobody else writes, before it is the only one, over a start too.
func TestASecretThatSomebodyBeginsToWriteMeanwhile(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.rotates(t)
		told := false
		s.bmc.OnPassword(func(string) (bool, error) { told = true; return true, errHangs })
		for range 12 {
			if told {
				break
			}
			s.Step(t, s.Reconciler, "b")
			s.rack.Pass(time.Second)
		}
		if !told || s.secret(t).Data["password.next"] == nil {
			t.Fatal("no password is stored and told")
		}
		s.restart(t)
		s.APIReader = recording{s.API, map[string][]metav1.ManagedFieldsEntry{"s": {by("argora", ofPassword)}}}
		b := s.pass(t, 5*time.Minute)
		if b.Spec.BMCSecretRef.Name != "b-credentials" {
			t.Fatalf("the BMC has BMCSecret %q", b.Spec.BMCSecretRef.Name)
		}
		s.rotated(t, "b-credentials", 1)
	})
}

// TestTheSecretOfBeforeIsPutBack: whoever keeps the BMC in a repository is told which one has its password.
func TestTheSecretOfBeforeIsPutBack(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.APIReader = recording{s.API, map[string][]metav1.ManagedFieldsEntry{"s": {by("kubectl-client-side-apply", ofData)}}}
		s.rotates(t)
		s.pass(t, 3*time.Minute)
		s.rotated(t, "b-credentials", 1)
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Spec.BMCSecretRef.Name = "s" })
		b := s.pass(t, 3*time.Minute)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed, `BMCSecret "b-credentials"`, "spec.bmcSecretRef")
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Spec.BMCSecretRef.Name = "b-credentials" })
		b = s.pass(t, 3*time.Minute)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
	})
}
