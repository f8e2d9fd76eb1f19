package dashboard

import (
	"context"

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
