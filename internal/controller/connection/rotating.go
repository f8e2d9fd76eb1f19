package connection

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Rotates reports whether a password is about to be replaced: a BMC may have the new one already, and refuse the old one. Only the controller of
// BMCs then knows which to ask with, for accounts lock.
func (s Secrets) Rotates(ctx context.Context, secret *metalv1.BMCSecret) (bool, error) {
	key, backed := Backing(secret)
	if !backed {
		return len(secret.Data[metalv1.BMCSecretNextPasswordKey]) > 0, nil
	}
	var core corev1.Secret
	if err := s.Reader.Get(ctx, key, &core); err != nil {
		return false, fmt.Errorf("Secret %q: %w", key, err)
	}
	return len(core.Data[metalv1.BMCSecretNextPasswordKey]) > 0, nil
}

// NamedBy returns the name of the BMC object that has a BMCSecret and the BMC at key; empty: there is none.
func NamedBy(ctx context.Context, c client.Reader, secret string, key fleet.Key) (string, error) {
	var bmcs metalv1.BMCList
	if err := c.List(ctx, &bmcs, client.MatchingFields{index.BMCBySecret: secret}); err != nil {
		return "", fmt.Errorf("list the BMCs with BMCSecret %q: %w", secret, err)
	}
	for i := range bmcs.Items {
		address, err := AddressOf(ctx, c, &bmcs.Items[i])
		if err == nil && keyOf(address.IP, bmcs.Items[i].Spec.Protocol) == key {
			return bmcs.Items[i].Name, nil
		}
	}
	return "", nil
}
