package blobcache

import "github.com/farrier-dev/farrier/internal/image/registry"

// Options configures a Cache. A zero field has its default.
type Options struct {
	// Options say how the cache talks to registries. Parallel bounds, for each registry, the downloads of what is needed.
	registry.Options

	// Dir is where the cache keeps blobs. It belongs to this cache alone.
	Dir string
	// MaxBytes bounds what Dir holds. Default: 10 GiB.
	MaxBytes int64
	// Unneeded bounds what is done for what nobody needs.
	Unneeded Budget
}

func (o Options) withDefaults() Options {
	o.Options = o.Options.WithDefaults()
	if o.MaxBytes <= 0 {
		o.MaxBytes = 10 << 30
	}
	o.Unneeded = o.Unneeded.withDefaults(o.MaxBytes)
	return o
}
