package registrations_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/bootstream/enroll"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/registrations"
)

const namespace = "farrier-system"

func TestStore(t *testing.T) {
	api := controllertest.NewAPI(t)
	s := &registrations.Store{Client: api, Namespace: namespace}
	if _, found, err := s.Read(t.Context(), "a.example"); found || err != nil {
		t.Errorf("before: %t, %v", found, err)
	}
	if _, err := enroll.NewToken(t.Context(), s, "a.example", "north", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	bind := func(r *enroll.Registration) error {
		r.Key, r.Site = "key-b", "south"
		return nil
	}
	if err := s.Change(t.Context(), "b.example", bind); err != nil {
		t.Fatal(err)
	}
	a, found, err := s.Read(t.Context(), "a.example")
	if err != nil || !found || a.Token == nil || a.Token.Site != "north" || a.Key != "" {
		t.Errorf("%+v, %t, %v", a, found, err)
	}
	no := errors.New("no")
	if err := s.Change(t.Context(), "b.example", func(r *enroll.Registration) error { r.Key = "other"; return no }); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	var secret corev1.Secret
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: registrations.SecretName}, &secret); err != nil {
		t.Fatal(err)
	}
	secret.Data["broken.example"] = []byte("{")
	table, errs := registrations.Table(&secret)
	if diff := cmp.Diff(peer.Table{"b.example": {Site: "south", Key: "key-b"}}, table); diff != "" || len(errs) != 1 {
		t.Errorf("%v (-want +got):\n%s", errs, diff)
	}
}

// TestChangesOfTwo: a change that loses against another one sees what that has written.
func TestChangesOfTwo(t *testing.T) {
	s := &registrations.Store{Client: controllertest.NewAPI(t), Namespace: namespace}
	bind := func(key string) func(*enroll.Registration) error {
		return func(r *enroll.Registration) error { r.Key += key; return nil }
	}
	if err := s.Change(t.Context(), "a.example", bind("1")); err != nil {
		t.Fatal(err)
	}
	var seen []string
	err := s.Change(t.Context(), "a.example", func(r *enroll.Registration) error {
		seen = append(seen, r.Key)
		if len(seen) == 1 {
			if err := s.Change(t.Context(), "a.example", bind("2")); err != nil {
				return err
			}
		}
		return bind("3")(r)
	})
	got, _, _ := s.Read(t.Context(), "a.example")
	if diff := cmp.Diff([]string{"1", "12"}, seen); err != nil || diff != "" || got.Key != "123" {
		t.Errorf("%v, %q (-want +got):\n%s", err, got.Key, diff)
	}
}
