package firmwareversion

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/maintenancerequest"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// gather reads everything that decisions look at, and has the BMC to itself while something is under way.
func (r *Reconciler) gather(ctx context.Context, i *item) (*view, fleet.Key, error) {
	v := &view{now: r.Clock.Now(), item: i, asked: askedFor(i), progress: progressOf(i), process: r.process(), enforce: r.EnforcePowerOff, rollout: rolloutpermit.Waits(i)}
	var err error
	if v.catalog, err = r.catalog(ctx); err != nil {
		return nil, "", err
	}
	v.aim()
	if i.target == "" {
		return v, "", nil
	}
	server, err := r.gatherTarget(ctx, v)
	if err != nil {
		return nil, "", err
	}
	if v.maintenance, err = maintenancerequest.Look(ctx, r.Client, r.request(i, v.servers)); err != nil {
		return nil, "", err
	}
	if !v.found {
		return v, "", nil
	}
	if v.first, err = r.firstOf(ctx, i); err != nil {
		return nil, "", err
	}
	key, known := r.KeyOf(i.target)
	if !known {
		return v, "", r.choose(ctx, v)
	}
	if old, last := r.Registry.Bind(&r.Wake, i.GetName(), key); last {
		r.Fleet.Remove(old)
	}
	r.observe(v, key, server)
	if err := r.choose(ctx, v); err != nil {
		return nil, "", err
	}
	r.fetch(v)
	if v.maintenance.Granted() && v.progress.active() {
		v.locked = r.Fleet.Lock(key, i.holder(), lockTime)
	} else {
		r.Fleet.Unlock(key, i.holder())
	}
	return v, key, nil
}

// aim says what is to be there in the end: what the spec asks for, or the version before it.
func (v *view) aim() {
	v.goal = v.catalog.asked(v.item.spec)
	if v.goesBack() {
		v.goal, v.problem = v.catalog.previous(v.progress.Rollback)
	}
}

// gatherTarget reads what the object is for, and finds the servers that are had meanwhile, also those of a target that has gone.
func (r *Reconciler) gatherTarget(ctx context.Context, v *view) (*metalv1.Server, error) {
	target := v.item.target
	if !v.item.kind.ofBMC {
		v.servers = []string{target}
		var server metalv1.Server
		err := r.Get(ctx, client.ObjectKey{Name: target}, &server)
		if v.found = err == nil; !v.found {
			return nil, gone(err, "Server", target)
		}
		return &server, nil
	}
	var list metalv1.ServerList
	if err := r.List(ctx, &list, client.MatchingFields{index.ServerByBMC: target}); err != nil {
		return nil, fmt.Errorf("list the Servers of BMC %q: %w", target, err)
	}
	for _, server := range list.Items {
		if server.DeletionTimestamp.IsZero() {
			v.servers = append(v.servers, server.Name)
		}
	}
	slices.Sort(v.servers)
	err := r.Get(ctx, client.ObjectKey{Name: target}, &metalv1.BMC{})
	v.found = err == nil
	return nil, gone(err, "BMC", target)
}

// gone is the error of a read, unless that there is no such object.
func gone(err error, kind, name string) error {
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s %q: %w", kind, name, err)
}

// observe fills in what the BMC said, and what became of jobs and commands.
func (r *Reconciler) observe(v *view, key fleet.Key, server *metalv1.Server) {
	o, _ := r.Fleet.Observe(key)
	v.unreachable, v.silentSince, v.skew = o.Err, o.ErrSince, o.Symptoms.ClockSkew
	switch {
	case v.item.kind.ofBMC:
		v.answered, v.installed = o.Manager.URI != "", o.Manager.FirmwareVersion
	default:
		if at, _ := connection.SystemOf(server, o.Systems); at >= 0 && !o.Systems[at].Seen.IsZero() {
			v.system = &o.Systems[at]
			v.component = component{system: v.system.URI, alone: len(o.Systems) == 1 && len(o.Others) == 0}
			v.answered, v.installed = true, v.system.BIOSVersion
			if v.unreachable == nil {
				v.unreachable = v.system.Err
			}
		}
	}
	v.looked, v.busy = r.memories.take(v.item.GetUID(), r.Fleet, key)
	if v.progress.active() {
		v.command, _ = r.Fleet.Command(key, v.commandID())
	}
}

// firstOf names the object that has the target before this one, if one has.
func (r *Reconciler) firstOf(ctx context.Context, i *item) (string, error) {
	list := i.kind.newList()
	if err := r.List(ctx, list, client.MatchingFields{i.kind.byTarget: i.target}); err != nil {
		return "", fmt.Errorf("list the %ss of %q: %w", i.kind.Name, i.target, err)
	}
	all := i.kind.items(list)
	slices.SortFunc(all, func(a, b *item) int {
		at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
		if c := at.Compare(bt.Time); c != 0 {
			return c
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
	if len(all) == 0 || all[0].GetUID() == i.GetUID() {
		return "", nil
	}
	return all[0].GetName(), nil
}

// request is what an object asks for of its servers.
func (r *Reconciler) request(i *item, servers []string) maintenancerequest.Request {
	return maintenancerequest.Request{
		Owner: i.Object, Kind: i.kind.Name, Namespace: r.Namespace, Prefix: i.kind.prefix, Servers: servers, Many: i.kind.ofBMC,
		Policy: i.spec.ServerMaintenancePolicy, Named: i.maintenances(),
	}
}
