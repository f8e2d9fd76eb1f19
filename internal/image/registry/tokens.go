package registry

import (
	"context"
	"sync"

	"oras.land/oras-go/v2/registry/remote/auth"
)

// fewTokens is a cache of registries' tokens that forgets all of them now and then. There is a token for each repository,
// and a stranger can name as many as he likes.
type fewTokens struct {
	mu sync.RWMutex
	auth.Cache
	fetched int
}

// maxTokens is how many are fetched before all are forgotten.
const maxTokens = 64

func (c *fewTokens) now() auth.Cache {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.Cache
}

// GetScheme implements auth.Cache.
func (c *fewTokens) GetScheme(ctx context.Context, registry string) (auth.Scheme, error) {
	return c.now().GetScheme(ctx, registry)
}

// GetToken implements auth.Cache.
func (c *fewTokens) GetToken(ctx context.Context, registry string, scheme auth.Scheme, key string) (string, error) {
	return c.now().GetToken(ctx, registry, scheme, key)
}

// Set implements auth.Cache.
func (c *fewTokens) Set(ctx context.Context, registry string, scheme auth.Scheme, key string, fetch func(context.Context) (string, error)) (string, error) {
	c.mu.Lock()
	if c.fetched++; c.fetched > maxTokens {
		c.Cache, c.fetched = auth.NewCache(), 1
	}
	cache := c.Cache
	c.mu.Unlock()
	return cache.Set(ctx, registry, scheme, key, fetch)
}
