package faults

import (
	"bytes"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
)

// BMCs that no fault strikes, and what is done to their credentials.
const (
	wronged = neverStruck + iota
	changedAtBMC
	inCoreSecret
	withoutSecret
	withoutKey
	rotated
	restarted
	removed
	selfSigned
)

// changeCredentials does what people do with credentials, and gets wrong. Each password has the marker in it,
// but for the one that a rotation makes.
func (s *stand) changeCredentials(t *testing.T) {
	refused := failed(metalv1.ReasonAuthenticationFailed, "The BMC refuses the account in BMCSecret")
	t.Run("wrong password", func(t *testing.T) {
		s.setSecret(t, wronged, credentials(marker+".wrong"))
		s.says(t, wronged, refused)
		s.setSecret(t, wronged, credentials(password))
		s.ready(t, wronged)
	})
	t.Run("changed at the BMC", func(t *testing.T) {
		s.setPassword(t, changedAtBMC, marker+".2")
		s.says(t, changedAtBMC, refused)
		s.setSecret(t, changedAtBMC, credentials(marker+".2"))
		s.ready(t, changedAtBMC)
	})
	t.Run("in a core Secret", s.backedBySecret)
	t.Run("secret gone", func(t *testing.T) {
		if err := s.Delete(t.Context(), &metalv1.BMCSecret{ObjectMeta: named(s.names[withoutSecret])}); err != nil {
			t.Fatal(err)
		}
		s.says(t, withoutSecret, failed(connection.ReasonSecretNotFound, s.names[withoutSecret]))
		s.create(t, &metalv1.BMCSecret{ObjectMeta: named(s.names[withoutSecret]), Data: credentials(password)})
		s.ready(t, withoutSecret)
	})
	t.Run("key gone", func(t *testing.T) {
		s.setSecret(t, withoutKey, map[string][]byte{metalv1.BMCSecretPasswordKey: []byte(password)})
		s.says(t, withoutKey, failed(connection.ReasonSecretIncomplete, metalv1.BMCSecretUsernameKey))
		s.setSecret(t, withoutKey, credentials(password))
		s.ready(t, withoutKey)
	})
	t.Run("rotated", func(t *testing.T) {
		s.operation(t, &metalv1.BMC{ObjectMeta: named(s.names[rotated])}, metalv1.OperationRotateCredentials)
		s.says(t, rotated, statement{"BMC", metalv1.ConditionRotated, metav1.ConditionTrue, metalv1.ReasonRotated, ""})
		s.ready(t, rotated)
	})
	t.Run("operations", func(t *testing.T) {
		obj := &metalv1.BMC{ObjectMeta: named(s.names[restarted])}
		s.operation(t, obj, "dance")
		s.done(t, obj)
		s.operation(t, obj, metalv1.OperationRetry)
		s.done(t, obj)
		s.ready(t, restarted)
	})
	t.Run("another protocol", s.otherProtocol)
	t.Run("deleted", s.deleted)
	t.Run("certificate accepted", s.acceptCertificates)
}

// setSecret changes a BMCSecret as a whole.
func (s *stand) setSecret(t *testing.T, i int, data map[string][]byte) {
	t.Helper()
	until(t, "the BMCSecret is written", func() string {
		var secret metalv1.BMCSecret
		if err := s.Get(t.Context(), client.ObjectKey{Name: s.names[i]}, &secret); err != nil {
			t.Fatal(err)
		}
		secret.Data = data
		if err := s.Update(t.Context(), &secret); err != nil {
			return err.Error()
		}
		return ""
	})
}

// setPassword changes a password at a BMC, at the admin endpoint of the rack.
func (s *stand) setPassword(t *testing.T, i int, password string) {
	t.Helper()
	body := bytes.NewBufferString(fmt.Sprintf(`{"password":%q}`, password))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprintf("http://%s/bmcs/%d/password", s.admin, i+1), body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Fatalf("the admin endpoint answers %s", response.Status)
	}
}

// newest makes passwords that no BMC has had.
var newest atomic.Int64

// metAnew gives a BMC and its BMCSecret another password: whoever speaks to it has no session from before.
func metAnew(t *testing.T, s *stand, i int) {
	t.Helper()
	password := fmt.Sprintf("%s.n%d", marker, newest.Add(1))
	s.SetPassword(i, password)
	s.setSecret(t, i, credentials(password))
}

func (s *stand) backedBySecret(t *testing.T) {
	core := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "vault"}, Data: credentials(marker + ".other")}
	s.create(t, core)
	s.annotate(t.Context(), t, &metalv1.BMCSecret{ObjectMeta: named(s.names[inCoreSecret])}, metalv1.AnnotationSecret, s.namespace+"/vault")
	s.says(t, inCoreSecret, failed(metalv1.ReasonAuthenticationFailed, "The BMC refuses the account"))
	core.Data = credentials(password)
	if err := s.Update(t.Context(), core); err != nil {
		t.Fatal(err)
	}
	s.ready(t, inCoreSecret)
}

// done waits until an operation was taken.
func (s *stand) done(t *testing.T, obj *metalv1.BMC) {
	t.Helper()
	until(t, "the operation is taken", func() string {
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			t.Fatal(err)
		}
		return obj.Annotations[metalv1.AnnotationOperation]
	})
}

// otherProtocol: what is no Redfish is said to be, and is not spoken to.
func (s *stand) otherProtocol(t *testing.T) {
	obj := &metalv1.BMC{ObjectMeta: named("ipmi")}
	obj.Spec.Access = &metalv1.InlineEndpoint{IP: "127.93.200.1", MACAddress: "02:00:00:00:00:99"}
	obj.Spec.BMCSecretRef.Name = s.names[wronged]
	obj.Spec.Protocol = metalv1.Protocol{Name: "IPMI", Port: 623}
	s.create(t, obj)
	s.names = append(s.names, obj.Name)
	s.says(t, len(s.names)-1, failed(connection.ReasonProtocolNotSupported, "IPMI"))
}

// deleted takes a BMC, its secret and with it its server away. Its session and subscriptions go too.
func (s *stand) deleted(t *testing.T) {
	name := s.names[removed]
	for _, obj := range []client.Object{&metalv1.BMC{ObjectMeta: named(name)}, &metalv1.BMCSecret{ObjectMeta: named(name)}} {
		if err := s.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		until(t, name+" is gone", func() string {
			if err := s.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); !apierrors.IsNotFound(err) {
				return fmt.Sprintf("it is not: %v, finalizers %v", err, obj.GetFinalizers())
			}
			return ""
		})
	}
	until(t, "its server is gone", func() string {
		if err := s.Get(t.Context(), client.ObjectKey{Name: s.serverName(removed)}, &metalv1.Server{}); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("it is not: %v", err)
		}
		return ""
	})
	until(t, "its connection is closed", func() string {
		if stats := s.Stats(removed); stats.OpenConnections != 0 {
			_, observed := s.fleet.Observe(s.key(removed))
			return fmt.Sprintf("%+v, with the fleet: %t", stats, observed)
		}
		return ""
	})
}
