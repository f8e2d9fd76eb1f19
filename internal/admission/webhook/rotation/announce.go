package rotation

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Configurations is the name of both webhook configurations of an installation without a filter, and Service that of the Service to which they lead (config/webhook).
	Configurations = "farrier"
	Service        = "farrier-webhook"
	// role is what lets a manager write there (config/manager).
	role = "farrier-manager-webhooks"
	// injected is the annotation by which cert-manager fills in authorities.
	injected = "cert-manager.io/inject-ca-from"
)

// configuration is a webhook configuration, as far as it matters here.
type configuration struct {
	client.Object
	// kind is what an error calls it.
	kind string
	// clients are where its webhooks are.
	clients func() []*admissionregistrationv1.WebhookClientConfig
}

// configurations are both, without content.
func configurations() []*configuration {
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	return []*configuration{
		{mutating, "MutatingWebhookConfiguration", func() (all []*admissionregistrationv1.WebhookClientConfig) {
			for i := range mutating.Webhooks {
				all = append(all, &mutating.Webhooks[i].ClientConfig)
			}
			return all
		}},
		{validating, "ValidatingWebhookConfiguration", func() (all []*admissionregistrationv1.WebhookClientConfig) {
			for i := range validating.Webhooks {
				all = append(all, &validating.Webhooks[i].ClientConfig)
			}
			return all
		}},
	}
}

// find reads the webhook configurations that are there and lead to this installation. Its error names those that do not.
func (k *Keeper) find(ctx context.Context) (found []*configuration, err error) {
	var errs []error
	for _, c := range configurations() {
		if err := k.api.Get(ctx, client.ObjectKey{Name: k.configurations}, c.Object); err != nil {
			errs = append(errs, c.failed(k.configurations, client.IgnoreNotFound(err)))
			continue
		}
		switch {
		case c.GetAnnotations()[injected] != "":
			errs = append(errs, fmt.Errorf("%s %s: has the annotation %s: remove it, or give --webhook-cert-file", c.kind, k.configurations, injected))
		case len(k.ours(c)) == 0:
			errs = append(errs, fmt.Errorf("%s %s: no webhook leads to the Service %s/%s", c.kind, k.configurations, k.namespace, Service))
		default:
			found = append(found, c)
		}
	}
	return found, errors.Join(errs...)
}

// ours are the webhooks of a configuration that lead to this installation.
func (k *Keeper) ours(c *configuration) (ours []*admissionregistrationv1.WebhookClientConfig) {
	for _, at := range c.clients() {
		if at.Service != nil && at.Service.Namespace == k.namespace && at.Service.Name == Service {
			ours = append(ours, at)
		}
	}
	return ours
}

// has reports whether API servers verify by these authorities.
func (k *Keeper) has(found []*configuration, bundle []byte) bool {
	for _, c := range found {
		for _, at := range k.ours(c) {
			if !bytes.Equal(at.CABundle, bundle) {
				return false
			}
		}
	}
	return true
}

// announce has API servers verify by these authorities. It changes nothing else of a configuration, and no other webhook in it.
func (k *Keeper) announce(ctx context.Context, found []*configuration, bundle []byte) error {
	var errs []error
	for _, c := range found {
		if k.has([]*configuration{c}, bundle) {
			continue
		}
		before := c.DeepCopyObject().(client.Object)
		for _, at := range k.ours(c) {
			at.CABundle = bundle
		}
		// By name of the webhook: a list in a merge patch would replace fields that this program does not know.
		if err := k.api.Patch(ctx, c.Object, client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})); err != nil {
			errs = append(errs, c.failed(k.configurations, err))
		}
	}
	return errors.Join(errs...)
}

// failed says what could not be done, and which right is missing.
func (c *configuration) failed(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s %s: bind the role %s to the manager: %w", c.kind, name, role, err)
	}
	return fmt.Errorf("%s %s: %w", c.kind, name, err)
}
