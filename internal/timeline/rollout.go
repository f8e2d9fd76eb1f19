package timeline

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/childset"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
)

// rollouts tells of the changes that go by a RolloutPolicy and concern the server: at which wave they are and since when, and since when the server's turn
// was. It returns what they have for it.
func (s Source) rollouts(ctx context.Context, t *Timeline, server *metalv1.Server) (objects []about) {
	var policies farrierv1.RolloutPolicyList
	if err := s.API.List(ctx, &policies); err != nil {
		if !apimeta.IsNoMatchError(err) && !apierrors.IsNotFound(err) { // an API of an earlier version has none
			t.Missing = append(t.Missing, fmt.Sprintf("RolloutPolicies: %v", err))
		}
		return nil
	}
	bmc := ""
	if ref := server.Spec.BMCRef; ref != nil {
		bmc = ref.Name
	}
	for i := range policies.Items {
		for _, r := range policies.Items[i].Status.Rollouts {
			child, err := childset.Look(ctx, s.API, r.Kind, r.Name, server.Name, bmc)
			switch {
			case err != nil:
				t.Missing = append(t.Missing, fmt.Sprintf("%s %s: %v", r.Kind, r.Name, err))
			case child != nil:
				o := about{Object: child.Object, kind: child.Kind, conditions: child.Conditions}
				t.wave(r)
				t.permit(o)
				objects = append(objects, o)
			}
		}
	}
	return objects
}

// wave tells how the rollout as a whole stands.
func (t *Timeline) wave(r farrierv1.Rollout) {
	if r.Since == nil {
		return
	}
	detail := r.Reason
	if r.Message != "" {
		detail += ", " + r.Message
	}
	t.Entries = append(t.Entries, Entry{
		Time: r.Since.Time, Kind: KindRollout, What: fmt.Sprintf("wave %d of %d", r.Wave, r.Waves), Object: r.Kind + " " + r.Name,
		Detail: fmt.Sprintf("%s; %d wait, %d in progress, %d done, %d failed", detail, r.Waiting, r.InProgress, r.Completed, r.Failed), Bad: r.Failed > 0,
	})
}

// permit tells when the turn of one target began and ended.
func (t *Timeline) permit(o about) {
	p := rolloutpermit.Of(o)
	if p == nil {
		return
	}
	for _, step := range []struct {
		at           time.Time
		what, detail string
	}{{p.Begun, "turn begins", ""}, {p.Changed, "change complete", ""}, {p.Returned, "comes to the gates of its wave", ""}, {p.Ended, "turn ends", p.Failure}} {
		if !step.at.IsZero() {
			t.Entries = append(t.Entries, Entry{Time: step.at, Kind: KindRollout, What: step.what, Object: o.String(), Detail: step.detail, Bad: step.detail != ""})
		}
	}
}
