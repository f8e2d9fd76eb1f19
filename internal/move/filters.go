package move

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// checkFilters refuses a source with objects of an installation that has a filter: a move pauses the one without, and would take objects from another
// one that acts on them.
func (m *mover) checkFilters(ctx context.Context) error {
	for _, k := range m.kinds {
		if k.core() {
			continue
		}
		var l metav1.PartialObjectMetadataList
		l.SetGroupVersionKind(k.GroupVersion().WithKind(k.Kind + "List"))
		if err := m.Source.List(ctx, &l, client.HasLabels{metalv1.LabelWatchFilter}, client.Limit(1)); err != nil {
			return fmt.Errorf("%s: list %s: %w", m.Source.Name, k, err)
		}
		if len(l.Items) > 0 {
			return fmt.Errorf("%s: %s %s has the label %s: only an installation without --watch-filter can be moved, from a cluster that has no other",
				m.Source.Name, k.Kind, l.Items[0].Name, metalv1.LabelWatchFilter)
		}
	}
	return nil
}
