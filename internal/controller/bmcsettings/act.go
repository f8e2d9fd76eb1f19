package bmcsettings

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/maintenancerequest"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// lockTime is how long the exclusive lock lasts unless the object is reconciled again. It outlasts a BMC that is away.
const lockTime = backTimeout + 10*time.Minute

// holder names the holder of the exclusive lock.
func holder(obj *metalv1.BMCSettings) string { return "BMCSettings " + obj.Name }

// account is what the requests are counted for that the BMC is sent.
func account(obj *metalv1.BMCSettings) string {
	return throttle.Account(throttle.KindBMCSettings, obj.Name)
}

// act carries a plan out. It writes facts before it submits what they guard.
func (r *Reconciler) act(ctx context.Context, v *view, key fleet.Key, p *plan) error {
	request := r.request(v.obj, v.maintenance)
	if err := r.maintain(ctx, v, p, request); err != nil {
		return err
	}
	before := v.obj.DeepCopy()
	if p.release || p.maintain {
		v.obj.Spec.ServerMaintenanceRefs = itemsOf(request.Record(v.maintenance, p.maintain))
	}
	if p.progress != nil && p.progress != v.progress {
		metav1.SetMetaDataAnnotation(&v.obj.ObjectMeta, annotationProgress, p.progress.String())
	}
	if !equality.Semantic.DeepEqual(before, v.obj) {
		if err := r.patch(ctx, v.obj, before); err != nil {
			return fmt.Errorf("record the progress of the settings: %w", err)
		}
		if !p.progress.active() {
			r.unlock(v.obj)
		}
		return nil // its write wakes the object again, and then it is read back
	}
	return r.order(v, key, p)
}

// maintain asks for the maintenances or ends them.
func (r *Reconciler) maintain(ctx context.Context, v *view, p *plan, request maintenancerequest.Request) error {
	if p.release {
		if err := maintenancerequest.End(ctx, r.Client, request); err != nil {
			return err
		}
	}
	if !p.maintain {
		return nil
	}
	created, err := maintenancerequest.Ask(ctx, r.Client, request, v.maintenance)
	for _, ref := range created {
		r.event(v.obj, corev1.EventTypeNormal, maintenancerequest.ReasonRequested, "Requested ServerMaintenance "+ref.Namespace+"/"+ref.Name)
	}
	return err
}

// order gives jobs to the fleet.
func (r *Reconciler) order(v *view, key fleet.Key, p *plan) error {
	if key == "" || v.manager == nil {
		return nil
	}
	job := fleet.Job{Budget: jobBudget, Holder: holder(v.obj), Account: account(v.obj)}
	switch {
	case p.restart:
		job.ID = v.restartID()
		job.Run = func(ctx context.Context, s fleet.Services) error {
			_, err := s.ResetManager(ctx, bmc.ResetGracefulRestart)
			return err
		}
	case p.look || p.write:
		l := &look{begun: v.now, asked: v.asked, sent: v.progress.hidden(v.asked)}
		l.again(v.looked)
		wanted := v.wanted
		switch {
		case p.write:
			l.of = v.progress.Since
			job.Run = func(ctx context.Context, s fleet.Services) error { return l.write(ctx, s, wanted) }
		case v.progress.active() && v.progress.Step != stepBegin:
			task := v.progress.Task
			job.Run = func(ctx context.Context, s fleet.Services) error { return l.follow(ctx, s, task, wanted) }
		default:
			job.Run = func(ctx context.Context, s fleet.Services) error { return l.read(ctx, s, wanted) }
		}
		job.ID = r.memories.begin(v.obj.UID, r.memories.of(v.obj.UID, v.obj.Name), l, v.now)
	default:
		return nil
	}
	if err := r.Fleet.Do(key, job); err != nil {
		return fmt.Errorf("submit the job at the BMC: %w", err)
	}
	return nil
}

// restartID is the ID of the restart of the present step.
func (v *view) restartID() string {
	return fmt.Sprintf("%s/bmc-settings/restart-%d", v.obj.UID, v.progress.Since.UnixNano())
}

// request is what an object asks for of the servers of its BMC. To end it the standing suffices that was looked up, or what spec records.
func (r *Reconciler) request(obj *metalv1.BMCSettings, standing maintenancerequest.Standing) maintenancerequest.Request {
	request := maintenancerequest.Request{
		Owner: obj, Kind: "BMCSettings", Namespace: r.Namespace, Prefix: "bmc", Many: true, Policy: obj.Spec.ServerMaintenancePolicy,
	}
	for _, server := range standing.Servers {
		request.Servers = append(request.Servers, server.Name)
	}
	for _, item := range obj.Spec.ServerMaintenanceRefs {
		if item.ServerMaintenanceRef != nil {
			request.Named = append(request.Named, *item.ServerMaintenanceRef)
		}
	}
	return request
}

func itemsOf(refs []metalv1.ObjectReference) []metalv1.ServerMaintenanceRefItem {
	var items []metalv1.ServerMaintenanceRefItem
	for i := range refs {
		items = append(items, metalv1.ServerMaintenanceRefItem{ServerMaintenanceRef: &refs[i]})
	}
	return items
}

// unlock lets others at the BMC.
func (r *Reconciler) unlock(obj *metalv1.BMCSettings) {
	if key, bound := r.Registry.Key(&r.Wake, obj.Name); bound {
		r.Fleet.Unlock(key, holder(obj))
	}
}
