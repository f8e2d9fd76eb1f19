package bmc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// annotationCopiedLabels lists the labels that were copied from the BMC, so that one which is
// removed there can be removed here without touching those of the Server's own.
const annotationCopiedLabels = "farrier.dev/labels-of-bmc"

// keepServers makes a Server for every system that has none, and passes the BMC's labels on.
// Servers of systems that have vanished are left: the machine may only be
// silent, and somebody may hold it.
func (r *Reconciler) keepServers(ctx context.Context, obj *metalv1.BMC, observation fleet.Observation) error {
	if len(observation.Systems) == 0 {
		return nil
	}
	servers, err := r.servers(ctx, obj)
	if err != nil {
		return err
	}
	for i := range observation.Systems {
		system := &observation.Systems[i]
		known := slices.IndexFunc(servers, func(s metalv1.Server) bool { return connection.IsSystem(&s, system.System) })
		if known < 0 {
			server := newServer(obj, system, freeName(obj.Name, servers))
			if err := r.Create(ctx, server, client.FieldOwner(metalv1.FieldManager)); err != nil {
				return fmt.Errorf("create Server %q: %w", server.Name, err)
			}
			servers = append(servers, *server)
			continue
		}
		if err := r.update(ctx, &servers[known], obj, system); err != nil {
			return err
		}
	}
	return nil
}

// update passes labels on and fills a UUID in that the BMC did not tell at first.
func (r *Reconciler) update(ctx context.Context, server *metalv1.Server, obj *metalv1.BMC, system *fleet.SystemObservation) error {
	before := server.DeepCopy()
	copyLabels(server, obj.Labels)
	if server.Spec.SystemUUID == "" {
		server.Spec.SystemUUID = system.UUID
	}
	if server.Spec.SystemURI == "" {
		server.Spec.SystemURI = system.URI
	}
	if maps.Equal(before.Labels, server.Labels) && maps.Equal(before.Annotations, server.Annotations) &&
		before.Spec.SystemUUID == server.Spec.SystemUUID && before.Spec.SystemURI == server.Spec.SystemURI {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return r.Patch(ctx, server, patch, client.FieldOwner(metalv1.FieldManager))
}

func newServer(obj *metalv1.BMC, system *fleet.SystemObservation, name string) *metalv1.Server {
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name}}
	server.Spec.SystemUUID = system.UUID
	server.Spec.SystemURI = system.URI
	server.Spec.BMCRef = &metalv1.LocalObjectReference{Name: obj.Name}
	copyLabels(server, obj.Labels)
	return server
}

// freeName is <bmc>-system-<n> with the lowest n that no Server of this BMC has: a system keeps its
// name when others come and go.
func freeName(bmc string, servers []metalv1.Server) string {
	for n := 0; ; n++ {
		name := fmt.Sprintf("%s-system-%d", bmc, n)
		if !slices.ContainsFunc(servers, func(s metalv1.Server) bool { return s.Name == name }) {
			return name
		}
	}
}

// copyLabels makes the labels of the server those of its BMC beside its own.
func copyLabels(server *metalv1.Server, labels map[string]string) {
	copied := strings.FieldsFunc(server.Annotations[annotationCopiedLabels], func(r rune) bool { return r == ',' })
	for _, key := range copied {
		if _, still := labels[key]; !still {
			delete(server.Labels, key)
		}
	}
	if len(labels) == 0 {
		delete(server.Annotations, annotationCopiedLabels)
		return
	}
	if server.Labels == nil {
		server.Labels = map[string]string{}
	}
	maps.Copy(server.Labels, labels)
	if server.Annotations == nil {
		server.Annotations = map[string]string{}
	}
	server.Annotations[annotationCopiedLabels] = strings.Join(slices.Sorted(maps.Keys(labels)), ",")
}

// onDeleted lets only deletions through: a Server that somebody deleted is made anew.
func onDeleted() builder.WatchesOption {
	return builder.WithPredicates(predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	})
}
