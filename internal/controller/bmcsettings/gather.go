package bmcsettings

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/maintenancerequest"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// gather reads everything that decisions look at, and has the BMC to itself while something is under way.
func (r *Reconciler) gather(ctx context.Context, obj *metalv1.BMCSettings) (*view, fleet.Key, error) {
	v := &view{now: r.Clock.Now(), obj: obj, deleting: deleting(obj), rollout: rolloutpermit.Waits(obj)}
	if err := r.gatherSettings(ctx, v); err != nil {
		return nil, "", err
	}
	v.progress = progressOf(obj, v.asked)
	ref := obj.Spec.BMCRef
	if ref == nil || ref.Name == "" {
		return v, "", nil
	}
	var object metalv1.BMC
	if err := r.Get(ctx, client.ObjectKey{Name: ref.Name}, &object); err == nil {
		v.bmc = &object
	} else if !apierrors.IsNotFound(err) {
		return nil, "", fmt.Errorf("BMC %q: %w", ref.Name, err)
	}
	if err := r.gatherServers(ctx, v); err != nil {
		return nil, "", err
	}
	if v.bmc == nil {
		return v, "", nil
	}
	key, known := r.KeyOf(ref.Name)
	if !known {
		return v, "", nil
	}
	if old, last := r.Registry.Bind(&r.Wake, obj.Name, key); last {
		r.Fleet.Remove(old)
	}
	r.observe(v, key)
	if v.maintenance.Granted() && v.progress.active() {
		v.locked = r.Fleet.Lock(key, holder(obj), lockTime)
	} else {
		r.Fleet.Unlock(key, holder(obj))
	}
	return v, key, nil
}

// gatherSettings reads the variables, and puts them in.
func (r *Reconciler) gatherSettings(ctx context.Context, v *view) error {
	memory := r.memories.of(v.obj.UID, v.obj.Name)
	from := sources{cached: r.Client, live: r.APIReader, obj: v.obj, memory: memory, now: v.now, own: r.Namespace}
	found, read, err := from.read(ctx)
	memory.using(from.used)
	if reconcileerror.IsTransient(err) {
		return err
	}
	v.configMaps = slices.ContainsFunc(from.used, func(s source) bool { return s.kind == kindConfigMap })
	v.asked = askedFor(v.obj, read)
	if v.invalid = err; err == nil {
		v.wanted, v.invalid = settingsOf(v.obj.Spec.SettingsMap, found)
	}
	return nil
}

// gatherServers looks how it stands with the servers of the BMC, and who else wants to set it.
func (r *Reconciler) gatherServers(ctx context.Context, v *view) error {
	name := v.obj.Spec.BMCRef.Name
	var servers metalv1.ServerList
	if err := r.List(ctx, &servers, client.MatchingFields{index.ServerByBMC: name}); err != nil {
		return fmt.Errorf("list the Servers of BMC %q: %w", name, err)
	}
	request := r.request(v.obj, maintenancerequest.Standing{})
	for i := range servers.Items {
		request.Servers = append(request.Servers, servers.Items[i].Name)
	}
	slices.Sort(request.Servers)
	var err error
	if v.maintenance, err = maintenancerequest.Look(ctx, r.Client, request); err != nil {
		return err
	}
	v.first, err = r.firstOf(ctx, v.obj)
	return err
}

// observe fills in what the BMC said, and what became of jobs.
func (r *Reconciler) observe(v *view, key fleet.Key) {
	observation, _ := r.Fleet.Observe(key)
	v.unreachable = observation.Err
	if observation.Manager.URI != "" {
		v.manager = &observation.Manager
	}
	v.looked, v.busy = r.memories.take(r.memories.of(v.obj.UID, v.obj.Name), r.Fleet, key)
	if v.progress.active() && v.progress.Step == stepRestart {
		v.restart, _ = r.Fleet.Command(key, v.restartID())
	}
}

// firstOf names the BMCSettings that has the BMC before this one, if one has.
func (r *Reconciler) firstOf(ctx context.Context, obj *metalv1.BMCSettings) (string, error) {
	var list metalv1.BMCSettingsList
	if err := r.List(ctx, &list, client.MatchingFields{index.BMCSettingsByBMC: obj.Spec.BMCRef.Name}); err != nil {
		return "", fmt.Errorf("list the BMCSettings of BMC %q: %w", obj.Spec.BMCRef.Name, err)
	}
	if len(list.Items) == 0 {
		return "", nil
	}
	first := slices.MinFunc(list.Items, func(a, b metalv1.BMCSettings) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	if first.UID == obj.UID {
		return "", nil
	}
	return first.Name, nil
}
