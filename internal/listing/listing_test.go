package listing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/listing"
)

// pages is an API with objects in pages of two, whatever the client wants. From a page on, what it continues has expired.
type pages struct {
	client.Reader
	objects  int
	expired  int
	requests []string
}

func (p *pages) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	p.requests = append(p.requests, fmt.Sprintf("%s limit %d", options.Continue, options.Limit))
	from, to := 0, p.objects
	if options.Limit > 0 {
		if options.Continue != "" {
			if _, err := fmt.Sscan(options.Continue, &from); err != nil {
				return err
			}
		}
		if p.expired > 0 && from >= p.expired {
			return apierrors.NewResourceExpired("The provided continue parameter is too old")
		}
		if to = min(from+2, p.objects); to < p.objects {
			list.SetContinue(fmt.Sprint(to))
		}
	}
	for i := from; i < to; i++ {
		list.(*corev1.SecretList).Items = append(list.(*corev1.SecretList).Items, corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("secret-", i)}})
	}
	return nil
}

// TestAllPages: every object is listed once, also when the API no longer knows what the pages are read from.
func TestAllPages(t *testing.T) {
	for _, test := range []struct{ objects, expired, requests int }{{0, 0, 1}, {2, 0, 1}, {5, 0, 3}, {5, 2, 3}, {5, 4, 4}} {
		api := &pages{objects: test.objects, expired: test.expired}
		found, err := listing.All[*corev1.Secret](t.Context(), api, &corev1.SecretList{})
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, secret := range found {
			names[secret.Name] = true
		}
		if len(found) != test.objects || len(names) != test.objects || len(api.requests) != test.requests {
			t.Errorf("%+v: %d objects, %d names, requests %q", test, len(found), len(names), api.requests)
		}
	}
}

// TestListFails: what the API says arrives, also where it says at once that something has expired.
func TestListFails(t *testing.T) {
	refused := errors.New("refused")
	if _, err := listing.All[*corev1.Secret](t.Context(), failing{refused}, &corev1.SecretList{}); !errors.Is(err, refused) {
		t.Error(err)
	}
	if _, err := listing.All[*corev1.ConfigMap](t.Context(), &pages{objects: 1}, &corev1.SecretList{}); err == nil {
		t.Error("Secrets were listed as ConfigMaps")
	}
}

type failing struct{ error }

func (f failing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return f.error
}

func (f failing) List(context.Context, client.ObjectList, ...client.ListOption) error { return f.error }
