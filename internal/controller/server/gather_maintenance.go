package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/turn"
)

// gatherMaintenance reads the maintenance that has the server. A missing one may switch a machine off, so the API confirms what the
// cache says.
func (r *Reconciler) gatherMaintenance(ctx context.Context, v *View) error {
	ref := v.Server.Spec.ServerMaintenanceRef
	if ref == nil {
		return nil
	}
	m, err := r.maintenanceOf(ctx, ref)
	switch {
	case err != nil:
		return fmt.Errorf("ServerMaintenance %s/%s: %w", ref.Namespace, ref.Name, err)
	case m != nil && m.DeletionTimestamp.IsZero() && m.Spec.ServerRef.Name == v.Server.Name:
		v.Maintenance = m
		return nil
	case m != nil && (m.Spec.ServerRef.Name == v.Server.Name || turn.Granted(v.Server)):
		v.EndingMaintenance = m
	case !turn.Granted(v.Server):
		if v.Foreign = r.findForeign(ctx, v.Server.Name, *ref, v.Now); v.Foreign.has() {
			return nil
		}
	}
	return r.gatherNext(ctx, v)
}

// maintenanceOf reads the ServerMaintenance of that name; nil: there is none.
func (r *Reconciler) maintenanceOf(ctx context.Context, ref *metalv1.ObjectReference) (*metalv1.ServerMaintenance, error) {
	for _, reader := range []client.Reader{r, r.APIReader} {
		var m metalv1.ServerMaintenance
		err := reader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &m)
		if err == nil {
			return &m, nil
		}
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
	}
	return nil, nil
}

// gatherNext finds the maintenance that has the server after one that has ended.
func (r *Reconciler) gatherNext(ctx context.Context, v *View) error {
	if !v.Server.DeletionTimestamp.IsZero() {
		return nil
	}
	var list metalv1.ServerMaintenanceList
	if err := r.List(ctx, &list, client.MatchingFields{index.MaintenanceByServer: v.Server.Name}); err != nil {
		return fmt.Errorf("list the ServerMaintenances of Server %q: %w", v.Server.Name, err)
	}
	// One that its controller does not accept in time may be impossible, and would keep the server.
	list.Items = slices.DeleteFunc(list.Items, func(m metalv1.ServerMaintenance) bool {
		return !accepted(&m) && !v.Now.Before(m.CreationTimestamp.Add(acceptDelay))
	})
	v.Next = turn.First(list.Items, v.Claim, nil)
	return nil
}

// spec.serverMaintenanceRef is a namespace and a name. Operators that update firmware have a kind ServerMaintenance of their own, in an
// API group of their own, and write its name there. The reference may name a ServerMaintenance of ours, one of ours that is gone, or
// one of theirs. One that cannot be found has the server all the same, since firmware may be written this very moment: whoever set the
// reference removes it.

// foreignKinds are the known kinds of other operators. config/manager/rbac.yaml allows to read them.
var foreignKinds = []schema.GroupVersionKind{
	{Group: "maintenance.metal.ironcore.dev", Version: "v1alpha1", Kind: "ServerMaintenance"},
	{Group: "servermaintenance.metal.ironcore.dev", Version: "v1alpha1", Kind: "ServerMaintenance"},
}

// findForeign finds the maintenance of another API group that has the server. There is none only where one of the kinds is installed
// and has no such object, and no other kind has it or may have it.
func (r *Reconciler) findForeign(ctx context.Context, server string, ref metalv1.ObjectReference, now time.Time) foreign {
	if found, fresh := r.lookups.get(server, ref, now); fresh {
		return found
	}
	found := foreign{looked: now}
	gone := 0
	var unknown []string
	for _, kind := range foreignKinds {
		var obj metav1.PartialObjectMetadata
		obj.SetGroupVersionKind(kind)
		err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &obj)
		switch {
		case err == nil:
			found.group = kind.Group
		case notInstalled(err):
		case apierrors.IsNotFound(err):
			gone++
		default:
			unknown = append(unknown, fmt.Sprintf("%s: %s", kind.Group, apierrors.ReasonForError(err)))
		}
	}
	switch {
	case found.group != "":
	case len(unknown) > 0:
		found.why = "Farrier cannot look it up in " + strings.Join(unknown, ", ")
	case gone == 0:
		found.why = "no other known kind is installed"
	}
	r.lookups.set(server, ref, found)
	return found
}

// notInstalled reports whether the API does not know the kind. A kind that was removed a moment ago is answered like an unknown URL.
func notInstalled(err error) bool {
	return apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
