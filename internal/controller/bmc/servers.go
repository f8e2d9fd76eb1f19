package bmc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/identity"
)

// annotationCopiedLabels lists the labels that were copied from the BMC, so that one which is
// removed there can be removed here without touching those of the Server's own.
const annotationCopiedLabels = "farrier.dev/labels-of-bmc"

// keepServers makes a Server for every system that has none, and passes the BMC's labels on.
// Servers of systems that have vanished are left: the machine may only be
// silent, and somebody may hold it.
func (r *Reconciler) keepServers(ctx context.Context, s *scope) error {
	obj, observation := s.obj, s.observation
	if len(observation.Systems) == 0 {
		return nil
	}
	servers, err := r.servers(ctx, obj)
	if err != nil {
		return err
	}
	known, shared, told := standFor(servers, observation.Systems), sharedUUIDs(observation.Systems), map[string]bool{}
	for i := range observation.Systems {
		system := &observation.Systems[i]
		if known[i] >= 0 {
			if err := r.update(ctx, &servers[known[i]], obj, system); err != nil && !s.refuse(err) {
				return err
			}
			continue
		}
		if uris := shared[system.UUID]; len(uris) > 0 {
			if !told[system.UUID] {
				s.refuseShared(system.UUID, uris)
			}
			told[system.UUID] = true
			continue
		}
		server, err := r.create(ctx, obj, system, servers)
		if s.refuse(err) {
			continue
		}
		if err != nil {
			return err
		}
		servers = append(servers, *server)
	}
	return nil
}

// create makes the Server of a system. Its name is <bmc>-system-<n> with the lowest n that is free: a system
// keeps its name when others come and go.
func (r *Reconciler) create(ctx context.Context, obj *metalv1.BMC, system *fleet.SystemObservation, servers []metalv1.Server) (*metalv1.Server, error) {
	for n := 0; ; n++ {
		name := fmt.Sprintf("%s-system-%d", obj.Name, n)
		if slices.ContainsFunc(servers, func(s metalv1.Server) bool { return s.Name == name }) {
			continue
		}
		server := newServer(obj, system, name)
		err := r.Create(ctx, server, client.FieldOwner(metalv1.FieldManager))
		if err == nil {
			return server, nil
		}
		err = fmt.Errorf("create Server %q: %w", name, err)
		if !apierrors.IsAlreadyExists(err) {
			return nil, err
		}
		var other metalv1.Server
		switch e := r.APIReader.Get(ctx, client.ObjectKey{Name: name}, &other); {
		case apierrors.IsNotFound(e):
			return nil, err // of another installation, which err says; or gone meanwhile
		case e != nil:
			return nil, e
		}
		if ref := other.Spec.BMCRef; ref != nil && ref.Name == obj.Name {
			return nil, err // one of ours, which the cache has not heard of yet
		}
	}
}

// update passes labels on and fills a UUID in that the BMC did not tell at first.
func (r *Reconciler) update(ctx context.Context, server *metalv1.Server, obj *metalv1.BMC, system *fleet.SystemObservation) error {
	before := server.DeepCopy()
	copyLabels(server, obj.Labels)
	if identity.MachineUUID(server.Spec.SystemUUID) == "" && system.UUID != "" {
		server.Spec.SystemUUID = system.UUID
	}
	server.Spec.SystemURI = system.URI // firmware may have moved it
	if maps.Equal(before.Labels, server.Labels) && maps.Equal(before.Annotations, server.Annotations) &&
		before.Spec.SystemUUID == server.Spec.SystemUUID && before.Spec.SystemURI == server.Spec.SystemURI {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return r.Patch(ctx, server, patch, client.FieldOwner(metalv1.FieldManager))
}

func newServer(obj *metalv1.BMC, system *fleet.SystemObservation, name string) *metalv1.Server {
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{metalv1.FinalizerServer}}}
	server.Spec.SystemUUID = system.UUID
	server.Spec.SystemURI = system.URI
	server.Spec.BMCRef = &metalv1.LocalObjectReference{Name: obj.Name}
	copyLabels(server, obj.Labels)
	return server
}

// copyLabels makes the labels of the server those of its BMC beside its own. A label that it has of its
// own is never overwritten; one with the value of the BMC's counts as copied.
func copyLabels(server *metalv1.Server, labels map[string]string) {
	earlier := strings.FieldsFunc(server.Annotations[annotationCopiedLabels], func(r rune) bool { return r == ',' })
	for _, key := range earlier {
		if _, still := labels[key]; !still {
			delete(server.Labels, key)
		}
	}
	var copied []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		value, has := server.Labels[key]
		if has && value != labels[key] && !slices.Contains(earlier, key) {
			continue
		}
		metav1.SetMetaDataLabel(&server.ObjectMeta, key, labels[key])
		copied = append(copied, key)
	}
	if len(copied) == 0 {
		delete(server.Annotations, annotationCopiedLabels)
		return
	}
	metav1.SetMetaDataAnnotation(&server.ObjectMeta, annotationCopiedLabels, strings.Join(copied, ","))
}

// onDeleted lets only deletions through: a Server that somebody deleted is made anew.
func onDeleted() builder.WatchesOption {
	return builder.WithPredicates(predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	})
}
