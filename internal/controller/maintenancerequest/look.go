package maintenancerequest

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Server is how it stands with one server.
type Server struct {
	Name string
	// Object is nil where there is no such Server.
	Object *metalv1.Server
	// Ref names the maintenance, Maintenance is nil where there is none.
	Ref         metalv1.ObjectReference
	Maintenance *metalv1.ServerMaintenance
	// Own says that the maintenance is, or will be, created here; Taken that somebody else's has its name.
	Own, Taken bool
	// Granted says that the maintenance has the server.
	Granted bool
}

// Standing is how a request stands.
type Standing struct {
	Servers []Server
	// stale are maintenances of the owner in its spec that are about none of the servers.
	stale []metalv1.ObjectReference
}

// Granted reports whether every server is had. Where none is asked for nobody is to be waited for.
func (s Standing) Granted() bool {
	for _, server := range s.Servers {
		if !server.Granted {
			return false
		}
	}
	return true
}

// Asked reports whether every maintenance exists that is created here.
func (s Standing) Asked() bool {
	for _, server := range s.Servers {
		if server.missing() {
			return false
		}
	}
	return true
}

// Waiting says what is waited for: the first server that is not had, and how many others there are.
func (s Standing) Waiting() string {
	var first string
	others := -1
	for _, server := range s.Servers {
		if server.Granted {
			continue
		}
		if others++; others == 0 {
			first = server.waiting()
		}
	}
	if others > 0 {
		return fmt.Sprintf("%s; and %d more", first, others)
	}
	return first
}

func (s Server) missing() bool { return s.Own && s.Object != nil && s.Maintenance == nil }

// waiting is what the maintenance says of itself.
func (s Server) waiting() string {
	switch {
	case s.Object == nil:
		return fmt.Sprintf("Server %q does not exist", s.Name)
	case s.Taken:
		return fmt.Sprintf("ServerMaintenance %s/%s belongs to somebody else; delete it", s.Ref.Namespace, s.Ref.Name)
	case s.Maintenance == nil && s.Own:
		return "requesting a maintenance"
	case s.Maintenance == nil:
		return fmt.Sprintf("ServerMaintenance %s/%s does not exist", s.Ref.Namespace, s.Ref.Name)
	}
	text := fmt.Sprintf("waiting for ServerMaintenance %s/%s to get the server", s.Ref.Namespace, s.Ref.Name)
	if c := apimeta.FindStatusCondition(s.Maintenance.Status.Conditions, metalv1.ConditionInMaintenance); c != nil {
		text += ": " + c.Message
	}
	return text
}

// ours reports whether a maintenance in the spec of the owner was created here.
func (s Standing) ours(ref metalv1.ObjectReference) bool {
	for _, stale := range s.stale {
		if stale == ref {
			return true
		}
	}
	return false
}

// Look reads how a request stands.
func Look(ctx context.Context, c client.Reader, r Request) (Standing, error) {
	var s Standing
	named, err := s.named(ctx, c, r)
	if err != nil {
		return Standing{}, err
	}
	for _, name := range r.Servers {
		server := Server{Name: name, Ref: r.Ref(name), Own: true}
		if m, ok := named[name]; ok {
			server.Ref, server.Maintenance, server.Own = refOf(m), m, false
		} else if ref, ok := r.only(); ok {
			server.Ref, server.Own = ref, false
		}
		if err := server.read(ctx, c, r); err != nil {
			return Standing{}, err
		}
		s.Servers = append(s.Servers, server)
	}
	return s, nil
}

// only is the maintenance that a person has named for the only server, who may name it before it exists.
func (r Request) only() (metalv1.ObjectReference, bool) {
	if r.Many || len(r.Named) != 1 || r.Named[0] == r.Ref("") {
		return metalv1.ObjectReference{}, false
	}
	return r.Named[0], true
}

// named reads the maintenances that a person has named, by their servers.
func (s *Standing) named(ctx context.Context, c client.Reader, r Request) (map[string]*metalv1.ServerMaintenance, error) {
	found := map[string]*metalv1.ServerMaintenance{}
	own := r.Own()
	for _, ref := range r.Named {
		var m metalv1.ServerMaintenance
		if contains(own, ref) {
			continue
		}
		if err := c.Get(ctx, client.ObjectKey(ref), &m); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("ServerMaintenance %s/%s: %w", ref.Namespace, ref.Name, err)
		}
		if metav1.IsControlledBy(&m, r.Owner) {
			s.stale = append(s.stale, ref)
			continue
		}
		found[m.Spec.ServerRef.Name] = &m
	}
	return found, nil
}

// read fills in the Server, the maintenance, and whether that has it.
func (s *Server) read(ctx context.Context, c client.Reader, r Request) error {
	var object metalv1.Server
	if err := c.Get(ctx, client.ObjectKey{Name: s.Name}, &object); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("Server %q: %w", s.Name, err)
	}
	s.Object = &object
	if s.Maintenance == nil {
		var m metalv1.ServerMaintenance
		if err := c.Get(ctx, client.ObjectKey(s.Ref), &m); apierrors.IsNotFound(err) {
			return nil
		} else if err != nil {
			return fmt.Errorf("ServerMaintenance %s/%s: %w", s.Ref.Namespace, s.Ref.Name, err)
		}
		s.Maintenance = &m
	}
	s.Taken = s.Own && !metav1.IsControlledBy(s.Maintenance, r.Owner)
	has := object.Spec.ServerMaintenanceRef
	s.Granted = !s.Taken && has != nil && *has == s.Ref && s.Maintenance.DeletionTimestamp.IsZero()
	return nil
}

func refOf(m *metalv1.ServerMaintenance) metalv1.ObjectReference {
	return metalv1.ObjectReference{Namespace: m.Namespace, Name: m.Name}
}

func contains(refs []metalv1.ObjectReference, ref metalv1.ObjectReference) bool {
	for _, r := range refs {
		if r == ref {
			return true
		}
	}
	return false
}
