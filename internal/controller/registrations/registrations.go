package registrations

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/bootstream/enroll"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
)

// SecretName is the Secret in the manager's namespace.
const SecretName = "farrier-boot-servers"

// Store keeps Registrations in the Secret. Its Client has to read from the API, not from a cache: a token that was used a moment ago must
// not look unused. The resource version of what was read would refuse the write, but not the read before it.
type Store struct {
	Client    client.Client
	Namespace string
}

// Read implements enroll.Store.
func (s *Store) Read(ctx context.Context, name string) (enroll.Registration, bool, error) {
	secret, err := s.get(ctx)
	if apierrors.IsNotFound(err) {
		return enroll.Registration{}, false, nil
	}
	if err != nil {
		return enroll.Registration{}, false, err
	}
	return decode(secret, name)
}

// Change implements enroll.Store. Somebody else's change in between makes it begin again.
func (s *Store) Change(ctx context.Context, name string, change func(*enroll.Registration) error) error {
	retriable := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	return retry.OnError(retry.DefaultBackoff, retriable, func() error { return s.changeOnce(ctx, name, change) })
}

func (s *Store) changeOnce(ctx context.Context, name string, change func(*enroll.Registration) error) error {
	secret, err := s.get(ctx)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return err
	}
	if missing {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: SecretName}}
	}
	r, _, err := decode(secret, name)
	if err != nil {
		return err
	}
	if err := change(&r); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[name] = text
	if missing {
		err = s.Client.Create(ctx, secret)
	} else {
		err = s.Client.Update(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("Secret %s/%s: %w", s.Namespace, SecretName, err)
	}
	return nil
}

func (s *Store) get(ctx context.Context) (*corev1.Secret, error) {
	var secret corev1.Secret
	if err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: SecretName}, &secret); err != nil {
		return nil, fmt.Errorf("Secret %s/%s: %w", s.Namespace, SecretName, err)
	}
	return &secret, nil
}

func decode(secret *corev1.Secret, name string) (r enroll.Registration, found bool, err error) {
	text, found := secret.Data[name]
	if !found {
		return r, false, nil
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, false, fmt.Errorf("Secret %s/%s: key %q: %w", secret.Namespace, secret.Name, name, err)
	}
	return r, true, nil
}

// Table is what the boot stream knows of boot servers that have joined. Keys of the Secret that cannot be read are in the error; the
// others are in the table all the same.
func Table(secret *corev1.Secret) (peer.Table, []error) {
	table, errs := peer.Table{}, []error(nil)
	for name := range secret.Data {
		r, _, err := decode(secret, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if entry, joined := r.Entry(); joined {
			table[name] = entry
		}
	}
	return table, errs
}
