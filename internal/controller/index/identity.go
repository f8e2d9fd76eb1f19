package index

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// Identities are the labels by which the machine of a Server names itself, as far as they are known: by canonical key.
func Identities(s *metalv1.Server) map[string][]string {
	found := map[string][]string{}
	add := func(key, value string) {
		if value = assignment.CanonicalValue(key, value); value != "" && !assignment.Placeholder(key, value) {
			found[key] = append(found[key], value)
		}
	}
	add(assignment.KeyUUID, s.Spec.SystemUUID)
	add(assignment.KeySerial, s.Status.SerialNumber)
	for i := range s.Status.NetworkInterfaces {
		add(assignment.KeyMAC, s.Status.NetworkInterfaces[i].MACAddress)
	}
	return found
}

// Identity is how ServerByIdentity spells one of Identities.
func Identity(key, value string) string { return key + "=" + value }

// MachineUUID is how ServerByIdentity spells a system UUID, whatever its form. It finds nothing for one that identifies no machine.
func MachineUUID(uuid string) string { return Identity(assignment.KeyUUID, identity.MachineUUID(uuid)) }

func identities(obj client.Object) []string {
	server, ok := obj.(*metalv1.Server)
	if !ok {
		return nil
	}
	var found []string
	for key, values := range Identities(server) {
		for _, value := range values {
			found = append(found, Identity(key, value))
		}
	}
	return found
}
