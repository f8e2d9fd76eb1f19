package biossettings

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/maintenancerequest"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// lockTime is how long the exclusive lock lasts unless the object is reconciled again.
const lockTime = 10 * time.Minute

// holder names the holder of the exclusive lock.
func holder(obj *metalv1.BIOSSettings) string { return "BIOSSettings " + obj.Name }

// account is what the requests are counted for that the BMC is sent.
func account(obj *metalv1.BIOSSettings) string {
	return throttle.Account(throttle.KindBIOSSettings, obj.Name)
}

// act carries a plan out. It writes facts before it submits what they guard.
func (r *Reconciler) act(ctx context.Context, v *view, key fleet.Key, p *plan) error {
	if err := r.maintain(ctx, v, p); err != nil {
		return err
	}
	before := v.obj.DeepCopy()
	if p.release || p.maintain {
		v.obj.Spec.ServerMaintenanceRef = nil
		if refs := r.request(before).Record(v.maintenance, p.maintain); len(refs) > 0 {
			v.obj.Spec.ServerMaintenanceRef = &refs[0]
		}
	}
	if p.progress != nil && p.progress != v.progress {
		metav1.SetMetaDataAnnotation(&v.obj.ObjectMeta, annotationProgress, p.progress.String())
	}
	if !equality.Semantic.DeepEqual(before, v.obj) {
		if err := r.patch(ctx, v.obj, before); err != nil {
			return fmt.Errorf("record the progress of the settings: %w", err)
		}
		if p.progress != nil && v.progress.active() && !p.progress.active() && key != "" {
			r.Fleet.Unlock(key, holder(v.obj))
		}
		return nil // its write wakes the object again, and then it is read back
	}
	return r.order(v, key, p)
}

// maintain asks for the maintenance or ends it.
func (r *Reconciler) maintain(ctx context.Context, v *view, p *plan) error {
	if p.release {
		if err := maintenancerequest.End(ctx, r.Client, r.request(v.obj)); err != nil {
			return err
		}
	}
	if !p.maintain {
		return nil
	}
	created, err := maintenancerequest.Ask(ctx, r.Client, r.request(v.obj), v.maintenance)
	for _, ref := range created {
		r.event(v.obj, corev1.EventTypeNormal, maintenancerequest.ReasonRequested, "Requested ServerMaintenance "+ref.Namespace+"/"+ref.Name)
	}
	return err
}

// order gives jobs and commands to the fleet.
func (r *Reconciler) order(v *view, key fleet.Key, p *plan) error {
	if key == "" || v.system == nil {
		return nil
	}
	uri := v.system.URI
	if p.look || p.write {
		l := &look{begun: v.now, asked: v.asked, wrote: v.progress.wrote()}
		l.again(v.looked)
		wanted := final(v.flow)
		run := func(ctx context.Context, s fleet.Services) error { return l.compare(ctx, s, uri, wanted) }
		switch {
		case p.write:
			item, _ := v.item()
			l.of = v.progress.Since
			run = func(ctx context.Context, s fleet.Services) error { return l.write(ctx, s, uri, item.Settings, wanted) }
		case v.progress.active() && v.progress.Step != stepBegin:
			task := v.progress.Task
			run = func(ctx context.Context, s fleet.Services) error { return l.follow(ctx, s, uri, task, wanted) }
		}
		id := r.memories.begin(v.obj.UID, l, v.now)
		if err := r.Fleet.Do(key, fleet.Job{ID: id, Budget: jobBudget, Holder: holder(v.obj), Account: account(v.obj), Run: run}); err != nil {
			return fmt.Errorf("submit the job that reads the BIOS: %w", err)
		}
	}
	if p.power != "" {
		cmd := fleet.Command{ID: v.powerID(), System: uri, Kind: p.power, Holder: holder(v.obj), Account: account(v.obj), Force: p.power == fleet.PowerOff && v.enforce}
		if p.power == fleet.PowerOn {
			cmd.Budget = verifyTimeout // BMCs of some makes say that a machine is on when its self test is over
		}
		if err := r.Fleet.Submit(key, cmd); err != nil {
			return fmt.Errorf("order %s: %w", cmd.Kind, err)
		}
	}
	return nil
}

// powerID is the ID of the power command of the present step.
func (v *view) powerID() string {
	return fmt.Sprintf("%s/bios/%s-%d", v.obj.UID, v.progress.Step, v.progress.Since.UnixNano())
}

// request is what an object asks for of its server.
func (r *Reconciler) request(obj *metalv1.BIOSSettings) maintenancerequest.Request {
	ask := maintenancerequest.Request{
		Owner: obj, Kind: "BIOSSettings", Namespace: r.Namespace, Prefix: "bios", Servers: []string{""}, Policy: obj.Spec.ServerMaintenancePolicy,
	}
	if ref := obj.Spec.ServerRef; ref != nil {
		ask.Servers[0] = ref.Name
	}
	if ref := obj.Spec.ServerMaintenanceRef; ref != nil {
		ask.Named = []metalv1.ObjectReference{*ref}
	}
	return ask
}
