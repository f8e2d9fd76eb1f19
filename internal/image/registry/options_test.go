package registry

import "github.com/farrier-dev/farrier/internal/image/localregistry"

func registryOptions(r *localregistry.Registry) Options {
	return Options{AllowedRegistries: []string{r.Address()}, PlainHTTP: []string{r.Address()}}
}
