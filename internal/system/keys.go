package system

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/ignition"
)

const (
	// KeysSecret is the Secret in the manager's namespace from which all tokens are derived. It is as old as the installation.
	KeysSecret = "farrier-keys"
	tokenKey   = "boot-token"
)

// keys are the secrets of an installation.
type keys struct{ token []byte }

// ensureKeys reads the keys, and makes them at the first start. They outlive restarts: tokens in the
// scripts of machines that are booting must stay good.
func ensureKeys(ctx context.Context, c client.Client, namespace string) (keys, error) {
	var secret corev1.Secret
	name := client.ObjectKey{Namespace: namespace, Name: KeysSecret}
	err := c.Get(ctx, name, &secret)
	if apierrors.IsNotFound(err) {
		secret = corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: KeysSecret},
			Data:       map[string][]byte{tokenKey: ignition.NewKey()},
		}
		if err = c.Create(ctx, &secret); apierrors.IsAlreadyExists(err) {
			err = c.Get(ctx, name, &secret)
		}
	}
	if err != nil {
		return keys{}, fmt.Errorf("Secret %s: %w", name, err)
	}
	if len(secret.Data[tokenKey]) < 32 {
		return keys{}, fmt.Errorf("Secret %s: key %q must hold at least 32 bytes; delete the Secret to have it made anew", name, tokenKey)
	}
	return keys{token: secret.Data[tokenKey]}, nil
}

// certPool reads a bundle of PEM certificates; no file means the system's.
func certPool(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, errors.New(file + " holds no PEM certificate")
	}
	return pool, nil
}
