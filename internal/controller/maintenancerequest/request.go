package maintenancerequest

import (
	"fmt"
	"hash/fnv"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// maxName bounds the name of an object.
const maxName = 253

// Request is what an object asks for.
type Request struct {
	// Owner asks: it owns what is created. Kind is its kind, for people.
	Owner client.Object
	Kind  string
	// Namespace is where maintenances are created, Prefix what their names begin with.
	Namespace, Prefix string
	// Servers names who is asked for; with Many their names are part of the names of the maintenances.
	Servers []string
	Many    bool
	Policy  metalv1.ServerMaintenancePolicy
	// Named are the maintenances in the spec of the owner: its own, and those of a person.
	Named []metalv1.ObjectReference
}

// Ref names the maintenance that is created for a server.
func (r Request) Ref(server string) metalv1.ObjectReference {
	name := r.Prefix + "-" + r.Owner.GetName()
	if r.Many {
		name += "-" + server
	}
	if len(name) > maxName {
		name = r.Prefix + "-" + string(r.Owner.GetUID())
		if r.Many {
			h := fnv.New64a()
			fmt.Fprint(h, server)
			name += fmt.Sprintf("-%x", h.Sum64())
		}
	}
	return metalv1.ObjectReference{Namespace: r.Namespace, Name: name}
}

// Own are the names of all maintenances that are created for this request.
func (r Request) Own() []metalv1.ObjectReference {
	refs := make([]metalv1.ObjectReference, 0, len(r.Servers))
	for _, server := range r.Servers {
		refs = append(refs, r.Ref(server))
	}
	return refs
}

// Record is what belongs into the spec of the owner: what a person has named there, and the own maintenances of servers that
// nobody has named one for. Where none are asked for any more only the former stay.
func (r Request) Record(s Standing, asked bool) []metalv1.ObjectReference {
	own := r.Own()
	var refs []metalv1.ObjectReference
	for _, ref := range r.Named {
		if !slices.Contains(own, ref) && !s.ours(ref) {
			refs = append(refs, ref)
		}
	}
	if !asked {
		return refs
	}
	for _, server := range s.Servers {
		if !slices.Contains(refs, server.Ref) {
			refs = append(refs, server.Ref)
		}
	}
	return refs
}
