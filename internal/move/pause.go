package move

import (
	"context"
	"fmt"
	"math"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/controller/leadership"
)

const (
	// AnnotationMovedTo is on the Leases of a source, from its pause on. It names the target, by the UID of the manager's namespace there.
	AnnotationMovedTo = "farrier.dev/moved-to"
	// AnnotationMovedFrom is on the Leases of a target while something is moved to it, and names the source in the same way. On a copy it is the UID of the
	// original.
	AnnotationMovedFrom = "farrier.dev/moved-from"
	// AnnotationPhase, on the Lease of a source, says how far the move has come.
	AnnotationPhase = "farrier.dev/move-phase"
	// phaseCopied is a value of AnnotationPhase: everything has been copied and verified, so that originals may be deleted.
	phaseCopied = "Copied"

	releaseTimeout = 30 * time.Second
)

var leaseNames = []string{leadership.Lease, leadership.BootLease}

// checkPauses refuses a side that somebody else has paused.
func (m *mover) checkPauses(ctx context.Context) error {
	for _, name := range leaseNames {
		source, err := m.lease(ctx, m.Source, name)
		if err != nil {
			return err
		}
		target, err := m.lease(ctx, m.Target, name)
		if err != nil {
			return err
		}
		if to := source.Annotations[AnnotationMovedTo]; paused(source) && to != m.targetID {
			return fmt.Errorf("%s: paused, and not by a move to %s: finish that first, or release the Leases %s and %s in namespace %s",
				m.Source.Name, m.Target.Name, leadership.Lease, leadership.BootLease, m.Namespace)
		}
		// A target that was moved away from once is paused for that. It may be moved back to.
		if from, to := target.Annotations[AnnotationMovedFrom], target.Annotations[AnnotationMovedTo]; paused(target) && from != m.sourceID && to != m.sourceID {
			return fmt.Errorf("%s: paused, and not by a move from %s: finish that first, or release the Leases %s and %s in namespace %s",
				m.Target.Name, m.Source.Name, leadership.Lease, leadership.BootLease, m.Namespace)
		}
		m.copied = m.copied || paused(source) && source.Annotations[AnnotationPhase] == phaseCopied
	}
	return nil
}

// pause takes the Leases of both sides, and returns when nobody acts any more.
func (m *mover) pause(ctx context.Context) error {
	m.Say("pausing both sides")
	for _, name := range leaseNames {
		if err := m.take(ctx, m.Source, name, AnnotationMovedTo, m.targetID); err != nil {
			return err
		}
		if err := m.take(ctx, m.Target, name, AnnotationMovedFrom, m.sourceID); err != nil {
			return err
		}
	}
	// Who acts learns of it when he renews the Lease, and has stopped when it would have run out.
	return m.Pause(ctx)
}

// take takes one Lease for good. Whoever held it cannot renew it, and whoever waits for it sees one that does not run out.
func (m *mover) take(ctx context.Context, side Side, name, annotation, peer string) error {
	for {
		lease, err := m.lease(ctx, side, name)
		if err != nil {
			return err
		}
		if paused(lease) && lease.Annotations[annotation] == peer {
			return nil
		}
		now := metav1.NowMicro()
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, annotation, peer)
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To(leadership.Pause), ptr.To[int32](math.MaxInt32)
		lease.Spec.AcquireTime, lease.Spec.RenewTime = &now, &now
		lease.Spec.LeaseTransitions = ptr.To(ptr.Deref(lease.Spec.LeaseTransitions, 0) + 1)
		if err := m.write(ctx, side, lease); !again(err) {
			return err
		}
	}
}

// unpauseBoth lets both sides act again, as before the move. A target that was paused because everything had been moved away from it stays paused.
func (m *mover) unpauseBoth(ctx context.Context) error {
	for _, name := range leaseNames {
		target, err := m.lease(ctx, m.Target, name)
		if err != nil {
			return err
		}
		if target.Annotations[AnnotationMovedTo] != "" {
			continue
		}
		if err := m.release(ctx, m.Target, name); err != nil {
			return err
		}
	}
	for _, name := range leaseNames {
		if err := m.release(ctx, m.Source, name); err != nil {
			return err
		}
	}
	return nil
}

// unpauseTarget lets the target act.
func (m *mover) unpauseTarget(ctx context.Context) error {
	for _, name := range leaseNames {
		if err := m.release(ctx, m.Target, name); err != nil {
			return err
		}
	}
	return nil
}

func (m *mover) release(ctx context.Context, side Side, name string) error {
	for {
		lease, err := m.lease(ctx, side, name)
		if err != nil || !paused(lease) {
			return err
		}
		now := metav1.NowMicro()
		for _, key := range []string{AnnotationMovedFrom, AnnotationMovedTo, AnnotationPhase} {
			delete(lease.Annotations, key)
		}
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = ptr.To(""), ptr.To[int32](1), &now
		if err := m.write(ctx, side, lease); !again(err) {
			return err
		}
	}
}

// markCopied writes down that originals may be deleted, before the first is.
func (m *mover) markCopied(ctx context.Context) error {
	for !m.copied {
		lease, err := m.lease(ctx, m.Source, leadership.Lease)
		if err != nil {
			return err
		}
		if !paused(lease) || lease.Annotations[AnnotationMovedTo] != m.targetID {
			return fmt.Errorf("%s: somebody has released the Lease %s during the move", m.Source.Name, leadership.Lease)
		}
		lease.Annotations[AnnotationPhase] = phaseCopied
		err = m.write(ctx, m.Source, lease)
		if err != nil && !again(err) {
			return err
		}
		m.copied = err == nil
	}
	return nil
}

// lease reads a Lease; one that does not exist has no resource version.
func (m *mover) lease(ctx context.Context, side Side, name string) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	err := side.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: name}, lease)
	if apierrors.IsNotFound(err) {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: name}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: read the Lease %s: %w", side.Name, name, err)
	}
	return lease, nil
}

func (m *mover) write(ctx context.Context, side Side, lease *coordinationv1.Lease) error {
	var err error
	if lease.ResourceVersion == "" {
		err = side.Create(ctx, lease, client.FieldOwner(fieldOwner))
	} else {
		err = side.Update(ctx, lease, client.FieldOwner(fieldOwner))
	}
	if err != nil {
		return fmt.Errorf("%s: write the Lease %s: %w", side.Name, lease.Name, err)
	}
	return nil
}

// again reports whether somebody else was faster, so that the object has to be read again.
func again(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

func paused(lease *coordinationv1.Lease) bool {
	return ptr.Deref(lease.Spec.HolderIdentity, "") == leadership.Pause
}
