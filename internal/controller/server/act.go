package server

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
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

// reason is the reason that a Terminal error names, or otherwise what is given.
func reason(err error, otherwise string) string {
	var terminal reconcileerror.Terminal
	if errors.As(err, &terminal) {
		return terminal.Reason
	}
	return otherwise
}
