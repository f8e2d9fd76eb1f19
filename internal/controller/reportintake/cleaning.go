package reportintake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// cleaning stores what an agent reports that was booted to clean. First it tells who it is and what it
// can do; the answer to that orders it to clean. Then it tells what became of each disk, and
// that is the record on which the server is handed out again.
func (i *Intake) cleaning(ctx context.Context, server *metalv1.Server, a *bootattempt.Attempt, r inspection.Registration) error {
	// Whoever is answered may be told to wipe, so what a cache shows is not enough.
	var now metalv1.Server
	if err := i.APIReader.Get(ctx, client.ObjectKeyFromObject(server), &now); err != nil {
		return fmt.Errorf("read the state of Server %q: %w", server.Name, err)
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
		return fmt.Errorf("system %s: %w: its cleanup is on record already", r.SystemUUID, ErrNoAttempt)
	case done:
		return nil // an agent that did not hear the answer asks again
	}
	return i.judge(ctx, &now, a, owner, r)
}

// judge matches the disks of a report with what is known of the machine. Before the wipe the report becomes the inspection on record, and the
// wipe is ordered; after it, what became of each disk is the record. A report that does not fit is on record too: as a
// cleanup that failed, so that the server stays dirty until a person has looked.
func (i *Intake) judge(ctx context.Context, server *metalv1.Server, a *bootattempt.Attempt, owner string, r inspection.Registration) error {
	known, registered, err := i.known(ctx, server, a.ID)
	if err != nil {
		return err
	}
	matched, missing := machinerecord.Match(known, r.Data.Storage)
	made := machinerecord.Cleanup{
		Server: server.Name, Claim: owner, Attempt: a.ID, Mode: a.Clean, Started: *a.Started, Ended: i.Clock.Now().UTC(), Disks: r.Data.Cleanup, Matched: matched,
	}
	switch {
	case len(missing) > 0:
		made.Outcome, made.Summary = machinerecord.NotClean, machinerecord.Missing(missing)
		i.raise(server, alarm.ReasonDisksDiffer, made)
	case r.Data.Cleanup == nil:
		return i.store(ctx, server, r)
	case !registered:
		return fmt.Errorf("system %s: %w: it reports a wipe but has not registered", r.SystemUUID, ErrNoAttempt)
	case r.Contested != "":
		made.Outcome = machinerecord.NotClean
		made.Summary = fmt.Sprintf("%s asked for this boot too, and it is unknown which of the two is the machine (--boot-identity)", r.Contested)
		i.raise(server, alarm.ReasonContested, made)
	default:
		made.Outcome, made.Summary = machinerecord.Judge(a.Clean, r.Data.Cleanup, slices.Concat(known.Inspected, r.Data.Storage), hasDisks(server))
	}
	if err := machinerecord.PutCleanup(ctx, i.Client, i.APIReader, i.Namespace, made); err != nil {
		return fmt.Errorf("store the cleanup of Server %q: %w", server.Name, err)
	}
	if r.Data.Cleanup == nil { // nobody is told to wipe disks that are not those of this machine
		return fmt.Errorf("system %s: %w: %s", r.SystemUUID, ErrNoAttempt, made.Summary)
	}
	return nil
}

func (i *Intake) raise(server *metalv1.Server, reason string, made machinerecord.Cleanup) {
	if i.Alarms != nil {
		i.Alarms.Raise(server.Name, alarm.Alarm{Reason: reason, Message: made.Summary, Attempt: made.Attempt, At: made.Ended})
	}
}

// maxInspection bounds an inspection when it is unpacked: what a boot server lets through, and some.
const maxInspection = 8 << 20

// known is what is known of the disks of a server, and whether its machine has registered in an attempt.
func (i *Intake) known(ctx context.Context, server *metalv1.Server, attemptID string) (known machinerecord.Known, registered bool, err error) {
	for s := range server.Status.Storages {
		for _, drive := range server.Status.Storages[s].Drives {
			if drive.SerialNumber != "" {
				known.Drives = append(known.Drives, drive.SerialNumber)
			}
		}
	}
	for serial := range strings.SplitSeq(server.Annotations[metalv1.AnnotationDisksRemoved], ",") {
		if serial = strings.TrimSpace(serial); serial != "" {
			known.Removed = append(known.Removed, serial)
		}
	}
	var obj corev1.ConfigMap
	err = i.APIReader.Get(ctx, client.ObjectKey{Namespace: i.Namespace, Name: machinerecord.InspectionName(server.Name)}, &obj)
	if apierrors.IsNotFound(err) {
		return known, false, nil
	} else if err != nil {
		return known, false, fmt.Errorf("inspection of Server %q: %w", server.Name, err)
	}
	before, err := inspection.Unpack(obj.BinaryData[machinerecord.Key], maxInspection)
	if err != nil {
		return known, false, fmt.Errorf("inspection of Server %q: %w", server.Name, err)
	}
	known.Inspected = before.Data.Storage
	return known, before.Attempt == attemptID, nil
}

// cleaned reports whether the cleanup of an attempt is on record.
func (i *Intake) cleaned(ctx context.Context, server, owner, attemptID string) (bool, error) {
	obj := machinerecord.New(i.Namespace, machinerecord.CleanupName(server, owner), machinerecord.KindCleanup, server, "", nil)
	err := i.APIReader.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && obj.Annotations[machinerecord.AnnotationAttempt] == attemptID, err
}

func tainted(s *metalv1.Server) bool {
	for _, t := range s.Spec.Taints {
		if t.Key == metalv1.TaintNotClean {
			return true
		}
	}
	return false
}

// hasDisks reports whether the BMC knows of any.
func hasDisks(s *metalv1.Server) bool {
	for i := range s.Status.Storages {
		if len(s.Status.Storages[i].Drives) > 0 {
			return true
		}
	}
	return false
}
