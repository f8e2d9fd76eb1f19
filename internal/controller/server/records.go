package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// keptCleanups is how many records of cleanups are kept of each server.
const keptCleanups = 5

// gatherRecords reads what the objects of record say of themselves. That a server is clean is not
// believed of a cache that may lag: its disks would be the next user's.
func (r *Reconciler) gatherRecords(ctx context.Context, v *View) error {
	reader := client.Reader(r)
	if id, _ := v.held(); id != "" {
		reader = r.APIReader // that nobody has registered is what a machine is switched off for
	}
	inspected, err := r.recordMeta(ctx, reader, machinerecord.InspectionName(v.Server.Name))
	if err != nil {
		return err
	}
	v.Inspected = inspected.Annotations[machinerecord.AnnotationAttempt]
	v.InspectedAt = inspected.CreationTimestamp.Time
	v.Told = identity.MachineUUID(inspected.Annotations[machinerecord.AnnotationSystemUUID])
	if err := r.gatherNamesake(ctx, v); err != nil {
		return err
	}
	for word := range strings.SplitSeq(inspected.Annotations[machinerecord.AnnotationCapabilities], ",") {
		if word != "" {
			v.Capabilities = append(v.Capabilities, inspection.Capability(word))
		}
	}
	owner := v.claimedBy()
	if owner == "" {
		return nil
	}
	for _, reader := range []client.Reader{r, r.APIReader} {
		cleaned, err := r.recordMeta(ctx, reader, machinerecord.CleanupName(v.Server.Name, owner))
		if err != nil {
			return err
		}
		if v.Cleaned = nil; cleaned.Name == "" {
			return nil
		}
		meta := machinerecord.CleanupMetaOf(cleaned)
		v.Cleaned = &meta
	}
	return nil
}

// recordMeta is the metadata of an object of record; it is empty where there is none.
func (r *Reconciler) recordMeta(ctx context.Context, from client.Reader, name string) (*metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if err := from.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: name}, meta); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("object of record %s: %w", name, err)
	} else if err != nil {
		return &metav1.PartialObjectMetadata{}, nil
	}
	return meta, nil
}

// keepRecords writes, deletes and prunes the records of cleanups.
func (r *Reconciler) keepRecords(ctx context.Context, v *View, p *Plan) error {
	if p.Record != nil {
		if err := machinerecord.PutCleanup(ctx, r.Client, r.APIReader, r.Namespace, *p.Record); err != nil {
			return fmt.Errorf("write the record of the cleanup: %w", err)
		}
	}
	if p.Forget {
		obj := &corev1.ConfigMap{}
		obj.Namespace, obj.Name = r.Namespace, machinerecord.CleanupName(v.Server.Name, v.claimedBy())
		if err := client.IgnoreNotFound(r.Delete(ctx, obj)); err != nil {
			return fmt.Errorf("delete the record of an earlier cleanup: %w", err)
		}
	}
	if p.Prune {
		return r.prune(ctx, v)
	}
	return nil
}

// prune deletes the oldest records of the cleanups of a server, but for the newest few.
func (r *Reconciler) prune(ctx context.Context, v *View) error {
	records, err := r.cleanups(ctx, v.Server.Name)
	if err != nil {
		return err
	}
	for i := keptCleanups; i < len(records); i++ {
		old := &records[i]
		if old.Name == machinerecord.CleanupName(v.Server.Name, v.claimedBy()) {
			continue
		}
		if err := client.IgnoreNotFound(r.Delete(ctx, old)); err != nil {
			return fmt.Errorf("delete an old record: %w", err)
		}
	}
	return nil
}

// cleanups are the records of the cleanups of a server, the newest first.
func (r *Reconciler) cleanups(ctx context.Context, server string) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := r.List(ctx, list, client.InNamespace(r.Namespace), client.MatchingFields{index.CleanupByServer: server}); err != nil {
		return nil, fmt.Errorf("records of cleanups: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b metav1.PartialObjectMetadata) int {
		if n := b.CreationTimestamp.Compare(a.CreationTimestamp.Time); n != 0 {
			return n
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list.Items, nil
}
