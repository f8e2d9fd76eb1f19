package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// act carries out a plan. What must survive is written before what it guards is done. If a write fails nothing after it happens, and
// the next reconcile decides again.
func (r *Reconciler) act(ctx context.Context, v *View, p *Plan) error {
	if err := r.write(ctx, v, p); err != nil {
		return err
	}
	if err := r.order(v, p); err != nil {
		return err
	}
	r.deferred.set(v.Server.UID, p.Deferred)
	for _, e := range p.Events {
		events.Send(r.Recorder, v.Server, nil, e.Type, e.Reason, e.Message)
	}
	return nil
}

// write stores what a plan wants remembered.
func (r *Reconciler) write(ctx context.Context, v *View, p *Plan) error {
	if p.Prepare {
		if err := r.prepareInternal(ctx, v, p); err != nil {
			return err
		}
		r.begun.add(v.Server.Name)
	}
	if p.Remove {
		if err := r.removeInternal(ctx, v.Server, true); err != nil {
			return err
		}
	}
	if err := r.keepRecords(ctx, v, p); err != nil {
		return err
	}
	if err := r.writeEdits(ctx, v, p); err != nil {
		return err
	}
	if p.Attempt == nil {
		return nil
	}
	return r.writeAttempt(ctx, v, p)
}

// writeEdits patches spec and annotations of the server, and keeps the memory of resets in step.
func (r *Reconciler) writeEdits(ctx context.Context, v *View, p *Plan) error {
	if len(p.Edits) == 0 {
		return nil
	}
	if p.Reset.Begin != "" {
		r.resets.set(v.Server.UID, p.Reset.Begin) // before anybody can read the mark
	}
	before := v.Server.DeepCopy()
	apply(v.Server, p.Edits)
	if err := r.patch(ctx, v.Server, before); err != nil {
		return fmt.Errorf("write spec and annotations: %w", err)
	}
	if p.Reset.End {
		r.resets.set(v.Server.UID, "")
		r.ordered.set(v.Server.UID, "")
	}
	return nil
}

// order gives commands and jobs to the BMC's actor.
func (r *Reconciler) order(v *View, p *Plan) error {
	if p.Defaults != "" {
		if err := r.Fleet.Do(v.Key, defaultsJob(p.Defaults, v.System.URI, account(v.Server))); err != nil {
			return fmt.Errorf("submit the restore of the BIOS defaults: %w", err)
		}
	}
	if p.Command != nil {
		if err := r.submit(v.Key, account(v.Server), *p.Command); err != nil {
			return err
		}
		if p.Reset.Order != "" {
			r.ordered.set(v.Server.UID, p.Reset.Order)
		}
	}
	for _, cmd := range p.Settings {
		cmd.Account = account(v.Server)
		if err := r.Fleet.Submit(v.Key, cmd); err != nil {
			return fmt.Errorf("order %s: %w", cmd.Kind, err)
		}
		if status, known := r.Fleet.Command(v.Key, cmd.ID); known && status.State == fleet.Succeeded && !v.seenSince(&status.End) {
			r.Fleet.PollSoon(v.Key) // the next poll of an idle BMC is minutes away
		}
	}
	return nil
}

// account is whom the requests to a Server's BMC are counted for.
func account(server *metalv1.Server) string {
	return throttle.Account(throttle.KindServer, server.Name)
}

// submit gives a command to the fleet. One that the fleet remembers as ended is meant again: the machine has changed in between.
func (r *Reconciler) submit(key fleet.Key, account string, cmd fleet.Command) error {
	cmd.Account = account
	if old, known := r.Fleet.Command(key, cmd.ID); known && old.State.Ended() {
		cmd.ID = fmt.Sprintf("%s~%d", cmd.ID, old.End.Unix())
	}
	if err := r.Fleet.Submit(key, cmd); err != nil {
		return fmt.Errorf("order %s: %w", cmd.Kind, err)
	}
	return nil
}

// writeAttempt stores the attempt with the boot configuration it belongs to.
func (r *Reconciler) writeAttempt(ctx context.Context, v *View, p *Plan) error {
	before := v.Boot.DeepCopy()
	annotateAttempt(v.Boot, p.Attempt, v.BootImage)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, v.Boot, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return fmt.Errorf("write the boot attempt: %w", err)
	}
	r.wrote(v, v.Boot, p.Attempt)
	return nil
}

// keepRecords writes, deletes and prunes cleanup records.
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

// keptCleanups is the number of cleanup records that are kept of each server.
const keptCleanups = 5

// prune deletes all cleanup records of a server but the newest few.
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

// cleanups are the cleanup records of a server, the newest first.
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

// defaultsJob restores the BIOS defaults.
func defaultsJob(id, system, account string) fleet.Job {
	return fleet.Job{ID: id, Account: account, Run: func(ctx context.Context, s fleet.Services) error {
		bios, err := s.BIOS(ctx, system)
		if err != nil {
			return err
		}
		return s.ResetBIOS(ctx, bios)
	}}
}
