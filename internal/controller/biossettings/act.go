package biossettings

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
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
	if p.release {
		if err := r.endMaintenance(ctx, v.obj); err != nil {
			return err
		}
	}
	if p.maintain && !v.granted && v.maintenance == nil {
		if err := r.askMaintenance(ctx, v); err != nil {
			return err
		}
	}
	before := v.obj.DeepCopy()
	ours := r.maintenanceOf(v.obj)
	switch ref := v.obj.Spec.ServerMaintenanceRef; {
	case p.release && ref != nil && *ref == ours:
		v.obj.Spec.ServerMaintenanceRef = nil
	case p.maintain && ref == nil:
		v.obj.Spec.ServerMaintenanceRef = &ours
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

// maintenanceOf names the maintenance that an object asks for.
func (r *Reconciler) maintenanceOf(obj *metalv1.BIOSSettings) metalv1.ObjectReference {
	name := "bios-" + obj.Name
	if len(name) > 253 {
		name = "bios-" + string(obj.UID)
	}
	return metalv1.ObjectReference{Namespace: r.Namespace, Name: name}
}

// gatherMaintenance reads the maintenance, and whether the server says that it is had.
func (r *Reconciler) gatherMaintenance(ctx context.Context, v *view) error {
	ref := r.maintenanceOf(v.obj)
	if v.obj.Spec.ServerMaintenanceRef != nil {
		ref = *v.obj.Spec.ServerMaintenanceRef
	}
	var m metalv1.ServerMaintenance
	err := r.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &m)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ServerMaintenance %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	v.maintenance = &m
	has := v.server.Spec.ServerMaintenanceRef
	v.granted = has != nil && *has == ref && m.DeletionTimestamp.IsZero()
	return nil
}

// askMaintenance asks for the server. A maintenance that somebody else has named is waited for.
func (r *Reconciler) askMaintenance(ctx context.Context, v *view) error {
	ref := r.maintenanceOf(v.obj)
	if named := v.obj.Spec.ServerMaintenanceRef; named != nil && *named != ref {
		return nil
	}
	m := &metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{
		Namespace: ref.Namespace, Name: ref.Name,
		Annotations: map[string]string{metalv1.AnnotationReason: "BIOSSettings " + v.obj.Name},
	}}
	m.Spec.ServerRef, m.Spec.Policy = *v.obj.Spec.ServerRef, v.obj.Spec.ServerMaintenancePolicy
	if err := controllerutil.SetControllerReference(v.obj, m, r.Scheme()); err != nil {
		return fmt.Errorf("own the maintenance: %w", err)
	}
	if err := r.Create(ctx, m, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return fmt.Errorf("create ServerMaintenance %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	r.event(v.obj, corev1.EventTypeNormal, "MaintenanceRequested", "Requested ServerMaintenance "+ref.Namespace+"/"+ref.Name)
	return nil
}

// endMaintenance ends the maintenance that the object has asked for, and no other.
func (r *Reconciler) endMaintenance(ctx context.Context, obj *metalv1.BIOSSettings) error {
	ref := r.maintenanceOf(obj)
	var m metalv1.ServerMaintenance
	err := r.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &m)
	if apierrors.IsNotFound(err) || err == nil && (!metav1.IsControlledBy(&m, obj) || !m.DeletionTimestamp.IsZero()) {
		return nil
	}
	if err == nil {
		err = client.IgnoreNotFound(r.Delete(ctx, &m, client.Preconditions{UID: &m.UID}))
	}
	if err != nil {
		return fmt.Errorf("end ServerMaintenance %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	return nil
}
