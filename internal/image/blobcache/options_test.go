package blobcache

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

const testDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func registryOptions(r *localregistry.Registry) Options {
	return Options{Options: registry.Options{AllowedRegistries: []string{r.Address()}, PlainHTTP: []string{r.Address()}}}
}

// resolve returns what a resolver finds out about an image.
func resolve(t *testing.T, o registry.Options, request registry.Request) registry.Result {
	t.Helper()
	r, err := registry.NewResolver(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), imagetest.Patience)
	defer cancel()
	found := make(chan struct{}, 1)
	r.Subscribe(func(registry.Request) {
		select {
		case found <- struct{}{}:
		default:
		}
	})
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	result, ok := r.Lookup(request)
	for !ok {
		select {
		case <-found:
			result, ok = r.Lookup(request)
		case <-time.After(imagetest.Patience):
			t.Fatal("nothing was found out")
		}
	}
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	return result
}
