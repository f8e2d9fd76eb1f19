package dashboard

import (
	"context"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// logbook reads the logbook of a Server, for those who may read it at the operator address.
func (d *Dashboard) logbook(s *session) func(context.Context, string) ([]logbook.Entry, error) {
	return func(ctx context.Context, server string) ([]logbook.Entry, error) {
		if err := d.mayRead(ctx, s, operator.PathLogbook+server); err != nil {
			return nil, err
		}
		return d.Operator.Entries(ctx, server)
	}
}

// cached lists what the cache of images has, for those who may list all boot configurations: it names the images of all of them.
func (d *Dashboard) cached(s *session) func(context.Context) ([]CachedImage, error) {
	if d.Cached == nil {
		return nil
	}
	return func(ctx context.Context) ([]CachedImage, error) {
		needs := action{verb: "list", group: metalv1.GroupVersion.Group, resource: "serverbootconfigurations"}
		allowed, err := d.may(ctx, s, needs)
		switch {
		case err != nil:
			return nil, err
		case !allowed:
			return nil, missing(s, needs)
		}
		return d.Options.Cached(), nil
	}
}
