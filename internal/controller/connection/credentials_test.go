package connection

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

func TestDataIsReadBeforeStringData(t *testing.T) {
	secret := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	secret.Data = map[string][]byte{"password": []byte("data")}
	secret.StringData = map[string]string{"username": "string", "password": "string"}
	api := controllertest.NewAPI(t, secret)
	c, err := Secrets{Reader: api}.Credentials(t.Context(), "s")
	if err != nil || c.Username != "string" || c.Password.Reveal() != "data" {
		t.Errorf("credentials %s:%s, %v", c.Username, c.Password.Reveal(), err)
	}
	if text := fmt.Sprintf("%v %+v", c, c); strings.Contains(text, "data") {
		t.Errorf("printed: %s", text)
	}
}

func core(namespace string, keys ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "vault"}, Data: map[string][]byte{}}
	for _, k := range keys {
		s.Data[k] = []byte("core-" + k)
	}
	return s
}

func namespace(name, allowed string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{metalv1.LabelBMCSecrets: allowed}}}
}

func TestABMCSecretMayStandForASecret(t *testing.T) {
	for name, tc := range map[string]struct {
		annotation string
		objects    []client.Object
		reason     string
	}{
		"in the manager's namespace":    {"farrier/vault", []client.Object{core("farrier", "username", "password")}, ""},
		"in one that is labelled":       {"team/vault", []client.Object{core("team", "username", "password"), namespace("team", "allowed")}, ""},
		"in one that is not":            {"team/vault", []client.Object{core("team", "username", "password"), namespace("team", "")}, ReasonSecretNotAllowed},
		"in one that is labelled no":    {"team/vault", []client.Object{core("team", "username", "password"), namespace("team", "no")}, ReasonSecretNotAllowed},
		"in one that is none":           {"team/vault", nil, ReasonSecretNotAllowed},
		"that does not exist":           {"farrier/vault", nil, ReasonSecretNotFound},
		"that lacks a key":              {"farrier/vault", []client.Object{core("farrier", "username")}, ReasonSecretIncomplete},
		"whose name is none":            {"vault", nil, ReasonSecretIncomplete},
		"whose name has too many parts": {"farrier/vault/x", nil, ReasonSecretIncomplete},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "s", Annotations: map[string]string{metalv1.AnnotationSecret: tc.annotation}}}
			secret.StringData = map[string]string{"username": "own", "password": "own"} // is not what counts
			api := controllertest.NewAPI(t, append(tc.objects, secret)...)
			c, err := Secrets{Reader: api, Namespace: "farrier"}.Credentials(t.Context(), "s")
			if tc.reason == "" {
				if err != nil || c.Username != "core-username" || c.Password.Reveal() != "core-password" {
					t.Errorf("credentials of %s, %v", c.Username, err)
				}
				return
			}
			var terminal reconcileerror.Terminal
			if !errors.As(err, &terminal) || terminal.Reason != tc.reason {
				t.Errorf("error %v, want reason %s", err, tc.reason)
			}
		})
	}
}

func TestTroubleWithTheAPIIsNoAnswer(t *testing.T) {
	secret := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "s", Annotations: map[string]string{metalv1.AnnotationSecret: "team/vault"}}}
	for _, kind := range []runtime.Object{&metalv1.BMCSecret{}, &corev1.Namespace{}, &corev1.Secret{}} {
		api := controllertest.NewAPI(t, secret.DeepCopy(), core("team", "username", "password"), namespace("team", "allowed"))
		api.Fail = func(_ string, obj runtime.Object) error {
			if fmt.Sprintf("%T", obj) == fmt.Sprintf("%T", kind) {
				return errors.New("away")
			}
			return nil
		}
		if _, err := (Secrets{Reader: api}).Credentials(t.Context(), "s"); !reconcileerror.IsTransient(err) {
			t.Errorf("%T: %v", kind, err)
		}
	}
}

// Some makes ship without a password. What somebody wrote without one is a mistake.
func TestAnEmptyDefaultPassword(t *testing.T) {
	for _, theirs := range []bool{true, false} {
		secret := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"username": []byte("u"), "password": []byte("")}}
		if theirs {
			secret.Annotations = map[string]string{metalv1.AnnotationDefaultCredentials: "{}"}
		}
		c, err := Secrets{Reader: controllertest.NewAPI(t, secret)}.Credentials(t.Context(), "s")
		if (err == nil) != theirs || theirs && c.Username != "u" {
			t.Errorf("of the make: %v: %s, %v", theirs, c.Username, err)
		}
		delete(secret.Data, "password")
		if _, err := (Secrets{Reader: controllertest.NewAPI(t, secret)}).Credentials(t.Context(), "s"); err == nil {
			t.Error("no password at all")
		}
	}
}
