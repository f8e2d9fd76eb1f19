package overview

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Gather reads all objects. Servers are required; what else the user may not list is named in missing.
func Gather(ctx context.Context, api client.Reader) (o *Objects, missing []string, err error) {
	var servers metalv1.ServerList
	if err := api.List(ctx, &servers); err != nil {
		return nil, nil, fmt.Errorf("--kubeconfig: list Servers: %w", err)
	}
	var claims metalv1.ServerClaimList
	var boots metalv1.ServerBootConfigurationList
	var bmcs metalv1.BMCList
	var endpoints metalv1.EndpointList
	var failed []error
	for _, kind := range []struct {
		name string
		list client.ObjectList
	}{{"ServerClaims", &claims}, {"ServerBootConfigurations", &boots}, {"BMCs", &bmcs}, {"Endpoints", &endpoints}} {
		switch err := api.List(ctx, kind.list); {
		case apierrors.IsForbidden(err):
			missing = append(missing, forbidden(kind.name))
		case err != nil:
			failed = append(failed, fmt.Errorf("--kubeconfig: list %s: %w", kind.name, err))
		}
	}
	return &Objects{servers.Items, claims.Items, boots.Items, bmcs.Items, endpoints.Items}, missing, errors.Join(failed...)
}
