package rotation

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SecretName is the Secret in the manager's namespace that has the certificate and its authorities.
const SecretName = "farrier-webhook-ca"

const (
	// interval is how often a manager looks at the Secret and the configurations. People wait for that after an installation.
	interval = 10 * time.Second
	// timeout bounds one look.
	timeout = 30 * time.Second
	// conflicts is how often a manager looks again at once because another was faster.
	conflicts = 5
)

// Keeper keeps the certificate of the webhooks up to date, for one manager. It is safe for concurrent use.
type Keeper struct {
	api       client.Client
	namespace string
	// configurations is the name of both webhook configurations.
	configurations string

	clock  clock.WithTicker
	logger logr.Logger

	shown atomic.Pointer[tls.Certificate]
	said  string // what was wrong at the last look, to be said once
}

// New makes a Keeper. api must not read from a cache: what it reads decides what it writes. configurations is the name of both webhook configurations.
func New(api client.Client, namespace, configurations string, now clock.WithTicker, logger logr.Logger) *Keeper {
	return &Keeper{api: api, namespace: namespace, configurations: configurations, clock: now, logger: logger}
}

// Name is the DNS name under which API servers ask the managers of a namespace.
func Name(namespace string) string { return Service + "." + namespace + ".svc" }

// GetCertificate is for tls.Config.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if shown := k.shown.Load(); shown != nil {
		return shown, nil
	}
	return nil, errors.New("no certificate of the webhooks yet")
}

// Start keeps the certificate up to date until ctx ends. What fails is logged and tried again.
func (k *Keeper) Start(ctx context.Context) error {
	tick := k.clock.NewTicker(interval)
	defer tick.Stop()
	for {
		k.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
		}
	}
}

// look is one step, and says what was wrong with it unless that was said before.
func (k *Keeper) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := k.step(ctx)
	switch {
	case err == nil:
		k.said = ""
	case errors.Is(err, context.Canceled):
	case err.Error() != k.said:
		k.said = err.Error()
		k.logger.Info("certificate of the webhooks not kept up to date, trying again", "error", err)
	}
}

// step brings the Secret, the configurations and what is shown to what they should be now.
func (k *Keeper) step(ctx context.Context) error {
	var err error
	for range conflicts {
		var found []*configuration
		found, unread := k.find(ctx)
		var m *material
		if m, err = k.agree(ctx, unread == nil, found); apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			continue // another manager was faster
		}
		if err != nil {
			return err
		}
		err = errors.Join(unread, k.announce(ctx, found, m.trusted()))
		// After the announcement, so that nobody is shown a certificate that he cannot verify yet.
		k.show(m.serving)
		if apierrors.IsConflict(err) {
			continue
		}
		return err
	}
	return fmt.Errorf("others change it all the time: %w", err)
}

// agree reads what managers share, and writes what has to change.
func (k *Keeper) agree(ctx context.Context, allRead bool, found []*configuration) (*material, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: SecretName}}
	err := k.api.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	exists := !apierrors.IsNotFound(err)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("Secret %s/%s: %w", k.namespace, SecretName, err)
	}
	f := facts{name: Name(k.namespace), now: k.clock.Now()}
	if exists {
		if f.material, err = read(secret.Data); err != nil {
			k.logger.Info("certificate of the webhooks cannot be used, making another", "error", err)
			f.material = nil
		}
	}
	f.announced = allRead && f.material != nil && k.has(found, f.material.trusted())
	m, done, err := evolve(f)
	if err != nil {
		return nil, err
	}
	data, err := m.data()
	if err != nil {
		return nil, err
	}
	if exists && same(data, secret.Data) {
		return m, nil
	}
	secret.Data = data
	if !exists {
		secret.Type = corev1.SecretTypeTLS
		err = k.api.Create(ctx, secret)
	} else {
		err = k.api.Update(ctx, secret) // refused if it has changed since
	}
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s: %w", k.namespace, SecretName, err)
	}
	for _, c := range done {
		k.logger.V(1).Info("certificate of the webhooks changed", "reason", string(c))
	}
	return m, nil
}

// show has new connections be shown a certificate.
func (k *Keeper) show(next *tls.Certificate) {
	before := k.shown.Swap(next)
	if before == nil || !before.Leaf.Equal(next.Leaf) {
		k.logger.Info("webhooks have a new certificate", "expires", next.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
}
