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
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// act carries out a plan. What must survive is written before what it guards is
// done; if a write fails nothing after it happens, and the next reconcile
// decides again.
func (r *Reconciler) act(ctx context.Context, v *View, key fleet.Key, p *Plan) error {
	if p.Prepare {
		if err := r.prepareInternal(ctx, v, p); err != nil {
			return err
		}
		r.undertaken.set(v.Server.Name, true)
	}
	if p.Remove {
		if err := r.removeInternal(ctx, v.Server, true); err != nil {
			return err
		}
	}
	if err := r.keepRecords(ctx, v, p); err != nil {
		return err
	}
	if p.Facts != nil {
		before := v.Server.DeepCopy()
		p.Facts(v.Server)
		if err := r.patch(ctx, v.Server, before); err != nil {
			return fmt.Errorf("write what is remembered of the server: %w", err)
		}
	}
	if p.Attempt != nil {
		if err := r.writeAttempt(ctx, v, p); err != nil {
			return err
		}
	}
	if p.Defaults != "" {
		if err := r.Fleet.Do(key, defaultsJob(p.Defaults, v.System.URI, account(v.Server))); err != nil {
			return fmt.Errorf("order the defaults of the BIOS: %w", err)
		}
	}
	if p.Command != nil {
		if err := r.submit(key, account(v.Server), *p.Command); err != nil {
			return err
		}
	}
	for _, cmd := range p.Settings {
		cmd.Account = account(v.Server)
		if err := r.Fleet.Submit(key, cmd); err != nil {
			return fmt.Errorf("order %s: %w", cmd.Kind, err)
		}
		if status, known := r.Fleet.Command(key, cmd.ID); known && status.State == fleet.Succeeded && !v.seenSince(&status.End) {
			r.Fleet.PollSoon(key) // the next poll of an idle BMC is minutes away
		}
	}
	if p.Event.Reason != "" {
		r.Recorder.Eventf(v.Server, nil, p.Event.Type, p.Event.Reason, p.Event.Reason, "%s", p.Event.Message)
	}
	return nil
}

// account is what the requests are counted for that a Server's BMC is sent.
func account(server *metalv1.Server) string {
	return throttle.Account(throttle.KindServer, server.Name)
}

// submit gives a command to the fleet. One that the fleet remembers as ended is meant anew: the machine has
// been through something else in between.
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
	if v.Boot.Annotations == nil {
		v.Boot.Annotations = map[string]string{}
	}
	v.Boot.Annotations[metalv1.AnnotationBootAttempt] = p.Attempt.String()
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, v.Boot, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return fmt.Errorf("write the boot attempt: %w", err)
	}
	return nil
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

// keptCleanups is how many records of cleanups are kept of each server.
const keptCleanups = 5

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

// defaultsJob is that order.
func defaultsJob(id, system, account string) fleet.Job {
	return fleet.Job{ID: id, Account: account, Run: func(ctx context.Context, s fleet.Services) error {
		bios, err := s.BIOS(ctx, system)
		if err != nil {
			return err
		}
		return s.ResetBIOS(ctx, bios)
	}}
}
