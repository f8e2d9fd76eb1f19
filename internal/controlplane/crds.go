package controlplane

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"

	"github.com/farrier-dev/farrier/internal/controlplane/crds"
)

// InstallCRDs creates the definitions or updates those that differ, and returns when all of them are served.
func InstallCRDs(ctx context.Context, cfg *rest.Config, definitions []*apiextensionsv1.CustomResourceDefinition) error {
	return crds.Install(ctx, cfg, definitions, crds.Options{SingleServer: true})
}
