package report

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/attempt"
	"github.com/farrier-dev/farrier/internal/controller/record"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// cleaning stores what an agent reports that was booted to clean. First it tells who it is and what it
// can do; the answer to that orders it to clean. Then it tells what became of each disk, and
// that is the record on which the server is handed out again.
func (i *Intake) cleaning(ctx context.Context, server *metalv1.Server, a *attempt.Attempt, r inspection.Registration) error {
	// Whoever is answered may be told to wipe, so what a cache shows is not enough.
	var now metalv1.Server
	if err := i.APIReader.Get(ctx, client.ObjectKeyFromObject(server), &now); err != nil {
		return fmt.Errorf("is Server %q in Cleanup: %w", server.Name, err)
	}
	owner := now.Annotations[metalv1.AnnotationClaimedBy]
	if owner == "" || now.UID != server.UID || now.Spec.ServerClaimRef != nil || tainted(&now) {
		return fmt.Errorf("system %s: %w: Server %q is not in Cleanup", r.SystemUUID, ErrNoAttempt, server.Name)
	}
	if now.Annotations[metalv1.AnnotationCleanupHeld] != "" && r.Data.Cleanup == nil {
		return fmt.Errorf("system %s: %w: the probe of Server %q is about to be booted again", r.SystemUUID, ErrNoAttempt, server.Name)
	}
	done, err := i.cleaned(ctx, server.Name, owner, a.ID)
	switch {
	case err != nil:
		return err
	case done && r.Data.Cleanup == nil:
		return fmt.Errorf("system %s: %w: it has cleaned already", r.SystemUUID, ErrNoAttempt)
	case done:
		return nil // an agent that did not hear the answer asks again
	case r.Data.Cleanup == nil:
		return i.store(ctx, server, r)
	}
	made := record.Cleanup{
		Server: server.Name, Claim: owner, Attempt: a.ID, Mode: a.Clean, Started: *a.Ordered, Ended: i.Clock.Now().UTC(), Disks: r.Data.Cleanup,
	}
	if a.Started != nil {
		made.Started = *a.Started
	}
	made.Outcome, made.Summary = record.Judge(a.Clean, r.Data.Cleanup, r.Data.Storage, hasDisks(&now))
	if err := record.PutCleanup(ctx, i.Client, i.APIReader, i.Namespace, made); err != nil {
		return fmt.Errorf("store the cleanup of Server %q: %w", server.Name, err)
	}
	return nil
}

// cleaned says whether the cleanup of an attempt is on record.
func (i *Intake) cleaned(ctx context.Context, server, owner, attemptID string) (bool, error) {
	obj := record.New(i.Namespace, record.CleanupName(server, owner), record.KindCleanup, server, "", nil)
	err := i.APIReader.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && obj.Annotations[record.AnnotationAttempt] == attemptID, err
}

func tainted(s *metalv1.Server) bool {
	for _, t := range s.Spec.Taints {
		if t.Key == metalv1.TaintNotClean {
			return true
		}
	}
	return false
}

// hasDisks says whether the BMC knows of any.
func hasDisks(s *metalv1.Server) bool {
	for i := range s.Status.Storages {
		if len(s.Status.Storages[i].Drives) > 0 {
			return true
		}
	}
	return false
}
